"""The permissions that a statement needs, read from its tree: which securable, which permission, which refusal."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.catalog.permissions import DATABASE, OBJECT, SCHEMA, SERVER, Need, Securable, require
from dpone_lab.sqlserver.language.definitions import (
    AddConstraint,
    AlterTable,
    CreateIndex,
    CreateSchema,
    CreateTable,
    CreateTrigger,
    CreateView,
    DropIndex,
    DropObjects,
    ForeignKey,
    SwitchTriggers,
    TruncateTable,
)
from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.expressions import (
    CommonTable,
    Delete,
    Insert,
    ObjectName,
    Select,
    TableSource,
    Update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from dpone_lab.sqlserver.catalog.permissions import Principal
    from dpone_lab.sqlserver.language.translation import Catalog, Relation

_ANY_DATABASE = Securable(DATABASE)
_PERFORMANCE, _SECURITY = "VIEW SERVER PERFORMANCE STATE", "VIEW SERVER SECURITY STATE"
_SERVER_STATE = {
    "dm_exec_connections": _SECURITY,
    "dm_tran_locks": _PERFORMANCE,
    "dm_tran_active_transactions": _PERFORMANCE,
    "dm_tran_session_transactions": _PERFORMANCE,
    "dm_tran_database_transactions": _PERFORMANCE,
    "dm_tran_current_transaction": _PERFORMANCE,
    "dm_os_sys_info": _PERFORMANCE,
    "dm_db_log_space_usage": _PERFORMANCE,
    "dm_hadr_database_replica_states": _PERFORMANCE,
}
"""Views that raise without a server permission (SQL Server 2022's names); the other DMVs filter silently."""


def needs_of(node: object, catalog: Catalog) -> tuple[Need, ...]:
    """Return what a statement, condition or expression needs, in the order in which SQL Server would miss it.

    Names that don't exist need nothing: translation raises 208 for them. A view is checked itself and what it
    reads is not, as within one ownership chain.
    """
    return (
        *_creation_needs(node, catalog),
        *_alteration_needs(node, catalog),
        *_removal_needs(node, catalog),
        *_data_needs(node, catalog),
    )


def check_permission(
    connection: psycopg.Connection[Any], principal: Principal, node: object, catalog: Catalog
) -> None:
    """Raise the documented error when the principal may not run the statement."""
    if not principal.is_sysadmin:
        require(connection, principal, needs_of(node, catalog))


def _data_needs(node: object, catalog: Catalog) -> Iterator[Need]:
    for part in _walk(node):
        if isinstance(part, Insert | Update | Delete):
            yield from _change_needs(part, catalog)
        if isinstance(part, Select) and part.into is not None and not part.into.is_temporary:
            yield from _new_object_needs("CREATE TABLE", part.into, catalog)
    hidden = {part.name.lower() for part in _walk(node) if isinstance(part, CommonTable)}
    targets = {id(part.target) for part in _walk(node) if isinstance(part, Insert | Update | Delete)}
    for part in _walk(node):
        if not isinstance(part, TableSource) or id(part) in targets:
            continue
        if part.name.schema is None and part.name.name.lower() in hidden:
            continue
        yield from _relation_needs("SELECT", part.name, catalog)


def _change_needs(node: Insert | Update | Delete, catalog: Catalog) -> Iterator[Need]:
    target = node.target.name
    if isinstance(node, Insert):
        yield from _relation_needs("INSERT", target, catalog)
        if node.output is not None:
            yield from _relation_needs("SELECT", target, catalog)
    else:
        target = _aliased(node, target)
        yield from _relation_needs("UPDATE" if isinstance(node, Update) else "DELETE", target, catalog)
        if node.where is not None or node.output is not None:
            yield from _relation_needs("SELECT", target, catalog)
    if node.output is not None and node.output.into is not None:
        yield from _relation_needs("INSERT", node.output.into, catalog)


def _aliased(node: Update | Delete, target: ObjectName) -> ObjectName:
    """Return the table that UPDATE or DELETE means by an alias of its FROM clause."""
    if target.schema is None:
        for part in _walk(node.sources):
            if isinstance(part, TableSource) and (part.alias or "").lower() == target.name.lower():
                return part.name
    return target


def _relation_needs(permission: str, name: ObjectName, catalog: Catalog) -> Iterator[Need]:
    relation = _find(name, catalog)
    if relation is None or relation.kind == "TEMPORARY":
        return
    if relation.kind == "SYSTEM":
        if relation.name in _SERVER_STATE:
            yield Need(_SERVER_STATE[relation.name], Securable(SERVER))
        return
    yield Need(permission, Securable(OBJECT, relation.schema, relation.name))


def _creation_needs(node: object, catalog: Catalog) -> Iterator[Need]:
    match node:
        case CreateTable() if not node.name.is_temporary:
            yield from _new_object_needs("CREATE TABLE", node.name, catalog)
            yield from _reference_needs(node, catalog)
        case CreateView():
            existing = _find(node.name, catalog)
            if existing is None or node.mode == "CREATE":
                yield from _new_object_needs("CREATE VIEW", node.name, catalog)
            else:
                yield _alter(existing, Number.INVALID_OBJECT, f"Invalid object name '{existing.name}'.")
        case CreateSchema():
            yield Need("CREATE SCHEMA", _ANY_DATABASE)
        case _:
            return


def _alteration_needs(node: object, catalog: Catalog) -> Iterator[Need]:
    match node:
        case (
            CreateIndex(table=name) | DropIndex(table=name) | AlterTable(name=name) | TruncateTable(name=name)
        ):
            yield from _alter_needs(name, catalog)
            if isinstance(node, AlterTable) and isinstance(node.change, AddConstraint):
                yield from _reference_needs(node, catalog)
        case CreateTrigger(table=table) | SwitchTriggers(table=table):
            yield from _trigger_needs(table, catalog)
        case _:
            return


def _removal_needs(node: object, catalog: Catalog) -> Iterator[Need]:
    match node:
        case DropObjects(kind="TABLE" | "VIEW"):
            for name in node.names:
                yield from _drop_needs(node.kind.lower(), name, catalog)
        case DropObjects(kind="SCHEMA"):
            for name in node.names:
                yield from _drop_schema_needs(name.name, catalog)
        case DropObjects(kind="TRIGGER", on_database=True):
            yield Need("ALTER ANY DATABASE DDL TRIGGER", _ANY_DATABASE)
        case DropObjects(kind="TRIGGER"):
            yield from _drop_trigger_needs(node, catalog)
        case _:
            return


def _drop_trigger_needs(node: DropObjects, catalog: Catalog) -> Iterator[Need]:
    """ALTER on the trigger's schema: coarser than SQL Server's ALTER on its table, so that more is refused, never less."""
    for name in node.names:
        schema = catalog.schema(name.schema or catalog.default_schema)
        if schema is not None:
            message = (
                f"Cannot drop the trigger '{name}', because it does not exist or you do not have permission."
            )
            yield Need("ALTER", Securable(SCHEMA, schema), SqlServerError(Number.DROP_MISSING, message))


def _new_object_needs(permission: str, name: ObjectName, catalog: Catalog) -> Iterator[Need]:
    yield Need(permission, _ANY_DATABASE)
    schema = catalog.schema(name.schema or catalog.default_schema)
    if schema is not None:
        yield Need(
            "ALTER",
            Securable(SCHEMA, schema),
            SqlServerError(
                2760,
                f'The specified schema name "{schema}" either does not exist or you do not have permission to use it.',
            ),
        )


def _reference_needs(node: object, catalog: Catalog) -> Iterator[Need]:
    for part in _walk(node):
        if isinstance(part, ForeignKey):
            yield from _relation_needs("REFERENCES", part.referenced, catalog)


def _alter_needs(name: ObjectName, catalog: Catalog) -> Iterator[Need]:
    relation = _find(name, catalog)
    if relation is not None and relation.kind in ("TABLE", "VIEW"):
        yield _alter(
            relation,
            1088,
            f'Cannot find the object "{relation.name}" because it does not exist or you do not have permissions.',
        )


def _alter(relation: Relation, number: int, message: str) -> Need:
    return Need(
        "ALTER",
        Securable(OBJECT, relation.schema, relation.name),
        SqlServerError(number, message, severity=16),
    )


def _trigger_needs(table: ObjectName | None, catalog: Catalog) -> Iterator[Need]:
    if table is not None:
        yield from _alter_needs(table, catalog)
    else:
        yield Need("ALTER ANY DATABASE DDL TRIGGER", _ANY_DATABASE)


def _drop_needs(kind: str, name: ObjectName, catalog: Catalog) -> Iterator[Need]:
    relation = _find(name, catalog)
    if relation is None or relation.kind not in ("TABLE", "VIEW"):
        return
    yield Need(
        "ALTER",
        Securable(SCHEMA, relation.schema),
        SqlServerError(
            Number.DROP_MISSING,
            f"Cannot drop the {kind} '{relation.name}', because it does not exist or you do not have permission.",
            severity=14,
        ),
        (("CONTROL", Securable(OBJECT, relation.schema, relation.name)),),
    )


def _drop_schema_needs(name: str, catalog: Catalog) -> Iterator[Need]:
    schema = catalog.schema(name)
    if schema is not None:
        yield Need(
            "CONTROL",
            Securable(SCHEMA, schema),
            SqlServerError(
                15151,
                f"Cannot drop the schema '{schema}', because it does not exist or you do not have permission.",
            ),
            (("ALTER ANY SCHEMA", _ANY_DATABASE),),
        )


def _find(name: ObjectName, catalog: Catalog) -> Relation | None:
    if name.is_temporary:
        return catalog.relation(None, name.name)
    if name.schema is not None:
        tempdb = name.database is not None and name.database.lower() == "tempdb"
        return catalog.relation(f"tempdb.{name.schema}" if tempdb else name.schema, name.name)
    return catalog.relation(catalog.default_schema, name.name) or catalog.relation("dbo", name.name)


def _walk(node: object) -> Iterator[object]:
    """Yield every dataclass of a tree, the outermost first."""
    if isinstance(node, tuple):
        for item in node:
            yield from _walk(item)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        for part in fields(node):
            yield from _walk(getattr(node, part.name))
