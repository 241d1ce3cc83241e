"""What an author declares of a published model: its key, its event time, and the type of every column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpone_contracts.effective_key import key_pair
from dpone_contracts.payload_types import payload_type
from dpone_dbt_proof.reasons import Code, Reason

if TYPE_CHECKING:
    from dpone_dbt_proof.manifest import Column, Node

_ALIASES: Final = {"integer": "int", "dec": "decimal"}


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """A column with its SQL Server type as the catalog spells it, and the ClickHouse type (None: none exists)."""

    name: str
    source_type: str
    target_type: str | None
    nullable: bool
    role: str


@dataclass(frozen=True, slots=True)
class AuthorContract:
    """Key in the author's order, event time, and all columns in table order; reasons say what is missing."""

    key: tuple[str, ...]
    event_time: str | None
    columns: tuple[MappedColumn, ...]
    reasons: tuple[Reason, ...]


def read_contract(node: Node) -> AuthorContract:
    """Read key and event time as the specification's *Effective key and event time* admits them."""
    path = (node.patch_path or "").partition("://")[2] or node.path
    declared = {column.name: column for column in node.columns}
    key = _key(node)
    reasons = [
        *_key_reasons(key, declared),
        *(reason for name in key if name in declared for reason in _column_reasons(declared[name])),
    ]
    event_time, missing = _event_time(node, key, declared)
    if missing is not None:
        reasons.append(missing)
    columns = tuple(_mapped(column, key, event_time) for column in node.columns)
    reasons += [
        _payload_reason(column) for column in columns if column.target_type is None and column.name not in key
    ]
    return AuthorContract(
        key, event_time, columns, tuple(Reason(reason.code, reason.message, path) for reason in reasons)
    )


def catalog_type(declared: str) -> str:
    """Spell a declared type as the catalog does: lower case, without blanks, without ANSI aliases."""
    text = re.sub(r"\s+", "", declared.lower())
    name, bracket, rest = text.partition("(")
    return _ALIASES.get(name, name) + bracket + rest


def _key(node: Node) -> tuple[str, ...]:
    unique_key = node.config.get("unique_key")
    if isinstance(unique_key, str):
        return (unique_key,)
    if isinstance(unique_key, Sequence):
        return tuple(str(name) for name in unique_key)
    return ()


def _key_reasons(key: tuple[str, ...], declared: dict[str, Column]) -> list[Reason]:
    if not key:
        return [Reason(Code.KEY_MISSING, "unique_key is not set")]
    reasons = [
        Reason(Code.KEY_COLUMN, f"key column {name} is not declared") for name in key if name not in declared
    ]
    if len({name.casefold() for name in key}) != len(key):
        reasons.append(Reason(Code.KEY_COLUMN, "a key column is named twice"))
    return reasons


def _column_reasons(column: Column) -> list[Reason]:
    reasons = []
    if "not_null" not in column.constraints and "primary_key" not in column.constraints:
        reasons.append(Reason(Code.KEY_NULLABLE, f"key column {column.name} has no not_null constraint"))
    if column.data_type is not None and key_pair(catalog_type(column.data_type)) is None:
        reasons.append(Reason(Code.KEY_TYPE, f"key column {column.name} has type {column.data_type}"))
    return reasons


def _event_time(
    node: Node, key: tuple[str, ...], declared: dict[str, Column]
) -> tuple[str | None, Reason | None]:
    """Take dbt's own `event_time`, else the key's only temporal column."""
    temporal = [name for name in key if name in declared and _is_temporal(declared[name])]
    configured = node.config.get("event_time")
    if configured is None:
        if len(temporal) == 1:
            return temporal[0], None
        found = f"the key has {len(temporal)} temporal columns" if temporal else "no key column is temporal"
        return None, Reason(Code.EVENT_TIME, f"event_time is not set, and {found}")
    if configured not in key:
        return None, Reason(Code.EVENT_TIME, f"event_time {configured} is not a key column")
    if configured not in temporal:
        return None, Reason(Code.EVENT_TIME, f"event_time {configured} is neither date nor datetime2(6)")
    return str(configured), None


def _is_temporal(column: Column) -> bool:
    pair = key_pair(catalog_type(column.data_type or ""))
    return pair is not None and pair.is_event_time


def _mapped(column: Column, key: tuple[str, ...], event_time: str | None) -> MappedColumn:
    source = catalog_type(column.data_type or "")
    nullable = not {"not_null", "primary_key"} & set(column.constraints)
    if column.name in key:
        pair = key_pair(source)
        role = "EFFECTIVE_KEY_EVENT_TIME" if column.name == event_time else "EFFECTIVE_KEY"
        return MappedColumn(column.name, source, pair.target_type if pair else None, nullable, role)
    kind = payload_type(source)
    target = kind.target_type(nullable=nullable) if kind else None
    return MappedColumn(column.name, source, target, nullable, "MUTABLE_VALUE")


def _payload_reason(column: MappedColumn) -> Reason:
    what = f"has type {column.source_type}" if column.source_type else "has no data_type"
    return Reason(Code.COLUMN_TYPE, f"column {column.name} {what}")
