"""Gates that a healthy batch can't reach: a statement of somebody else's is put between two steps of the real batch.

What the type gate, NOT NULL columns and the exclusive lock make impossible for others is done by the session itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpone_mssql.connection import Session, SqlServerConfig, SqlServerError
from dpone_mssql.gates import GATES
from dpone_mssql.literals import local_name
from dpone_mssql.testing.refreshed import Refreshed, refreshed

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.plan_example import ExampleModel
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

ROWS = (
    "('2026-08-08T01:00:00', 1, 1, 1.50, N'abc', 0), "
    "('2026-08-08T02:00:00', 1, 2, NULL, N'MISSING', 1), "
    "('2026-08-08T03:00:00', 2, 3, -0.25, NULL, 0)"
)
COLUMNS = "[time_hour], [carrier_id], [flight], [dep_delay], [tail_number], [cancelled]"
# One row is updated, one is new.
MODEL = (
    "SELECT [time_hour], [carrier_id], [flight], [dep_delay], CAST(N'ABC ' AS nvarchar(20)) AS [tail_number], "
    "[cancelled] FROM {table} WHERE [flight] = 1 "
    "UNION ALL SELECT CAST('2026-08-08T04:00:00' AS datetime2(6)), [carrier_id], CAST(4 AS int), [dep_delay], "
    "[tail_number], [cancelled] FROM {table} WHERE [flight] = 3"
)
NEXT_DAY = "VALUES ('2026-08-09T00:00:00', 1, 9, NULL, NULL, 0);"
IN_SCOPE = "VALUES ('2026-08-08T09:00:00', 1, 9, NULL, NULL, 0);"
AGAIN = "VALUES ('2026-08-08T02:00:00', 1, 2, NULL, N'again', 0);"
SET_NULL = "ALTER TABLE {table} ALTER COLUMN [cancelled] bit NULL; UPDATE {table} SET [cancelled] = NULL;"

# Where a step of the batch begins: text that stands nowhere else in it.
TARGET = "-- The first touch of the target locks"
BEFORE_IMAGE = "INSERT INTO {before} WITH (TABLOCK)"
BEFORE_SCOPE = "IF EXISTS (SELECT 1 FROM {before} AS r WHERE NOT"
SOURCE_SCOPE = "IF EXISTS (SELECT 1 FROM #dpone_scope AS r WHERE NOT"
INSERT = "INSERT INTO {table} ("
RESULT = "IF @updated_rows + @inserted_rows <> @source_rows"
RESULT_COUNT = "SELECT @result_rows = COUNT_BIG(*), @result_bytes"
COMPARED = "-- Each source row stands"
AFTER_IMAGE = "INSERT INTO {after} WITH (TABLOCK)"
AFTER_SCOPE = "IF EXISTS (SELECT 1 FROM {after} AS r WHERE NOT"
LOG = "-- What the transaction has logged so far"
RECEIPT = "-- The receipt as canonical JSON"
END = "IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW 51009"


@pytest.fixture
def flights(installer: SqlServerConfig, names: ControlNames, flight: ExampleModel) -> Refreshed:
    return refreshed(installer, names, (flight,), rows=ROWS)


def tampered(found: Refreshed, admitted: AdmittedOperation, place: str, statement: str) -> str:
    """The rendered batch with a statement at the beginning of one of its steps."""
    sql, evidence = (
        found.mutation.render(found.plan, found.target, admitted).sql,
        found.evidence(admitted),
    )
    filled = {
        "table": found.table,
        "before": local_name(evidence.before_image.relation),
        "after": local_name(evidence.after_image.relation),
    }
    marker = place.format(**filled)
    assert sql.count(marker) == 1, f"the batch has {marker!r} not once"
    return sql.replace(marker, f"{statement.format(**filled)}\n{marker}")


def stopped_by(found: Refreshed, batch: str, model_sql: str) -> SqlServerError:
    """What a batch ends with that runs behind the model's result, as dbt runs it."""
    with Session(found.config) as session:
        session.rows("BEGIN TRANSACTION;")
        session.rows(f"SELECT * INTO {found.temp} FROM ({model_sql}) AS model_result;")
        with pytest.raises(SqlServerError) as refused:
            session.rows(batch)
    return refused.value


def content(found: Refreshed) -> list[str]:
    return sorted(map(repr, found.sql(f"SELECT * FROM {found.table};")))


@pytest.mark.parametrize(
    ("gate", "place", "statement"),
    [
        ("null_target", TARGET, SET_NULL),
        ("image", BEFORE_IMAGE, "INSERT INTO {table} " + IN_SCOPE),
        ("scope_target", BEFORE_SCOPE, "INSERT INTO {before} " + NEXT_DAY),
        ("scope_source", SOURCE_SCOPE, "INSERT INTO #dpone_scope " + NEXT_DAY),
        ("count", INSERT, "DELETE FROM #dpone_scope WHERE [flight] = 4;"),
        ("null_result", RESULT, SET_NULL),
        ("duplicate_result", RESULT, "INSERT INTO {table} " + AGAIN),
        ("count", RESULT_COUNT, "INSERT INTO {table} " + IN_SCOPE),
        ("bytes", COMPARED, "UPDATE {table} SET [tail_number] = N'abc ' WHERE [flight] = 1;"),
        ("bytes", COMPARED, "UPDATE {table} SET [tail_number] = N'ABC' WHERE [flight] = 1;"),
        ("image", AFTER_IMAGE, "INSERT INTO {table} " + IN_SCOPE),
        ("scope_result", AFTER_SCOPE, "INSERT INTO {after} " + NEXT_DAY),
        ("receipt", RECEIPT, "SET @before_sha256 = NULL;"),
    ],
)
def test_a_step_that_finds_a_relation_changed_stops_the_batch_and_nothing_stays(
    flights: Refreshed, gate: str, place: str, statement: str
) -> None:
    admitted, before = flights.started(), content(flights)
    error = stopped_by(
        flights, tampered(flights, admitted, place, statement), MODEL.format(table=flights.table)
    )
    assert (error.number, error.name) == (GATES[gate].number, GATES[gate].code)
    assert content(flights) == before
    evidence = flights.evidence(admitted)
    assert (evidence.receipt, evidence.fate) == (None, None)
    assert (evidence.before_image.row_count, evidence.after_image.row_count) == (0, 0)


def test_a_result_that_clickhouse_cannot_hold_stops_the_batch(
    installer: SqlServerConfig, names: ControlNames, weather: ExampleModel
) -> None:
    row = "('2026-08-08', '00000000-0000-0000-0000-000000000001', NULL, NULL, '2026-08-07')"
    found = refreshed(installer, names, (weather,), rows=row)
    admitted = found.started()
    batch = tampered(found, admitted, RESULT, "UPDATE {table} SET [seen_on] = '1969-12-31';")
    assert stopped_by(found, batch, f"SELECT * FROM {found.table}").number == GATES["domain_result"].number


@pytest.mark.parametrize("statement", ["BEGIN TRANSACTION;", "COMMIT TRANSACTION;"])
def test_a_batch_that_does_not_end_in_the_transaction_it_began_in_says_so(
    flights: Refreshed, statement: str
) -> None:
    admitted = flights.started()
    error = stopped_by(
        flights, tampered(flights, admitted, END, statement), MODEL.format(table=flights.table)
    )
    assert (error.number, error.name) == (
        GATES["transaction_lost"].number,
        GATES["transaction_lost"].code,
    )


def stops_alone(
    found: Refreshed, admitted: AdmittedOperation, begin: str, end: str, stand_ins: dict[str, str]
) -> int:
    """The error of one statement of the rendered batch, run alone over tables that stand for the engine's views."""
    sql = found.mutation.render(found.plan, found.target, admitted).sql
    statement = sql[sql.index(begin) : sql.index(end)]
    for real, stand_in in stand_ins.items():
        assert statement.count(real) == 1, real
        statement = statement.replace(real, stand_in)
    try:
        found.sql(statement)
    except SqlServerError as error:
        return error.number
    return 0


@pytest.mark.parametrize(
    ("logged", "stops"), [("VALUES (9, 1, 100)", False), ("VALUES (9, 1, 101)", True), (None, True)]
)
def test_log_beyond_the_budget_stops_the_batch_and_so_does_log_that_cannot_be_seen(
    flights: Refreshed, logged: str | None, *, stops: bool
) -> None:
    # The lab's engine has no transaction log: its view always shows 0 bytes.
    admitted, seen = flights.started(), f"[mart].[log_{flights.models[0].name}]"
    flights.sql(
        f"CREATE TABLE {seen} ([transaction_id] bigint NOT NULL, [database_id] int NOT NULL, "
        "[database_transaction_log_bytes_used] bigint NOT NULL);"
    )
    if logged:
        flights.sql(f"INSERT INTO {seen} {logged};")
    stand_ins = {
        "sys.dm_tran_database_transactions": seen,
        "CURRENT_TRANSACTION_ID()": "CAST(9 AS bigint)",
        "DB_ID()": "1",
        str(flights.target.resource_policy.max_transaction_log_bytes): "100",
    }
    number = stops_alone(flights, admitted, LOG, RECEIPT, stand_ins)
    assert number == (GATES["log_budget"].number if stops else 0)


@pytest.mark.parametrize(("level", "stops"), [(1, True), (2, False), (3, False), (4, False), (5, True)])
def test_a_dirty_read_or_a_stale_snapshot_is_no_isolation_for_it(
    flights: Refreshed, level: int, *, stops: bool
) -> None:
    # The lab refuses READ UNCOMMITTED and SNAPSHOT by name: PostgreSQL has neither as SQL Server means them.
    admitted, seen = flights.started(), f"[mart].[sessions_{flights.models[0].name}]"
    flights.sql(
        f"CREATE TABLE {seen} ([session_id] int NOT NULL, [transaction_isolation_level] int NOT NULL);"
    )
    flights.sql(f"INSERT INTO {seen} VALUES (7, {level});")
    stand_ins = {"sys.dm_exec_sessions": seen, "@@SPID": "7"}
    number = stops_alone(flights, admitted, "-- READ COMMITTED, REPEATABLE", "-- Nobody else", stand_ins)
    assert number == (GATES["session"].number if stops else 0)


@pytest.mark.parametrize(
    ("row", "stops"),
    [
        ("(1, N'lab', 0, 0)", False),
        ("(1, N'lab', 1, 0)", True),
        ("(1, N'lab', 0, 1)", True),
        ("(1, N'elsewhere', 0, 0)", True),
    ],
)
def test_a_database_that_is_not_the_planned_one_or_loses_commits_is_unfit(
    flights: Refreshed, row: str, *, stops: bool
) -> None:
    # A database of the lab can be neither read-only nor of delayed durability.
    admitted, seen = flights.started(), f"[mart].[databases_{flights.models[0].name}]"
    flights.sql(
        f"CREATE TABLE {seen} ([database_id] int NOT NULL, [name] nvarchar(128) NOT NULL, "
        "[is_read_only] int NOT NULL, [delayed_durability] int NOT NULL);"
    )
    flights.sql(f"INSERT INTO {seen} VALUES {row.replace('lab', flights.target.mssql_control_database)};")
    stand_ins = {"sys.databases": seen, "DB_ID()": "1"}
    begin, end = "-- The planned database, writable", "IF (@@OPTIONS"
    assert stops_alone(flights, admitted, begin, end, stand_ins) == (GATES["session"].number if stops else 0)


def test_a_receipt_whose_images_are_gone_is_no_receipt_of_this_mutation(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, MODEL.format(table=flights.table))
    flights.sql(f"DROP TABLE {local_name(flights.evidence(admitted).after_image.relation)};")
    with pytest.raises(SqlServerError) as refused:
        flights.run_batch(admitted, MODEL.format(table=flights.table))
    assert refused.value.number == GATES["image"].number
