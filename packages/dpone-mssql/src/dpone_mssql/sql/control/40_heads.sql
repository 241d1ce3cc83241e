-- Compare-and-set rows of publication: every change is an UPDATE that names the row as it was.
CREATE TABLE {{control}}.[target_heads] (
    [target_authority_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [generation] bigint NOT NULL,
    [generation_id] binary(32) NOT NULL,
    [target_uuid] nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [owner_operation_id] binary(32) NOT NULL,
    [terminal_receipt_sha256] binary(32) NULL,
    CONSTRAINT [pk_target_heads] PRIMARY KEY ([target_authority_id]),
    CONSTRAINT [ck_target_heads_generation] CHECK ([generation] >= 1),
    CONSTRAINT [fk_target_heads_owner] FOREIGN KEY ([target_authority_id])
        REFERENCES {{control}}.[target_owners] ([target_authority_id])
);
GO
CREATE TABLE {{control}}.[scope_heads] (
    [scope_family_id] binary(32) NOT NULL,
    [scope_start] nvarchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [scope_revision] bigint NOT NULL,
    [operation_id] binary(32) NOT NULL,
    CONSTRAINT [pk_scope_heads] PRIMARY KEY ([scope_family_id], [scope_start]),
    CONSTRAINT [ck_scope_heads_day] CHECK ([scope_start] LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T00:00:00Z'),
    CONSTRAINT [ck_scope_heads_revision] CHECK ([scope_revision] >= 1)
);
GO
CREATE TABLE {{control}}.[checkpoints] (
    [scope_family_id] binary(32) NOT NULL,
    [covered_until] nvarchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT [pk_checkpoints] PRIMARY KEY ([scope_family_id]),
    CONSTRAINT [ck_checkpoints_day] CHECK ([covered_until] LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T00:00:00Z')
);
GO
