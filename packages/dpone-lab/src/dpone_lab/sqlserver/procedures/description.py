"""sp_describe_first_result_set and sp_describe_undeclared_parameters: types of a batch without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.expressions import Query
from dpone_lab.sqlserver.language.syntax import Declare, Located
from dpone_lab.sqlserver.language.translate import translate
from dpone_lab.sqlserver.language.translation import ResultColumn, Scope
from dpone_lab.sqlserver.language.types import (
    BIT,
    INT,
    SMALLINT,
    SYSNAME,
    TINYINT,
    SqlType,
)
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome, ProcedureResult
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind
from dpone_lab.sqlserver.procedures.type_codes import facts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_TYPE_NAME = SqlType("nvarchar", length=256)
_LONG_NAME = SqlType("nvarchar", length=4000)


def _columns(*pairs: tuple[str, SqlType]) -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(name, kind) for name, kind in pairs)


_PARAMETER_COLUMNS = _columns(
    ("parameter_ordinal", INT),
    ("name", SYSNAME),
    ("suggested_system_type_id", INT),
    ("suggested_system_type_name", _TYPE_NAME),
    ("suggested_max_length", SMALLINT),
    ("suggested_precision", TINYINT),
    ("suggested_scale", TINYINT),
    ("suggested_user_type_id", INT),
    ("suggested_user_type_database", SYSNAME),
    ("suggested_user_type_schema", SYSNAME),
    ("suggested_user_type_name", SYSNAME),
    ("suggested_assembly_qualified_type_name", _LONG_NAME),
    ("suggested_xml_collection_id", INT),
    ("suggested_xml_collection_database", SYSNAME),
    ("suggested_xml_collection_schema", SYSNAME),
    ("suggested_xml_collection_name", SYSNAME),
    ("suggested_is_xml_document", BIT),
    ("suggested_is_case_sensitive", BIT),
    ("suggested_is_fixed_length_clr_type", BIT),
    ("suggested_is_input", BIT),
    ("suggested_is_output", BIT),
    ("formal_parameter_name", SYSNAME),
    ("suggested_tds_type_id", INT),
    ("suggested_tds_length", INT),
)
_RESULT_COLUMNS = _columns(
    ("is_hidden", BIT),
    ("column_ordinal", INT),
    ("name", SYSNAME),
    ("is_nullable", BIT),
    ("system_type_id", INT),
    ("system_type_name", _TYPE_NAME),
    ("max_length", SMALLINT),
    ("precision", TINYINT),
    ("scale", TINYINT),
    ("collation_name", SYSNAME),
    ("user_type_id", INT),
    ("user_type_database", SYSNAME),
    ("user_type_schema", SYSNAME),
    ("user_type_name", SYSNAME),
    ("assembly_qualified_type_name", _LONG_NAME),
    ("xml_collection_id", INT),
    ("xml_collection_database", SYSNAME),
    ("xml_collection_schema", SYSNAME),
    ("xml_collection_name", SYSNAME),
    ("is_xml_document", BIT),
    ("is_case_sensitive", BIT),
    ("is_fixed_length_clr_type", BIT),
    ("source_server", SYSNAME),
    ("source_database", SYSNAME),
    ("source_schema", SYSNAME),
    ("source_table", SYSNAME),
    ("source_column", SYSNAME),
    ("is_identity_column", BIT),
    ("is_part_of_unique_key", BIT),
    ("is_updateable", BIT),
    ("is_computed_column", BIT),
    ("is_sparse_column_set", BIT),
    ("ordinal_in_order_by_list", SMALLINT),
    ("order_by_is_descending", SMALLINT),
    ("order_by_list_length", SMALLINT),
    ("tds_type_id", INT),
    ("tds_length", INT),
    ("tds_collation_id", INT),
    ("tds_collation_sort_id", TINYINT),
)


def sp_describe_undeclared_parameters(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Suggest a type for each parameter of a batch that its declarations leave out."""
    bound = bind("sp_describe_undeclared_parameters", arguments, {"tsql": REQUIRED, "params": None})
    found = session.describe_parameters(bound.text("tsql") or "", bound.text("params") or "")
    rows = []
    for ordinal, (name, kind) in enumerate(found, start=1):
        facts = facts_of(kind)
        rows.append(
            (
                ordinal,
                name,
                facts.system_type_id,
                str(kind),
                kind.max_length,
                facts.precision,
                facts.scale,
                *(None,) * 9,
                False,
                False,
                False,
                True,
                False,
                None,
                facts.tds_type,
                facts.tds_length,
            )
        )
    return ProcedureOutcome(results=(ProcedureResult(_PARAMETER_COLUMNS, rows),))


def sp_describe_first_result_set(
    session: ProcedureSession, arguments: Sequence[ProcedureArgument]
) -> ProcedureOutcome:
    """Describe the columns of the first SELECT of a batch; no rows when it has none."""
    bound = bind(
        "sp_describe_first_result_set",
        arguments,
        {"tsql": REQUIRED, "params": None, "browse_information_mode": 0},
    )
    declared = _declared(bound.text("params"))
    batch = parse_batch(bound.text("tsql") or "", declared)
    rows: list[tuple[object, ...]] = []
    for statement in batch.statements:
        node = statement.statement if isinstance(statement, Located) else statement
        if not isinstance(node, Query):
            continue
        plan = translate(node, Scope(session.catalog, {**declared, **batch.variables}))
        if plan.columns:
            rows.extend(_result_row(ordinal, column) for ordinal, column in enumerate(plan.columns, start=1))
            break
    return ProcedureOutcome(results=(ProcedureResult(_RESULT_COLUMNS, rows),))


def _declared(params: str | None) -> dict[str, SqlType]:
    if not params:
        return {}
    declare = parse_batch(f"DECLARE {params}").statements[0]
    node = declare.statement if isinstance(declare, Located) else declare
    return {variable.name: variable.type for variable in node.variables} if isinstance(node, Declare) else {}


def _result_row(ordinal: int, column: ResultColumn) -> tuple[object, ...]:
    kind = column.type
    facts = facts_of(kind)
    return (
        False,
        ordinal,
        column.name or None,
        kind.nullable,
        facts.system_type_id,
        str(kind),
        kind.max_length,
        facts.precision,
        facts.scale,
        facts.collation,
        *(None,) * 9,
        False,
        kind.is_character,
        False,
        *(None,) * 5,
        False,
        None,
        False,
        False,
        False,
        None,
        None,
        None,
        facts.tds_type,
        facts.tds_length,
        None,
        None,
    )
