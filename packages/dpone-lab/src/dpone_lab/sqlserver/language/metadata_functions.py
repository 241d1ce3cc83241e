"""Functions over the catalog: calls of schema sys' functions, made once a statement where no column is involved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.conversions import convert
from dpone_lab.sqlserver.language.errors import SqlServerError, unsupported
from dpone_lab.sqlserver.language.expressions import (
    Call,
    ColumnRef,
    Literal,
    ScalarQuery,
)
from dpone_lab.sqlserver.language.stream import TokenStream
from dpone_lab.sqlserver.language.tree_walk import walk
from dpone_lab.sqlserver.language.types import INT, MAX, SMALLINT, SYSNAME, SqlType
from dpone_lab.sqlserver.language.values import Value

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator

_TEXT = SqlType("nvarchar", length=4000)
_VARIANT = SqlType("nvarchar", length=128)
METADATA_FUNCTIONS: dict[str, tuple[SqlType, tuple[SqlType, ...]]] = {
    "applock_mode": (SqlType("nvarchar", length=32), (_TEXT, _TEXT, _TEXT)),
    "col_length": (SMALLINT, (_TEXT, _TEXT)),
    "col_name": (SYSNAME, (INT, INT)),
    "columnproperty": (INT, (INT, _TEXT, _TEXT)),
    "databasepropertyex": (_VARIANT, (_TEXT, _TEXT)),
    "db_id": (SMALLINT, (_TEXT,)),
    "db_name": (SYSNAME, (INT,)),
    "has_perms_by_name": (INT, (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT)),
    "indexproperty": (INT, (INT, _TEXT, _TEXT)),
    "is_member": (INT, (_TEXT,)),
    "is_rolemember": (INT, (_TEXT, _TEXT)),
    "is_srvrolemember": (INT, (_TEXT, _TEXT)),
    "object_definition": (SqlType("nvarchar", length=MAX), (INT,)),
    "object_id": (INT, (_TEXT, _TEXT)),
    "object_name": (SYSNAME, (INT, INT)),
    "object_schema_name": (SYSNAME, (INT, INT)),
    "objectproperty": (INT, (INT, _TEXT)),
    "objectpropertyex": (_VARIANT, (INT, _TEXT)),
    "schema_id": (INT, (_TEXT,)),
    "schema_name": (SYSNAME, (INT,)),
    "scope_identity": (SqlType("decimal", precision=38, scale=0), ()),
    "serverproperty": (_VARIANT, (_TEXT,)),
    "sessionproperty": (_VARIANT, (_TEXT,)),
    "suser_id": (INT, (_TEXT,)),
    "suser_name": (SYSNAME, (INT,)),
    "suser_sname": (SYSNAME, (SqlType("varbinary", length=85),)),
    "type_id": (INT, (_TEXT,)),
    "type_name": (SYSNAME, (INT,)),
    "typeproperty": (INT, (_TEXT, _TEXT)),
    "user_id": (INT, (_TEXT,)),
    "user_name": (SYSNAME, (INT,)),
}
"""Result and argument types by name; sql_variant results are nvarchar(128) in the lab."""

_READS_OBJECTS = frozenset(
    {
        "col_length",
        "col_name",
        "columnproperty",
        "has_perms_by_name",
        "indexproperty",
        "object_definition",
        "object_id",
        "object_name",
        "object_schema_name",
        "objectproperty",
        "objectpropertyex",
        "schema_id",
        "schema_name",
    }
)


def translate_metadata(translator: ExpressionTranslator, call: Call) -> Value:
    """Translate a catalog function; NULL for what isn't there or isn't visible."""
    result, parameters = METADATA_FUNCTIONS[call.name]
    if call.name == "sessionproperty":
        raise unsupported("SESSIONPROPERTY")
    arguments = [
        convert(translator.value(argument), parameter).sql
        for argument, parameter in zip(call.arguments, parameters, strict=False)
    ]
    if call.name in _READS_OBJECTS and arguments:
        _lock(translator, call)
    sql = f"sys.{call.name}({', '.join(arguments)})"
    if not _reads_columns(call):
        # An uncorrelated subquery is evaluated once, however many rows it is compared with.
        sql = f"(SELECT {sql})"
    return Value(sql, result.with_null(nullable=True))


def _lock(translator: ExpressionTranslator, call: Call) -> None:
    """Ask for a short S lock on the metadata that the function reads: uncommitted definitions make it wait."""
    context = translator.context
    first = call.arguments[0]
    if call.name not in ("object_id", "schema_id") or not isinstance(first, Literal):
        context.lock_for_metadata(None)
        return
    if call.name == "schema_id":
        context.lock_for_metadata(first.text)
        return
    try:
        name = TokenStream(first.text).object_name()
    except SqlServerError:
        # What is no name is no object either.
        return
    if not name.is_temporary:
        context.lock_for_metadata(name.schema or context.catalog.default_schema)


def _reads_columns(call: Call) -> bool:
    return any(isinstance(node, ColumnRef | ScalarQuery) for node in walk(call.arguments))
