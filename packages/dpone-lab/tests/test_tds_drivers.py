"""What pyodbc gets through FreeTDS and through the Microsoft driver: logins, types, parameters, results, faults."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyodbc
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_lab.sqlserver.server import Endpoint

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    ErrorOf = Callable[[Callable[[], object]], tuple[str, int]]
    Connect = Callable[..., pyodbc.Connection]
    Dsn = Callable[..., str]

pytestmark = pytest.mark.engine


def test_a_wrong_password_and_an_unknown_login_are_18456(connect_any: Connect, error: ErrorOf) -> None:
    assert error(lambda: connect_any(password="wrong"))[0] in ("28000", "42000")
    with pytest.raises(pyodbc.Error, match="18456"):
        connect_any(user="nobody")


def test_another_database_is_4060_at_login_and_911_in_use(
    connect_any: Connect, sql: Sql, error: ErrorOf
) -> None:
    with pytest.raises(pyodbc.Error, match="4060"):
        connect_any(database="other")
    assert error(lambda: sql(connect_any(), "USE other")) == ("08004", 911)
    sql(connect_any(), "USE LAB")


VALUES: list[tuple[str, Any]] = [
    ("bigint", 2**63 - 1),
    ("int", -(2**31)),
    ("smallint", -32768),
    ("tinyint", 255),
    ("bit", True),
    ("decimal(38,10)", Decimal("-1234567890123456789012345678.0123456789")),
    ("decimal(9,2)", Decimal("0.01")),
    ("float", 1.5),
    ("date", dt.date(2149, 6, 6)),
    ("datetime2(6)", dt.datetime.fromisoformat("2299-12-31T23:59:59.999999")),
    ("datetime2(0)", dt.datetime.fromisoformat("2013-01-01T00:00:01")),
    ("uniqueidentifier", uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")),
    ("nvarchar(50)", "é✓😀"),
    ("nvarchar(max)", "long " * 5000),
    ("varchar(50)", "plain"),
    ("varbinary(32)", b"\x00\x01\xff"),
    ("varbinary(max)", bytes(range(256)) * 100),
]


@pytest.mark.parametrize(("spelling", "value"), VALUES, ids=[spelling for spelling, _ in VALUES])
def test_every_type_comes_back_as_it_was_stored(
    connect_any: Connect, sql: Sql, spelling: str, value: Any
) -> None:
    db = connect_any()
    sql(db, f"DROP TABLE IF EXISTS dbo.ty; CREATE TABLE dbo.ty (id int NOT NULL, v {spelling} NULL)")
    sql(db, "INSERT dbo.ty (id, v) VALUES (?, ?)", 1, str(value) if isinstance(value, uuid.UUID) else value)
    sql(db, "INSERT dbo.ty (id, v) VALUES (2, NULL)")
    found = sql(db, "SELECT v FROM dbo.ty ORDER BY id")[-1]
    got = found[0][0]
    assert (uuid.UUID(got) if isinstance(value, uuid.UUID) else got) == value
    assert found[1] == (None,)


def test_null_parameters_take_the_type_of_their_column(connect_any: Connect, sql: Sql) -> None:
    db = connect_any()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.nu; CREATE TABLE dbo.nu (i int, d decimal(9,2), t datetime2(6), s nvarchar(8))",
    )
    sql(db, "INSERT dbo.nu (i, d, t, s) VALUES (?, ?, ?, ?)", None, None, None, None)
    assert sql(db, "SELECT i, d, t, s FROM dbo.nu")[-1] == [(None, None, None, None)]


def test_a_prepared_statement_runs_many_times(connect_any: Connect, sql: Sql) -> None:
    db = connect_any()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.many; CREATE TABLE dbo.many (i int NOT NULL PRIMARY KEY, s nvarchar(20))",
    )
    cursor = db.cursor()
    cursor.executemany("INSERT dbo.many (i, s) VALUES (?, ?)", [(i, f"row {i}") for i in range(50)])
    assert sql(db, "SELECT COUNT(*) AS n, MAX(i) AS m FROM dbo.many WHERE s LIKE N'row %'")[-1] == [(50, 49)]


def test_an_error_in_a_parameterised_statement_has_its_number(
    connect_any: Connect, sql: Sql, error: ErrorOf
) -> None:
    db = connect_any()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.dup; CREATE TABLE dbo.dup (i int NOT NULL PRIMARY KEY); INSERT dbo.dup VALUES (1)",
    )
    assert error(lambda: sql(db, "INSERT dbo.dup VALUES (?)", 1)) == ("23000", 2627)
    assert error(lambda: sql(db, "SELECT * FROM dbo.gone WHERE i = ?", 1)) == ("42S02", 208)
    assert sql(db, "SELECT ? AS x", 5)[-1] == [(5,)]


def test_commit_and_rollback_of_the_driver_work(connect_any: Connect, sql: Sql) -> None:
    db = connect_any(autocommit=False)
    sql(db, "DROP TABLE IF EXISTS dbo.cr; CREATE TABLE dbo.cr (i int)")
    db.commit()
    sql(db, "INSERT dbo.cr VALUES (1)")
    db.rollback()
    sql(db, "INSERT dbo.cr VALUES (2)")
    db.commit()
    assert sql(db, "SELECT i FROM dbo.cr")[-1] == [(2,)]
    db.rollback()


def test_print_arrives_as_a_message(connect_any: Connect) -> None:
    cursor = connect_any().cursor()
    cursor.execute("PRINT N'hello'")
    assert cursor.messages
    assert "hello" in cursor.messages[0][1]


def test_counts_follow_nocount(connect_any: Connect, sql: Sql) -> None:
    db = connect_any()
    sql(db, "DROP TABLE IF EXISTS dbo.co; CREATE TABLE dbo.co (i int)")
    cursor = db.cursor()
    assert cursor.execute("INSERT dbo.co VALUES (1), (2), (3)").rowcount == 3
    assert cursor.execute("SET NOCOUNT ON; UPDATE dbo.co SET i = 1").rowcount in (-1, 0)


def test_all_results_of_a_batch_arrive_in_order(connect_any: Connect, sql: Sql) -> None:
    batch = "SELECT 1 AS a; SELECT N'x' AS b, NULL AS c; SELECT 2 AS d WHERE 1 = 0"
    assert sql(connect_any(), batch) == [[(1,)], [("x", None)], []]


def test_a_large_result_is_streamed(connect_any: Connect, sql: Sql) -> None:
    db = connect_any()
    sql(db, "DROP TABLE IF EXISTS dbo.big; CREATE TABLE dbo.big (i int NOT NULL, s nvarchar(40) NOT NULL)")
    sql(db, "INSERT dbo.big VALUES (1, N'a row of some length'), (2, N'a row of some length')")
    for _ in range(14):
        sql(db, "INSERT dbo.big SELECT i + 2, s FROM dbo.big")
    cursor = db.cursor()
    cursor.execute("SELECT i, s FROM dbo.big")
    assert cursor.fetchone() is not None
    assert 1 + sum(len(rows) for rows in iter(lambda: cursor.fetchmany(5000), [])) == 2**15


def test_a_result_left_half_read_leaves_the_connection_usable(connect_any: Connect, sql: Sql) -> None:
    db = connect_any()
    sql(db, "DROP TABLE IF EXISTS dbo.half; CREATE TABLE dbo.half (i int); INSERT dbo.half VALUES (1), (2)")
    for _ in range(13):
        sql(db, "INSERT dbo.half SELECT i FROM dbo.half")
    cursor = db.cursor()
    cursor.execute("SELECT i FROM dbo.half")
    cursor.fetchone()
    cursor.close()
    assert sql(db, "SELECT COUNT(*) AS n FROM dbo.half")[-1] == [(2**14,)]


def test_arrow_odbc_reads_exact_types(
    endpoint: Endpoint, any_driver: str, connect_any: Connect, sql: Sql, dsn: Dsn
) -> None:
    arrow_odbc = pytest.importorskip("arrow_odbc")
    db = connect_any()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.ar; CREATE TABLE dbo.ar (i bigint NOT NULL, d decimal(18,4), t datetime2(6), s nvarchar(20));"
        " INSERT dbo.ar VALUES (1, 1.5, '2013-01-01T00:00:00.000001', N'é'), (2, NULL, NULL, NULL)",
    )
    reader = arrow_odbc.read_arrow_batches_from_odbc(
        query="SELECT i, d, t, s FROM dbo.ar ORDER BY i",
        connection_string=dsn(any_driver, endpoint.port),
        batch_size=1000,
    )
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert [(row["i"], row["d"], row["s"]) for row in rows] == [(1, Decimal("1.5000"), "é"), (2, None, None)]
    assert rows[0]["t"].microsecond == 1


def test_tls_wraps_the_whole_connection(endpoint: Endpoint, microsoft_driver: str, dsn: Dsn) -> None:
    text = dsn(microsoft_driver, endpoint.port, "Encrypt=yes")
    with pyodbc.connect(text) as db:
        assert db.execute("SELECT N'secret' AS s").fetchval() == "secret"


def test_freetds_encrypts_when_asked_by_its_own_word(
    endpoint: Endpoint, freetds_driver: str, dsn: Dsn
) -> None:
    text = dsn(freetds_driver, endpoint.port, "Encryption=require")
    with pyodbc.connect(text) as db:
        assert db.execute("SELECT N'secret' AS s").fetchval() == "secret"


def test_the_session_is_visible_with_what_the_client_said(endpoint: Endpoint, connect_any: Connect) -> None:
    db = connect_any(extra="APP=probe;WSID=pod-7")
    session = db.execute("SELECT @@SPID AS id").fetchval()
    (facts,) = [each for each in endpoint.shared.sessions.rows() if each.session_id == session]
    assert (facts.login, facts.program_name, facts.host_name) == ("sa", "probe", "pod-7")


@pytest.mark.parametrize(("kind", "rows"), [("drop_before", 0), ("drop_after", 1)])
def test_a_fault_cuts_the_connection_before_or_after_the_work(
    endpoint: Endpoint, connect: Connect, sql: Sql, tmp_path: Any, kind: str, rows: int
) -> None:
    from dpone_lab.sqlserver.faults import FaultPlan

    control = tmp_path / "faults.json"
    previous, endpoint.faults = endpoint.faults, FaultPlan(control)
    try:
        watcher, victim = connect(), connect(extra="APP=victim")
        sql(watcher, "DROP TABLE IF EXISTS dbo.ft; CREATE TABLE dbo.ft (i int)")
        control.write_text(
            json.dumps([{"id": kind, "kind": kind, "program": "victim", "text": "INSERT", "message": 2}])
        )
        sql(victim, "SELECT N'INSERT' AS first_match")
        with pytest.raises(pyodbc.Error):
            sql(victim, "INSERT dbo.ft VALUES (1)")
        assert sql(watcher, "SELECT COUNT(*) AS n FROM dbo.ft")[-1] == [(rows,)]
        assert control.with_suffix(".fired").read_text() == f"{kind}\n"
    finally:
        endpoint.faults = previous
