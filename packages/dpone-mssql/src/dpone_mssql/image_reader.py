"""Bulk reading of images as Arrow: the one module that holds the ODBC-to-Arrow reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import arrow_odbc
import pyarrow as pa

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.image_reader import ImageBatch
from dpone_contracts.row_encoding import FieldKind
from dpone_mssql.connection import SqlServerError, before_commit, read_committed
from dpone_mssql.literals import local_name
from dpone_mssql.names import key_columns, schema_columns
from dpone_mssql.rowtext import row_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.relations import SqlRelation
    from dpone_mssql.columns import Column
    from dpone_mssql.connection import SqlServerConfig

MAX_VALUE_BYTES = 64 * 1024
"""The longest value of a (max) type that is read, in bytes as SQL Server stores it; a longer one is an error, never cut."""

BUFFER_BYTES = 128 * 1024 * 1024
"""The most that the ODBC buffers of one batch take; wide rows come in smaller pieces and are joined again."""


class MssqlImageReader:
    """`ImageReader` over ODBC; memory is bounded by one batch."""

    def __init__(self, config: SqlServerConfig) -> None:
        self._config = config

    def batches(
        self, plan: OperationPlan, target: PlanTarget, image: SqlRelation, rows_per_batch: int
    ) -> Iterator[ImageBatch]:
        """Stream all rows in the order of `dpone_row_v1`; each batch but the last has `rows_per_batch` rows."""
        columns, key = schema_columns(target), key_columns(plan, target)
        self._require_short(image, columns)
        first = 0
        try:
            reader = self._open(image_query(image, columns, key), columns, rows_per_batch)
            for data in rebatched(reader, rows_per_batch):
                yield ImageBatch(first_row=first, row_count=data.num_rows, data=_exact(data, columns))
                first += data.num_rows
        except arrow_odbc.Error:
            # From None: the driver's text may hold values.
            raise DponeError(
                "DPONE_MSSQL_READ_FAILED", f"{image} can't be read after row {first}", {"rows": str(first)}
            ) from None

    def _require_short(self, image: SqlRelation, columns: Sequence[Column]) -> None:
        """Refuse values that wouldn't fit the buffer: not every driver says that it has cut one."""
        unbounded = [column for column in columns if column.source_type.endswith("(max)")]
        if not unbounded:
            return
        longest = ", ".join(f"ISNULL(MAX(DATALENGTH(r.{column.quoted})), 0)" for column in unbounded)
        try:
            found = read_committed(
                self._config,
                lambda session: session.rows(f"SELECT {longest} FROM {local_name(image)} AS r;")[0],
            )
        except SqlServerError as error:
            raise DponeError.because(before_commit(error)) from None
        for column, length in zip(unbounded, found, strict=True):
            if length > MAX_VALUE_BYTES:
                raise DponeError(
                    "DPONE_ROW_VALUE_REFUSED",
                    f"{image}.{column.name} holds a value of {length} bytes; {MAX_VALUE_BYTES} can be carried",
                    {"column": column.name},
                )

    def _open(self, query: str, columns: Sequence[Column], rows_per_batch: int) -> Any:
        reader = arrow_odbc.read_arrow_batches_from_odbc(
            query=query,
            connection_string=self._config.connection_string,
            batch_size=rows_per_batch,
            login_timeout_sec=self._config.login_timeout_seconds,
            query_timeout_sec=self._config.statement_timeout_seconds,
            max_text_size=2 * MAX_VALUE_BYTES,  # UTF-16 grows to at most one and a half in UTF-8
            max_binary_size=MAX_VALUE_BYTES,
            max_bytes_per_batch=BUFFER_BYTES,
            schema=pa.schema([pa.field(c.name, _carried_type(c), c.nullable) for c in columns]),
        )
        if reader is None:
            raise DponeError("DPONE_MSSQL_READ_FAILED", "the image's query gave no result set", {})
        return reader


def rebatched(pieces: Iterable[pa.RecordBatch], rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    """Join pieces to batches of exactly `rows_per_batch` rows, the last one but smaller."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for piece in pieces:
        waiting.append(piece)
        rows += piece.num_rows
        while rows >= rows_per_batch:
            joined = pa.concat_batches(waiting)
            yield joined.slice(0, rows_per_batch)
            rows -= rows_per_batch
            waiting = [joined.slice(rows_per_batch)] if rows else []
    if rows:
        yield pa.concat_batches(waiting)


def image_query(image: SqlRelation, columns: Sequence[Column], key: Sequence[Column]) -> str:
    """Write the ordered SELECT; a uniqueidentifier travels as its lower-case text."""
    values = ", ".join(_value(column) for column in columns)
    return f"SELECT {values} FROM {local_name(image)} AS r ORDER BY {row_order(key, 'r')}"


def _value(column: Column) -> str:
    value = f"r.{column.quoted}"
    if column.field.kind is FieldKind.UUID:
        value = f"LOWER(CONVERT(char(36), {value}))"
    if _is_all_fraction(column):
        value = f"CONVERT(varchar(41), {value})"
    return f"{value} AS {column.quoted}"


def _is_all_fraction(column: Column) -> bool:
    """Whether a decimal has no digit before its point: some drivers write a zero there, for which no buffer has room."""
    kind = column.field
    return kind.kind is FieldKind.DECIMAL and kind.precision == kind.scale


def _carried_type(column: Column) -> pa.DataType:
    return pa.string() if _is_all_fraction(column) else arrow_type(column)


def _exact(data: pa.RecordBatch, columns: Sequence[Column]) -> pa.RecordBatch:
    """The batch with every column in its exact type."""
    for place, column in enumerate(columns):
        if _is_all_fraction(column):
            exact = pa.field(column.name, arrow_type(column), column.nullable)
            data = data.set_column(place, exact, data.column(place).cast(exact.type))
    return data


def arrow_type(column: Column) -> pa.DataType:
    """Return the exact Arrow type of a column; datetime2 in microseconds, uniqueidentifier as text."""
    kind = column.field
    match kind.kind:
        case FieldKind.BIT:
            return pa.bool_()
        case FieldKind.INTEGER:
            return {8: pa.uint8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bits]
        case FieldKind.DECIMAL:
            return pa.decimal128(kind.precision, kind.scale)
        case FieldKind.DATE:
            return pa.date32()
        case FieldKind.DATETIME:
            return pa.timestamp("us")
        case FieldKind.UUID | FieldKind.TEXT:
            return pa.string()
        case FieldKind.BINARY:
            return pa.binary()
        case _ as never:
            assert_never(never)
