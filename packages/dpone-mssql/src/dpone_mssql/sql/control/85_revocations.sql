-- Revocation indexes that an activation has verified: one an epoch, and the highest epoch is the one to believe.
CREATE TABLE {{control}}.[revocation_indexes] (
    [trust_domain] nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    [index_epoch] bigint NOT NULL,
    [revocation_index_sha256] binary(32) NOT NULL,
    CONSTRAINT [pk_revocation_indexes] PRIMARY KEY ([trust_domain], [index_epoch]),
    CONSTRAINT [ck_revocation_indexes_epoch] CHECK ([index_epoch] >= 1)
);
GO
