"""EXCHANGE is sent once, believed from the UUID map, and burned when in doubt."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from dpone_clickhouse.connection import Connection, StatementRefusedError, Tag
from dpone_clickhouse.observation import inserts_elsewhere, mentions
from dpone_clickhouse.publisher import ClickHousePublisher
from dpone_contracts.effects import Applied, NotApplied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.publisher import UuidMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.engine

NEXT_ATTEMPT = "sha256:" + "0c" * 32


REFUSED = (
    b"HTTP/1.1 500 Internal Server Error\r\nX-ClickHouse-Exception-Code: 159\r\nContent-Length: 40\r\n\r\n"
    b"Code: 159. DB::Exception: TIMEOUT_EXCEEDE"
)


class Proxy:
    """A TCP proxy before the engine, by a word in a request: it keeps back the request or the answer, or answers an error."""

    def __init__(self, port: int) -> None:
        self._upstream = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.drop_answer_to: bytes | None = None
        self.refuse: bytes | None = None
        self.hold: bytes | None = None
        self.deaf_behind: bytes | None = None
        self.deaf = False
        self.held = threading.Event()
        self.released = threading.Event()
        self.late_answer = b""
        self.late_done = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Carry whole requests of one connection to the engine, one after another."""
        with client:
            while request := _http_message(client):
                self.requests.append(request)
                if self.hold is not None and self.hold in request:
                    self.hold = None
                    self.held.set()
                    client.close()
                    self.released.wait(60)
                    self.late_answer = self._forward(request)
                    self.late_done.set()
                    return
                if self.deaf:
                    return
                answer = self._forward(request)
                self.deaf = self.deaf_behind is not None and self.deaf_behind in request
                if self.drop_answer_to is not None and self.drop_answer_to in request:
                    return
                if self.refuse is not None and self.refuse in request:
                    answer = REFUSED
                client.sendall(answer)

    def deliver_again(self, request: bytes) -> bytes:
        """Carry a request that was already carried once; the answer that nobody waits for."""
        return self._forward(request)

    def _forward(self, request: bytes) -> bytes:
        head, body = request.split(b"\r\n\r\n", 1)
        lines = [
            line
            for line in head.split(b"\r\n")
            if not line.lower().startswith((b"connection:", b"accept-encoding:"))
        ]
        plain = b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body
        with socket.create_connection(self._upstream) as upstream:
            upstream.sendall(plain)
            answer = b""
            while data := upstream.recv(65536):
                answer += data
        return answer


def _http_message(client: socket.socket) -> bytes:
    """Read one request with its body; empty at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return b""
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    if b"transfer-encoding: chunked" in head.lower():
        while not body.endswith(b"0\r\n\r\n"):
            body += client.recv(65536)
        return head + b"\r\n\r\n" + body
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(body) < length:
        body += client.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def proxy(flights: Any) -> Iterator[Proxy]:
    proxy = Proxy(flights.endpoint.port)
    yield proxy
    proxy.close()


@pytest.fixture
def over_proxy(flights: Any, proxy: Proxy, engine: Any) -> Iterator[ClickHousePublisher]:
    """The publisher, its statements going through the proxy."""
    connection = Connection(replace(flights.endpoint, port=proxy.port))
    yield ClickHousePublisher(connection, disk_reserve_bytes=1, policies_from_plan=engine.face == "chdb")
    connection.close()


def test_the_exchange_is_applied_only_with_the_successor_map(flights: Any) -> None:
    scratch, build = flights.built()
    proof = flights.prove(scratch, build)
    before = flights.target_uuid()
    authority = flights.publisher.authority(flights.target)
    gates = flights.publisher.exchange_refusals(
        flights.target, flights.admitted(), scratch, proof, authority.digest
    )
    assert gates == ()
    result = flights.publisher.exchange(flights.target, flights.admitted(), scratch, before)
    assert result == Applied(UuidMap(scratch.shadow_uuid, before))
    after = flights.publisher.authority(flights.target)
    assert (after.digest, after.refusals, after.uuid) == (authority.digest, (), scratch.shadow_uuid)
    assert flights.publisher.parts_digest(flights.target, before) == proof.target_parts_digest
    assert flights.rows("SELECT count(), countIf(delay = -1.5) FROM db.flights") == [(3050, 500)]


def test_a_lost_answer_is_settled_by_the_map_and_nothing_is_sent_twice(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    before = flights.target_uuid()
    proxy.drop_answer_to = b"EXCHANGE"
    result = over_proxy.exchange(flights.target, flights.admitted(), scratch, before)
    assert result == Applied(UuidMap(scratch.shadow_uuid, before))
    assert sum(b"EXCHANGE TABLES" in request for request in proxy.requests) == 1


def test_a_chunk_whose_answer_is_lost_is_unknown_and_not_sent_again(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher, applied: Callable[..., Any]
) -> None:
    scratch = applied(flights.publisher.create_scratch(flights.plan, flights.target, flights.admitted()))
    chunk = flights.parquet(flights.day())
    proxy.drop_answer_to = b"INSERT+INTO"
    result = over_proxy.load_chunk(flights.target, flights.admitted(), scratch, 1, chunk)
    assert isinstance(result, Unknown)
    assert sum(b"INSERT+INTO" in request for request in proxy.requests) == 1
    rows, _ = flights.publisher.staging_content(flights.plan, flights.target, flights.admitted(), scratch)
    assert rows == 550


def test_a_rename_whose_answer_is_lost_is_settled_by_the_names(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    proxy.drop_answer_to = b"RENAME"
    burned = over_proxy.burn_shadow_name(
        flights.target, flights.admitted(NEXT_ATTEMPT), scratch, flights.target_uuid()
    )
    assert isinstance(burned, Applied)
    assert burned.value.shadow != scratch.shadow
    assert flights.publisher.uuid_map(flights.target, burned.value).shadow_uuid == scratch.shadow_uuid


def test_a_drop_whose_answer_is_lost_is_settled_by_absence(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    proxy.drop_answer_to = b"DROP+TABLE"
    result = over_proxy.drop_scratch(
        flights.target, flights.admitted(), scratch.staging, scratch.staging_uuid
    )
    assert result == Applied(None)


def test_a_drop_that_is_refused_behind_its_effect_is_settled_by_absence(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    proxy.refuse = b"DROP+TABLE"
    behind = over_proxy.drop_scratch(
        flights.target, flights.admitted(), scratch.staging, scratch.staging_uuid
    )
    assert behind == Applied(None)


def test_no_statement_of_a_build_is_sent_again_when_its_answer_is_lost(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch = flights.staged()
    proxy.drop_answer_to = b"ATTACH PARTITION"
    result = over_proxy.build_shadow(flights.plan, flights.target, flights.admitted(), scratch)
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"
    assert sum(b"ATTACH PARTITION" in request for request in proxy.requests) == 1


def test_a_create_that_is_refused_behind_its_effect_is_unknown(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    proxy.refuse = b"CREATE TABLE"
    result = over_proxy.create_scratch(flights.plan, flights.target, flights.admitted())
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"
    assert result.reason.evidence["clickhouse_code"] == "159"


@pytest.mark.parametrize("refused", [False, True], ids=["answered", "refused"])
@pytest.mark.parametrize(
    ("word", "code"),
    [
        (b"CREATE TABLE", "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"),
        (b"INSERT+INTO", "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"),
        (b"INSERT INTO", "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"),
        (b"DROP TABLE", "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"),
        (b"RENAME", "DPONE_CLICKHOUSE_OUTCOME_UNKNOWN"),
        (b"EXCHANGE", "DPONE_EXCHANGE_UNKNOWN"),
    ],
)
def test_an_effect_that_cannot_be_read_back_is_unknown_and_no_failed_read(
    flights: Any,
    proxy: Proxy,
    over_proxy: ClickHousePublisher,
    applied: Callable[..., Any],
    word: bytes,
    code: str,
    *,
    refused: bool,
) -> None:
    plan, target, admitted = flights.plan, flights.target, flights.admitted()
    own = flights.publisher
    call: Callable[[], Any]
    match word:
        case b"CREATE TABLE":
            call = partial[Any](over_proxy.create_scratch, plan, target, admitted)
        case b"INSERT+INTO":
            scratch = applied(own.create_scratch(plan, target, admitted))
            chunk = flights.parquet(flights.day())
            call = partial[Any](over_proxy.load_chunk, target, admitted, scratch, 1, chunk)
        case b"INSERT INTO":
            call = partial[Any](over_proxy.build_shadow, plan, target, admitted, flights.staged())
        case b"DROP TABLE":
            scratch = flights.staged()
            call = partial[Any](
                over_proxy.drop_scratch, target, admitted, scratch.staging, scratch.staging_uuid
            )
        case b"RENAME":
            scratch, _ = flights.built()
            call = partial[Any](over_proxy.burn_shadow_name, target, admitted, scratch, flights.target_uuid())
        case _:
            scratch, _ = flights.built()
            call = partial[Any](over_proxy.exchange, target, admitted, scratch, flights.target_uuid())
    proxy.deaf_behind, proxy.refuse = word, word if refused else None
    result = call()
    if word == b"INSERT+INTO" and not refused:
        # The server's own count is the answer: there is nothing to read back.
        assert isinstance(result, Applied)
        return
    assert proxy.deaf
    assert isinstance(result, Unknown)
    assert result.reason.code == code


def test_a_delayed_exchange_fails_on_the_burned_name(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    before = flights.target_uuid()
    proxy.hold = b"EXCHANGE"
    result = over_proxy.exchange(flights.target, flights.admitted(), scratch, before)
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_EXCHANGE_UNKNOWN"
    burned = flights.publisher.burn_shadow_name(
        flights.target, flights.admitted(NEXT_ATTEMPT), scratch, before
    )
    assert isinstance(burned, Applied)
    assert burned.value.shadow.name.startswith("dpone_shadow_0a0a0a0a0a0a0a0a_0c0c")
    again = flights.publisher.exchange(flights.target, flights.admitted(NEXT_ATTEMPT), burned.value, before)
    assert isinstance(again, Applied)
    proxy.released.set()
    assert proxy.late_done.wait(60)
    assert b"X-ClickHouse-Exception-Code: 60" in proxy.late_answer
    assert flights.publisher.uuid_map(flights.target, burned.value) == UuidMap(scratch.shadow_uuid, before)


def test_every_statement_of_a_generation_runs_under_the_targets_own_limit(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    flights.limits["max_statement_seconds"] = 77
    flights.publisher = over_proxy
    scratch, build = flights.built()
    flights.prove(scratch, build)
    before = flights.target_uuid()
    assert isinstance(over_proxy.exchange(flights.target, flights.admitted(), scratch, before), Applied)
    over_proxy.burn_shadow_name(flights.target, flights.admitted(), scratch, before)
    over_proxy.authority(flights.target)
    tagged = [request for request in proxy.requests if b"log_comment=" in request]
    assert len(tagged) > 20
    assert [request for request in tagged if b"max_execution_time=77" not in request] == []


def test_a_statement_that_takes_longer_than_its_target_allows_is_refused_by_the_server(flights: Any) -> None:
    connection = flights.connection()
    with pytest.raises(StatementRefusedError) as refused:
        connection.rows(
            "SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_block_size = 1", Tag("t-", "slow", 1)
        )
    assert refused.value.name == "TIMEOUT_EXCEEDED"
    connection.close()


def test_an_attempt_that_burns_twice_never_uses_a_name_again(flights: Any) -> None:
    scratch, _ = flights.built()
    target, admitted, before = flights.target, flights.admitted(), flights.target_uuid()
    first = flights.publisher.burn_shadow_name(target, admitted, scratch, before)
    assert isinstance(first, Applied)
    second = flights.publisher.burn_shadow_name(target, admitted, first.value, before)
    assert isinstance(second, Applied)
    assert len({scratch.shadow.name, first.value.shadow.name, second.value.shadow.name}) == 3
    assert flights.publisher.find_scratch(flights.plan, target, admitted) == second.value


def test_a_successor_with_a_shadow_of_its_own_burns_its_predecessors_under_a_name_that_is_free(
    flights: Any, applied: Callable[..., Any]
) -> None:
    scratch, _ = flights.built()
    successor, before = flights.admitted(NEXT_ATTEMPT), flights.target_uuid()
    own = applied(flights.publisher.create_scratch(flights.plan, flights.target, successor))
    applied(flights.publisher.exchange(flights.target, successor, scratch, before))
    burned = applied(flights.publisher.burn_shadow_name(flights.target, successor, scratch, before))
    assert burned.shadow not in {scratch.shadow, own.shadow}
    assert flights.publisher.uuid_map(flights.target, burned) == UuidMap(scratch.shadow_uuid, before)
    assert flights.publisher.find_scratch(flights.plan, flights.target, successor) == own


def test_an_exchange_that_is_delivered_again_behind_the_burn_fails_and_takes_nothing_back(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    before = flights.target_uuid()
    result = over_proxy.exchange(flights.target, flights.admitted(), scratch, before)
    assert isinstance(result, Applied)
    sent = next(request for request in proxy.requests if b"EXCHANGE" in request)
    burned = over_proxy.burn_shadow_name(flights.target, flights.admitted(), scratch, before)
    assert isinstance(burned, Applied)
    assert b"X-ClickHouse-Exception-Code: 60" in proxy.deliver_again(sent)
    assert flights.publisher.uuid_map(flights.target, burned.value) == UuidMap(scratch.shadow_uuid, before)


def test_an_exchange_that_is_delivered_again_before_the_burn_shows_in_the_map_behind_it(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    before = flights.target_uuid()
    assert isinstance(over_proxy.exchange(flights.target, flights.admitted(), scratch, before), Applied)
    sent = next(request for request in proxy.requests if b"EXCHANGE" in request)
    assert b"200 OK" in proxy.deliver_again(sent)
    burned = over_proxy.burn_shadow_name(flights.target, flights.admitted(), scratch, before)
    assert isinstance(burned, Applied)
    assert burned.value.shadow_uuid == scratch.shadow_uuid
    assert flights.publisher.uuid_map(flights.target, burned.value) == UuidMap(before, scratch.shadow_uuid)
    assert isinstance(
        flights.publisher.exchange(flights.target, flights.admitted(), burned.value, before), Applied
    )


def test_what_an_earlier_attempt_burned_is_found_by_exact_uuid(flights: Any) -> None:
    scratch, _ = flights.built()
    target, before = flights.target, flights.target_uuid()
    assert isinstance(flights.publisher.exchange(target, flights.admitted(), scratch, before), Applied)
    first = flights.publisher.burn_shadow_name(target, flights.admitted(), scratch, before)
    second = flights.publisher.burn_shadow_name(target, flights.admitted(NEXT_ATTEMPT), scratch, before)
    assert isinstance(first, Applied)
    assert first == second
    assert flights.publisher.uuid_map(target, first.value) == UuidMap(scratch.shadow_uuid, before)


def test_a_refused_exchange_with_the_predecessor_map_is_not_applied(
    flights: Any, proxy: Proxy, over_proxy: ClickHousePublisher
) -> None:
    scratch, _ = flights.built()
    wrong = flights.publisher.exchange(flights.target, flights.admitted(), scratch, scratch.shadow_uuid)
    assert isinstance(wrong, NotApplied)
    assert wrong.reason.code == "DPONE_TARGET_UUID_DRIFT"
    result = flights.publisher.exchange(flights.target, flights.admitted(), scratch, flights.target_uuid())
    assert isinstance(result, Applied)
    twice = flights.publisher.exchange(flights.target, flights.admitted(), scratch, result.value.shadow_uuid)
    assert isinstance(twice, NotApplied)


SLOW = {"max_block_size": 1, "max_threads": 1, "function_sleep_max_microseconds_per_block": 10**9}


@contextmanager
def running(flights: Any, statement: str) -> Iterator[None]:
    """A statement that runs for a while beside the block, and is done behind it."""
    beside = threading.Thread(target=flights.run, args=(statement,), kwargs=SLOW)
    beside.start()
    connection, tag = flights.connection(), Tag("t-", "look")
    seen = (
        "SELECT count() FROM system.processes WHERE position(query, 'slept') > 0 AND query_kind != 'Select'"
    )
    while beside.is_alive() and not connection.scalar(seen, tag):
        pass
    try:
        yield
        assert connection.scalar(seen, tag), "the statement ended before the test looked"
    finally:
        connection.close()
        beside.join()


def test_an_insert_that_is_under_way_over_the_exchange_is_seen_behind_it_and_lands_in_the_predecessor(
    flights: Any,
) -> None:
    scratch, build = flights.built()
    proof, before = flights.prove(scratch, build), flights.target_uuid()
    slow = "INSERT INTO db.flights SELECT * FROM db.flights WHERE flight < 200 AND sleepEachRow(0.02) = 0 /* slept */"
    with running(flights, slow):
        exchanged = flights.publisher.exchange(flights.target, flights.admitted(), scratch, before)
        assert isinstance(exchanged, Applied)
        under_way = flights.publisher.authority(flights.target)
    codes = [code for code, _ in under_way.refusals]
    assert (codes, under_way.uuid) == (["DPONE_CLICKHOUSE_WRITER_ACTIVE"], scratch.shadow_uuid)
    assert flights.publisher.authority(flights.target).refusals == ()
    assert flights.publisher.parts_digest(flights.target, before) != proof.target_parts_digest


def test_who_reads_the_target_into_another_table_is_no_writer_of_it(flights: Any) -> None:
    flights.run("CREATE TABLE db.flights_daily AS db.flights")
    reading = "INSERT INTO db.flights_daily SELECT * FROM db.flights WHERE flight < 100 AND sleepEachRow(0.01) = 0 /* slept */"
    with running(flights, reading):
        assert flights.publisher.authority(flights.target).refusals == ()


@pytest.mark.parametrize(
    ("statement", "writes"),
    [
        ("INSERT INTO db.flights VALUES", True),
        ("insert into table `db` . `flights` (at) SELECT 1", True),
        ("INSERT INTO flights FORMAT Parquet", True),
        ("INSERT INTO FUNCTION remote('127.0.0.1', db.flights) SELECT 1", True),
        ("WITH 1 AS x INSERT INTO other SELECT * FROM flights", True),
        ("/* INSERT INTO other ( */ INSERT INTO db.flights SELECT 1", True),
        ("ALTER TABLE db.flights DELETE WHERE 1", True),
        ("INSERT INTO db.other SELECT * FROM db.flights", False),
        ("INSERT INTO `flights`.`other` (a) SELECT 1", False),
    ],
)
def test_only_a_plain_insert_into_another_name_is_known_not_to_write(statement: str, *, writes: bool) -> None:
    assert mentions(statement, "flights")
    assert inserts_elsewhere(statement, "flights") is not writes


def test_without_a_server_the_exchange_is_not_applied_and_reads_are_errors(
    flights: Any, applied: Callable[..., Any]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        connection = Connection(replace(flights.endpoint, port=closed.getsockname()[1]))
        publisher = ClickHousePublisher(connection, disk_reserve_bytes=1)
        with pytest.raises(DponeError) as unavailable:
            publisher.authority(flights.target)
    assert unavailable.value.code == "DPONE_CLICKHOUSE_UNAVAILABLE"


def test_a_write_to_the_predecessor_shows_in_its_parts_and_a_merge_does_not(flights: Any) -> None:
    uuid = flights.target_uuid()
    before = flights.publisher.parts_digest(flights.target, uuid)
    flights.run("OPTIMIZE TABLE db.flights FINAL")
    assert flights.publisher.parts_digest(flights.target, uuid) == before
    flights.run("INSERT INTO db.flights SELECT * FROM db.flights LIMIT 1")
    assert flights.publisher.parts_digest(flights.target, uuid) != before
    assert flights.publisher.parts_digest(flights.target, "00000000-0000-4000-8000-000000000000") is None
