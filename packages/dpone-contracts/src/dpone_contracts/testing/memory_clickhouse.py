"""ClickHouse in memory: tables by UUID under names, scratch, exact proof, exchange and burn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from dpone_contracts.canonical import digest_of
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.publisher import PhysicalAuthority, Scratch, ShadowBuild, ShadowProof, UuidMap
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.testing.memory_rows import TargetRows

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.memory_rows import Row


@dataclass(slots=True)
class MemoryPublisher:
    """`PreparedPublisher` over its own tables.

    `refusals` are what forbids any publication, `running` the query ids that the server still shows.
    """

    names: dict[ClickHouseRelation, str] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    burns: int = 0

    def create_target(self, target: PlanTarget, rows: list[Row]) -> None:
        """The fixture's part: the published generation that the plan names."""
        self.names[_relation(target)] = target.clickhouse_target_uuid
        self.tables[target.clickhouse_target_uuid] = list(rows)

    def authority(self, target: PlanTarget) -> PhysicalAuthority:
        """Observe the target."""
        relation = _relation(target)
        uuid = self.names.get(relation)
        if uuid is None:
            raise DponeError("DPONE_CLICKHOUSE_TARGET_ABSENT", f"{relation} is not there", {})
        design = digest_of({"columns": [column.target_type for column in target.writable_columns]})
        rows, parts = self.tables[uuid], self._parts(target, uuid)
        return PhysicalAuthority(relation, uuid, design, parts, len(rows), len(rows), tuple(self.refusals))

    def create_scratch(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,
    ) -> EffectResult[Scratch]:
        """Create empty staging and shadow."""
        staging, shadow = _scratch_names(target, admitted)
        if {staging, shadow} & set(self.names):
            return _conflict("the attempt's scratch exists already")
        for relation in (staging, shadow):
            self.names[relation] = str(uuid4())
            self.tables[self.names[relation]] = []
        return Applied(Scratch(staging, self.names[staging], shadow, self.names[shadow]))

    def find_scratch(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,
    ) -> Scratch | None:
        """The attempt's scratch."""
        staging, shadow = _scratch_names(target, admitted)
        if staging not in self.names or shadow not in self.names:
            return None
        return Scratch(staging, self.names[staging], shadow, self.names[shadow])

    def load_chunk(
        self,
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
        ordinal: int,  # noqa: ARG002 - the port's
        data: bytes,
    ) -> EffectResult[int]:
        """Insert the rows of one chunk."""
        rows = TargetRows.of(target).from_bytes(data)
        if scratch.staging_uuid not in self.tables:
            return _conflict("staging is gone")
        self.tables[scratch.staging_uuid] += rows
        return Applied(len(rows))

    def staging_content(
        self,
        plan: OperationPlan,
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
    ) -> tuple[int, str]:
        """Rows and digest of staging."""
        rows = self.tables[scratch.staging_uuid]
        return len(rows), TargetRows.of(target, plan).digest(rows)

    def build_shadow(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
    ) -> EffectResult[ShadowBuild]:
        """Fill the empty shadow."""
        if {scratch.staging_uuid, scratch.shadow_uuid} - self.tables.keys():
            return _conflict("the scratch is gone")
        if self.tables[scratch.shadow_uuid]:
            return _conflict("the shadow is not empty")
        self.tables[scratch.shadow_uuid] = self._expected(target, scratch)
        rows = len(self.tables[scratch.shadow_uuid])
        return Applied(ShadowBuild("full", (), ("all",), rows))

    def prove_shadow(
        self,
        plan: OperationPlan,  # noqa: ARG002 - the port's
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
        build: ShadowBuild,  # noqa: ARG002 - the port's
    ) -> ShadowProof:
        """Compare both multisets, both ways."""
        shadow, expected = Counter(self.tables[scratch.shadow_uuid]), Counter(self._expected(target, scratch))
        return ShadowProof(
            rebuilt_rows=shadow.total(),
            attached_rows=0,
            staged_rows=len(self.tables[scratch.staging_uuid]),
            differences=((shadow - expected) + (expected - shadow)).total(),
            target_parts_digest=self._parts(target, self.names[_relation(target)]),
            shadow_parts_digest=self._parts(target, scratch.shadow_uuid),
        )

    def scope_rows(self, plan: OperationPlan, target: PlanTarget) -> int:
        """Rows of the target inside the scope."""
        columns = TargetRows.of(target)
        return sum(columns.in_scope(plan, row) for row in self.tables[self.names[_relation(target)]])

    def exchange_refusals(
        self,
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
        proof: ShadowProof,
        authority_digest: str,
    ) -> tuple[tuple[str, str], ...]:
        """Whatever changed since the proof."""
        now = self.authority(target)
        changed = {
            "DPONE_CLICKHOUSE_AUTHORITY_CHANGED": now.digest != authority_digest,
            "DPONE_CLICKHOUSE_TARGET_CHANGED": now.parts_digest != proof.target_parts_digest,
            "DPONE_CLICKHOUSE_SCRATCH_DIFFERS": self.names.get(scratch.shadow) != scratch.shadow_uuid
            or self._parts(target, scratch.shadow_uuid) != proof.shadow_parts_digest,
        }
        return (
            *now.refusals,
            *((code, "changed since the proof") for code, found in changed.items() if found),
        )

    def exchange(
        self,
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        scratch: Scratch,
        expected_target_uuid: str,
    ) -> EffectResult[UuidMap]:
        """Swap the UUIDs under both names."""
        relation = _relation(target)
        if self.uuid_map(target, scratch) != UuidMap(expected_target_uuid, scratch.shadow_uuid):
            return NotApplied(
                Reason("DPONE_TARGET_UUID_DRIFT", "the names do not hold predecessor and shadow", {})
            )
        self.names[relation], self.names[scratch.shadow] = self.names[scratch.shadow], self.names[relation]
        return Applied(self.uuid_map(target, scratch))

    def uuid_map(self, target: PlanTarget, scratch: Scratch) -> UuidMap:
        """The UUIDs under the target's and the shadow's names."""
        return UuidMap(self.names.get(_relation(target)), self.names.get(scratch.shadow))

    def active_queries(self, query_id_prefix: str) -> tuple[str, ...]:
        """Query ids with the prefix that still run."""
        return tuple(sorted(each for each in self.running if each.startswith(query_id_prefix)))

    def burn_shadow_name(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[Scratch]:
        """Rename what stands beside the target to a name that was never used, unless that was done before."""
        pair = {expected_target_uuid, scratch.shadow_uuid}
        beside = [name for name, uuid in self.names.items() if uuid in pair and name != _relation(target)]
        if self.names.get(_relation(target)) not in pair or len(beside) != 1:
            return _conflict("target and shadow are not the tables that were prepared")
        if beside == [scratch.shadow]:
            beside = [self.fresh_name(target, admitted)]
            self.names[beside[0]] = self.names.pop(scratch.shadow)
        return Applied(replace(scratch, shadow=beside[0]))

    def fresh_name(self, target: PlanTarget, admitted: AdmittedOperation) -> ClickHouseRelation:
        """A name that nothing was ever sent with."""
        self.burns += 1
        _, shadow = _scratch_names(target, admitted)
        return ClickHouseRelation(shadow.database, f"{shadow.name}_b{self.burns}")

    def parts_digest(self, target: PlanTarget, uuid: str) -> str | None:
        """The digest of a table's rows."""
        return self._parts(target, uuid) if uuid in self.tables else None

    def drop_scratch(
        self,
        target: PlanTarget,
        admitted: AdmittedOperation,  # noqa: ARG002 - the port's
        relation: ClickHouseRelation,
        uuid: str,
    ) -> EffectResult[None]:
        """Drop exactly this UUID under this name."""
        if relation == _relation(target) or self.names.get(relation, uuid) != uuid:
            return _conflict(f"{relation} is another table")
        self.names.pop(relation, None)
        self.tables.pop(uuid, None)
        return Applied(None)

    def _expected(self, target: PlanTarget, scratch: Scratch) -> list[Row]:
        columns, staged = TargetRows.of(target), self.tables[scratch.staging_uuid]
        keys = {columns.key_of(row) for row in staged}
        old = self.tables[self.names[_relation(target)]]
        return [row for row in old if columns.key_of(row) not in keys] + staged

    def _parts(self, target: PlanTarget, uuid: str) -> str:
        return TargetRows.of(target).digest(self.tables[uuid])


def _relation(target: PlanTarget) -> ClickHouseRelation:
    return ClickHouseRelation(target.publication_database, target.publication_target_table)


def _scratch_names(
    target: PlanTarget, admitted: AdmittedOperation
) -> tuple[ClickHouseRelation, ClickHouseRelation]:
    attempt = admitted.attempt.digest.removeprefix("sha256:")[:32]
    database = target.publication_database
    return (
        ClickHouseRelation(database, f"dpone_staging_{attempt}"),
        ClickHouseRelation(database, f"dpone_shadow_{attempt}"),
    )


def _conflict(observed: str) -> NotApplied:
    return NotApplied(Reason("DPONE_CLICKHOUSE_SCRATCH_CONFLICT", observed, {}))
