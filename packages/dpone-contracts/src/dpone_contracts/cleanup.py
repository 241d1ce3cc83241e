"""Cleanup of a failed operation: proof that its ClickHouse scratch is absent, and the acknowledgement in SQL Server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import Field

from dpone_contracts.canonical import Path, digest_checked
from dpone_contracts.document import Document, Fault, Part, broken, lax, nested
from dpone_contracts.scalars import CleanupIdentifier, Epoch, Positive, Sha256Text, Uuid

ResourceKind: TypeAlias = Literal[
    "clickhouse_staging_bytes",
    "prepared_models",
    "retained_generation_bytes",
    "sealed_extract_bytes",
    "shadow_bytes",
]
RESOURCE_KINDS: Final[tuple[ResourceKind, ...]] = get_args(ResourceKind)
"""The five allocations of an operation, in the order in which documents list them."""


class AbsentShadow(Part):
    """The failed operation's shadow: the UUID that was recorded for it, none observed."""

    kind: Literal["shadow"]
    name: CleanupIdentifier
    expected_uuid: Uuid | None
    observed_uuid: None


class AbsentStaging(Part):
    """The failed operation's staging: the UUID that was recorded for it, none observed."""

    kind: Literal["staging"]
    name: CleanupIdentifier
    expected_uuid: Uuid | None
    observed_uuid: None


class ScratchCleanupReceipt(Document):
    """States that both scratch relations of a failed operation are absent and the target is the one it was."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-clickhouse-failed-scratch-cleanup-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "scratch_absence_evidence_sha256"

    schema_id: Literal["dpone.semantic-refresh-clickhouse-failed-scratch-cleanup-receipt.v1"] = Field(
        alias="schema"
    )
    scratch_absence_evidence_sha256: Sha256Text
    workflow_execution_id: CleanupIdentifier
    workflow_execution_binding_sha256: Sha256Text
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    fencing_epoch: Epoch
    target_uuid: Uuid
    relations: Annotated[tuple[AbsentShadow, AbsentStaging], Field(strict=False)]

    def _rules(self) -> Iterator[Fault]:
        shadow, staging = self.relations
        if shadow.name == staging.name:
            yield lax("distinct-relations", "shadow and staging are one relation", "relations", 1, "name")
        if shadow.expected_uuid is not None and shadow.expected_uuid == staging.expected_uuid:
            yield lax(
                "distinct-relations", "shadow and staging are one relation", "relations", 1, "expected_uuid"
            )
        for index, expected in enumerate((shadow.expected_uuid, staging.expected_uuid)):
            if expected == self.target_uuid:
                yield lax(
                    "target-is-not-scratch", "scratch is the target", "relations", index, "expected_uuid"
                )


class ReleasedAllocation(Part):
    """One released resource allocation; its id follows from what it reserves."""

    allocation_id: Sha256Text
    reservation_id: CleanupIdentifier
    workflow_execution_binding_sha256: Sha256Text
    operation_id: Sha256Text
    resource_kind: ResourceKind
    amount: Positive
    status: Literal["RELEASED"]


class ResourceAllocationClosure(Part):
    """The five allocations of one operation, all released, in the order of their kinds."""

    schema_id: Literal["dpone.semantic-refresh-mssql-resource-allocation-closure.v1"] = Field(alias="schema")
    reservation_id: CleanupIdentifier
    workflow_execution_binding_sha256: Sha256Text
    operation_id: Sha256Text
    allocations: Annotated[
        tuple[
            ReleasedAllocation, ReleasedAllocation, ReleasedAllocation, ReleasedAllocation, ReleasedAllocation
        ],
        Field(
            strict=False,
            json_schema_extra={
                "allOf": [
                    {
                        "prefixItems": [
                            {"properties": {"resource_kind": {"const": kind}}} for kind in RESOURCE_KINDS
                        ]
                    }
                ]
            },
        ),
    ]

    def _rules(self) -> Iterator[Fault]:
        for index, (allocation, kind) in enumerate(zip(self.allocations, RESOURCE_KINDS, strict=True)):
            at = ("allocations", index)
            if allocation.resource_kind != kind:
                yield broken(
                    "five-allocations", f"the allocation in this place is {kind}", *at, "resource_kind"
                )
            for name in ("reservation_id", "workflow_execution_binding_sha256", "operation_id"):
                if getattr(allocation, name) != getattr(self, name):
                    yield lax("one-operation", "differs from the closure that holds it", *at, name)
            wanted = allocation_id(
                allocation.operation_id, allocation.reservation_id, allocation.resource_kind
            )
            if allocation.allocation_id != wanted:
                yield lax("allocation-identity", "not the id of this allocation", *at, "allocation_id")


def allocation_id(operation_id: str, reservation_id: str, resource_kind: str) -> str:
    """Digest what one allocation reserves."""
    return digest_checked(
        {
            "operation_id": operation_id,
            "reservation_id": reservation_id,
            "resource_kind": resource_kind,
            "schema": "dpone.semantic-refresh-publication-resource-allocation.v1",
        }
    )


class CleanupAcknowledgement(Document):
    """Makes a released guard admissible again: scratch is proven absent and the five allocations are released."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-mssql-failed-precommit-cleanup-ack.v1"
    DIGEST_FIELD: ClassVar[str] = "cleanup_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-mssql-failed-precommit-cleanup-ack.v1"] = Field(alias="schema")
    cleanup_receipt_sha256: Sha256Text
    status: Literal["COMPLETE"]
    scratch_absence_evidence: ScratchCleanupReceipt
    scratch_absence_evidence_sha256: Sha256Text
    resource_allocation_closure: ResourceAllocationClosure
    resource_allocation_closure_sha256: Sha256Text

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield the digests of the two nested proofs."""
        scratch = plain["scratch_absence_evidence"]
        yield from nested(ScratchCleanupReceipt, scratch, "scratch_absence_evidence")
        yield ("scratch_absence_evidence_sha256",), scratch["scratch_absence_evidence_sha256"]
        yield ("resource_allocation_closure_sha256",), digest_checked(plain["resource_allocation_closure"])

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Repeat and compute the nested digests where they are absent."""
        scratch = plain["scratch_absence_evidence"]
        plain.setdefault("scratch_absence_evidence_sha256", scratch["scratch_absence_evidence_sha256"])
        plain.setdefault(
            "resource_allocation_closure_sha256", digest_checked(plain["resource_allocation_closure"])
        )

    def _rules(self) -> Iterator[Fault]:
        scratch, closure = self.scratch_absence_evidence, self.resource_allocation_closure
        for name in ("operation_id", "workflow_execution_binding_sha256"):
            if getattr(closure, name) != getattr(scratch, name):
                yield lax(
                    "one-operation", "differs from the scratch proof", "resource_allocation_closure", name
                )
