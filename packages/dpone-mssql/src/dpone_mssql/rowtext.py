"""`dpone_row_v1` in T-SQL: the row text of columns, their order, and the content digest of a relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dpone_contracts.row_encoding import ROWS_PER_BLOCK, FieldKind
from dpone_mssql.literals import BIN2, UTF8

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_mssql.columns import Column


def field_text(column: Column, expression: str) -> str:
    """Write the varchar expression of one field, NULL for NULL."""
    match column.field.kind:
        case FieldKind.BIT:
            return f"CONVERT(varchar(1), {expression})"
        case FieldKind.INTEGER:
            return f"CONVERT(varchar(20), {expression})"
        case FieldKind.DECIMAL:
            return f"CONVERT(varchar(41), {expression})"
        case FieldKind.DATE:
            return f"CONVERT(varchar(10), {expression}, 23)"
        case FieldKind.DATETIME:
            return f"CONVERT(varchar(26), CONVERT(datetime2(6), {expression}), 121)"
        case FieldKind.UUID:
            return f"LOWER(CONVERT(varchar(36), {expression}))"
        case FieldKind.TEXT:
            utf8 = f"CONVERT(varchar(max), {expression} COLLATE {UTF8})"
            return f"CONVERT(varchar(20), DATALENGTH({utf8})) + ':' + {utf8}"
        case FieldKind.BINARY:
            return f"CONVERT(varchar(max), {expression}, 2)"
        case _ as never:
            assert_never(never)


def row_text(columns: Sequence[Column], alias: str) -> str:
    """Write the varchar(max) expression of one row, its end included."""
    fields = (f"ISNULL({field_text(column, f'{alias}.{column.quoted}')}, 'N')" for column in columns)
    # The max type comes first: a sum of bounded varchars would be cut at 8,000 bytes.
    return f"CONVERT(varchar(max), '' COLLATE {UTF8}) + " + " + '|' + ".join(fields) + " + '|' + CHAR(10)"


def row_order(key: Sequence[Column], alias: str) -> str:
    """Write the ORDER BY terms of the effective key in plan order."""
    return ", ".join(_order_term(column, f"{alias}.{column.quoted}") for column in key)


def _order_term(column: Column, expression: str) -> str:
    if column.field.kind is FieldKind.UUID:
        return f"LOWER(CONVERT(varchar(36), {expression})) COLLATE {BIN2}"
    return expression


def content_digest(columns: Sequence[Column], key: Sequence[Column], relation: str, result: str) -> str:
    """Write the statement that sets the varbinary(32) variable `result` to the content digest of a whole relation.

    A block is aggregated to one varchar(max); the blocks' raw digests are joined through hex, since STRING_AGG
    has no binary form. An empty relation has no block: the digest of nothing.
    """
    return f"""SELECT {result} = HASHBYTES('SHA2_256', CONVERT(varbinary(max), ISNULL(
    STRING_AGG(CONVERT(varchar(max), b.[digest], 2), '') WITHIN GROUP (ORDER BY b.[block]), ''), 2))
FROM (
    SELECT o.[block], HASHBYTES('SHA2_256',
        STRING_AGG(CONVERT(varchar(max), o.[row_text]), '') WITHIN GROUP (ORDER BY o.[position])) AS [digest]
    FROM (
        SELECT n.[position], (n.[position] - 1) / {ROWS_PER_BLOCK} AS [block], n.[row_text]
        FROM (
            SELECT ROW_NUMBER() OVER (ORDER BY {row_order(key, "r")}) AS [position],
                {row_text(columns, "r")} AS [row_text]
            FROM {relation} AS r
        ) AS n
    ) AS o
    GROUP BY o.[block]
) AS b;"""
