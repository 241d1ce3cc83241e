"""Rows of a planned target in memory: key, scope, digest, and chunks that read back."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, assert_never
from uuid import UUID

from dpone_contracts.row_encoding import FieldKind, encode_field, field_type, image_digest, order_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.row_encoding import FieldType, RowValue

Row: TypeAlias = "tuple[RowValue, ...]"
"""Values in the order of the writable columns."""


@dataclass(frozen=True, slots=True)
class TargetRows:
    """How rows of one target are read: field types, positions of the key in plan order, position of the event time."""

    fields: tuple[FieldType, ...]
    key: tuple[int, ...]
    event_time: int

    @classmethod
    def of(cls, target: PlanTarget, plan: OperationPlan | None = None) -> TargetRows:
        """From the writable columns; the key in the plan's order, or in table order where no plan is at hand."""
        columns = target.writable_columns
        names = [column.name for column in columns]
        roles = [column.writable_role for column in columns]
        key = (
            tuple(at for at, role in enumerate(roles) if role != "MUTABLE_VALUE")
            if plan is None
            else tuple(names.index(column.name) for column in plan.effective_key_columns)
        )
        event_time = roles.index("EFFECTIVE_KEY_EVENT_TIME")
        return cls(tuple(field_type(column.source_type) for column in columns), key, event_time)

    def key_of(self, row: Row) -> Row:
        """The key of a row as rows are ordered by it."""
        return order_key(self.fields, self.key, row)

    def ordered(self, rows: Iterable[Row]) -> list[Row]:
        """Rows in the order of `dpone_row_v1`."""
        return sorted(rows, key=self.key_of)

    def digest(self, rows: Iterable[Row]) -> str:
        """The content digest of rows in any order."""
        return image_digest(self.fields, self.key, rows)

    def in_scope(self, plan: OperationPlan, row: Row) -> bool:
        """Whether a row's event time lies in the plan's [start, end)."""
        value = row[self.event_time]
        assert isinstance(value, dt.date)
        at = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
        start, end = (
            dt.datetime.fromisoformat(bound.rstrip("Z")) for bound in (plan.scope_start, plan.scope_end)
        )
        return start <= at < end

    def to_bytes(self, rows: Iterable[Row]) -> bytes:
        """Rows as JSON of their field texts."""
        return json.dumps(
            [[_text(f, v) for f, v in zip(self.fields, row, strict=True)] for row in rows]
        ).encode()

    def from_bytes(self, data: bytes) -> list[Row]:
        """Rows of `to_bytes`."""
        return [
            tuple(_value(f, t) for f, t in zip(self.fields, row, strict=True)) for row in json.loads(data)
        ]


def _text(field: FieldType, value: RowValue) -> str | None:
    return None if value is None else encode_field(field, value).decode("utf-8")


def _value(field: FieldType, text: str | None) -> RowValue:
    if text is None:
        return None
    match field.kind:
        case FieldKind.BIT:
            return text == "1"
        case FieldKind.INTEGER:
            return int(text)
        case FieldKind.DECIMAL:
            return Decimal(text)
        case FieldKind.DATE:
            return dt.date.fromisoformat(text)
        case FieldKind.DATETIME:
            return dt.datetime.fromisoformat(text)
        case FieldKind.UUID:
            return UUID(text)
        case FieldKind.TEXT:
            return text.partition(":")[2]
        case FieldKind.BINARY:
            return bytes.fromhex(text)
        case _ as never:
            assert_never(never)
