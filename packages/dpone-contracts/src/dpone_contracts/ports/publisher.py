"""The ClickHouse side: authority, scratch, exact proof, exchange, UUID evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dpone_contracts.effects import EffectKind, EffectResult, effect

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.relations import ClickHouseRelation


@dataclass(frozen=True, slots=True)
class PhysicalAuthority:
    """The whole physical authority of a target, observed once.

    `digest` covers everything but the part list and the UUID; `parts_digest` the active parts (name, rows,
    content hash); `refusals` are (code, named object) of whatever could write, filter or follow.
    """

    relation: ClickHouseRelation
    uuid: str
    digest: str
    parts_digest: str
    row_count: int
    byte_count: int
    refusals: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scratch:
    """The attempt's own relations, with the UUIDs that were read back."""

    staging: ClickHouseRelation
    staging_uuid: str
    shadow: ClickHouseRelation
    shadow_uuid: str


@dataclass(frozen=True, slots=True)
class ShadowBuild:
    """How the shadow was made: partitions attached as they are, partitions rebuilt, and its rows."""

    strategy: str
    """`partition` or `full`."""
    attached_partitions: tuple[str, ...]
    rebuilt_partitions: tuple[str, ...]
    row_count: int


@dataclass(frozen=True, slots=True)
class ShadowProof:
    """Exact multiset comparison of the shadow with (target minus staged keys) plus staging.

    `differences` counts rows, with multiplicity, that one side has and the other lacks: 0 proves equality.
    """

    rebuilt_rows: int
    attached_rows: int
    staged_rows: int
    differences: int
    target_parts_digest: str
    shadow_parts_digest: str


@dataclass(frozen=True, slots=True)
class UuidMap:
    """Which UUID stands under which name right now; None where no table has that name."""

    target_uuid: str | None
    shadow_uuid: str | None


class PreparedPublisher(Protocol):
    """Prepares a generation beside the target and exchanges it once.

    Scratch names derive from (operation, attempt): `dpone_staging_…` and `dpone_shadow_…` in the target's
    database. Every statement carries the attempt's query-id prefix.
    """

    @effect(EffectKind.READ)
    def authority(self, target: PlanTarget) -> PhysicalAuthority:
        """Observe the target; raises `DponeError` when it is absent or cannot be read whole."""
        ...

    @effect(EffectKind.WRITE)
    def create_scratch(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation
    ) -> EffectResult[Scratch]:
        """Create empty staging and shadow of the attempt; existing names are NotApplied."""
        ...

    @effect(EffectKind.READ)
    def find_scratch(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation
    ) -> Scratch | None:
        """The attempt's scratch if both relations are there."""
        ...

    @effect(EffectKind.WRITE)
    def load_chunk(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, ordinal: int, data: bytes
    ) -> EffectResult[int]:
        """Insert one verified Parquet chunk into staging; the value is the rows written."""
        ...

    @effect(EffectKind.READ)
    def staging_content(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch
    ) -> tuple[int, str]:
        """(row count, `dpone_row_v1` content digest) of staging, rows ordered by the plan's effective key."""
        ...

    @effect(EffectKind.WRITE)
    def build_shadow(
        self, plan: OperationPlan, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch
    ) -> EffectResult[ShadowBuild]:
        """Fill the empty shadow: old target anti-joined by staged keys, plus staging."""
        ...

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
        ...

    @effect(EffectKind.READ)
    def scope_rows(self, plan: OperationPlan, target: PlanTarget) -> int:
        """Rows of the target inside the plan's scope."""
        ...

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
        ...

    @effect(EffectKind.PUBLISH)
    def exchange(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[UuidMap]:
        """Send EXCHANGE TABLES once over a transport that cannot repeat it, and read the UUID map back."""
        ...

    @effect(EffectKind.READ)
    def uuid_map(self, target: PlanTarget, scratch: Scratch) -> UuidMap:
        """The UUIDs under the target's and the shadow's names."""
        ...

    @effect(EffectKind.READ)
    def active_queries(self, query_id_prefix: str) -> tuple[str, ...]:
        """Query ids with the prefix that the server still runs."""
        ...

    @effect(EffectKind.WRITE)
    def burn_shadow_name(
        self, target: PlanTarget, admitted: AdmittedOperation, scratch: Scratch, expected_target_uuid: str
    ) -> EffectResult[Scratch]:
        """Make every EXCHANGE that was sent fail from now on, a delayed or a doubled one.

        Whichever of the two tables stands under the shadow's name, the shadow itself or after the exchange the
        predecessor, gets a name that no EXCHANGE was ever sent with. The value is the scratch under that name; one
        that an earlier call burned is found again by exact UUID.
        """
        ...

    @effect(EffectKind.READ)
    def parts_digest(self, target: PlanTarget, uuid: str) -> str | None:
        """Digest of the active parts of the table with that UUID, or None where it is absent."""
        ...

    @effect(EffectKind.DELETE)
    def drop_scratch(
        self, target: PlanTarget, admitted: AdmittedOperation, relation: ClickHouseRelation, uuid: str
    ) -> EffectResult[None]:
        """Drop one scratch relation if exactly this UUID stands under this name; Applied only once proven absent."""
        ...
