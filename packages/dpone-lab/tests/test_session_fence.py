"""The two things everything above stands on: a guard row that loses no update, and one fenced mutation as one batch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyodbc

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    ErrorOf = Callable[[Callable[[], object]], tuple[str, int]]
    Connect = Callable[..., pyodbc.Connection]

pytestmark = pytest.mark.engine

TABLES = """
DROP TABLE IF EXISTS dbo.f_epoch; CREATE TABLE dbo.f_epoch (id int NOT NULL PRIMARY KEY, epoch bigint NOT NULL);
DROP TABLE IF EXISTS dbo.f_fate; CREATE TABLE dbo.f_fate (attempt int NOT NULL PRIMARY KEY, fate varchar(10) NOT NULL);
DROP TABLE IF EXISTS dbo.f_target; CREATE TABLE dbo.f_target
    (k bigint NOT NULL, ev datetime2(6) NOT NULL, amount decimal(18, 4) NULL, PRIMARY KEY (k, ev));
DROP TABLE IF EXISTS dbo.f_image; CREATE TABLE dbo.f_image (k bigint, ev datetime2(6), amount decimal(18, 4));
DROP TABLE IF EXISTS dbo.f_new; CREATE TABLE dbo.f_new
    (k bigint NOT NULL, ev datetime2(6) NOT NULL, amount decimal(18, 4) NULL);
INSERT dbo.f_epoch VALUES (1, 7);
INSERT dbo.f_target VALUES (1, '2013-01-01T00:00:00', 1), (2, '2013-01-01T10:00:00', 2), (3, '2013-01-02T00:00:00', 3);
INSERT dbo.f_new VALUES (2, '2013-01-01T10:00:00', 20.5), (4, '2013-01-01T11:00:00', NULL);
"""
MUTATION = """
SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT 30000;
IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW 51000, N'NO_TX', 1;
DECLARE @rc int, @n0 bigint, @n1 bigint, @source bigint, @u bigint, @i bigint;
DECLARE @from datetime2(6) = '2013-01-01T00:00:00', @to datetime2(6) = '2013-01-02T00:00:00';
EXEC @rc = sys.sp_getapplock N'op', 'Exclusive', 'Transaction', 0;
IF @rc IS NULL OR @rc < 0 THROW 51001, N'LOCK', 1;
IF NOT EXISTS (SELECT 1 FROM dbo.f_epoch WITH (REPEATABLEREAD, READCOMMITTEDLOCK) WHERE id = 1 AND epoch = 7)
    THROW 51002, N'EPOCH', 1;
IF NOT EXISTS (SELECT 1 FROM dbo.f_fate WITH (UPDLOCK, HOLDLOCK) WHERE attempt = 1)
BEGIN
    INSERT dbo.f_fate (attempt, fate) VALUES (1, 'COMMITTED');
    SELECT @n0 = COUNT_BIG(*) FROM dbo.f_target WITH (TABLOCKX, HOLDLOCK) WHERE ev >= @from AND ev < @to;
    INSERT dbo.f_image WITH (TABLOCK) (k, ev, amount) SELECT k, ev, amount FROM dbo.f_target WHERE ev >= @from AND ev < @to;
    SELECT k, ev, amount INTO #scope FROM dbo.f_new WHERE ev >= @from AND ev < @to;
    SET @source = @@ROWCOUNT;
    CREATE UNIQUE CLUSTERED INDEX ux ON #scope (k, ev);
    UPDATE t SET amount = s.amount FROM dbo.f_target t JOIN #scope s ON t.k = s.k AND t.ev = s.ev
        WHERE t.ev >= @from AND t.ev < @to;
    SET @u = @@ROWCOUNT;
    INSERT dbo.f_target (k, ev, amount) SELECT k, ev, amount FROM #scope s
        WHERE NOT EXISTS (SELECT 1 FROM dbo.f_target t WHERE t.k = s.k AND t.ev = s.ev);
    SET @i = @@ROWCOUNT;
    IF @u + @i <> @source THROW 51004, N'COUNT', 1;
    SELECT @n1 = COUNT_BIG(*) FROM dbo.f_target WHERE ev >= @from AND ev < @to;
    IF @n1 <> @n0 + @i THROW 51005, N'AFTER', 1;
END;
IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW 51009, N'TX', 1;
"""


def test_a_fenced_mutation_runs_once_and_refuses_a_moved_epoch(
    connect_any: Connect, sql: Sql, error: ErrorOf
) -> None:
    db = connect_any()
    sql(db, TABLES)
    for _ in range(2):
        sql(db, "BEGIN TRANSACTION")
        sql(db, MUTATION)
        sql(db, "IF @@TRANCOUNT > 0 COMMIT TRANSACTION")
    amounts = [
        (k, None if amount is None else str(amount))
        for k, amount in sql(db, "SELECT k, amount FROM dbo.f_target ORDER BY k")[-1]
    ]
    assert amounts == [(1, "1.0000"), (2, "20.5000"), (3, "3.0000"), (4, None)]
    assert sql(db, "SELECT COUNT(*) AS n FROM dbo.f_image")[-1] == [(2,)]
    sql(db, "UPDATE dbo.f_epoch SET epoch = 8; BEGIN TRANSACTION")
    assert error(lambda: sql(db, MUTATION)) == ("42000", 51002)
    assert sql(db, "SELECT @@TRANCOUNT AS n")[-1] == [(0,)]


def test_a_guard_row_loses_no_update(connect: Connect, sql: Sql) -> None:
    db = connect()
    sql(
        db,
        "DROP TABLE IF EXISTS dbo.g; CREATE TABLE dbo.g (id int NOT NULL PRIMARY KEY, n int NOT NULL); INSERT dbo.g VALUES (1, 0)",
    )
    step = """BEGIN TRAN; DECLARE @n int;
    SELECT @n = n FROM dbo.g WITH (UPDLOCK, HOLDLOCK) WHERE id = 1; UPDATE dbo.g SET n = @n + 1 WHERE id = 1; COMMIT"""

    def work(own: pyodbc.Connection) -> None:
        for _ in range(20):
            sql(own, step)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, [connect() for _ in range(3)]))
    assert sql(db, "SELECT n FROM dbo.g")[-1] == [(60,)]
