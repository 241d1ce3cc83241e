"""`ScopeMutation` in SQL Server: preflight, images, the rendered batch, its evidence and its fate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Applied, NotApplied, Reason, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.scope_mutation import BuildEvidence, Fate
from dpone_contracts.row_encoding import FieldKind
from dpone_mssql.batches import Statements
from dpone_mssql.columns import column_list, row_bytes
from dpone_mssql.connection import commit_serializable, read_consistently
from dpone_mssql.documents import StoredDocuments
from dpone_mssql.evidence import read_evidence
from dpone_mssql.images import content_of, create_images, image_definition
from dpone_mssql.journal import Journal
from dpone_mssql.literals import local_name
from dpone_mssql.mutation import in_scope, render_mutation
from dpone_mssql.names import key_columns, mutation_names, schema_columns, target_relation
from dpone_mssql.preflight import Findings, preflight
from dpone_mssql.quiescence import evidence_statements

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.model_build import RenderedBatch
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames

UNKNOWN = "DPONE_STATE_COMMIT_UNKNOWN"
CONTINUATION_BYTES = 64 * 1024 * 1024
"""The hard gate of the frozen v1 continuation (specification, SQL Server scope mutation)."""


class MssqlScopeMutation:
    """The mutation of operations in one store's database."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._names = names
        self._sql = evidence_statements(names)
        self._columns_sql = Statements("catalog/target.sql", control=names.schema)
        self._journal = Journal(names, StoredDocuments(names))

    def preflight(self, plan: OperationPlan, target: PlanTarget) -> Findings:
        """Find everything that forbids the mutation."""
        if plan.model_unique_id != target.model_unique_id:
            raise ValueError("plan and target are of two models")
        return preflight(self._config, self._names, target)

    def create_images(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation
    ) -> EffectResult[None]:
        """Create both empty images behind the attempt's fence, with the target's own collations."""
        names = mutation_names(target, admitted.attempt)
        columns, key = schema_columns(target), key_columns(plan, target)
        relation = target_relation(target)

        def create(tx: Transaction) -> None:
            self._journal.require_fence(tx, admitted.attempt)
            found = tx.rows(self._columns_sql["object"], relation.schema, relation.name)
            rows = tx.rows(self._columns_sql["columns"], int(found[0][0])) if found else []
            collations = {str(row[0]): str(row[6]) for row in rows if row[6] is not None}
            texts = {column.name for column in columns if column.field.kind is FieldKind.TEXT}
            if not texts <= set(collations):
                raise DponeError(
                    "DPONE_TARGET_SCHEMA_DRIFT", f"{relation}: a text column has no collation", {}
                )
            create_images(
                tx,
                self._sql,
                admitted.attempt.digest,
                {
                    kind: (image, image_definition(image, columns, key, collations))
                    for kind, image in (("before", names.before), ("after", names.after))
                },
            )

        return commit_serializable(self._config, create, unknown_code=UNKNOWN)

    def render(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> RenderedBatch:
        """Render the batch; lock waits inside it are the policy's."""
        return render_mutation(
            plan,
            target,
            admitted,
            lock_timeout_ms=target.resource_policy.max_mssql_scope_lock_seconds * 1000,
        )

    def evidence(self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation) -> BuildEvidence:
        """Read receipt, fate, images, temp relation and sessions."""
        return read_evidence(self._config, self._names, plan, target, admitted)

    def current_scope(self, plan: OperationPlan, target: PlanTarget) -> tuple[int, str]:
        """Return (rows, content digest) of the target's scope as it stands, within the continuation's gates.

        Raises DponeError when the scope is larger than the row and image budgets or the hard 64 MiB gate admit.
        """
        columns, key = schema_columns(target), key_columns(plan, target)
        policy = target.resource_policy
        most = min(policy.max_after_image_bytes, policy.max_scope_image_total_bytes, CONTINUATION_BYTES)
        scoped = in_scope(plan, next(c for c in key if c.name == plan.event_time_column), "r")
        table = local_name(target_relation(target))

        def read(tx: Transaction) -> tuple[int, str]:
            rows, size = tx.rows(
                f"SELECT COUNT_BIG(*), ISNULL(SUM({row_bytes(columns, 'r')}), 0) FROM {table} AS r WHERE {scoped};"
            )[0]
            if int(rows) > policy.max_after_image_rows or int(size) > most:
                raise DponeError(
                    "DPONE_CONTINUATION_TOO_LARGE",
                    "the scope is larger than a continuation may compare",
                    {"rows": str(rows), "bytes": str(size), "limit_bytes": str(most)},
                )
            return content_of(
                tx, f"(SELECT {column_list(columns)} FROM {table} AS r WHERE {scoped})", columns, key
            )

        return read_consistently(self._config, read)

    def abandon(self, admitted: AdmittedOperation) -> EffectResult[Fate]:
        """Try to make ABANDONED the attempt's fate; a mutation about to commit makes this Unknown, not wrong."""
        result = commit_serializable(
            self._config,
            lambda tx: Fate(self._journal.abandon(tx, admitted.attempt)),
            unknown_code="DPONE_SQL_OUTCOME_UNKNOWN",
        )
        match result:
            case NotApplied(reason):
                # Nothing was settled: the mutation may still hold its fate row.
                return Unknown(Reason("DPONE_SQL_OUTCOME_UNKNOWN", reason.observed, reason.evidence))
            case Applied() | Unknown():
                return result
