"""Collect every document of one activated plan and its run, as the bytes that are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.bindings import WorkflowExecutionBinding
from dpone_contracts.document import admit_document

if TYPE_CHECKING:
    from pathlib import Path

    from dpone.application.services import EvidenceServices


def collect(
    services: EvidenceServices, deployment_id: str, plan_bundle_sha256: str
) -> dict[tuple[str, str], bytes]:
    """Canonical bytes by (schema, own digest): activation, binding, every operation's documents, summary.

    What is not there yet is left out; nothing is invented.
    """
    record = services.activations.read_activation(deployment_id, plan_bundle_sha256)
    if record is None:
        return {}
    found = {(schema, digest): data for schema, digest, data in record.documents}
    for data in (record.receipt, record.plan_bundle):
        found[_key(data)] = data
    bound = services.state.resolve_execution(deployment_id, plan_bundle_sha256)
    if bound is None:
        return found
    found[_key(bound[1])] = bound[1]
    binding = WorkflowExecutionBinding.from_bytes(bound[1])
    admission = services.state.read_admission(binding.digest)
    for operation in admission.operations if admission is not None else ():
        for schema, digest in services.documents.list_for(operation.operation_id):
            stored = services.documents.read(schema, digest)
            if stored is not None:
                found[schema, digest] = stored
    summary = services.state.read_summary(binding.digest)
    if summary is not None:
        found[_key(summary)] = summary
    return found


def write_folder(documents: dict[tuple[str, str], bytes], directory: Path) -> list[str]:
    """Write each document as `<kind>.<first hex digits>.json`, byte for byte; the file names, sorted."""
    directory.mkdir(parents=True, exist_ok=True)
    names = []
    for (schema, digest), data in sorted(documents.items()):
        kind = schema.removeprefix("dpone.").removesuffix(".v1")
        name = f"{kind}.{digest.removeprefix('sha256:')[:16]}.json"
        (directory / name).write_bytes(data)
        names.append(name)
    return names


def _key(data: bytes) -> tuple[str, str]:
    document = admit_document(data)
    return document.SCHEMA, document.digest
