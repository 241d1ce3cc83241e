"""The names that follow from an identity: query ids, scratch relations, images, artifact prefixes."""

from __future__ import annotations


def hex_of(digest: str, length: int) -> str:
    """Return the first hex digits of a digest text."""
    return digest.removeprefix("sha256:")[:length]


def query_id_prefix(execution_binding_sha256: str, operation_id: str) -> str:
    """Name the queries of one operation in one execution."""
    return f"dpone-semref-{hex_of(execution_binding_sha256, 20)}-{hex_of(operation_id, 20)}-"


def shadow_name(table: str, operation_id: str) -> str:
    """Name an operation's shadow in ClickHouse."""
    return f"{table}__dpone_shadow__{hex_of(operation_id, 12)}"


def staging_name(table: str, operation_id: str) -> str:
    """Name an operation's staging relation in ClickHouse."""
    return f"{table}__dpone_stage__{hex_of(operation_id, 12)}"


def image_name(side: str, operation_id: str, attempt_binding_sha256: str) -> str:
    """Name the image of an attempt in SQL Server; `side` is `before` or `after`."""
    return f"dpone_sr_{side}_{hex_of(operation_id, 24)}_{hex_of(attempt_binding_sha256, 16)}"


def image_relation_id(database: str, schema: str, name: str) -> str:
    """Spell the id of an image relation: three parts, each in brackets."""
    return ".".join(f"[{part.replace(']', ']]')}]" for part in (database, schema, name))


def artifact_prefix(authority_prefix: str, operation_id: str) -> str:
    """Place an operation's artifact under its authority's prefix."""
    return f"{authority_prefix}/{operation_id}"


def projection_path(dag_id: str, dag_projection_sha256: str) -> str:
    """Place a projection's file beside the deployment index."""
    return f"projections/{dag_id}/{dag_projection_sha256.replace(':', '-')}.json"
