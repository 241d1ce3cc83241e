-- The journal of operations: without gaps, each entry tied to its predecessor's state, each with its proof.
CREATE TABLE {{control}}.[journal] (
    [operation_id] binary(32) NOT NULL,
    [version] int NOT NULL,
    [state] nvarchar(24) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [predecessor_version] int NULL,
    [predecessor] nvarchar(24) COLLATE Latin1_General_100_BIN2 NULL,
    [attempt_binding_sha256] binary(32) NOT NULL,
    [receipt_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [receipt_sha256] binary(32) NOT NULL,
    [recorded_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_journal] PRIMARY KEY ([operation_id], [version]),
    CONSTRAINT [uq_journal_state] UNIQUE ([operation_id], [version], [state]),
    CONSTRAINT [ck_journal_edge] CHECK (
        ([version] = 1 AND [predecessor_version] IS NULL AND [predecessor] IS NULL AND [state] = N'PREPARING')
        OR ([version] > 1 AND [predecessor_version] IS NOT NULL AND [predecessor] IS NOT NULL
            AND [predecessor_version] = [version] - 1
            AND (([predecessor] = N'PREPARING' AND [state] IN (N'PREPARED', N'FAILED_PRE_COMMIT', N'COMMIT_UNKNOWN'))
                OR ([predecessor] = N'PREPARED' AND [state] IN (N'COMMITTING', N'COMPLETE', N'FAILED_PRE_COMMIT'))
                OR ([predecessor] = N'COMMITTING' AND [state] IN (N'TARGET_COMMITTED', N'COMMIT_UNKNOWN'))
                OR ([predecessor] = N'TARGET_COMMITTED' AND [state] IN (N'COMPLETE', N'COMMITTED_INCOMPLETE'))
                OR ([predecessor] = N'COMMIT_UNKNOWN' AND [state] IN (N'TARGET_COMMITTED', N'PREPARED'))
                OR ([predecessor] = N'COMMITTED_INCOMPLETE' AND [state] = N'COMPLETE')))
    ),
    CONSTRAINT [fk_journal_predecessor] FOREIGN KEY ([operation_id], [predecessor_version], [predecessor])
        REFERENCES {{control}}.[journal] ([operation_id], [version], [state]),
    CONSTRAINT [fk_journal_attempt] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256]),
    CONSTRAINT [fk_journal_receipt] FOREIGN KEY ([receipt_schema], [receipt_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
CREATE TABLE {{control}}.[continuations] (
    [operation_id] binary(32) NOT NULL,
    [original_attempt_sha256] binary(32) NOT NULL,
    [successor_attempt_sha256] binary(32) NOT NULL,
    [receipt_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [continuation_receipt_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_continuations] PRIMARY KEY ([operation_id]),
    CONSTRAINT [fk_continuations_original] FOREIGN KEY ([original_attempt_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256]),
    CONSTRAINT [fk_continuations_successor] FOREIGN KEY ([successor_attempt_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256]),
    CONSTRAINT [fk_continuations_receipt] FOREIGN KEY ([receipt_schema], [continuation_receipt_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
-- One failed execution has one successor: the key is the predecessor.
CREATE TABLE {{control}}.[replacement_successors] (
    [predecessor_binding_sha256] binary(32) NOT NULL,
    [workflow_replacement_plan_sha256] binary(32) NOT NULL,
    [successor_binding_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_replacement_successors] PRIMARY KEY ([predecessor_binding_sha256]),
    CONSTRAINT [fk_replacement_predecessor] FOREIGN KEY ([predecessor_binding_sha256])
        REFERENCES {{control}}.[executions] ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_replacement_successor] FOREIGN KEY ([successor_binding_sha256])
        REFERENCES {{control}}.[executions] ([workflow_execution_binding_sha256])
);
GO
CREATE TABLE {{control}}.[summaries] (
    [workflow_execution_binding_sha256] binary(32) NOT NULL,
    [summary_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [summary_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_summaries] PRIMARY KEY ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_summaries_execution] FOREIGN KEY ([workflow_execution_binding_sha256])
        REFERENCES {{control}}.[executions] ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_summaries_document] FOREIGN KEY ([summary_schema], [summary_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
CREATE TABLE {{control}}.[cleanup_acknowledgements] (
    [operation_id] binary(32) NOT NULL,
    [acknowledgement_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [acknowledgement_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_cleanup_acknowledgements] PRIMARY KEY ([operation_id]),
    CONSTRAINT [fk_cleanup_acknowledgements] FOREIGN KEY ([acknowledgement_schema], [acknowledgement_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
