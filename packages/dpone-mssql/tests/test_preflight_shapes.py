"""Preflight over recorded answers of the catalog: features that the lab's engine lacks, and what 2022 added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from dpone_mssql import preflight
from dpone_mssql.batches import Statements
from dpone_mssql.control_schema import ControlNames
from dpone_mssql.names import schema_columns, target_relation

if TYPE_CHECKING:
    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.testing.plan_example import Example

SQL = Statements("catalog/target.sql", control="[dpone_control]")
SERVER_2019, SERVER_2022 = 15, 16
# temporal, memory-optimized, external, FileTable, node, edge, replicated, change data capture
PLAIN_TABLE = (0, False, False, False, False, False, False, False)


@dataclass
class Recorded:
    """A session that answers with rows that a server gave, and notes what was asked."""

    rows_of: dict[str, list[tuple[Any, ...]]]
    asked: list[str] = field(default_factory=list)

    def rows(self, sql: str, *_values: object) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        return self.rows_of.get(sql, [])


@pytest.fixture
def target(example: Example) -> PlanTarget:
    return next(each for each in example.bundle.targets if each.model_unique_id.endswith(".flight"))


def features(target: PlanTarget, version: int, **rows: list[tuple[Any, ...]]) -> tuple[list[str], list[str]]:
    """What preflight finds unfit on the table, and which statements it sent."""
    plain: dict[str, list[tuple[Any, ...]]] = {
        "table": [PLAIN_TABLE],
        "row_security": [(0,)],
        "ledger": [(0,)],
    }
    session = Recorded({SQL[name]: found for name, found in {**plain, **rows}.items()})
    found = preflight._Found()
    preflight._features(session, SQL, target_relation(target), 7, version, found)  # type: ignore[arg-type]
    assert {code for code, _ in found.findings} <= {"DPONE_TARGET_UNFIT"}
    return [text for _, text in found.findings], session.asked


@pytest.mark.parametrize("version", [SERVER_2019, SERVER_2022])
def test_a_plain_table_is_fit_on_both_versions(target: PlanTarget, version: int) -> None:
    assert features(target, version)[0] == []


@pytest.mark.parametrize("place", range(len(PLAIN_TABLE)))
def test_each_feature_of_a_table_that_breaks_a_full_scope_image_is_refused(
    target: PlanTarget, place: int
) -> None:
    flags = tuple(2 if number == place else flag for number, flag in enumerate(PLAIN_TABLE))
    found, _ = features(target, SERVER_2022, table=[flags])
    assert len(found) == 1


@pytest.mark.parametrize(
    ("name", "rows", "says"),
    [
        ("indexes", [("ix", "NONCLUSTERED", True)], "IGNORE_DUP_KEY"),
        ("indexes", [("cci", "CLUSTERED COLUMNSTORE", False)], "columnstore"),
        ("indexes", [("dbt_idx_1", "NONCLUSTERED", False)], "dbt manages"),
        ("triggers", [("t",)], "trigger"),
        ("cascades", [("fk",)], "cascading foreign key"),
        ("row_security", [(1,)], "row-level security"),
    ],
)
def test_what_drops_hides_or_adds_rows_is_refused(
    target: PlanTarget, name: str, rows: list[tuple[Any, ...]], says: str
) -> None:
    found, _ = features(target, SERVER_2019, **{name: rows})
    assert len(found) == 1
    assert says in found[0]


def test_a_ledger_table_is_refused_on_2022_and_its_column_is_not_asked_for_on_2019(
    target: PlanTarget,
) -> None:
    # sys.tables has ledger_type since 2022; on 2019 the name alone is error 207 and would stop every preflight.
    found, asked = features(target, SERVER_2022, ledger=[(2,)])
    assert ["ledger" in text for text in found] == [True]
    assert SQL["ledger"] in asked
    assert SQL["ledger"] not in features(target, SERVER_2019)[1]
    assert "ledger" not in "".join(text for text in (SQL[name] for name in SQL.names() - {"ledger"}))


# is_identity, is_computed, is_sparse, is_column_set, generated_always_type, is_masked, encryption_type,
# default_object_id, is_rowguidcol
PLAIN_COLUMN = (False, False, False, False, 0, False, 0, 0, False)
COLLATION = "Latin1_General_100_BIN2"


def column_findings(target: PlanTarget, flags: tuple[Any, ...], collation: str = COLLATION) -> list[str]:
    """What preflight finds of the planned columns with other flags or another collation on all of them."""
    columns = schema_columns(target)
    rows = [(column.name, *column.catalog_type, column.nullable, collation, *flags) for column in columns]
    session = Recorded({SQL["columns"]: rows})
    found = preflight._Found()
    preflight._columns(session, SQL, target_relation(target), 7, columns, found)  # type: ignore[arg-type]
    return [text for _, text in found.findings]


def test_planned_columns_are_fit(target: PlanTarget) -> None:
    assert column_findings(target, PLAIN_COLUMN) == []


@pytest.mark.parametrize("place", range(len(PLAIN_COLUMN)))
def test_each_feature_of_a_column_that_the_mutation_does_not_model_is_refused(
    target: PlanTarget, place: int
) -> None:
    flags = tuple(1 if number == place else flag for number, flag in enumerate(PLAIN_COLUMN))
    assert len(column_findings(target, flags)) == len(schema_columns(target))


@pytest.mark.parametrize(
    ("permissions", "unverified"),
    [((1, 0), False), ((0, 1), False), ((1, 1), False), ((0, 0), True), ((None, None), True)],
)
def test_the_right_to_see_sessions_and_log_is_the_one_of_the_servers_version(
    target: PlanTarget, permissions: tuple[int | None, int | None], *, unverified: bool
) -> None:
    # 2019: VIEW SERVER STATE. 2022 also knows VIEW SERVER PERFORMANCE STATE; 2019 must not be asked for it.
    session = Recorded(
        {
            SQL["server_state"]: [permissions],
            SQL["version_store"]: [(0,)],
            SQL["log_space"]: [(1 << 40,)],
        }
    )
    found = preflight._Found()
    preflight._budgets(session, SQL, target, found)  # type: ignore[arg-type]
    assert [code for code, _ in found.findings] == (["DPONE_PREFLIGHT_UNVERIFIED"] if unverified else [])
    assert ">= 16" in SQL["server_state"].split("PERFORMANCE STATE")[0]


@pytest.mark.parametrize("log", [[], [(None,)]])
def test_log_space_that_cannot_be_read_is_unverified(target: PlanTarget, log: list[tuple[Any, ...]]) -> None:
    session = Recorded({SQL["server_state"]: [(1, 1)], SQL["version_store"]: [(0,)], SQL["log_space"]: log})
    found = preflight._Found()
    preflight._budgets(session, SQL, target, found)  # type: ignore[arg-type]
    assert [code for code, _ in found.findings] == ["DPONE_PREFLIGHT_UNVERIFIED"]


@pytest.mark.parametrize(("read_only", "delayed"), [(1, 0), (0, 1), (0, 2)])
def test_a_database_that_is_read_only_or_may_lose_commits_is_unfit(
    target: PlanTarget, read_only: int, delayed: int
) -> None:
    relation = target_relation(target)
    session = Recorded({SQL["database"]: [(relation.database, read_only, delayed, 1, 15)]})
    found = preflight._Found()
    preflight._database(session, SQL, ControlNames(), target, relation, found)  # type: ignore[arg-type]
    assert [code for code, _ in found.findings] == ["DPONE_TARGET_UNFIT"]
