"""The `PreparedPublisher` port over one ClickHouse server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_clickhouse import budget, exchange, preparation
from dpone_clickhouse import scratch as scratch_relations
from dpone_clickhouse.authority import judged
from dpone_clickhouse.connection import Connection, Tag
from dpone_clickhouse.failures import reading
from dpone_clickhouse.names import OBSERVER_PREFIX, AttemptNames
from dpone_clickhouse.observation import observe, row_policies, table_row
from dpone_clickhouse.parts import parts_digest
from dpone_clickhouse.scope import scope_of
from dpone_clickhouse.scratch import uuids
from dpone_clickhouse.target import TargetTable, table_of
from dpone_contracts.effects import EffectKind, EffectResult, NotApplied, Reason, effect
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.publisher import (
        PhysicalAuthority,
        Scratch,
        ShadowBuild,
        ShadowProof,
        UuidMap,
    )
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.relations import ClickHouseRelation


class ClickHousePublisher:
    """Prepares a generation beside the target and exchanges it once.

    `disk_reserve_bytes` stay free on the target's disks whatever a budget allows. `policies_from_plan` is for an
    embedded engine without access storage only, see `authority.judged`.
    """

    def __init__(
        self, connection: Connection, *, disk_reserve_bytes: int, policies_from_plan: bool = False
    ) -> None:
        self._connection = connection
        self._disk_reserve_bytes = disk_reserve_bytes
        self._policies_from_plan = policies_from_plan

    @effect(EffectKind.READ)
    def authority(self, target: PlanTarget) -> PhysicalAuthority:
        """Observe the target; raises `DponeError` when it is absent or cannot be read whole."""
        return self._authority(table_of(target), _observing(target, "authority"))

    @effect(EffectKind.WRITE)
    def create_scratch(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,
    ) -> EffectResult[Scratch]:
        """Create empty staging and shadow of the attempt; existing names are NotApplied."""
        table, names, tag = table_of(target), AttemptNames.of(admitted), _tag(target, admitted, "scratch")
        with reading():
            settings = self._connection.setting_findings(tag)
            free = budget.held_by(self._connection, table.relation, tag).free
        if settings:
            return NotApplied(Reason(*settings[0]))
        refusal = budget.exceeded("free disk", self._disk_reserve_bytes, free)
        if refusal is not None:
            return NotApplied(refusal)
        return scratch_relations.create(self._connection, table.relation, names, tag)

    @effect(EffectKind.READ)
    def find_scratch(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,
    ) -> Scratch | None:
        """The attempt's scratch if both relations are there."""
        with reading():
            return scratch_relations.find(
                self._connection,
                table_of(target).relation,
                AttemptNames.of(admitted),
                _tag(target, admitted, "find-scratch"),
            )

    @effect(EffectKind.WRITE)
    def load_chunk(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, ordinal: int, data: bytes
    ) -> EffectResult[int]:
        """Insert one verified Parquet chunk into staging; the value is the rows written."""
        table, tag = table_of(target), _tag(target, admitted, f"load-{ordinal}")
        with reading():
            held = budget.held_by(self._connection, scratch.staging, tag)
        if held.uuid != scratch.staging_uuid:
            evidence = {"expected": scratch.staging_uuid, "observed": str(held.uuid)}
            return NotApplied(
                Reason(
                    "DPONE_CLICKHOUSE_SCRATCH_CONFLICT", f"{scratch.staging} is not the attempt's", evidence
                )
            )
        allowed = budget.allocated(admitted, budget.STAGING)
        refusal = budget.exceeded(
            f"staging with chunk {ordinal}", held.size + len(data), allowed
        ) or budget.exceeded(f"disk for chunk {ordinal}", len(data) + self._disk_reserve_bytes, held.free)
        if refusal is not None:
            return NotApplied(refusal)
        return preparation.load(self._connection, table, scratch, held.rows, data, tag)

    @effect(EffectKind.READ)
    def staging_content(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch
    ) -> tuple[int, str]:
        """(row count, `dpone_row_v1` content digest) of staging, rows ordered by the plan's effective key."""
        with reading():
            return preparation.content(
                self._connection,
                table_of(target, plan),
                scratch.staging,
                _tag(target, admitted, "staging-content"),
            )

    @effect(EffectKind.WRITE)
    def build_shadow(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch
    ) -> EffectResult[ShadowBuild]:
        """Fill the empty shadow: old target anti-joined by staged keys, plus staging."""
        table, tag = table_of(target, plan), _tag(target, admitted, "build-shadow")
        self._own_scratch(table, scratch, tag)
        with reading():
            shadow_plan = preparation.plan_shadow(self._connection, table, scratch, tag)
        for refusal in self._build_refusals(plan, target, admitted, scratch, shadow_plan, tag):
            return NotApplied(refusal)
        return preparation.build(self._connection, table, scratch, shadow_plan, tag)

    @effect(EffectKind.READ)
    def prove_shadow(
        self,
        plan: OperationPlan,
        target: PlanTarget,
        admitted: AdmittedOperation,
        scratch: Scratch,
        build: ShadowBuild,
    ) -> ShadowProof:
        """Compare every business column and multiplicity of the whole shadow, both directions."""
        table, tag = table_of(target, plan), _tag(target, admitted, "prove-shadow")
        target_uuid = self._own_scratch(table, scratch, tag)
        with reading():
            return preparation.prove(self._connection, table, scratch, build, target_uuid, tag)

    @effect(EffectKind.READ)
    def scope_rows(self, plan: OperationPlan, target: PlanTarget) -> int:
        """Rows of the target inside the plan's scope."""
        return self._scope_rows(plan, table_of(target), _observing(target, "scope-rows"))

    @effect(EffectKind.READ)
    def exchange_refusals(
        self,
        target: PlanTarget,
        admitted: AdmittedOperation,
        scratch: Scratch,
        proof: ShadowProof,
        authority_digest: str,
    ) -> tuple[tuple[str, str], ...]:
        """(code, what was seen) of everything that forbids the exchange now; empty when it may be sent."""
        with reading():
            return tuple(
                self._exchange_refusals(
                    table_of(target),
                    admitted,
                    scratch,
                    proof,
                    authority_digest,
                    _tag(target, admitted, "exchange-gates"),
                )
            )

    @effect(EffectKind.PUBLISH)
    def exchange(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[UuidMap]:
        """Send EXCHANGE TABLES once over a transport that cannot repeat it, and read the UUID map back."""
        return exchange.exchange(
            self._connection,
            table_of(target).relation,
            scratch,
            expected_target_uuid,
            _tag(target, admitted, "exchange"),
        )

    @effect(EffectKind.READ)
    def uuid_map(self, target: PlanTarget, scratch: Scratch) -> UuidMap:
        """The UUIDs under the target's and the shadow's names."""
        with reading():
            return exchange.uuid_map(
                self._connection, table_of(target).relation, scratch.shadow, _observing(target, "uuid-map")
            )

    @effect(EffectKind.READ)
    def active_queries(self, query_id_prefix: str) -> tuple[str, ...]:
        """Query ids with the prefix that the server still runs."""
        with reading():
            return exchange.active_queries(
                self._connection, query_id_prefix, Tag(OBSERVER_PREFIX, "quiescence")
            )

    @effect(EffectKind.WRITE)
    def burn_shadow_name(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[Scratch]:
        """Rename what stands under the shadow's name, so that every EXCHANGE sent with it fails from now on."""
        return exchange.burn(
            self._connection,
            table_of(target).relation,
            scratch,
            expected_target_uuid,
            AttemptNames.of(admitted),
            _tag(target, admitted, "burn"),
        )

    @effect(EffectKind.READ)
    def parts_digest(
        self,
        target: PlanTarget,
        uuid: str,
    ) -> str | None:
        """Digest of the active parts of the table with that UUID, or None where it is absent."""
        with reading():
            return parts_digest(self._connection, uuid, _observing(target, "parts"))

    @effect(EffectKind.DELETE)
    def drop_scratch(
        self, target: PlanTarget, admitted: AdmittedOperation, relation: ClickHouseRelation, uuid: str
    ) -> EffectResult[None]:
        """Drop one scratch relation if exactly this UUID stands under this name; Applied only once proven absent."""
        return scratch_relations.drop(
            self._connection,
            table_of(target).relation,
            relation,
            uuid,
            _tag(target, admitted, "drop-scratch"),
        )

    def _authority(self, table: TargetTable, tag: Tag) -> PhysicalAuthority:
        with reading():
            observation = observe(self._connection, table.relation, tag)
            digest = parts_digest(self._connection, observation.table.uuid, tag)
        return judged(observation, table, digest or "", policies_from_plan=self._policies_from_plan)

    def _own_scratch(self, table: TargetTable, scratch: Scratch, tag: Tag) -> str:
        """Make sure that staging and shadow are the attempt's own; return the target's UUID."""
        with reading():
            there = uuids(self._connection, (table.relation, scratch.staging, scratch.shadow), tag)
        expected = {scratch.staging: scratch.staging_uuid, scratch.shadow: scratch.shadow_uuid}
        for relation, uuid in expected.items():
            if there.get(relation) != uuid:
                raise DponeError(
                    "DPONE_CLICKHOUSE_SCRATCH_CONFLICT",
                    f"{relation} is not the attempt's scratch",
                    {"expected": uuid, "observed": str(there.get(relation))},
                )
        if table.relation not in there:
            raise DponeError("DPONE_CLICKHOUSE_TARGET_ABSENT", f"no table {table.relation}")
        return there[table.relation]

    def _scope_rows(self, plan: OperationPlan, table: TargetTable, tag: Tag) -> int:
        with reading():
            return preparation.rows_inside(self._connection, table.relation, scope_of(plan, table), tag)

    def _build_refusals(
        self,
        plan: OperationPlan,
        target: PlanTarget,
        admitted: AdmittedOperation,
        scratch: Scratch,
        shadow_plan: preparation.ShadowPlan,
        tag: Tag,
    ) -> Iterator[Reason]:
        """Name every budget that the shadow would break; attached partitions cost no bytes."""
        table, policy = table_of(target), target.resource_policy
        with reading():
            staged = budget.held_by(self._connection, scratch.staging, tag).size
            held = budget.held_by(self._connection, table.relation, tag)
            outside = preparation.rows_outside(self._connection, scratch.staging, scope_of(plan, table), tag)
            rebuilt = preparation.partition_bytes(self._connection, table.relation, shadow_plan.rebuilt, tag)
        if outside:
            yield Reason("DPONE_STAGING_MISMATCH", f"{outside} staged rows lie outside the scope")
        needed = staged + rebuilt
        checks = (
            # A chunk is weighed as Parquet before it is loaded; what the last one became is only known now.
            budget.exceeded("staging", staged, budget.allocated(admitted, budget.STAGING)),
            budget.exceeded("shadow", needed, budget.allocated(admitted, budget.SHADOW)),
            budget.exceeded("retained generation", held.size, budget.allocated(admitted, budget.RETAINED)),
            budget.exceeded(
                "staging and shadow", staged + needed, policy.max_clickhouse_total_transient_bytes
            ),
            budget.exceeded("disk for the shadow", needed + self._disk_reserve_bytes, held.free),
            budget.exceeded(
                "target scope", self._scope_rows(plan, table, tag), policy.max_target_scope_rows, unit="rows"
            ),
        )
        yield from (refusal for refusal in checks if refusal is not None)

    def _exchange_refusals(
        self,
        table: TargetTable,
        admitted: AdmittedOperation,
        scratch: Scratch,
        proof: ShadowProof,
        authority_digest: str,
        tag: Tag,
    ) -> Iterator[tuple[str, str]]:
        connection = self._connection
        authority = self._authority(table, tag)
        yield from authority.refusals
        if authority.digest != authority_digest:
            yield ("DPONE_CLICKHOUSE_AUTHORITY_CHANGED", f"{table.relation} changed since it was prepared")
        if authority.parts_digest != proof.target_parts_digest:
            yield ("DPONE_CLICKHOUSE_TARGET_CHANGED", f"{table.relation} was written after the proof")
        if parts_digest(connection, scratch.shadow_uuid, tag) != proof.shadow_parts_digest:
            yield (
                "DPONE_CLICKHOUSE_TARGET_CHANGED",
                f"{scratch.shadow} was written after the proof, or is gone",
            )
        shadow, target = (table_row(connection, name, tag) for name in (scratch.shadow, table.relation))
        if shadow is None or target is None or shadow.definition != target.definition:
            yield ("DPONE_CLICKHOUSE_SCRATCH_DIFFERS", f"{scratch.shadow} is not of the target's design")
        yield from (
            ("DPONE_CLICKHOUSE_ROW_POLICY", name)
            for name in row_policies(connection, (scratch.shadow, scratch.staging), tag) or ()
        )
        retained = budget.exceeded(
            "retained generation", authority.byte_count, budget.allocated(admitted, budget.RETAINED)
        )
        if retained is not None:
            yield (retained.code, retained.observed)


def _tag(target: PlanTarget, admitted: AdmittedOperation, step: str) -> Tag:
    """An attempt's statement, under the limit of the target's own policy."""
    seconds = target.resource_policy.max_statement_seconds
    return Tag(AttemptNames.of(admitted).query_id_prefix, step, seconds)


def _observing(target: PlanTarget, step: str) -> Tag:
    """A read of nobody's attempt."""
    return Tag(OBSERVER_PREFIX, step, target.resource_policy.max_statement_seconds)
