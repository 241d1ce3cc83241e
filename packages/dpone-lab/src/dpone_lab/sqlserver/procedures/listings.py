"""sp_tables and sp_columns: what ODBC's SQLTables and SQLColumns read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.translation import ResultColumn
from dpone_lab.sqlserver.language.types import INT, SMALLINT, SYSNAME, TINYINT, SqlType
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome, ProcedureResult
from dpone_lab.sqlserver.procedures.binding import REQUIRED, bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_TABLE_COLUMNS = (
    ResultColumn("TABLE_QUALIFIER", SYSNAME),
    ResultColumn("TABLE_OWNER", SYSNAME),
    ResultColumn("TABLE_NAME", SYSNAME),
    ResultColumn("TABLE_TYPE", SqlType("varchar", length=32)),
    ResultColumn("REMARKS", SqlType("varchar", length=254)),
)
_COLUMN_COLUMNS = tuple(
    ResultColumn(name, kind)
    for name, kind in (
        ("TABLE_QUALIFIER", SYSNAME),
        ("TABLE_OWNER", SYSNAME),
        ("TABLE_NAME", SYSNAME),
        ("COLUMN_NAME", SYSNAME),
        ("DATA_TYPE", SMALLINT),
        ("TYPE_NAME", SYSNAME),
        ("PRECISION", INT),
        ("LENGTH", INT),
        ("SCALE", SMALLINT),
        ("RADIX", SMALLINT),
        ("NULLABLE", SMALLINT),
        ("REMARKS", SqlType("varchar", length=254)),
        ("COLUMN_DEF", SqlType("nvarchar", length=4000)),
        ("SQL_DATA_TYPE", SMALLINT),
        ("SQL_DATETIME_SUB", SMALLINT),
        ("CHAR_OCTET_LENGTH", INT),
        ("ORDINAL_POSITION", INT),
        ("IS_NULLABLE", SqlType("varchar", length=254)),
        ("SS_IS_SPARSE", SMALLINT),
        ("SS_IS_COLUMN_SET", SMALLINT),
        ("SS_IS_COMPUTED", SMALLINT),
        ("SS_IS_IDENTITY", SMALLINT),
        ("SS_UDT_CATALOG_NAME", SYSNAME),
        ("SS_UDT_SCHEMA_NAME", SYSNAME),
        ("SS_UDT_ASSEMBLY_TYPE_NAME", SYSNAME),
        ("SS_XML_SCHEMACOLLECTION_CATALOG_NAME", SYSNAME),
        ("SS_XML_SCHEMACOLLECTION_SCHEMA_NAME", SYSNAME),
        ("SS_XML_SCHEMACOLLECTION_NAME", SYSNAME),
        ("SS_DATA_TYPE", TINYINT),
    )
)

_TABLES = """
SELECT f.name, s.name, o.name, CASE o.type WHEN 'V ' THEN 'VIEW' ELSE 'TABLE' END, NULL
FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id CROSS JOIN _lab.database_facts f
WHERE o.type IN ('U ', 'V ') AND lower(o.name) {matches} lower(coalesce(%(name)s, o.name))
  AND lower(s.name) {matches} lower(coalesce(%(owner)s, s.name))
  AND lower(f.name) = lower(coalesce(%(qualifier)s, f.name))
ORDER BY 4, 1, 2, 3
"""

_COLUMNS = """
SELECT f.name, s.name, o.name, c.name, k.code, t.name || CASE WHEN c.is_identity THEN ' identity' ELSE '' END,
    CASE WHEN c.max_length = -1 THEN 0
         WHEN t.name IN ('nvarchar', 'nchar') THEN c.max_length / 2
         WHEN t.name IN ('varchar', 'char', 'varbinary', 'binary') THEN c.max_length
         WHEN t.name = 'uniqueidentifier' THEN 36 ELSE c.precision END::integer,
    CASE WHEN c.max_length = -1 THEN 0
         WHEN t.name IN ('decimal', 'numeric') THEN c.precision + 2
         WHEN t.name IN ('datetime2', 'datetime') THEN 16 WHEN t.name = 'date' THEN 6 WHEN t.name = 'time' THEN 12
         ELSE c.max_length END::integer,
    CASE WHEN t.name IN ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'datetime2', 'datetime', 'time')
         THEN c.scale END::smallint,
    CASE WHEN t.name IN ('float', 'real') THEN 2
         WHEN t.name IN ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric') THEN 10 END::smallint,
    c.is_nullable::integer, NULL,
    (SELECT d.definition FROM sys.default_constraints d WHERE d.object_id = c.default_object_id),
    CASE WHEN k.code IN (91, 93) THEN 9 ELSE k.code END,
    CASE k.code WHEN 91 THEN 1 WHEN 93 THEN 3 WHEN -154 THEN 0 END,
    CASE WHEN t.name IN ('nvarchar', 'nchar', 'varchar', 'char', 'varbinary', 'binary')
         THEN CASE WHEN c.max_length = -1 THEN 0 ELSE c.max_length END END::integer,
    row_number() OVER (PARTITION BY c.object_id ORDER BY c.column_id)::integer,
    CASE WHEN c.is_nullable THEN 'YES' ELSE 'NO' END, 0, 0, c.is_computed::integer, c.is_identity::integer,
    NULL, NULL, NULL, NULL, NULL, NULL, k.legacy
FROM sys.columns c JOIN sys.objects o ON o.object_id = c.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
JOIN sys.types t ON t.user_type_id = c.user_type_id CROSS JOIN _lab.database_facts f
JOIN (VALUES ('time', -154, 41), ('uniqueidentifier', -11, 37), ('nvarchar', -9, 39), ('nchar', -8, 39),
    ('bit', -7, 50), ('tinyint', -6, 48), ('bigint', -5, 108), ('varbinary', -3, 37), ('binary', -2, 37),
    ('char', 1, 39), ('numeric', 2, 63), ('decimal', 3, 55), ('int', 4, 56), ('smallint', 5, 52), ('float', 6, 62),
    ('real', 7, 59), ('varchar', 12, 39), ('date', 91, 40), ('datetime2', 93, 42), ('datetime', 93, 61)
) k(type_name, code, legacy) ON k.type_name = t.name
WHERE lower(o.name) {matches} lower(%(name)s) AND lower(s.name) {matches} lower(coalesce(%(owner)s, s.name))
  AND lower(c.name) {matches} lower(coalesce(%(column)s, c.name)) AND lower(f.name) = lower(coalesce(%(qualifier)s, f.name))
ORDER BY 1, 2, 3, 17
"""


def _matches(use_pattern: object) -> str:
    return "LIKE" if use_pattern in (1, True, None) else "="


def sp_tables(session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """List the tables and views that the caller may see; ``@table_type`` is a list such as ``'TABLE','VIEW'``."""
    bound = bind(
        "sp_tables",
        arguments,
        {
            "table_name": None,
            "table_owner": None,
            "table_qualifier": None,
            "table_type": None,
            "fusepattern": 1,
        },
    )
    values = {
        "name": bound.text("table_name"),
        "owner": bound.text("table_owner"),
        "qualifier": bound.text("table_qualifier"),
    }
    wanted = (bound.text("table_type") or "'TABLE','VIEW'").upper()
    sql = _TABLES.replace("{matches}", _matches(bound.values["fusepattern"]))
    rows = session.connection.execute(sql.encode(), values).fetchall()
    listed = [row for row in rows if f"'{row[3]}'" in wanted or wanted == row[3]]
    return ProcedureOutcome(results=(ProcedureResult(_TABLE_COLUMNS, listed),))


def sp_columns(session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """List the columns of the tables that match, with ODBC's type codes."""
    bound = bind(
        "sp_columns_100",
        arguments,
        {
            "table_name": REQUIRED,
            "table_owner": None,
            "table_qualifier": None,
            "column_name": None,
            "namescope": 0,
            "odbcver": 2,
            "fusepattern": 1,
        },
    )
    values = {
        "name": bound.text("table_name"),
        "owner": bound.text("table_owner"),
        "qualifier": bound.text("table_qualifier"),
        "column": bound.text("column_name"),
    }
    sql = _COLUMNS.replace("{matches}", _matches(bound.values["fusepattern"]))
    rows = session.connection.execute(sql.encode(), values).fetchall()
    return ProcedureOutcome(results=(ProcedureResult(_COLUMN_COLUMNS, rows),))
