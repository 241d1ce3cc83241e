"""The endpoint's system procedures, apart from the sp_executesql and sp_prepare family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.procedures.application_locks import sp_getapplock, sp_releaseapplock
from dpone_lab.sqlserver.procedures.declared_objects import sp_lab_declare_object
from dpone_lab.sqlserver.procedures.description import (
    sp_describe_first_result_set,
    sp_describe_undeclared_parameters,
)
from dpone_lab.sqlserver.procedures.extended_properties import (
    sp_addextendedproperty,
    sp_dropextendedproperty,
    sp_updateextendedproperty,
)
from dpone_lab.sqlserver.procedures.listings import sp_columns, sp_tables
from dpone_lab.sqlserver.procedures.renaming import sp_rename
from dpone_lab.sqlserver.procedures.type_info import sp_datatype_info

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureOutcome, ProcedureSession

    Procedure = Callable[[ProcedureSession, Sequence[ProcedureArgument]], ProcedureOutcome]

PROCEDURES: dict[str, Procedure] = {
    "sp_addextendedproperty": sp_addextendedproperty,
    "sp_columns": sp_columns,
    "sp_columns_90": sp_columns,
    "sp_columns_100": sp_columns,
    "sp_datatype_info": sp_datatype_info,
    "sp_datatype_info_90": sp_datatype_info,
    "sp_datatype_info_100": sp_datatype_info,
    "sp_describe_first_result_set": sp_describe_first_result_set,
    "sp_describe_undeclared_parameters": sp_describe_undeclared_parameters,
    "sp_dropextendedproperty": sp_dropextendedproperty,
    "sp_getapplock": sp_getapplock,
    "sp_lab_declare_object": sp_lab_declare_object,
    "sp_releaseapplock": sp_releaseapplock,
    "sp_rename": sp_rename,
    "sp_tables": sp_tables,
    "sp_updateextendedproperty": sp_updateextendedproperty,
}

DEFINING = frozenset(
    {"sp_addextendedproperty", "sp_dropextendedproperty", "sp_rename", "sp_updateextendedproperty"}
)
"""Procedures that define: they fire database triggers."""


def run_procedure(
    session: ProcedureSession, schema: str | None, name: str, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Run a procedure of schema ``sys``, ``dbo`` or none; 2812 when there is no such procedure."""
    procedure = PROCEDURES.get(name.lower())
    if procedure is None or (schema is not None and schema.lower() not in ("sys", "dbo", "")):
        spelled = name if schema is None else f"{schema}.{name}"
        raise SqlServerError(Number.PROCEDURE_MISSING, f"Could not find stored procedure '{spelled}'.")
    return procedure(session, arguments)
