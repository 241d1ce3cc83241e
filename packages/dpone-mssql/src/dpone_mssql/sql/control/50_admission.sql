-- One plan binds one DagRun, for ever: the key is the plan.
CREATE TABLE {{control}}.[executions] (
    [deployment_id] binary(32) NOT NULL,
    [plan_bundle_sha256] binary(32) NOT NULL,
    [workflow_execution_binding_sha256] binary(32) NOT NULL,
    [binding_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [dag_run_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [bound_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_executions] PRIMARY KEY ([deployment_id], [plan_bundle_sha256]),
    CONSTRAINT [uq_executions_binding] UNIQUE ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_executions_activation] FOREIGN KEY ([deployment_id], [plan_bundle_sha256])
        REFERENCES {{control}}.[activations] ([deployment_id], [plan_bundle_sha256]),
    CONSTRAINT [fk_executions_document] FOREIGN KEY ([binding_schema], [workflow_execution_binding_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
-- The store's one source of fencing epochs. Admissions and continuations lock it first, so they can't deadlock.
CREATE TABLE {{control}}.[fence_counter] (
    [id] tinyint NOT NULL,
    [last_epoch] bigint NOT NULL,
    CONSTRAINT [pk_fence_counter] PRIMARY KEY ([id]),
    CONSTRAINT [ck_fence_counter_one_row] CHECK ([id] = 1),
    CONSTRAINT [ck_fence_counter_epoch] CHECK ([last_epoch] >= 0)
);
GO
INSERT INTO {{control}}.[fence_counter] ([id], [last_epoch]) VALUES (1, 0);
GO
CREATE TABLE {{control}}.[attempts] (
    [attempt_binding_sha256] binary(32) NOT NULL,
    [binding_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [workflow_execution_binding_sha256] binary(32) NOT NULL,
    [operation_id] binary(32) NOT NULL,
    [ordinal] int NOT NULL,
    [guard_resource_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [fencing_epoch] bigint NOT NULL,
    CONSTRAINT [pk_attempts] PRIMARY KEY ([attempt_binding_sha256]),
    CONSTRAINT [uq_attempts_ordinal] UNIQUE ([operation_id], [ordinal]),
    CONSTRAINT [uq_attempts_epoch] UNIQUE ([fencing_epoch]),
    CONSTRAINT [ck_attempts_ordinal] CHECK ([ordinal] IN (1, 2)),
    CONSTRAINT [ck_attempts_epoch] CHECK ([fencing_epoch] >= 1),
    CONSTRAINT [fk_attempts_execution] FOREIGN KEY ([workflow_execution_binding_sha256])
        REFERENCES {{control}}.[executions] ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_attempts_document] FOREIGN KEY ([binding_schema], [attempt_binding_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
-- Who may write where. The workflow's own guard has no operation; a failed target stays CLEANUP_REQUIRED.
CREATE TABLE {{control}}.[guards] (
    [resource_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [workflow_execution_binding_sha256] binary(32) NOT NULL,
    [operation_id] binary(32) NULL,
    [operation_plan_sha256] binary(32) NULL,
    [attempt_binding_sha256] binary(32) NULL,
    [fencing_epoch] bigint NOT NULL,
    [owner_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [status] nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT [pk_guards] PRIMARY KEY ([resource_id]),
    CONSTRAINT [ck_guards_status] CHECK ([status] IN (N'ACTIVE', N'RELEASED', N'CLEANUP_REQUIRED')),
    CONSTRAINT [fk_guards_attempt] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[attempts] ([attempt_binding_sha256])
);
GO
CREATE TABLE {{control}}.[reservations] (
    [reservation_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [operation_id] binary(32) NOT NULL,
    [workflow_execution_binding_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_reservations] PRIMARY KEY ([reservation_id]),
    CONSTRAINT [uq_reservations_operation] UNIQUE ([operation_id]),
    CONSTRAINT [fk_reservations_execution] FOREIGN KEY ([workflow_execution_binding_sha256])
        REFERENCES {{control}}.[executions] ([workflow_execution_binding_sha256])
);
GO
CREATE TABLE {{control}}.[allocations] (
    [allocation_id] binary(32) NOT NULL,
    [reservation_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [operation_id] binary(32) NOT NULL,
    [resource_kind] nvarchar(32) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [amount] bigint NOT NULL,
    [status] nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT [pk_allocations] PRIMARY KEY ([allocation_id]),
    CONSTRAINT [uq_allocations_kind] UNIQUE ([reservation_id], [resource_kind]),
    CONSTRAINT [ck_allocations_kind] CHECK ([resource_kind] IN (N'clickhouse_staging_bytes', N'prepared_models',
        N'retained_generation_bytes', N'sealed_extract_bytes', N'shadow_bytes')),
    CONSTRAINT [ck_allocations_amount] CHECK ([amount] >= 1),
    CONSTRAINT [ck_allocations_status] CHECK ([status] IN (N'RESERVED', N'RELEASED')),
    CONSTRAINT [fk_allocations_reservation] FOREIGN KEY ([reservation_id])
        REFERENCES {{control}}.[reservations] ([reservation_id])
);
GO
