-- Canonical documents by (schema, digest). `digest` is the document's own digest, which leaves its digest field out;
-- `bytes_sha256` covers every stored byte, is checked here on write and by the reader on read.
CREATE TABLE {{control}}.[documents] (
    [schema_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [digest] binary(32) NOT NULL,
    [bytes] varbinary(max) NOT NULL,
    [bytes_sha256] binary(32) NOT NULL,
    [stored_at] datetime2(6) NOT NULL,
    CONSTRAINT [pk_documents] PRIMARY KEY ([schema_id], [digest]),
    CONSTRAINT [ck_documents_bytes] CHECK ([bytes_sha256] = HASHBYTES('SHA2_256', [bytes])),
    CONSTRAINT [ck_documents_not_empty] CHECK (DATALENGTH([bytes]) > 0)
);
GO
-- Which documents belong to an operation, in the order of storing.
CREATE TABLE {{control}}.[operation_documents] (
    [operation_id] binary(32) NOT NULL,
    [ordinal] int NOT NULL,
    [schema_id] nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [digest] binary(32) NOT NULL,
    CONSTRAINT [pk_operation_documents] PRIMARY KEY ([operation_id], [ordinal]),
    CONSTRAINT [uq_operation_documents] UNIQUE ([operation_id], [schema_id], [digest]),
    CONSTRAINT [ck_operation_documents_ordinal] CHECK ([ordinal] >= 1),
    CONSTRAINT [fk_operation_documents] FOREIGN KEY ([schema_id], [digest])
        REFERENCES {{control}}.[documents] ([schema_id], [digest])
);
GO
