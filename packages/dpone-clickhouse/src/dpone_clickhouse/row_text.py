"""`dpone_row_v1` in ClickHouse SQL: the text of a row, and the content digest of a table computed where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dpone_clickhouse.names import qualified, quoted
from dpone_contracts.row_encoding import ROWS_PER_BLOCK, FieldKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_clickhouse.types import TargetColumn
    from dpone_contracts.relations import ClickHouseRelation


def field_sql(column: TargetColumn) -> str:
    """The SQL expression of one field's text; NULL gives the marker."""
    text = _text_sql(column)
    return f"ifNull({text}, 'N')" if column.nullable else text


def row_sql(columns: Sequence[TargetColumn]) -> str:
    """The SQL expression of a row's bytes: every field's text and its end, then the row's end."""
    fields = ", ".join(f"{field_sql(column)}, '|'" for column in columns)
    return f"concat({fields}, '\\n')"


def order_sql(key: Sequence[TargetColumn]) -> str:
    """The ORDER BY of `dpone_row_v1`: typed order, uniqueidentifier by its lower-case text."""
    return ", ".join(_ordered(column) for column in key)


def page_sql(
    relation: ClickHouseRelation,
    columns: Sequence[TargetColumn],
    key: Sequence[TargetColumn],
    blocks: int | None,
    *,
    after: bool,
) -> str:
    """A query of the next blocks in key order: (rows, digest as 64 hex digits, key of the last row as texts) of each.

    The text of one page is all that the server holds at once; without a number of blocks the table is one page. With
    `after` the page begins behind the key whose texts are bound as `last0`, `last1`, …
    """
    rows = qualified(relation)
    if blocks is not None:
        condition = _behind(key) if after else "1"
        limit = f"ORDER BY {order_sql(key)} LIMIT {blocks * ROWS_PER_BLOCK}"
        rows = f"(SELECT * FROM {rows} WHERE {condition} {limit})"
    keys = ", ".join(quoted(column.name) for column in key)
    texts = ", ".join(f"toString(tupleElement(last, {place}))" for place in range(1, len(key) + 1))
    return f"""
SELECT
    count(),
    lower(hex(SHA256(arrayStringConcat(arrayMap(x -> x.2, arraySort(x -> x.1, groupArray((place, text)))))))),
    argMax(keys, place) AS last,
    [{texts}]
FROM
(
    SELECT
        row_number() OVER (ORDER BY {order_sql(key)}) - 1 AS place,
        intDiv(place, {ROWS_PER_BLOCK}) AS block,
        {row_sql(columns)} AS text,
        tuple({keys}) AS keys
    FROM {rows}
)
GROUP BY block ORDER BY block
"""


def _ordered(column: TargetColumn) -> str:
    return f"toString({quoted(column.name)})" if column.field.kind is FieldKind.UUID else quoted(column.name)


def _behind(key: Sequence[TargetColumn]) -> str:
    """The condition of rows behind the bound key, spelled out so that the primary index can answer it."""
    equal: list[str] = []
    cases: list[str] = []
    for place, column in enumerate(key):
        bound = "String" if column.field.kind is FieldKind.UUID else column.target_type
        last = f"{{last{place}:{bound}}}"
        cases.append(" AND ".join([*equal, f"{_ordered(column)} > {last}"]))
        equal.append(f"{_ordered(column)} = {last}")
    return " OR ".join(f"({case})" for case in cases)


def _text_sql(column: TargetColumn) -> str:
    name, field = quoted(column.name), column.field
    match field.kind:
        case FieldKind.BIT:
            return f"toString(toUInt8({name}))"
        case FieldKind.INTEGER | FieldKind.DATE | FieldKind.UUID:
            return f"toString({name})"
        case FieldKind.DECIMAL:
            # toString drops the fraction's trailing zeros.
            return f"toDecimalString({name}, {field.scale})"
        case FieldKind.DATETIME:
            return f"toString(toDateTime64({name}, 6, 'UTC'))"
        case FieldKind.TEXT:
            return f"concat(toString(length({name})), ':', {name})"
        case FieldKind.BINARY:
            return f"hex({name})"
        case _ as never:
            assert_never(never)
