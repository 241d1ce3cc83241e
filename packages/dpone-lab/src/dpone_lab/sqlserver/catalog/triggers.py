"""Triggers in the catalog: their rows, their switches, and the DDL triggers that a definition statement fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.catalog.permissions import Principal
from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.definitions import CreateTrigger
from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.syntax import Located

if TYPE_CHECKING:
    import psycopg

    from dpone_lab.sqlserver.language.definitions import SwitchTriggers
    from dpone_lab.sqlserver.language.expressions import ObjectName
    from dpone_lab.sqlserver.language.syntax import Statement

_EVENT_GROUPS = {
    "DDL_DATABASE_LEVEL_EVENTS": ("",),
    "DDL_EVENTS": ("",),
    "DDL_TABLE_VIEW_EVENTS": ("TABLE", "VIEW", "INDEX", "STATISTICS"),
    "DDL_TABLE_EVENTS": ("TABLE",),
    "DDL_VIEW_EVENTS": ("VIEW",),
    "DDL_INDEX_EVENTS": ("INDEX",),
    "DDL_TRIGGER_EVENTS": ("TRIGGER",),
    "DDL_SCHEMA_EVENTS": ("SCHEMA",),
    "DDL_ROLE_EVENTS": ("ROLE",),
    "DDL_USER_EVENTS": ("USER",),
    "DDL_GDR_DATABASE_EVENTS": ("DATABASE",),
}
"""Event groups and the last word of the event types that they hold; an empty word holds all."""


@dataclass(frozen=True, slots=True)
class DatabaseTrigger:
    """An enabled DDL trigger of the database: its name, its parsed body, and whom EXECUTE AS makes it (None: the caller)."""

    name: str
    run_as: Principal | None
    body: tuple[Statement, ...]


def database_triggers(
    connection: psycopg.Connection[Any], event_type: str, name: str | None = None
) -> tuple[DatabaseTrigger, ...]:
    """Return the enabled database triggers that an event such as ``ALTER_TABLE`` fires, oldest first.

    ``name`` is the event's object: a trigger doesn't fire for its own creation.
    """
    rows = connection.execute(
        "SELECT t.definition, t.events, l.name, l.principal_id, u.name, u.principal_id,"
        " coalesce(u.default_schema, 'dbo'), _lab.is_sysadmin(l.principal_id) FROM _lab.triggers t"
        " JOIN _lab.logins l ON l.principal_id = t.creator_login_id"
        " JOIN _lab.users u ON u.principal_id = t.creator_user_id"
        " WHERE t.parent_class = 0 AND NOT t.is_disabled ORDER BY t.object_id"
    ).fetchall()
    found = tuple(
        _parsed(row[0], Principal(row[2], row[3], row[4], row[5], row[6], is_sysadmin=row[7]))
        for row in rows
        if any(_covers(event, event_type) for event in row[1])
    )
    return tuple(trigger for trigger in found if event_type != "CREATE_TRIGGER" or trigger.name != name)


def _covers(event: str, event_type: str) -> bool:
    words = _EVENT_GROUPS.get(event)
    return event == event_type if words is None else any(event_type.endswith(word) for word in words)


def _parsed(text: str, creator: Principal) -> DatabaseTrigger:
    statement = parse_batch(text).statements[0]
    node = statement.statement if isinstance(statement, Located) else statement
    if not isinstance(node, CreateTrigger):  # what is stored was parsed as one
        raise TypeError("the stored text of a trigger is not a trigger")
    as_caller = node.execute_as is None or node.execute_as.upper() == "CALLER"
    return DatabaseTrigger(node.name.name, None if as_caller else creator, node.body)


def record_trigger(connection: psycopg.Connection[Any], principal: Principal, node: CreateTrigger) -> None:
    """Write the row of ``sys.triggers``; 2714 when the name is taken and CREATE asked for a new one."""
    if node.table is None:
        place: tuple[int, int | None, int] = (0, None, 0)
    else:
        place = (1, *_table_of(connection, node.table))
    name = node.name.name
    known = connection.execute(
        "SELECT object_id FROM _lab.triggers WHERE parent_class = %s AND schema_oid IS NOT DISTINCT FROM %s"
        " AND lower(name) = lower(%s)",
        (place[0], place[1], name),
    ).fetchone()
    if known is not None and node.mode == "CREATE":
        raise SqlServerError(
            Number.OBJECT_EXISTS, f"There is already an object named '{name}' in the database."
        )
    if known is None and node.mode == "ALTER":
        raise SqlServerError(Number.INVALID_OBJECT, f"Invalid object name '{name}'.")
    values = (place[2], node.timing == "INSTEAD OF", list(node.events), node.text)
    if known is not None:
        connection.execute(
            "UPDATE _lab.triggers SET parent_id = %s, is_instead_of = %s, events = %s, definition = %s,"
            " modify_date = now() AT TIME ZONE 'UTC' WHERE object_id = %s",
            (*values, known[0]),
        )
        return
    connection.execute(
        "INSERT INTO _lab.triggers (parent_class, schema_oid, name, parent_id, is_instead_of, events, definition,"
        " creator_login_id, creator_user_id) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (place[0], place[1], name, *values, principal.login_id, principal.user_id),
    )


def switch_triggers(connection: psycopg.Connection[Any], node: SwitchTriggers) -> None:
    """Enable or disable triggers in the catalog; 4903-like names that don't exist raise 3701's sibling 1088."""
    parent = 0 if node.table is None else _table_of(connection, node.table)[1]
    names = [name.lower() for name in node.names]
    switched = connection.execute(
        "UPDATE _lab.triggers SET is_disabled = %s WHERE parent_class = %s AND parent_id = %s"
        " AND (%s OR lower(name) = ANY(%s)) RETURNING lower(name)",
        (not node.enable, 0 if node.table is None else 1, parent, not names, names),
    ).fetchall()
    missing = sorted(set(names) - {row[0] for row in switched})
    if missing:
        raise SqlServerError(
            1088,
            f'Cannot find the object "{missing[0]}" because it does not exist or you do not have permissions.',
        )


def drop_trigger(
    connection: psycopg.Connection[Any], name: ObjectName, *, if_exists: bool, on_database: bool
) -> None:
    """Remove a trigger's row; 3701 when there is none and IF EXISTS was not said."""
    gone = connection.execute(
        "DELETE FROM _lab.triggers t WHERE lower(t.name) = lower(%s) AND t.parent_class = %s"
        " AND (%s OR t.schema_oid = (SELECT oid FROM pg_namespace"
        " WHERE lower(nspname) = lower(coalesce(%s, _lab.default_schema())))) RETURNING t.object_id",
        (name.name, 0 if on_database else 1, on_database, name.schema),
    ).fetchone()
    if gone is None and not if_exists:
        raise SqlServerError(
            Number.DROP_MISSING,
            f"Cannot drop the trigger '{name}', because it does not exist or you do not have permission.",
        )


def _table_of(connection: psycopg.Connection[Any], table: ObjectName) -> tuple[int, int]:
    """Return the schema's oid and the object id of a trigger's table; 8197 when there is none."""
    row = connection.execute(
        "SELECT schema_oid::bigint, object_id FROM _lab.relations WHERE NOT is_temp AND lower(name) = lower(%s)"
        " AND lower(schema_name) = lower(coalesce(%s, _lab.default_schema()))",
        (table.name, table.schema),
    ).fetchone()
    if row is None:
        raise SqlServerError(
            8197, f"The object '{table}' does not exist or is invalid for this operation.", severity=16
        )
    return int(row[0]), int(row[1])
