"""sp_lab_declare_object: catalog rows of kinds that the lab cannot create, for tests of those who read the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_TYPES = ("SN", "SO", "FN", "IF", "TF", "P", "SP")


def sp_lab_declare_object(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Declare ``@schema.@name`` of ``@type`` (a ``sys.objects.type``); nothing can use it, catalog views show it.

    ``@definition`` becomes its module text, ``@base_object_name`` a synonym's target. Needs db_owner.
    """
    bound = bind(
        "sp_lab_declare_object",
        arguments,
        {
            "schema": REQUIRED,
            "name": REQUIRED,
            "type": REQUIRED,
            "base_object_name": None,
            "definition": None,
        },
    )
    kind = (bound.text("type") or "").upper().strip()
    row = session.connection.execute(
        "SELECT n.oid, _lab.allowed(_lab.login_id(), _lab.user_id(), 0, 0, 'CONTROL') FROM pg_namespace n"
        " WHERE lower(n.nspname) = lower(%s) AND _lab.is_user_schema(n.nspname)",
        (bound.text("schema"),),
    ).fetchone()
    if row is None or not row[1] or kind not in _TYPES:
        raise SqlServerError(15600, "An invalid parameter or option was specified for the procedure.")
    taken = session.connection.execute(
        "SELECT _lab.find_object(%s, %s, NULL)", (bound.text("schema"), bound.text("name"))
    ).fetchone()
    if taken is not None and taken[0] is not None:
        raise SqlServerError(
            Number.OBJECT_EXISTS, f"There is already an object named '{bound.text('name')}' in the database."
        )
    session.connection.execute(
        "WITH made AS (INSERT INTO _lab.declared_objects (schema_oid, name, type, base_object_name)"
        " VALUES (%s, %s, rpad(%s, 2), %s) RETURNING object_id)"
        " INSERT INTO _lab.modules SELECT object_id, %s FROM made WHERE %s::text IS NOT NULL",
        (
            row[0],
            bound.text("name"),
            kind,
            bound.text("base_object_name"),
            bound.text("definition"),
            bound.text("definition"),
        ),
    )
    return ProcedureOutcome()
