"""The control tables as the fault matrix's judge reads them: plain rows over a connection of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpone_lab.fault_matrix_check import Entry, Heads, Model

if TYPE_CHECKING:
    import pyodbc

CONTROL: Final = "dpone_control"
IMAGES: Final = "dpone_images"


def read_operations(connection: pyodbc.Connection, plan_bundle_sha256: str) -> dict[str, str]:
    """The operations of an activated plan in hex, by table name."""
    found = connection.execute(
        f"SELECT plan_bundle FROM {CONTROL}.activations"
        f" WHERE plan_bundle_sha256 = 0x{plan_bundle_sha256.removeprefix('sha256:')}"
    ).fetchall()
    return {
        plan["model_unique_id"].rsplit(".", 1)[-1]: plan["operation_id"].removeprefix("sha256:")
        for plan in json.loads(found[0][0])["operation_plans"]
    }


@dataclass(frozen=True, slots=True)
class Control:
    """The control tables that the judge needs, as plain rows."""

    journal: list[tuple[Any, ...]]
    attempts: list[tuple[Any, ...]]
    heads: dict[str, tuple[Any, ...]]
    scopes: dict[str, tuple[Any, ...]]
    checkpoints: dict[str, str]
    owners: list[tuple[Any, ...]]
    receipts: set[str]
    plans: dict[str, str]
    summary: str | None

    @classmethod
    def read(cls, connection: pyodbc.Connection, plan_bundle_sha256: str) -> Control:
        """Read all of it; the plan bundle names the operations."""

        def rows(statement: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(statement).fetchall()]

        summaries = rows(f"SELECT summary_sha256 FROM {CONTROL}.summaries")
        return cls(
            journal=rows(
                "SELECT operation_id, version, state, predecessor, attempt_binding_sha256, receipt_schema"
                f" FROM {CONTROL}.journal ORDER BY operation_id, version"
            ),
            attempts=rows(
                f"SELECT operation_id, attempt_binding_sha256 FROM {CONTROL}.attempts ORDER BY fencing_epoch"
            ),
            heads={
                str(row[0]): row[1:]
                for row in rows(
                    "SELECT target_authority_id, generation, target_uuid, owner_operation_id"
                    f" FROM {CONTROL}.target_heads"
                )
            },
            scopes={
                row[0].hex(): row[1:]
                for row in rows(
                    f"SELECT scope_family_id, scope_revision, operation_id FROM {CONTROL}.scope_heads"
                )
            },
            checkpoints={
                row[0].hex(): str(row[1])
                for row in rows(f"SELECT scope_family_id, covered_until FROM {CONTROL}.checkpoints")
            },
            owners=rows(
                f"SELECT target_authority_id, model_unique_id, scope_family_id FROM {CONTROL}.target_owners"
            ),
            receipts={row[0].hex() for row in rows(f"SELECT operation_id FROM {CONTROL}.build_receipts")},
            plans=read_operations(connection, plan_bundle_sha256),
            summary=summaries[0][0].hex() if summaries else None,
        )

    def model(self, name: str, *, sql: str, clickhouse: str, uuids: dict[str, str]) -> Model:
        """One model by its table: whose rows both targets hold is told, `uuids` are ClickHouse's by table name."""
        authority, _, family = next(row for row in self.owners if row[1].endswith(f".{name}"))
        operation = self.plans[name]
        generation, target_uuid, owner = self.heads[authority]
        revision = self.scopes.get(family.hex(), (0,))[0]
        return Model(
            name=name,
            operation=operation,
            built=operation in self.receipts,
            sql=sql,
            clickhouse=clickhouse,
            target_uuid=uuids.get(name),
            attempts=tuple(row[1].hex() for row in self.attempts if row[0].hex() == operation),
            journal=tuple(
                Entry(int(version), state, predecessor, attempt.hex(), schema)
                for found, version, state, predecessor, attempt, schema in self.journal
                if found.hex() == operation
            ),
            heads=Heads(
                int(generation), target_uuid, owner.hex(), int(revision), self.checkpoints[family.hex()]
            ),
            tables=tuple(sorted((table, found) for table, found in uuids.items() if operation[:16] in table)),
        )
