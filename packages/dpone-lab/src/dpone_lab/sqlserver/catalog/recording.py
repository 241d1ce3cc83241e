"""What a definition statement leaves in the catalog beyond PostgreSQL's own objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.catalog.principals import apply_principals, principal_events
from dpone_lab.sqlserver.catalog.triggers import drop_trigger, record_trigger, switch_triggers
from dpone_lab.sqlserver.language.definitions import (
    AddColumns,
    AddConstraint,
    AlterRole,
    AlterTable,
    CreateIndex,
    CreatePrincipal,
    CreateSchema,
    CreateTable,
    CreateTrigger,
    DropObjects,
    KeyConstraint,
    Permission,
    SwitchTriggers,
)

if TYPE_CHECKING:
    import psycopg

    from dpone_lab.sqlserver.catalog.permissions import Principal
    from dpone_lab.sqlserver.language.definitions import Constraint, Definition
    from dpone_lab.sqlserver.language.expressions import ObjectName
    from dpone_lab.sqlserver.language.translation import DefinitionEvent, Translation, ViewDefinition

_TABLE = """
(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE lower(c.relname) = lower(%(name)s) AND c.relkind IN ('r', 'p')
   AND CASE WHEN %(name)s LIKE '#%%' THEN n.oid = pg_my_temp_schema()
       ELSE lower(n.nspname) = lower(coalesce(%(schema)s, _lab.default_schema())) END)
"""


def define(
    connection: psycopg.Connection[Any], principal: Principal, node: Definition
) -> tuple[DefinitionEvent, ...]:
    """Carry out a definition that only the catalog knows: principals, permissions, triggers' names and switches.

    Returns what a statement about principals or permissions was to DDL triggers.
    """
    match node:
        case Permission() | CreatePrincipal() | AlterRole() | DropObjects(kind="USER" | "ROLE" | "LOGIN"):
            apply_principals(connection, node, principal)
            return principal_events(connection, node)
        case CreateTrigger():
            record_trigger(connection, principal, node)
        case SwitchTriggers():
            switch_triggers(connection, node)
        case DropObjects(kind="TRIGGER"):
            for name in node.names:
                drop_trigger(connection, name, if_exists=node.if_exists, on_database=node.on_database)
        case _:
            pass
    return ()


def defined(
    connection: psycopg.Connection[Any], principal: Principal, node: Definition, plan: Translation
) -> None:
    """Record what a translated definition made, right after it ran and in its transaction."""
    if plan.view is not None:
        _record_view(connection, plan.view)
    match node:
        case CreateIndex():
            _record_index(connection, node.table, node.name, clustered=node.clustered)
        case CreateTable():
            _record_keys(connection, node.name, node.constraints)
        case AlterTable(change=AddConstraint(constraint=constraint)):
            _record_keys(connection, node.name, (constraint,))
        case AlterTable(change=AddColumns(constraints=constraints)):
            _record_keys(connection, node.name, constraints)
        case CreateSchema(authorization=owner) if owner is not None:
            connection.execute(
                "UPDATE _lab.schema_owners SET principal_id = u.principal_id FROM _lab.users u"
                " WHERE lower(u.name) = lower(%s)"
                " AND schema_oid = (SELECT oid FROM pg_namespace WHERE nspname = %s)",
                (owner, node.name),
            )
        case CreateTrigger() | SwitchTriggers() | DropObjects(kind="TRIGGER"):
            define(connection, principal, node)
        case _:
            return


def _record_view(connection: psycopg.Connection[Any], view: ViewDefinition) -> None:
    row = connection.execute(
        "SELECT c.oid::integer FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = %s",
        (view.schema, view.name),
    ).fetchone()
    if row is None:
        return
    connection.execute(
        "INSERT INTO _lab.modules VALUES (%s, %s, %s) ON CONFLICT (object_id) DO UPDATE"
        " SET definition = excluded.definition, is_schema_bound = excluded.is_schema_bound",
        (row[0], view.text, view.schemabinding),
    )
    connection.execute("DELETE FROM _lab.dependencies WHERE referencing_id = %s", (row[0],))
    for name in dict.fromkeys(view.references):
        connection.execute(
            "INSERT INTO _lab.dependencies VALUES (%s, NULL, %s, %s, %s)",
            (row[0], name.database, name.schema, name.name),
        )


def _record_index(
    connection: psycopg.Connection[Any], table: ObjectName, name: str, *, clustered: bool
) -> None:
    """Keep the T-SQL name of the index made last on the table: PostgreSQL's must be unique in the schema."""
    connection.execute(
        f"INSERT INTO _lab.index_facts (index_oid, name, is_clustered)"
        f" SELECT i.indexrelid, %(index)s, %(clustered)s FROM pg_index i WHERE i.indrelid = {_TABLE}"
        f" ORDER BY i.indexrelid DESC LIMIT 1",
        {"index": name, "clustered": clustered, "name": table.name, "schema": table.schema},
    )


def _record_keys(
    connection: psycopg.Connection[Any], table: ObjectName, constraints: tuple[Constraint, ...]
) -> None:
    for key in constraints:
        if isinstance(key, KeyConstraint):
            connection.execute(
                f"INSERT INTO _lab.index_facts (index_oid, is_clustered)"
                f" SELECT k.conindid, %(clustered)s FROM pg_constraint k WHERE k.conrelid = {_TABLE}"
                f" AND k.contype = %(type)s AND lower(k.conname) = lower(coalesce(%(key)s, k.conname))"
                f" AND ARRAY(SELECT lower(a.attname) FROM unnest(k.conkey) WITH ORDINALITY c(number, place)"
                f" JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.number ORDER BY c.place)"
                f" = %(columns)s::text[] ON CONFLICT (index_oid) DO UPDATE SET is_clustered = excluded.is_clustered",
                {
                    "clustered": key.clustered,
                    "type": "p" if key.kind == "PRIMARY KEY" else "u",
                    "key": key.name,
                    "columns": [column.name.lower() for column in key.columns],
                    "name": table.name,
                    "schema": table.schema,
                },
            )
