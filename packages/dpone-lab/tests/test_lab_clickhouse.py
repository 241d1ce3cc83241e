"""The lab's ClickHouse serves the ordinary client on both faces and keeps what it acknowledged."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import urllib.request
from decimal import Decimal
from typing import TYPE_CHECKING
from urllib.error import HTTPError

import clickhouse_connect
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from dpone_lab.clickhouse import library, process, server_face

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.engine


def _library(face: str) -> Path | None:
    if face == "chdb":
        return None
    try:
        return library.find()
    except library.LibraryUnavailableError as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="module", params=["chdb", "server"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[process.ClickHouseProcess]:
    face = str(request.param)
    running = process.start(tmp_path_factory.mktemp(face), face=face, library=_library(face))
    yield running
    running.stop()


def _client(engine: process.ClickHouseProcess, **options: object) -> Client:
    return clickhouse_connect.get_client(
        host=engine.host, port=engine.port, username=engine.user, password=engine.password, **options
    )


@pytest.fixture
def client(engine: process.ClickHouseProcess) -> Iterator[Client]:
    client = _client(engine)
    client.command("CREATE DATABASE lab ENGINE = Atomic")
    yield client
    client.command("DROP DATABASE lab SYNC")
    client.close()


def test_types_arrive_as_the_client_reads_them_from_a_server(client: Client) -> None:
    client.command(
        "CREATE TABLE lab.t (k Int64, d Decimal(38, 4), at DateTime64(6, 'UTC'), u UUID, n Nullable(String))"
        " ENGINE = MergeTree ORDER BY k"
    )
    client.command(
        "INSERT INTO lab.t VALUES (-9223372036854775808, -1.5, '1900-01-01 00:00:00.000001',"
        " '00112233-4455-6677-8899-aabbccddeeff', NULL)"
    )
    ((k, d, at, u, n),) = client.query("SELECT * FROM lab.t").result_rows
    assert (k, d, n) == (-9223372036854775808, Decimal("-1.5000"), None)
    assert at.isoformat(sep=" ").startswith("1900-01-01 00:00:00.000001")
    assert str(u) == "00112233-4455-6677-8899-aabbccddeeff"


def test_parquet_bytes_are_inserted_as_they_are(client: Client) -> None:
    client.command("CREATE TABLE lab.t (a Int64, b String) ENGINE = MergeTree ORDER BY a")
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"a": list(range(1000)), "b": ["; FORMAT x\n" + str(i) for i in range(1000)]}), sink
    )
    client.command("INSERT INTO lab.t FORMAT Parquet", data=sink.getvalue())
    assert client.query(
        "SELECT count(), sum(a), countIf(b = concat('; FORMAT x\\n', toString(a))) FROM lab.t"
    ).result_rows == [(1000, 499500, 1000)]


@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip", ""])
def test_compressed_native_inserts_arrive_whole(
    engine: process.ClickHouseProcess, client: Client, compression: str
) -> None:
    client.command("CREATE TABLE lab.t (a Int64, b Nullable(String)) ENGINE = MergeTree ORDER BY a")
    writer = _client(engine, compress=compression or False)
    writer.insert("lab.t", [[i, None if i % 2 else "x" * 50] for i in range(5000)], column_names=["a", "b"])
    assert client.query("SELECT count(), countIf(b IS NULL) FROM lab.t").result_rows == [(5000, 2500)]


def test_a_streamed_body_without_length_is_read_in_chunks(client: Client) -> None:
    client.command("CREATE TABLE lab.t (a Int64) ENGINE = MergeTree ORDER BY a")
    client.raw_insert("lab.t", ["a"], (f"{i}\n".encode() for i in range(100)), fmt="TSV")
    assert client.command("SELECT sum(a) FROM lab.t") == 4950


def test_settings_of_one_statement_do_not_outlive_it(client: Client) -> None:
    mine = client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 777}).result_rows
    after = client.query("SELECT getSetting('max_block_size')").result_rows
    assert mine == [(777,)]
    assert after != [(777,)]


def test_parameters_are_bound_by_the_server(client: Client) -> None:
    rows = client.query("SELECT {x:String} AS x", parameters={"x": "it's; -- \\ `quoted`"}).result_rows
    assert rows == [("it's; -- \\ `quoted`",)]


def test_a_query_id_is_echoed_and_log_comment_is_seen_in_processes(client: Client) -> None:
    result = client.query(
        "SELECT count() FROM system.processes WHERE Settings['log_comment'] = 'attempt-7'",
        settings={"query_id": "attempt-7-1", "log_comment": "attempt-7"},
    )
    assert result.query_id == "attempt-7-1"
    assert result.result_rows == [(1,)]


@pytest.mark.parametrize(
    ("statement", "code"), [("SELECT * FROM lab.absent", 60), ("SELEC 1", 62), ("SELECT throwIf(1)", 395)]
)
def test_errors_carry_the_engines_code(client: Client, statement: str, code: int) -> None:
    with pytest.raises(DatabaseError) as refused:
        client.command(statement)
    assert refused.value.code == code


def test_several_statements_in_one_request_are_refused_before_the_first(client: Client) -> None:
    client.command("CREATE TABLE lab.t (a Int64) ENGINE = MergeTree ORDER BY a")
    with pytest.raises(DatabaseError) as refused:
        client.command("INSERT INTO lab.t SELECT 1; DROP TABLE lab.t")
    assert refused.value.code == 62
    assert client.command("SELECT count() FROM lab.t") == 0


def test_a_wrong_password_is_516(engine: process.ClickHouseProcess) -> None:
    request = urllib.request.Request(  # noqa: S310
        f"{engine.url}/?query=SELECT%201", headers={"X-ClickHouse-User": "lab", "X-ClickHouse-Key": "no"}
    )
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)  # noqa: S310
    assert refused.value.headers["X-ClickHouse-Exception-Code"] == "516"


def test_nobody_reads_a_table_without_a_password(engine: process.ClickHouseProcess, client: Client) -> None:
    client.command("CREATE TABLE lab.t (a Int64) ENGINE = MergeTree ORDER BY a")
    with pytest.raises(HTTPError):
        urllib.request.urlopen(f"{engine.url}/?query=SELECT%20*%20FROM%20lab.t", timeout=30)  # noqa: S310


def test_a_killed_client_does_not_end_the_engine(engine: process.ClickHouseProcess, client: Client) -> None:
    client.command("CREATE TABLE lab.t (a Int64) ENGINE = MergeTree ORDER BY a")
    with socket.create_connection((engine.host, engine.port)) as torn:
        torn.sendall(
            b"POST /?query=INSERT+INTO+lab.t+FORMAT+TSV HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n1\n2\n"
        )
    assert client.command("SELECT 1") == 1


@pytest.mark.parametrize("face", ["chdb", "server"])
def test_killed_and_started_again_it_has_exactly_what_was_acknowledged(face: str, tmp_path: Path) -> None:
    first = process.start(tmp_path, face=face, library=_library(face))
    client = _client(first)
    client.command("CREATE DATABASE lab ENGINE = Atomic")
    for name in ("a", "b"):
        client.command(f"CREATE TABLE lab.{name} (k Int64) ENGINE = MergeTree ORDER BY k")
    client.insert("lab.a", [[1], [2]], column_names=["k"])
    before = dict(client.query("SELECT name, uuid FROM system.tables WHERE database = 'lab'").result_rows)
    client.command("EXCHANGE TABLES lab.a AND lab.b")
    first.kill()
    second = process.start(tmp_path, face=face, library=_library(face))
    try:
        client = _client(second)
        after = dict(client.query("SELECT name, uuid FROM system.tables WHERE database = 'lab'").result_rows)
        assert after == {"a": before["b"], "b": before["a"]}
        assert client.query("SELECT k FROM lab.b ORDER BY k").result_rows == [(1,), (2,)]
    finally:
        second.stop()


def test_sigterm_ends_it_with_exit_0_and_leaves_no_listener(tmp_path: Path) -> None:
    running = process.start(tmp_path)
    running.stop()
    assert running._child.returncode == 0
    with pytest.raises(ConnectionRefusedError), socket.create_connection((running.host, running.port)):
        pass


def test_a_taken_port_is_one_clear_line_and_exit_1(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("x")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "dpone_lab.clickhouse",
            "--data",
            str(tmp_path / "d"),
            "--port",
            str(port),
            "--password-file",
            str(password),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert ended.returncode == 1
    assert ended.stderr.strip() == f"the lab's ClickHouse cannot start: port {port} of 127.0.0.1 is taken"
    assert not (tmp_path / "d").exists()


def test_the_server_face_has_users_grants_and_row_filters(tmp_path: Path) -> None:
    lib = _library("server")
    users = [
        server_face.LabUser("lab", "secret"),
        server_face.LabUser("reader", "r", ("GRANT SELECT ON lab.*",), {("lab", "t"): "a < 2"}),
    ]
    tmp_path.joinpath("conf").mkdir()
    configuration = server_face.write_configuration(tmp_path / "conf", users)
    running = process.start(
        tmp_path, face="server", library=lib, password="secret", config_file=configuration
    )
    try:
        client = _client(running)
        client.command("CREATE DATABASE lab ENGINE = Atomic")
        client.command("CREATE TABLE lab.t (a Int64) ENGINE = MergeTree ORDER BY a")
        client.command("INSERT INTO lab.t VALUES (1), (2), (3)")
        reader = clickhouse_connect.get_client(
            host=running.host, port=running.port, username="reader", password="r"
        )
        assert reader.query("SELECT a FROM lab.t").result_rows == [(1,)]
        with pytest.raises(DatabaseError) as refused:
            reader.command("DROP TABLE lab.t")
        assert refused.value.code == 497
        assert client.query("SELECT count() FROM system.row_policies").result_rows == [(1,)]
    finally:
        running.stop()
