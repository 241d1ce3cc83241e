"""sp_addextendedproperty and its siblings, for the database, schemas, tables, views and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.translation import DefinitionEvent
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession
    from dpone_lab.sqlserver.procedures.binding import Bound

_LEVELS = {f"level{number}{part}": None for number in range(3) for part in ("type", "name")}
_DATABASE, _OBJECT, _SCHEMA = 0, 1, 3


def _bind(procedure: str, arguments: Sequence[ProcedureArgument], *, with_value: bool) -> Bound:
    value = {"value": None} if with_value else {}
    return bind(procedure, arguments, {"name": REQUIRED, **value, **_LEVELS})


def _target(session: ProcedureSession, bound: Bound) -> tuple[int, int, int]:
    """Return class, major and minor id of what the levels name; 15135 when there is none."""
    kinds = [(bound.text(f"level{number}type") or "").upper() for number in range(3)]
    names = [bound.text(f"level{number}name") for number in range(3)]
    match kinds:
        case ["", "", ""]:
            return _DATABASE, 0, 0
        case ["SCHEMA", "", ""]:
            found = _one(
                session,
                "SELECT oid::integer, 0 FROM pg_namespace WHERE lower(nspname) = lower(%s)",
                names[:1],
            )
            place = _SCHEMA
        case ["SCHEMA", "TABLE" | "VIEW", ""]:
            found = _one(
                session,
                "SELECT object_id, 0 FROM _lab.relations WHERE NOT is_temp AND lower(schema_name) = lower(%s)"
                " AND lower(name) = lower(%s)",
                names[:2],
            )
            place = _OBJECT
        case ["SCHEMA", "TABLE" | "VIEW", "COLUMN"]:
            found = _one(
                session,
                "SELECT r.object_id, c.column_id FROM _lab.relations r JOIN _lab.columns c ON c.object_id = r.object_id"
                " WHERE NOT r.is_temp AND lower(r.schema_name) = lower(%s) AND lower(r.name) = lower(%s)"
                " AND lower(c.name) = lower(%s)",
                names,
            )
            place = _OBJECT
        case _:
            raise SqlServerError(15600, "An invalid parameter or option was specified for the procedure.")
    shown = ".".join(name for name in names if name)
    if found is None or not _may_alter(session, place, found[0]):
        raise SqlServerError(
            15135,
            f"Object is invalid. Extended properties are not permitted on '{shown}', or the object does not exist.",
        )
    return place, *found


def _one(session: ProcedureSession, query: str, values: list[str | None]) -> tuple[int, int] | None:
    row = session.connection.execute(query.encode(), values).fetchone()
    return None if row is None else (int(row[0]), int(row[1]))


def _may_alter(session: ProcedureSession, place: int, major: int) -> bool:
    row = session.connection.execute(
        "SELECT _lab.allowed(_lab.login_id(), _lab.user_id(), %s, %s, 'ALTER')", (place, major)
    ).fetchone()
    return row is not None and bool(row[0])


def _exists(session: ProcedureSession, key: tuple[int, int, int, str]) -> bool:
    row = session.connection.execute(
        "SELECT 1 FROM _lab.extended_properties WHERE class = %s AND major_id = %s AND minor_id = %s"
        " AND lower(name) = lower(%s)",
        key,
    ).fetchone()
    return row is not None


def sp_addextendedproperty(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Add a property; 15233 when it is there."""
    bound = _bind("sp_addextendedproperty", arguments, with_value=True)
    name = bound.text("name") or ""
    key = (*_target(session, bound), name)
    if _exists(session, key):
        raise SqlServerError(
            15233, f"Property cannot be added. Property '{name}' already exists for the object."
        )
    session.connection.execute(
        "INSERT INTO _lab.extended_properties VALUES (%s, %s, %s, %s, %s)", (*key, bound.text("value"))
    )
    return ProcedureOutcome(event=_event("CREATE", bound))


def sp_updateextendedproperty(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Change a property's value; 15217 when there is none."""
    bound = _bind("sp_updateextendedproperty", arguments, with_value=True)
    return _change(
        session,
        bound,
        "ALTER",
        "UPDATE _lab.extended_properties SET value = %(value)s WHERE class = %(place)s AND major_id = %(major)s"
        " AND minor_id = %(minor)s AND lower(name) = lower(%(name)s)",
        bound.text("value"),
    )


def sp_dropextendedproperty(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Remove a property; 15217 when there is none."""
    bound = _bind("sp_dropextendedproperty", arguments, with_value=False)
    return _change(
        session,
        bound,
        "DROP",
        "DELETE FROM _lab.extended_properties WHERE class = %(place)s AND major_id = %(major)s"
        " AND minor_id = %(minor)s AND lower(name) = lower(%(name)s)",
        None,
    )


def _event(verb: str, bound: Bound) -> DefinitionEvent:
    return DefinitionEvent(
        f"{verb}_EXTENDED_PROPERTY",
        "PROPERTY",
        bound.text("level0name"),
        bound.text("name") or "",
        bound.text("level1name"),
    )


def _change(
    session: ProcedureSession, bound: Bound, verb: str, statement: str, value: str | None
) -> ProcedureOutcome:
    name = bound.text("name") or ""
    place, major, minor = _target(session, bound)
    if not _exists(session, (place, major, minor, name)):
        raise SqlServerError(
            15217, f"Property cannot be updated or deleted. Property '{name}' does not exist for the object."
        )
    session.connection.execute(
        statement.encode(), {"place": place, "major": major, "minor": minor, "name": name, "value": value}
    )
    return ProcedureOutcome(event=_event(verb, bound))
