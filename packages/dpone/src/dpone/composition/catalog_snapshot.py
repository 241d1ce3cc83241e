"""A live catalog reading as the snapshot document that proofs are computed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpone_contracts.canonical import canonical_bytes
from dpone_contracts.catalog import ObjectKind

if TYPE_CHECKING:
    from dpone_contracts.canonical import Json
    from dpone_contracts.catalog import CatalogEdge, CatalogObject, CatalogSnapshot

_TYPES: Final = {
    ObjectKind.BASE_TABLE: "U",
    ObjectKind.EXTERNAL_TABLE: "ET",
    ObjectKind.VIEW: "V",
    ObjectKind.INLINE_FUNCTION: "IF",
    ObjectKind.MULTI_STATEMENT_FUNCTION: "TF",
    ObjectKind.SCALAR_FUNCTION: "FN",
    ObjectKind.CLR_FUNCTION: "FS",
    ObjectKind.PROCEDURE: "P",
    ObjectKind.SYNONYM: "SN",
    ObjectKind.OTHER: "X",
}


def snapshot_document(seen: CatalogSnapshot) -> bytes:
    """Canonical bytes; a reading that something was hidden from does not claim to have seen every definition."""
    return canonical_bytes(
        {
            "schema": "dpone.catalog-snapshot.v1",
            "database": seen.database,
            "collation": seen.collation,
            "view_definition": not seen.unreadable and not seen.exceeded,
            "objects": [_object(item) for item in seen.objects],
            "dependencies": [_dependency(edge) for edge in seen.edges],
        }
    )


def _object(item: CatalogObject) -> dict[str, Json]:
    return {
        "object_id": item.object_id,
        "schema_name": item.relation.schema,
        "name": item.relation.name,
        "type": _TYPES[item.kind],
        "schema_bound": item.schema_bound,
        "encrypted": item.encrypted,
        "definition": item.definition,
        "computed_columns": sorted(column.name for column in item.columns if column.computed),
        "indexes": list(item.indexes),
    }


def _dependency(edge: CatalogEdge) -> dict[str, Json]:
    return {
        "from_object_id": edge.from_object_id,
        "to_object_id": edge.to_object_id,
        "server": edge.to_server,
        "database": edge.to_database,
        "schema_name": edge.to_schema,
        "name": edge.to_name,
        "caller_dependent": edge.caller_dependent,
        "ambiguous": edge.ambiguous,
    }
