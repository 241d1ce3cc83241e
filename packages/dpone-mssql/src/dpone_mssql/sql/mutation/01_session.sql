-- One batch inside the transaction that dbt's adapter opened. It never begins, commits, deletes or tries again.
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET ROWCOUNT 0;
SET LOCK_TIMEOUT {{lock_timeout_ms}};
SET CONTEXT_INFO {{attempt}};
DECLARE @lock int;
DECLARE @target_rows bigint;
DECLARE @target_bytes bigint;
DECLARE @temp_rows bigint;
DECLARE @temp_bytes bigint;
DECLARE @source_rows bigint;
DECLARE @updated_rows bigint;
DECLARE @inserted_rows bigint;
DECLARE @image_rows bigint;
DECLARE @result_rows bigint;
DECLARE @result_bytes bigint;
DECLARE @different_rows bigint;
DECLARE @before_sha256 varbinary(32);
DECLARE @after_sha256 varbinary(32);
DECLARE @recovery_fork nvarchar(36);
DECLARE @receipt_head varchar(max);
DECLARE @receipt_tail varchar(max);
DECLARE @receipt_sha256 varbinary(32);
DECLARE @receipt varbinary(max);
IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW {{no_transaction}}, 1;
-- The planned database, writable and fully durable, with the options that the comparisons below are written for:
-- ANSI warnings, padding, NULLs, quoted identifiers, NULL concatenation on (4408); implicit transactions and
-- rounding abort off (8194).
IF NOT EXISTS (
    SELECT 1 FROM sys.databases AS d
    WHERE d.[database_id] = DB_ID() AND d.[name] = {{database}} AND d.[is_read_only] = 0
        AND d.[delayed_durability] = 0
)
    THROW {{session}}, 1;
IF (@@OPTIONS & 4408) <> 4408 OR (@@OPTIONS & 8194) <> 0 THROW {{session}}, 2;
-- READ COMMITTED, REPEATABLE READ or SERIALIZABLE: nothing uncommitted is read, nothing is a stale snapshot.
IF NOT EXISTS (
    SELECT 1 FROM sys.dm_exec_sessions AS s
    WHERE s.[session_id] = @@SPID AND s.[transaction_isolation_level] IN (2, 3, 4)
)
    THROW {{session}}, 3;
