"""The fault matrix's world in memory: the whole run over the in-memory ports, thousands of cases a run of the tests."""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final

from dpone.application.services import Services
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.testing.memory_ports import MemoryPorts, activation_of, memory_ports, seed
from dpone_contracts.testing.plan_example import Example, ExampleModel, example_bundle
from dpone_lab.fault_matrix_check import Entry, Heads, Model, Standing
from dpone_lab.faults import Delivery, Transport

if TYPE_CHECKING:
    from dpone_contracts.ports.publisher import Scratch
    from dpone_contracts.testing.memory_rows import Row

TORN: Final = frozenset({"create_scratch", "load_chunk", "build_shadow"})
SENT_BY_NAME: Final = frozenset({"exchange", "burn_shadow_name"})
"""Methods whose statement takes effect by names alone, whatever the adapter looked at before it sent it."""
MODELS: Final = [
    ExampleModel(
        name,
        (("at", "datetime2(6)", False), ("id", "int", False), ("note", "nvarchar(20)", True)),
        ("at", "id"),
    )
    for name in ("arrivals", "departures")
]


def _at(day: int, hour: int) -> dt.datetime:
    return dt.datetime(2026, 8, day, hour)  # noqa: DTZ001 - datetime2 has no zone


OLD: Final[list[Row]] = [
    (_at(7, 1), 1, "another day"),
    (_at(8, 1), 1, "to be updated"),
    (_at(8, 2), 2, "missing in the input"),
]
NEW: Final[list[Row]] = [(_at(8, 1), 1, "updated"), (_at(8, 3), 3, None), (_at(9, 0), 4, "the next day")]
EXPECTED: Final[list[Row]] = [OLD[0], NEW[0], OLD[2], NEW[1]]
NORMAL_DAY: Final = (OLD, NEW, EXPECTED)
EMPTY_DAY: Final[tuple[list[Row], list[Row], list[Row]]] = ([OLD[0]], [], [OLD[0]])


@dataclass(slots=True)
class MemoryWorld:
    """One activated day of two models; every case begins with a copy of it."""

    example: Example
    old: list[Row]
    expected: list[Row]
    template: MemoryPorts
    ports: MemoryPorts
    torn: frozenset[str] = field(default=TORN)

    @classmethod
    def of(cls, old: list[Row], new: list[Row], expected: list[Row]) -> MemoryWorld:
        """A world whose targets hold `old`, whose models compute `new`, and that must end with `expected`."""
        example, ports = example_bundle(MODELS, database="memory"), memory_ports()
        for baseline, plan in zip(example.baselines, example.bundle.operation_plans, strict=True):
            ports.activations.adopt_baseline(baseline, plan.scope_family_id)
        ports.activations.activate(activation_of(example, ports.activations.identity()))
        seed(ports, example, old, new)
        return cls(example, old, expected, ports, copy.deepcopy(ports))

    @property
    def deployment_id(self) -> str:
        """The deployment of the activated day."""
        return self.example.bundle.release_deployment_authority.deployment_id

    @property
    def plan_bundle_sha256(self) -> str:
        """The plan of the activated day."""
        return self.example.bundle.digest

    def begin(self, stage: str) -> None:  # noqa: ARG002 - the world's
        """A fresh copy of the template, from the very beginning."""
        self.ports = copy.deepcopy(self.template)

    def services(self) -> Services:
        """The ports hold no state of a process."""
        return Services(**{each.name: getattr(self.ports, each.name) for each in fields(Services)})

    def worker(self, number: int) -> WorkerIdentity:
        """The n-th try."""
        first = WorkerIdentity(
            "scheduled__2026-08-08", "semantic_refresh", 1, "6f1c8a52-8a36-4b0e-9f59-0d1a4c1b2a00", "worker"
        )
        return replace(first, try_number=number, pod_uid=f"{first.pod_uid[:-2]}{number:02}")

    def end(self, worker: WorkerIdentity) -> None:
        """Its pod has ended."""
        self.ports.observer.pods.add(worker.pod_uid)

    def transport(self) -> Transport:
        """Requests that are on their way take effect as they are."""
        return Transport(again=self._again, tear=self._tear)

    def _again(self, delivery: Delivery) -> object:
        if delivery.method not in SENT_BY_NAME:
            return delivery.deliver()
        target, admitted, scratch, _ = delivery.arguments
        names = self.ports.publisher.names
        here = ClickHouseRelation(target.publication_database, target.publication_target_table)
        if scratch.shadow not in names:
            return None
        if delivery.method == "burn_shadow_name":
            fresh = self.ports.publisher.fresh_name(target, admitted)
            names[fresh] = names.pop(scratch.shadow)
        elif here in names:
            names[here], names[scratch.shadow] = names[scratch.shadow], names[here]
        return None

    def _tear(self, delivery: Delivery) -> object:
        """The call as it is, then the second half of what it wrote taken away."""
        answer = delivery.deliver()
        publisher = self.ports.publisher
        if delivery.method == "create_scratch":
            publisher.tables.pop(publisher.names.pop(answer.value.shadow))
            return None
        scratch: Scratch = delivery.arguments[-3 if delivery.method == "load_chunk" else -1]
        uuid = scratch.staging_uuid if delivery.method == "load_chunk" else scratch.shadow_uuid
        rows = publisher.tables[uuid]
        publisher.tables[uuid] = rows[: len(rows) // 2]
        return None

    def standing(self) -> Standing:
        """Read the rows themselves."""
        rows = self.ports.server.control.rows
        summaries = [digest for _, digest in rows.summaries.values()]
        return Standing(
            tuple(self._model(number) for number in range(len(self.example.bundle.operation_plans))),
            summaries[0] if summaries else None,
            tuple(sorted((key, stored.sha256) for key, (stored, _) in self.ports.artifacts.held.items())),
        )

    def _model(self, number: int) -> Model:
        rows, publisher = self.ports.server.control.rows, self.ports.publisher
        plan = self.example.bundle.operation_plans[number]
        target = next(
            each for each in self.example.bundle.targets if each.model_unique_id == plan.model_unique_id
        )
        uuid = publisher.names.get(
            ClickHouseRelation(target.publication_database, target.publication_target_table)
        )
        head = rows.target_heads[target.clickhouse_target_authority_id]
        scope = rows.scope_heads.get((plan.scope_family_id, plan.scope_start))
        return Model(
            name=plan.model_unique_id,
            operation=plan.operation_id,
            built=plan.operation_id in rows.build_receipts,
            sql=self._whose(self.ports.server.tables[target.target_resource_id]),
            clickhouse="neither" if uuid is None else self._whose(publisher.tables[uuid]),
            target_uuid=uuid,
            attempts=tuple(
                each.attempt.digest
                for each in sorted(
                    rows.attempts.get(plan.operation_id, ()), key=lambda each: each.attempt.fencing_epoch
                )
            ),
            journal=tuple(
                Entry(
                    each.version,
                    each.state.value,
                    None if each.predecessor is None else each.predecessor.value,
                    each.attempt_binding_sha256,
                    each.receipt_schema,
                )
                for each in rows.journals.get(plan.operation_id, ())
            ),
            heads=Heads(
                head.generation,
                head.target_uuid,
                head.owner_operation_id,
                0 if scope is None else scope.scope_revision,
                rows.checkpoints[plan.scope_family_id].covered_until,
            ),
            tables=tuple(
                sorted(
                    (relation.name, table)
                    for relation, table in publisher.names.items()
                    if relation.name.startswith("dpone_")
                )
            ),
        )

    def _whose(self, rows: list[Row]) -> str:
        mine = sorted(rows, key=repr)
        holds = [sorted(each, key=repr) == mine for each in (self.old, self.expected)]
        return {
            (True, True): "both",
            (True, False): "predecessor",
            (False, True): "successor",
            (False, False): "neither",
        }[holds[0], holds[1]]
