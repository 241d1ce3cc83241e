"""`compile`: from an author's project to one verdict a model and the bytes of the proof bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_dbt_proof.lifecycle import root_only_settings
from dpone_dbt_proof.offline_compile import (
    BadModel,
    CompiledProject,
    ModelDatabase,
    compile_offline,
)
from dpone_dbt_proof.project_proof import (
    ProjectProof,
    ProofInputs,
    ProofScope,
    TwoRoots,
    catalog_roots,
    prove_project,
)
from dpone_dbt_proof.proof_bundle import bundle_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from dpone_contracts.relations import SqlRelation
    from dpone_dbt_proof.platform_project import AuthorProject


@dataclass(frozen=True, slots=True)
class CompiledProofs:
    """The verdicts, the models that dbt could not parse, and the bundle's bytes."""

    proof: ProjectProof
    bad_models: tuple[BadModel, ...]
    bundle: bytes


def compile_proofs(
    author: AuthorProject,
    where: ModelDatabase,
    inputs: ProofInputs,
    work: Path,
    *,
    scope: ProofScope = ProofScope.FULL,
    timeout_seconds: float = 600,
) -> CompiledProofs:
    """Compile under both roots and prove; raises what `compile_offline` raises. `work` is an empty directory."""
    return prove_compiled(compile_offline(author, where, work, timeout_seconds), inputs, scope=scope)


def prove_compiled(
    compiled: CompiledProject, inputs: ProofInputs, *, scope: ProofScope = ProofScope.FULL
) -> CompiledProofs:
    """Prove a project that is compiled."""
    proof = _prove(compiled, inputs, scope)
    return CompiledProofs(
        proof, compiled.bad_models, bundle_bytes(proof, compiled.platform, inputs, compiled.artifacts)
    )


def compiled_roots(compiled: CompiledProject, inputs: ProofInputs) -> tuple[SqlRelation, ...]:
    """The relations that a catalog snapshot of a compiled project begins with; `inputs` need no snapshot."""
    return catalog_roots(compiled.platform, _prove(compiled, inputs, ProofScope.FULL))


def _prove(compiled: CompiledProject, inputs: ProofInputs, scope: ProofScope) -> ProjectProof:
    roots = TwoRoots(compiled.own, root_only_settings(compiled.settings), compiled.failures)
    return prove_project(
        compiled.platform, inputs=inputs, scope=scope, project=compiled.author.root, roots=roots
    )
