"""Compares a project compiled under its own root with the same project under the platform's root.

An author's root-only settings (dispatch, name macros, flags, query comment) do not travel with the project as a
package. Names, config and compiled SQL must be equal, or the model means something else where it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpone_dbt_proof.reasons import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpone_dbt_proof.manifest import Manifest, Node

_NAMES: Final = ("database", "schema", "identifier", "relation_name", "fqn")
_CONTENT: Final = ("raw_code", "checksum", "compiled_code", "columns", "depends_on")


def root_differences(
    own: Manifest, platform: Manifest, unique_id: str, root_only: Sequence[str]
) -> Iterator[Reason]:
    """Yield what differs of a model, of its tests, or of a relation that it reads; `root_only` are suspects."""
    ours, theirs = platform.nodes.get(unique_id), own.nodes.get(unique_id)
    if theirs is None or ours is None:
        root = "its own" if theirs is None else "the platform's"
        yield Reason(Code.ROOT_DIFFERENCE, f"the model does not exist under {root} root")
        return
    yield from _differences(theirs, ours, root_only)
    for key in theirs.depends_on:
        one, other = own.nodes.get(key), platform.nodes.get(key)
        if one is not None and other is not None and one.relation_name != other.relation_name:
            message = f"{one.name} is {one.relation_name} under its own root, {other.relation_name} under the platform's"
            yield Reason(Code.ROOT_DIFFERENCE, message + _suspects(root_only), theirs.path)


def _differences(theirs: Node, ours: Node, root_only: Sequence[str]) -> Iterator[Reason]:
    for name in _NAMES:
        one, other = getattr(theirs, name), getattr(ours, name)
        if one != other:
            message = f"{name} is {_show(one)} under its own root, {_show(other)} under the platform's"
            yield Reason(Code.ROOT_DIFFERENCE, message + _suspects(root_only), theirs.path)
    for name in sorted(set(theirs.config) | set(ours.config)):
        if theirs.config.get(name) != ours.config.get(name):
            message = f"config {name} differs under the two roots"
            yield Reason(Code.ROOT_DIFFERENCE, message + _suspects(root_only), theirs.path)
    for name in _CONTENT:
        one, other = _comparable(getattr(theirs, name)), _comparable(getattr(ours, name))
        if one != other:
            message = f"{name.replace('_', ' ')} differs under the two roots"
            yield Reason(Code.ROOT_DIFFERENCE, message + _suspects(root_only), theirs.path)


def _comparable(value: Any) -> Any:
    """Dbt lists dependencies in the order in which it met them."""
    return (
        sorted(value) if isinstance(value, tuple) and all(isinstance(item, str) for item in value) else value
    )


def _show(value: Any) -> str:
    return ".".join(value) if isinstance(value, tuple) else str(value)


def _suspects(root_only: Sequence[str]) -> str:
    return f"; root-only settings: {', '.join(root_only)}" if root_only else ""
