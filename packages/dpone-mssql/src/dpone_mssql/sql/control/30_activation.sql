-- One release and one store identity for every receipt under a deployment.
CREATE TABLE {{control}}.[deployments] (
    [deployment_id] binary(32) NOT NULL,
    [release_id] binary(32) NOT NULL,
    [store_id] nvarchar(36) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT [pk_deployments] PRIMARY KEY ([deployment_id]),
    CONSTRAINT [uq_deployments_release] UNIQUE ([deployment_id], [release_id]),
    CONSTRAINT [fk_deployments_store] FOREIGN KEY ([store_id]) REFERENCES {{control}}.[store] ([store_id])
);
GO
CREATE TABLE {{control}}.[activations] (
    [deployment_id] binary(32) NOT NULL,
    [plan_bundle_sha256] binary(32) NOT NULL,
    [release_id] binary(32) NOT NULL,
    [receipt] varbinary(max) NOT NULL,
    [receipt_sha256] binary(32) NOT NULL,
    [plan_bundle] varbinary(max) NOT NULL,
    [plan_bundle_bytes_sha256] binary(32) NOT NULL,
    [stored_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_activations] PRIMARY KEY ([deployment_id], [plan_bundle_sha256]),
    CONSTRAINT [fk_activations_deployment] FOREIGN KEY ([deployment_id], [release_id])
        REFERENCES {{control}}.[deployments] ([deployment_id], [release_id]),
    CONSTRAINT [ck_activations_receipt] CHECK ([receipt_sha256] = HASHBYTES('SHA2_256', [receipt])),
    CONSTRAINT [ck_activations_bundle] CHECK ([plan_bundle_bytes_sha256] = HASHBYTES('SHA2_256', [plan_bundle]))
);
GO
CREATE TABLE {{control}}.[activation_documents] (
    [deployment_id] binary(32) NOT NULL,
    [plan_bundle_sha256] binary(32) NOT NULL,
    [schema_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [digest] binary(32) NOT NULL,
    CONSTRAINT [pk_activation_documents] PRIMARY KEY ([deployment_id], [plan_bundle_sha256], [schema_id], [digest]),
    CONSTRAINT [fk_activation_documents_activation] FOREIGN KEY ([deployment_id], [plan_bundle_sha256])
        REFERENCES {{control}}.[activations] ([deployment_id], [plan_bundle_sha256]),
    CONSTRAINT [fk_activation_documents_document] FOREIGN KEY ([schema_id], [digest])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
-- The one deployment and model that own a ClickHouse target, with the baseline that it was adopted from.
CREATE TABLE {{control}}.[target_owners] (
    [target_authority_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [deployment_id] binary(32) NOT NULL,
    [release_id] binary(32) NOT NULL,
    [model_unique_id] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [scope_family_id] binary(32) NOT NULL,
    [baseline_schema] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [baseline_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_target_owners] PRIMARY KEY ([target_authority_id]),
    CONSTRAINT [uq_target_owners_family] UNIQUE ([scope_family_id]),
    CONSTRAINT [fk_target_owners_deployment] FOREIGN KEY ([deployment_id], [release_id])
        REFERENCES {{control}}.[deployments] ([deployment_id], [release_id]),
    CONSTRAINT [fk_target_owners_baseline] FOREIGN KEY ([baseline_schema], [baseline_sha256])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
