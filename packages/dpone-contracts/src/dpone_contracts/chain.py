"""Rules over several documents, or over documents and an instant: pure functions, so that history loads tomorrow.

The rules are those of the standalone verifier, which a reviewer can run without installing anything; here they take
typed documents and a folder's documents are judged by their models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from dpone_contracts import standalone_verify
from dpone_contracts.bindings import AttemptBinding, AttemptContinuationReceipt
from dpone_contracts.canonical import Path, show_path
from dpone_contracts.document import (
    Document,
    DocumentCode,
    Inadmissible,
    Loaded,
    Refused,
    Valid,
    load_document,
)
from dpone_contracts.plans import WorkflowReplacementPlan
from dpone_contracts.receipts import (
    RouteLiveCertificationReceipt,
    RuntimeAssuranceReceipt,
    TrustedAttemptTerminationReceipt,
)
from dpone_contracts.standalone_verify import Link, Report
from dpone_contracts.summaries import FailedWorkflowSummary

__all__ = [
    "Link",
    "Report",
    "certificate_fault",
    "continuation_fault",
    "one_authority_faults",
    "replacement_faults",
    "verify_folder",
]

Certificate = RouteLiveCertificationReceipt | RuntimeAssuranceReceipt


def certificate_fault(
    certificate: Certificate, at: datetime, revocations: Sequence[Certificate] = ()
) -> str | None:
    """Name what keeps a certificate from being current at an instant (aware, UTC); None when it is current.

    Rules: `certificate-passed`, `certificate-unexpired`, `certificate-unrevoked`. `revocations` may hold any receipts;
    those that revoke nothing are passed over.
    """
    revoking = [r.to_plain() for r in revocations if r.revoked_receipt_sha256 is not None]
    return standalone_verify.current(certificate.to_plain(), at, revoking)


def continuation_fault(
    receipt: AttemptContinuationReceipt, attempt: AttemptBinding, ended: TrustedAttemptTerminationReceipt
) -> str | None:
    """Name what keeps a receipt from continuing an attempt: only the immediate successor try of an ended one may.

    Rules: `same-attempt`, then those of the evidence chain (`next-try`, `another-pod`, `same-task`, `ended-attempt`,
    `ended-before-verified`).
    """
    named = (
        receipt.original_attempt_binding_sha256,
        receipt.original_attempt_termination_receipt_sha256,
        receipt.operation_id,
        receipt.operation_plan_sha256,
        receipt.workflow_execution_binding_sha256,
        receipt.fencing_epoch,
    )
    found = (
        attempt.digest,
        ended.digest,
        attempt.operation_id,
        attempt.operation_plan_sha256,
        attempt.workflow_execution_binding_sha256,
        attempt.fencing_epoch,
    )
    if named != found or attempt.operation_id not in ended.operation_ids:
        return "same-attempt"
    return standalone_verify.continues(receipt.to_plain(), attempt.to_plain(), ended.to_plain())


def replacement_faults(
    replacement: WorkflowReplacementPlan, summary: FailedWorkflowSummary, models: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield (path, rule) where a replacement does not follow the outcomes of the failed summary.

    `models` names the model of each failed operation id.
    """
    if replacement.predecessor_workflow_summary_sha256 != summary.digest:
        yield "predecessor_workflow_summary_sha256", "replaces-summary"
    if replacement.predecessor_workflow_execution_binding_sha256 != summary.workflow_execution_binding_sha256:
        yield "predecessor_workflow_execution_binding_sha256", "replaces-summary"
    outcomes = {models.get(model.operation_id): model.mssql_outcome for model in summary.models}
    if {action.action_id: action.outcome for action in replacement.replacement_actions} != outcomes:
        yield "replacement_actions", "outcomes-of-summary"


def one_authority_faults(documents: Sequence[Document]) -> Iterator[tuple[Document, str]]:
    """Yield (document, field) where a deployment has a second release or store identity."""
    for index, path, _ in standalone_verify.one_authority([document.to_plain() for document in documents]):
        yield documents[index], path


def verify_folder(files: Mapping[str, bytes], at: datetime | None = None) -> Report:
    """Verify the documents of a folder, by file name and in any order.

    Each is judged by its model; then links are followed and the rules between documents are held, at the instants
    when certificates were used and, when `at` is given, at that instant too.
    """
    return standalone_verify.report(
        [_document(name, load_document(data)) for name, data in files.items()], at
    )


def _document(file: str, loaded: Loaded) -> standalone_verify.Document:
    match loaded:
        case Valid(document):
            content = document.to_plain()
            return standalone_verify.Document(file, document.SCHEMA, document.digest, "valid", None, content)
        case Inadmissible(schema, digest, faults, view):
            fault = _fault(faults[0].path, faults[0].rule, readable=True)
            return standalone_verify.Document(file, schema, digest, "inadmissible", fault, view)
        case Refused(schema, faults):
            fault = _fault(faults[0].path, faults[0].rule, readable=False)
            decoded = faults[0].code is not DocumentCode.TEXT and schema in standalone_verify.SCHEMAS
            known = schema if decoded else None
            return standalone_verify.Document(file, known, None, "refused", fault, None)


def _fault(path: Path, rule: str, *, readable: bool) -> standalone_verify.Fault:
    return standalone_verify.Fault(show_path(path), rule, readable)
