-- An always empty table that references the create-only tables nothing else references: a referenced table can't be
-- truncated, and TRUNCATE would pass by the triggers.
CREATE TABLE {{control}}.[pins] (
    [operation_id] binary(32) NULL,
    [ordinal] int NULL,
    [version] int NULL,
    [deployment_id] binary(32) NULL,
    [plan_bundle_sha256] binary(32) NULL,
    [schema_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NULL,
    [digest] binary(32) NULL,
    [attempt_binding_sha256] binary(32) NULL,
    [kind] nvarchar(8) COLLATE Latin1_General_100_BIN2 NULL,
    [workflow_execution_binding_sha256] binary(32) NULL,
    [trust_domain] nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    [index_epoch] bigint NULL,
    CONSTRAINT [ck_pins_empty] CHECK (1 = 0),
    CONSTRAINT [fk_pins_operation_documents] FOREIGN KEY ([operation_id], [ordinal])
        REFERENCES {{control}}.[operation_documents] ([operation_id], [ordinal]),
    CONSTRAINT [fk_pins_activation_documents] FOREIGN KEY ([deployment_id], [plan_bundle_sha256], [schema_id], [digest])
        REFERENCES {{control}}.[activation_documents] ([deployment_id], [plan_bundle_sha256], [schema_id], [digest]),
    CONSTRAINT [fk_pins_journal] FOREIGN KEY ([operation_id], [version])
        REFERENCES {{control}}.[journal] ([operation_id], [version]),
    CONSTRAINT [fk_pins_continuations] FOREIGN KEY ([operation_id])
        REFERENCES {{control}}.[continuations] ([operation_id]),
    CONSTRAINT [fk_pins_replacement_successors] FOREIGN KEY ([workflow_execution_binding_sha256])
        REFERENCES {{control}}.[replacement_successors] ([predecessor_binding_sha256]),
    CONSTRAINT [fk_pins_summaries] FOREIGN KEY ([workflow_execution_binding_sha256])
        REFERENCES {{control}}.[summaries] ([workflow_execution_binding_sha256]),
    CONSTRAINT [fk_pins_cleanup_acknowledgements] FOREIGN KEY ([operation_id])
        REFERENCES {{control}}.[cleanup_acknowledgements] ([operation_id]),
    CONSTRAINT [fk_pins_invocation_intents] FOREIGN KEY ([attempt_binding_sha256])
        REFERENCES {{control}}.[invocation_intents] ([attempt_binding_sha256]),
    CONSTRAINT [fk_pins_build_receipts] FOREIGN KEY ([operation_id])
        REFERENCES {{control}}.[build_receipts] ([operation_id]),
    CONSTRAINT [fk_pins_images] FOREIGN KEY ([attempt_binding_sha256], [kind])
        REFERENCES {{control}}.[images] ([attempt_binding_sha256], [kind]),
    CONSTRAINT [fk_pins_revocation_indexes] FOREIGN KEY ([trust_domain], [index_epoch])
        REFERENCES {{control}}.[revocation_indexes] ([trust_domain], [index_epoch])
);
GO
