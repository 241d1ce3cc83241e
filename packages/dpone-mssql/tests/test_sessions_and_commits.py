"""What a session and a transaction promise, with the wire cut where it hurts."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dpone_contracts.effects import Applied, NotApplied, Reason, Unknown
from dpone_contracts.ports.refresh_state import AllocationAmounts
from dpone_contracts.relations import SqlRelation
from dpone_mssql.catalog import MssqlDdlFreeze
from dpone_mssql.connection import (
    Refused,
    Session,
    SqlServerConfig,
    SqlServerError,
    Transaction,
    commit_serializable,
)
from dpone_mssql.testing.refreshed import Refreshed, applied, refreshed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.testing.plan_example import ExampleModel
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

COMMIT = "COMMIT TRANSACTION".encode("utf-16-le")
ADMISSION_UNKNOWN = "DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN"


def test_limits_that_mean_for_ever_are_refused() -> None:
    with pytest.raises(ValueError, match="for ever"):
        SqlServerConfig("", 1, 1, 0)


def test_an_error_behind_the_first_result_set_is_seen(installer: SqlServerConfig) -> None:
    with Session(installer) as session, pytest.raises(SqlServerError) as seen:
        session.rows("SELECT 1; THROW 51999, N'DPONE_BEHIND', 1;")
    assert (seen.value.number, seen.value.name) == (51999, "DPONE_BEHIND")


def test_a_statement_timeout_fires_and_the_transaction_is_gone(installer: SqlServerConfig) -> None:
    hasty = replace(installer, statement_timeout_seconds=1)

    def wait(tx: Transaction) -> None:
        tx.rows("WAITFOR DELAY '00:00:30';")

    assert isinstance(commit_serializable(hasty, wait, unknown_code="X"), NotApplied)


def test_a_lock_timeout_is_not_applied_and_says_so(
    installer: SqlServerConfig, runtime: SqlServerConfig
) -> None:
    with Session(installer) as holder:
        holder.rows("BEGIN TRANSACTION;")
        holder.rows("UPDATE [dpone_control].[fence_counter] SET [last_epoch] = [last_epoch];")
        result = commit_serializable(
            replace(runtime, lock_timeout_ms=200),
            lambda tx: tx.write("UPDATE [dpone_control].[fence_counter] SET [last_epoch] = [last_epoch]"),
            unknown_code="X",
        )
    assert isinstance(result, NotApplied)
    assert (result.reason.code, result.reason.evidence["sql_error"]) == ("DPONE_MSSQL_LOCK_TIMEOUT", "1222")


def test_a_refusal_rolls_back_what_was_written(installer: SqlServerConfig) -> None:
    def refuse(tx: Transaction) -> None:
        assert tx.write("UPDATE [dpone_control].[fence_counter] SET [last_epoch] = [last_epoch] + 7") == 1
        raise Refused(Reason("DPONE_GUARD_HELD", "x"))

    before = epoch(installer)
    assert commit_serializable(installer, refuse, unknown_code="X") == NotApplied(
        Reason("DPONE_GUARD_HELD", "x")
    )
    assert epoch(installer) == before


def test_a_transaction_that_the_server_ended_is_not_written_to(installer: SqlServerConfig) -> None:
    def lose(tx: Transaction) -> int:
        tx.rows("ROLLBACK TRANSACTION;")
        return tx.write("UPDATE [dpone_control].[fence_counter] SET [last_epoch] = [last_epoch] + 7")

    before = epoch(installer)
    result = commit_serializable(installer, lose, unknown_code="X")
    assert isinstance(result, NotApplied)
    assert result.reason.evidence["name"] == "DPONE_MSSQL_TRANSACTION_LOST"
    assert epoch(installer) == before


def test_an_unreachable_server_is_not_applied(installer: SqlServerConfig) -> None:
    nowhere = replace(through(installer, 1), login_timeout_seconds=2)
    result = commit_serializable(nowhere, lambda _: None, unknown_code="X")
    assert isinstance(result, NotApplied)
    assert result.reason.code == "DPONE_MSSQL_UNREACHABLE"


def test_a_wrong_password_is_told_without_the_password(installer: SqlServerConfig) -> None:
    wrong = replace(
        installer, connection_string=re.sub(r"PWD=[^;]*", "PWD=canary-7781", installer.connection_string)
    )
    assert "canary" not in repr(wrong)
    with pytest.raises(SqlServerError) as refused:
        Session(wrong)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "request lost"])
def test_a_commit_without_an_answer_is_unknown_whether_it_landed_or_not(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel, *, arrives: bool
) -> None:
    found = refreshed(installer, names, (keys_only,))
    binding = found.example.binding("run-1")
    applied(found.state.bind_execution(binding, found.example.bundle, "run-1"))
    with cutting_proxy(installer, arrives=arrives) as port:
        cut = replace(found, config=through(installer, port))
        result = cut.state.admit(binding, found.example.bundle, found.worker("run-1"), amounts_of(found))
    assert isinstance(result, Unknown)
    assert result.reason.code == ADMISSION_UNKNOWN
    assert (found.state.read_admission(binding.digest) is not None) is arrives


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "request lost"])
def test_a_freeze_without_an_answer_is_unknown_and_covering_again_says_the_epoch(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel, *, arrives: bool
) -> None:
    found = refreshed(installer, names, (keys_only,))
    name = f"frozen_{found.models[0].name}"
    found.sql(f"CREATE TABLE [mart].[{name}] ([id] int NULL);")
    target = SqlRelation(found.target.mssql_control_database, "mart", name)
    with cutting_proxy(installer, arrives=arrives) as port:
        result = MssqlDdlFreeze(through(installer, port), names).cover(target, ())
    assert isinstance(result, Unknown)
    assert result.reason.code == "DPONE_DDL_FREEZE_COMMIT_UNKNOWN"
    freeze = MssqlDdlFreeze(installer, names)
    assert freeze.epoch(target) == (1 if arrives else None)
    assert freeze.cover(target, ()) == Applied(1)
    assert freeze.cover(target, ()) == Applied(1)


def test_after_an_unanswered_commit_the_handle_is_closed_without_a_rollback(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    found = refreshed(installer, names, (keys_only,))
    binding = found.example.binding("run-1")
    applied(found.state.bind_execution(binding, found.example.bundle, "run-1"))
    sent_later: list[bytes] = []
    with cutting_proxy(installer, arrives=False, sent_later=sent_later) as port:
        cut = replace(found, config=through(installer, port))
        result = cut.state.admit(binding, found.example.bundle, found.worker("run-1"), amounts_of(found))
    assert isinstance(result, Unknown)
    assert "ROLLBACK".encode("utf-16-le") not in b"".join(sent_later).upper()
    assert "SELECT".encode("utf-16-le") not in b"".join(sent_later).upper()


def test_a_document_whose_acknowledgement_was_lost_may_be_sent_again(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    found = refreshed(installer, names, (keys_only,), activate=False)
    found.adopt()
    record = found.record()
    with cutting_proxy(installer, arrives=True) as port:
        cut = replace(found, config=through(installer, port))
        assert isinstance(cut.activations.activate(record), Unknown)
    assert isinstance(found.activations.activate(record), Applied)


def epoch(config: SqlServerConfig) -> int:
    with Session(config) as session:
        return int(session.rows("SELECT f.[last_epoch] FROM [dpone_control].[fence_counter] AS f;")[0][0])


def amounts_of(found: Refreshed) -> dict[str, AllocationAmounts]:
    return {
        plan.operation_id: AllocationAmounts(1, 1, 1, 1, 1) for plan in found.example.bundle.operation_plans
    }


def address(config: SqlServerConfig) -> tuple[str, int]:
    host = re.search(r"SERVER=(?:tcp:)?([^,;]+)(?:,(\d+))?", config.connection_string, re.IGNORECASE)
    assert host is not None
    return host[1], int(host[2] or 1433)


def through(config: SqlServerConfig, port: int) -> SqlServerConfig:
    """The same server behind a port of this machine."""
    text = re.sub(r"SERVER=[^;]*", f"SERVER=127.0.0.1,{port}", config.connection_string, flags=re.IGNORECASE)
    return replace(config, connection_string=re.sub(r"PORT=\d+", f"PORT={port}", text, flags=re.IGNORECASE))


@contextmanager
def cutting_proxy(
    config: SqlServerConfig, *, arrives: bool, sent_later: list[bytes] | None = None
) -> Iterator[int]:
    """Forward one connection until COMMIT is sent; then pass it on (or not) and cut before any answer comes back.

    With `sent_later` only the way back is cut, and what the client still sends is kept there.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Thread(
            target=_forward,
            args=(listener, address(config)),
            kwargs={"arrives": arrives, "sent_later": sent_later},
        )
        ended.start()
        yield int(listener.getsockname()[1])
        ended.join(timeout=30)
        assert not ended.is_alive()


def _forward(
    listener: socket.socket, server: tuple[str, int], *, arrives: bool, sent_later: list[bytes] | None
) -> None:
    client, _ = listener.accept()
    with client, socket.create_connection(server) as upstream:
        answers = threading.Thread(target=_answers, args=(upstream, client))
        answers.start()
        while data := client.recv(65536):
            if COMMIT not in data:
                upstream.sendall(data)
                continue
            client.shutdown(socket.SHUT_RDWR if sent_later is None else socket.SHUT_WR)
            if arrives:
                upstream.sendall(data)
                # The server answers once it has committed; that answer goes nowhere.
                upstream.settimeout(30)
            else:
                upstream.shutdown(socket.SHUT_RDWR)
            while sent_later is not None and (late := client.recv(65536)):
                sent_later.append(late)
            break
        answers.join(timeout=30)


def _answers(upstream: socket.socket, client: socket.socket) -> None:
    while data := upstream.recv(65536):
        try:
            client.sendall(data)
        except OSError:
            return
