"""What SQL Server shows of one attempt's mutation, read from another session; and settling an open fate."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.scope_mutation import BuildEvidence, Fate, ImageObservation, SessionEvidence
from dpone_mssql.connection import read_consistently
from dpone_mssql.control_schema import recovery_fork
from dpone_mssql.images import observe_image
from dpone_mssql.literals import digest_bytes, digest_text, local_name
from dpone_mssql.names import image_relation, key_columns, mutation_names, schema_columns
from dpone_mssql.quiescence import activity_of, evidence_statements, unreadable

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames


def read_evidence(
    config: SqlServerConfig,
    names: ControlNames,
    plan: OperationPlan,
    target: PlanTarget,
    admitted: AdmittedOperation,
) -> BuildEvidence:
    """Read receipt, fate, images, temp relation and sessions in one transaction.

    A continued operation's mutation is that of its first attempt: where a receipt is, its attempt is the one observed.
    A read that fails or times out leaves `reachable` false, and then nothing else counts as absence.
    """
    try:
        return read_consistently(config, lambda tx: _read(tx, names, plan, target, admitted))
    except DponeError as error:
        if not unreadable(error):
            raise
        return _unreached(plan, target, admitted)


def _read(
    tx: Transaction,
    names: ControlNames,
    plan: OperationPlan,
    target: PlanTarget,
    admitted: AdmittedOperation,
) -> BuildEvidence:
    sql = evidence_statements(names)
    receipt = tx.one(sql["receipt"], digest_bytes(plan.operation_id))
    attempt = admitted.attempt.digest if receipt is None else digest_text(receipt[0])
    if receipt is not None and sha256(bytes(receipt[1])).digest() != bytes(receipt[2]):
        raise DponeError(
            "DPONE_DOCUMENT_CORRUPT",
            "the stored build receipt is not the bytes of its digest",
            {"operation_id": plan.operation_id},
        )
    fate = tx.one(sql["fate"], digest_bytes(attempt))
    columns, key = schema_columns(target), key_columns(plan, target)
    before, after = (
        observe_image(tx, image_relation(target, kind, plan.operation_id, attempt), columns, key)
        for kind in ("before", "after")
    )
    temp = local_name(mutation_names(target, admitted.attempt).temp)
    return BuildEvidence(
        operation_id=plan.operation_id,
        attempt_binding_sha256=attempt,
        reachable=True,
        intent_recorded=bool(tx.rows(sql["intent"], digest_bytes(attempt))[0][0]),
        fate=None if fate is None else Fate(str(fate[0])),
        receipt=None if receipt is None else bytes(receipt[1]),
        before_image=before,
        after_image=after,
        temp_exists=tx.rows(sql["object_exists"], temp)[0][0] is not None,
        sessions=activity_of(tx, sql, plan.operation_id, attempt).evidence,
        recovery_fork=recovery_fork(tx),
    )


def _unreached(plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> BuildEvidence:
    names = mutation_names(target, admitted.attempt)
    before, after = (
        ImageObservation(image, exists=False, row_count=None, content_sha256=None)
        for image in (names.before, names.after)
    )
    return BuildEvidence(
        operation_id=plan.operation_id,
        attempt_binding_sha256=admitted.attempt.digest,
        reachable=False,
        intent_recorded=False,
        fate=None,
        receipt=None,
        before_image=before,
        after_image=after,
        temp_exists=False,
        sessions=SessionEvidence.NOT_VISIBLE,
        recovery_fork="",
    )
