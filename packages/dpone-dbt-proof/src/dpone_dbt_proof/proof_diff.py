"""Names the edit that lost a proof: what changed of a model between two manifests, beside its new reasons."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_dbt_proof.manifest import Manifest, Node
    from dpone_dbt_proof.project_proof import ModelProof, ProjectProof
    from dpone_dbt_proof.reasons import Reason

_DONE: Final = {"replace": "changed", "insert": "added", "delete": "removed"}


@dataclass(frozen=True, slots=True)
class LostProof:
    """A model that has reasons which the base did not have, and every edit that can have brought them."""

    unique_id: str
    reasons: tuple[Reason, ...]
    edits: tuple[str, ...]


def lost_proofs(
    base: Manifest, base_proof: ProjectProof, manifest: Manifest, proof: ProjectProof
) -> tuple[LostProof, ...]:
    """Compare two states of a project; models that the base did not publish have lost nothing."""
    before = {model.unique_id: model for model in base_proof.models}
    return tuple(
        LostProof(model.unique_id, new, tuple(_edits(base, manifest, model)))
        for model in proof.models
        if model.unique_id in before and (new := _new_reasons(before[model.unique_id], model))
    )


def _new_reasons(before: ModelProof, after: ModelProof) -> tuple[Reason, ...]:
    known = {(reason.code, reason.message) for reason in before.reasons}
    return tuple(reason for reason in after.reasons if (reason.code, reason.message) not in known)


def _edits(base: Manifest, manifest: Manifest, model: ModelProof) -> Iterator[str]:
    old, new = base.nodes[model.unique_id], manifest.nodes[model.unique_id]
    yield from _text_edits(old, new)
    for name in sorted(set(old.config) | set(new.config)):
        if old.config.get(name) != new.config.get(name):
            yield f"config {name}: {old.config.get(name)} -> {new.config.get(name)}"
    if old.columns != new.columns:
        changed = {column.name for column in {*old.columns} ^ {*new.columns}}
        yield f"columns: {', '.join(sorted(changed)) or 'order'}"
    for key in model.macros.macro_ids:
        if key not in base.macros:
            yield f"macro {key}: new"
        elif base.macros[key].sql != manifest.macros[key].sql:
            yield f"macro {key}: changed in {manifest.macros[key].path}"
    for key in sorted({*base.ancestors(model.unique_id), *manifest.ancestors(model.unique_id)}):
        if _shape(base.nodes.get(key)) != _shape(manifest.nodes.get(key)):
            yield f"{key}: changed"
    for key in sorted(set(manifest.nodes) - set(base.nodes)):
        if (
            model.unique_id in manifest.nodes[key].depends_on
            or manifest.nodes[key].resource_type == "operation"
        ):
            yield f"{key}: new"


def _text_edits(old: Node, new: Node) -> Iterator[str]:
    before, after = old.raw_code.splitlines(), new.raw_code.splitlines()
    for tag, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            lines = f"line {start + 1}" if end - start <= 1 else f"lines {start + 1}-{end}"
            yield f"{new.path} {lines}: {_DONE[tag]}"


def _shape(node: Node | None) -> tuple[object, ...] | None:
    return None if node is None else (node.checksum, dict(node.config), node.relation_name, node.depends_on)
