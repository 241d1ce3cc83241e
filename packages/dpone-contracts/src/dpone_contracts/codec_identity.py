"""What a sealed chunk's bytes depend on besides its rows: column mappings and the writer, each as one digest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpone_contracts.canonical import digest_of
from dpone_contracts.payload_types import WritableColumn, payload_type


def codec_digests(
    columns: Sequence[WritableColumn], writer: Mapping[str, str | int | bool]
) -> dict[str, str]:
    """The three mapping digests of a seal authorisation, by field name.

    `writer` are the encoder's pinned options. Columns stand in table order.
    """
    return {
        "parquet_schema_mapping_sha256": digest_of(
            {
                "columns": [
                    {
                        "name": c.name,
                        "nullable": c.nullable,
                        "parquet_type": _parquet(c),
                        "source_type": c.source_type,
                    }
                    for c in columns
                ],
                "schema": "dpone.semantic-refresh-parquet-schema-mapping.v1",
            }
        ),
        "clickhouse_input_mapping_sha256": digest_of(
            {
                "columns": [
                    {"name": c.name, "parquet_type": _parquet(c), "target_type": c.target_type}
                    for c in columns
                ],
                "schema": "dpone.semantic-refresh-clickhouse-input-mapping.v1",
            }
        ),
        "serializer_sha256": digest_of(
            {
                "artifact_format": "dpone_parquet_v1",
                "schema": "dpone.semantic-refresh-serializer.v1",
                "writer": dict(writer),
            }
        ),
    }


def published_generation_id(
    target_authority_id: str, owner_operation_id: str, generation: int, target_uuid: str
) -> str:
    """The identity of a generation that an operation published; plans name it as their predecessor."""
    return digest_of(
        {
            "clickhouse_target_authority_id": target_authority_id,
            "owner_operation_id": owner_operation_id,
            "schema": "dpone.semantic-refresh-target-generation.v1",
            "target_generation": generation,
            "target_uuid": target_uuid,
        }
    )


def _parquet(column: WritableColumn) -> str:
    admitted = payload_type(column.source_type)
    return "" if admitted is None else admitted.parquet
