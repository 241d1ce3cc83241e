-- What the transaction has logged so far; needs VIEW SERVER STATE. Positive: what can't be seen is no budget kept.
IF NOT EXISTS (
    SELECT 1 FROM sys.dm_tran_database_transactions AS x
    WHERE x.[transaction_id] = CURRENT_TRANSACTION_ID() AND x.[database_id] = DB_ID()
        AND x.[database_transaction_log_bytes_used] <= {{max_transaction_log_bytes}}
)
    THROW {{log_budget}}, 1;
