"""The authority-free proof bundle of a compile: documents, requirements and reasons, equal bytes on every machine.

It holds no release, deployment, run or clock (*Identity*): what activation adds later refers to these digests.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.canonical import CanonicalError, Json, canonical_bytes, decode, digest_of, sha256_text
from dpone_contracts.document import without
from dpone_contracts.errors import DponeError
from dpone_contracts.proofs import ModelDefinitionProof
from dpone_dbt_proof import jinja_policy, tsql_policy
from dpone_dbt_proof.jinja_closure import MacroIndex
from dpone_dbt_proof.lifecycle import (
    DBT_CORE_VERSION,
    DBT_SQLSERVER_VERSION,
    LifecycleClosures,
    lifecycle_closures,
    lifecycle_document,
    texts_sha256,
)
from dpone_dbt_proof.model_build import build_arguments
from dpone_dbt_proof.read_dependencies import read_dependency_document
from dpone_dbt_proof.reasons import Status
from dpone_dbt_proof.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpone_dbt_proof.manifest import Manifest, Node
    from dpone_dbt_proof.project_proof import ModelProof, ProjectProof, ProofInputs, WorkflowProof
    from dpone_dbt_proof.reasons import Reason

BUNDLE_SCHEMA: Final = "dpone.refresh-proof-bundle.v1"
_NO_OBSERVATION: Final = digest_of({"observed": False, "schema": "dpone.catalog-observation.v1"})


def bundle_bytes(
    proof: ProjectProof, manifest: Manifest, inputs: ProofInputs, artifacts: Mapping[str, str]
) -> bytes:
    """Return the canonical bytes of the bundle, its own digest included."""
    plain: dict[str, Json] = {
        "schema": BUNDLE_SCHEMA,
        "verdict": proof.status.value,
        "inputs": _inputs(inputs),
        "policies": _policies(inputs),
        "workflows": [_workflow(item, manifest, inputs, artifacts) for item in proof.workflows],
    }
    plain["bundle_sha256"] = digest_of(plain)
    return canonical_bytes(plain)


def load_bundle(data: bytes) -> dict[str, Any]:
    """Read a bundle that `bundle_bytes` wrote; raises `DponeError` for other bytes or a digest that is not theirs."""
    try:
        plain: dict[str, Any] = decode(data).value
    except CanonicalError as error:
        raise DponeError("DPONE_DOCUMENT_TEXT", str(error)) from None
    if plain.get("schema") != BUNDLE_SCHEMA:
        raise DponeError("DPONE_DOCUMENT_SCHEMA", f"the file is no {BUNDLE_SCHEMA}")
    if plain.get("bundle_sha256") != digest_of(without(plain, "bundle_sha256")):
        raise DponeError("DPONE_DOCUMENT_DIGEST", "not the digest of the bundle", {"path": "bundle_sha256"})
    return plain


def reason_plain(reason: Reason) -> dict[str, Json]:
    """Write a reason as every report has it: the five fields always stand."""
    return {
        "code": str(reason.code),
        "message": reason.message,
        "path": reason.path,
        "line": reason.line,
        "column": reason.column,
    }


def _inputs(inputs: ProofInputs) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if inputs.snapshot is not None:
        found["catalog_snapshot_sha256"] = inputs.snapshot.sha256
    if inputs.certified is not None:
        found["certified_tuple_sha256"] = digest_of(inputs.certified.to_plain())
    if inputs.profiles is not None:
        found["platform_profiles_sha256"] = digest_of(dict(sorted(inputs.profiles.modes.items())))
    return found


def _policies(inputs: ProofInputs) -> dict[str, Json]:
    found: dict[str, Json] = {
        "parser_runtime_policy_digest": _parser_policy(inputs),
        "target_independence_policy_digest": _independence_policy(),
        "toolchain_sha256": _toolchain(),
    }
    if inputs.budget is not None:
        found["read_dependency_policy_sha256"] = inputs.budget.sha256
    return found


def _workflow(
    proof: WorkflowProof, manifest: Manifest, inputs: ProofInputs, artifacts: Mapping[str, str]
) -> dict[str, Json]:
    index = MacroIndex(manifest)
    reached = {key for model in proof.models for key in model.macros.macro_ids}
    package = manifest.nodes[proof.models[0].unique_id].package
    closures = lifecycle_closures(manifest, index, reached, package)
    plain: dict[str, Json] = {
        "name": proof.workflow.name,
        "mode": proof.workflow.mode,
        "macro_closure_sha256": texts_sha256(manifest, closures.macro_ids),
        "dependencies": {key: _names(upstream) for key, upstream in proof.dependencies.items()},
        "models": [
            _model(model, manifest, closures, inputs, documents=proof.closure is not None)
            for model in proof.models
        ],
    }
    if proof.closure is not None:
        plain["mutation_closure"] = proof.closure.document.to_plain()
        if inputs.certified is not None:
            arguments = build_arguments(Selection((), (), (), (), ()))
            document = lifecycle_document(manifest, closures, inputs.certified, artifacts, arguments)
            plain["sqlserver_lifecycle_policy"] = document.to_plain()
    return plain


def _model(
    proof: ModelProof,
    manifest: Manifest,
    closures: LifecycleClosures,
    inputs: ProofInputs,
    *,
    documents: bool,
) -> dict[str, Json]:
    """Describe a model; its documents stand only where its name admits them.

    A refused model has none: its compiled SQL may hold a clock or an environment, and two compiles would differ.
    """
    node = manifest.nodes[proof.unique_id]
    plain: dict[str, Json] = {
        "unique_id": proof.unique_id,
        "status": proof.status.value,
        "reasons": [reason_plain(reason) for reason in proof.reasons],
        "effective_key": [*proof.contract.key],
        "columns": [
            {
                "name": column.name,
                "source_type": column.source_type,
                "target_type": column.target_type,
                "nullable": column.nullable,
                "role": column.role,
            }
            for column in proof.contract.columns
        ],
    }
    if proof.contract.event_time is not None:
        plain["event_time_column"] = proof.contract.event_time
    refused = proof.status is Status.NONCONFORMANT
    if node.compiled_code is None or proof.query is None or refused or not documents:
        return plain
    compiled = sha256_text(node.compiled_code.encode())
    plain["model_definition_proof"] = _definition(proof, manifest, closures, inputs).to_plain()
    plain["read_requirements"] = {
        "schema": "dpone.read-dependency-requirements.v1",
        "compiled_sql_sha256": compiled,
        "database_name": node.database,
        "relations": [str(relation) for relation in proof.query.reads],
        "functions": [str(function) for function in proof.query.functions],
    }
    if proof.closure is not None and inputs.snapshot is not None and inputs.budget is not None:
        document = read_dependency_document(
            proof.unique_id, compiled, inputs.snapshot, inputs.budget, proof.closure
        )
        plain["read_dependency_proof"] = document.to_plain()
    return plain


def _definition(
    proof: ModelProof, manifest: Manifest, closures: LifecycleClosures, inputs: ProofInputs
) -> ModelDefinitionProof:
    node = manifest.nodes[proof.unique_id]
    query, closure = proof.query, proof.closure
    reads: list[Json] = [str(relation) for relation in query.reads] if query else []
    functions: list[Json] = [str(function) for function in query.functions] if query else []
    edges: list[Json] = [[*edge] for edge in closure.edges] if closure else []
    return ModelDefinitionProof.build(
        status=proof.status.value,
        model_unique_id=proof.unique_id,
        manifest_sha256=manifest_sha256(manifest, proof.unique_id),
        raw_code_sha256=sha256_text(node.raw_code.encode()),
        compiled_sql_sha256=sha256_text((node.compiled_code or "").encode()),
        macro_closure_sha256=texts_sha256(manifest, closures.macro_ids),
        toolchain_sha256=_toolchain(),
        resolved_relation_dependency_digest=digest_of({"relations": reads}),
        resolved_module_dependency_digest=digest_of({"edges": edges, "functions": functions}),
        catalog_observation_digest=inputs.snapshot.sha256 if inputs.snapshot else _NO_OBSERVATION,
        parser_runtime_policy_digest=_parser_policy(inputs),
        target_independence_policy_digest=_independence_policy(),
    )


def manifest_sha256(manifest: Manifest, unique_id: str) -> str:
    """Digest the stable fields of a model and of everything that it reads, never the whole volatile manifest."""
    keys = [unique_id, *manifest.ancestors(unique_id)]
    nodes: list[Json] = [_stable(manifest.nodes[key]) for key in sorted(keys) if key in manifest.nodes]
    return digest_of({"schema": "dpone.manifest-closure.v1", "nodes": nodes})


def _stable(node: Node) -> dict[str, Json]:
    return {
        "unique_id": node.unique_id,
        "resource_type": node.resource_type,
        "fqn": [*node.fqn],
        "checksum": node.checksum,
        "config": _json(dict(node.config)),
        "columns": [[column.name, column.data_type, _names(column.constraints)] for column in node.columns],
        "depends_on": _names(node.depends_on),
        "relation_name": node.relation_name,
    }


def _json(value: Any) -> Json:
    """Write YAML's values as canonical JSON: numbers with a fraction, dates and the like as text."""
    match value:
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
        case list() | tuple():
            return [_json(item) for item in value]
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)


def _parser_policy(inputs: ProofInputs) -> str:
    return digest_of(
        {
            "schema": "dpone.tsql-policy.v1",
            "functions": _names(tsql_policy.FUNCTIONS),
            "table_functions": _names(tsql_policy.TABLE_FUNCTIONS),
            "admitted_functions": _names(inputs.policy.admitted_functions),
            "types": _names(tsql_policy.TYPES),
            "plan_hints": _names(tsql_policy.PLAN_HINTS | tsql_policy.JOIN_HINTS),
        }
    )


def _independence_policy() -> str:
    return digest_of(
        {
            "schema": "dpone.jinja-policy.v1",
            "admitted": _names(jinja_policy.ADMITTED_NAMES),
            "admitted_members": _names(".".join(chain) for chain in jinja_policy.ADMITTED_CHAINS),
            "refused": _names(jinja_policy.REFUSED_NAMES),
        }
    )


def _names(names: Iterable[str]) -> list[Json]:
    return [*sorted(names)]


def _toolchain() -> str:
    return digest_of(
        {
            "schema": "dpone.proof-toolchain.v1",
            "dbt_core": DBT_CORE_VERSION,
            "dbt_sqlserver": DBT_SQLSERVER_VERSION,
            "dpone_dbt_proof": version("dpone-dbt-proof"),
            "jinja2": version("jinja2"),
            "sqlglot": version("sqlglot"),
        }
    )
