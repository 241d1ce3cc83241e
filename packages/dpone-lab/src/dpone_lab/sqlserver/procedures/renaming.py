"""sp_rename of tables, views, columns, indexes and constraints: late-bound readers are not followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from dpone_lab.sqlserver.language.errors import SqlServerError, require_identifier
from dpone_lab.sqlserver.language.translation import DefinitionEvent
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_INSIDE = ("column", "index")


def sp_rename(session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """Rename ``@objname`` to ``@newname`` (one part, as it stands); 15225 when it is missing, 15335 when taken."""
    bound = bind("sp_rename", arguments, {"objname": REQUIRED, "newname": REQUIRED, "objtype": None})
    old, new = bound.text("objname") or "", bound.text("newname") or ""
    kind = (bound.text("objtype") or "").lower() or None
    require_identifier(new)
    parts = _parts(session, old)
    inside = kind in _INSIDE
    if not new or kind not in (*_INSIDE, "object", None) or len(parts) < (2 if inside else 1):
        raise SqlServerError(
            15249,
            f"Error: Explicit @objtype '{kind}' is unrecognized or the new name is missing.",
            severity=11,
        )
    member = parts[-1] if inside else None
    table_parts = parts[:-1] if inside else parts
    schema = table_parts[-2] if len(table_parts) > 1 else session.catalog.default_schema
    relation = session.catalog.relation(schema, table_parts[-1])
    if relation is not None and relation.kind in ("TABLE", "VIEW"):
        table = (relation.schema, relation.name)
        _require_alter(session, *table)
        session.lock_object(*table)
        if kind == "column" and member is not None:
            _rename_column(session, table, member, new, old)
        elif kind == "index" and member is not None:
            _rename_index(session, table, member, new, old)
        else:
            _rename_relation(session, *table, new, is_view=relation.kind == "VIEW")
        event = (
            DefinitionEvent("RENAME", kind.upper(), relation.schema, member, relation.name)
            if inside and kind is not None and member is not None
            else DefinitionEvent("RENAME", relation.kind, *table)
        )
        return ProcedureOutcome(event=event)
    parent = None if inside else _rename_constraint(session, schema, table_parts[-1], new)
    if parent is None:
        raise _missing(session, old, kind)
    return ProcedureOutcome(event=DefinitionEvent("RENAME", "CONSTRAINT", schema, table_parts[-1], parent))


def _parts(session: ProcedureSession, name: str) -> list[str]:
    row = session.connection.execute("SELECT _lab.name_parts(%s)", (name,)).fetchone()
    return list(row[0] or []) if row is not None else []


def _missing(session: ProcedureSession, name: str, kind: str | None) -> SqlServerError:
    if kind in _INSIDE:
        return SqlServerError(
            15248,
            f"Either the parameter @objname is ambiguous or the claimed @objtype ({kind}) is wrong.",
            severity=11,
        )
    return SqlServerError(
        15225,
        f"No item by the name of '{name}' could be found in the current database '{session.catalog.database}',"
        f" given that @itemtype was input as '({kind or 'null'})'.",
        severity=11,
    )


def _require_alter(session: ProcedureSession, schema: str, name: str) -> None:
    row = session.connection.execute(
        "SELECT _lab.allowed(_lab.login_id(), _lab.user_id(), 1, c.oid::integer, 'ALTER')"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
        (schema, name),
    ).fetchone()
    if row is None or not row[0]:
        raise _missing(session, f"{schema}.{name}", None)


def _taken(new: str, kind: str) -> SqlServerError:
    return SqlServerError(
        15335,
        f"Error: The new name '{new}' is already in use as a {kind} name and would cause a duplicate that is not"
        " permitted.",
        severity=11,
    )


def _rename_relation(session: ProcedureSession, schema: str, name: str, new: str, *, is_view: bool) -> None:
    row = session.connection.execute("SELECT _lab.find_object(%s, %s, NULL)", (schema, new)).fetchone()
    if row is not None and row[0] is not None and new.lower() != name.lower():
        raise _taken(new, "OBJECT")
    session.lock_object(schema, new)
    statement = "ALTER VIEW {} RENAME TO {}" if is_view else "ALTER TABLE {} RENAME TO {}"
    session.connection.execute(sql.SQL(statement).format(sql.Identifier(schema, name), sql.Identifier(new)))


def _rename_column(
    session: ProcedureSession, table: tuple[str, str], column: str, new: str, spelled: str
) -> None:
    rows = session.connection.execute(
        "SELECT a.attname FROM pg_attribute a WHERE a.attrelid = format('%%I.%%I', %s::text, %s::text)::regclass"
        " AND a.attnum > 0 AND NOT a.attisdropped",
        table,
    ).fetchall()
    stored = {str(row[0]).lower(): str(row[0]) for row in rows}
    if column.lower() not in stored:
        raise _missing(session, spelled, "column")
    if new.lower() in stored and new.lower() != column.lower():
        raise SqlServerError(
            15335,
            f"Error: The new name '{new}' is already in use as a COLUMN name and would cause a duplicate that is"
            " not permitted.",
            severity=11,
        )
    session.connection.execute(
        sql.SQL("ALTER TABLE {} RENAME COLUMN {} TO {}").format(
            sql.Identifier(*table), sql.Identifier(stored[column.lower()]), sql.Identifier(new)
        )
    )


def _rename_index(
    session: ProcedureSession, table: tuple[str, str], index: str, new: str, spelled: str
) -> None:
    row = session.connection.execute(
        "SELECT i.index_oid, k.conname FROM _lab.indexes i JOIN _lab.relations r ON r.object_id = i.object_id"
        " LEFT JOIN pg_constraint k ON k.conindid = i.index_oid AND k.contype IN ('p', 'u')"
        " WHERE r.schema_name = %s AND r.name = %s AND lower(i.name) = lower(%s)",
        (*table, index),
    ).fetchone()
    if row is None:
        raise _missing(session, spelled, "index")
    if row[1] is not None:
        session.connection.execute(
            sql.SQL("ALTER TABLE {} RENAME CONSTRAINT {} TO {}").format(
                sql.Identifier(*table), sql.Identifier(row[1]), sql.Identifier(new)
            )
        )
        return
    session.connection.execute(
        "INSERT INTO _lab.index_facts (index_oid, name, is_clustered) VALUES (%s, %s, false)"
        " ON CONFLICT (index_oid) DO UPDATE SET name = excluded.name",
        (row[0], new),
    )


def _rename_constraint(session: ProcedureSession, schema: str, name: str, new: str) -> str | None:
    """Rename a constraint and return its table, or None when there is no such constraint."""
    row = session.connection.execute(
        "SELECT r.schema_name, r.name, k.conname FROM pg_constraint k JOIN _lab.relations r ON r.relation_oid = k.conrelid"
        " WHERE lower(r.schema_name) = lower(%s) AND lower(k.conname) = lower(%s) AND k.contype IN ('p', 'u', 'f', 'c')",
        (schema, name),
    ).fetchone()
    if row is None:
        return None
    _require_alter(session, row[0], row[1])
    session.lock_object(row[0], row[1])
    session.connection.execute(
        sql.SQL("ALTER TABLE {} RENAME CONSTRAINT {} TO {}").format(
            sql.Identifier(row[0], row[1]), sql.Identifier(row[2]), sql.Identifier(new)
        )
    )
    return str(row[1])
