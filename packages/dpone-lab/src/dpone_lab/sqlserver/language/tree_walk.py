"""Walks over the frozen trees: every node in source order, without knowing the node types."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def _field_names(node_type: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(node_type))


def walk(node: Any) -> Iterator[Any]:
    """Yield a node and, depth first, all nodes below it; tuples are descended into."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        for name in _field_names(type(node)):
            child = getattr(node, name)
            if isinstance(child, tuple) or is_dataclass(child):
                yield from walk(child)
