-- Written before dbt is launched: an attempt without a row was never invoked.
CREATE TABLE {{control}}.[invocation_intents] (
    [attempt_binding_sha256] binary(32) NOT NULL,
    [recorded_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_invocation_intents] PRIMARY KEY ([attempt_binding_sha256]),
    CONSTRAINT [fk_invocation_intents_attempt] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256])
);
GO
-- One of the two is true for ever: the mutation writes COMMITTED inside its transaction, a reconciler ABANDONED.
CREATE TABLE {{control}}.[attempt_fates] (
    [attempt_binding_sha256] binary(32) NOT NULL,
    [fate] nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [transaction_id] bigint NOT NULL,
    [recorded_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_attempt_fates] PRIMARY KEY ([attempt_binding_sha256]),
    CONSTRAINT [uq_attempt_fates] UNIQUE ([attempt_binding_sha256], [fate]),
    CONSTRAINT [ck_attempt_fates] CHECK ([fate] IN (N'COMMITTED', N'ABANDONED')),
    CONSTRAINT [fk_attempt_fates_attempt] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256])
);
GO
-- The receipt of a committed mutation, composed and digested by the mutation itself. Only a COMMITTED fate can have one.
CREATE TABLE {{control}}.[build_receipts] (
    [operation_id] binary(32) NOT NULL,
    [operation_plan_sha256] binary(32) NOT NULL,
    [attempt_binding_sha256] binary(32) NOT NULL,
    [fate] nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [receipt_sha256] binary(32) NOT NULL,
    [bytes] varbinary(max) NOT NULL,
    [bytes_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_build_receipts] PRIMARY KEY ([operation_id]),
    CONSTRAINT [uq_build_receipts_attempt] UNIQUE ([attempt_binding_sha256]),
    CONSTRAINT [ck_build_receipts_fate] CHECK ([fate] = N'COMMITTED'),
    CONSTRAINT [ck_build_receipts_bytes] CHECK ([bytes_sha256] = HASHBYTES('SHA2_256', [bytes])),
    CONSTRAINT [fk_build_receipts_fate] FOREIGN KEY ([attempt_binding_sha256], [fate])
        REFERENCES {{control}}.[attempt_fates] ([attempt_binding_sha256], [fate])
);
GO
-- Both image relations of an attempt, registered when they are created empty.
CREATE TABLE {{control}}.[images] (
    [attempt_binding_sha256] binary(32) NOT NULL,
    [kind] nvarchar(8) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [relation_name] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [object_id] int NOT NULL,
    [created_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_images] PRIMARY KEY ([attempt_binding_sha256], [kind]),
    CONSTRAINT [uq_images_relation] UNIQUE ([relation_name]),
    CONSTRAINT [ck_images_kind] CHECK ([kind] IN (N'before', N'after')),
    CONSTRAINT [fk_images_attempt] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256])
);
GO
