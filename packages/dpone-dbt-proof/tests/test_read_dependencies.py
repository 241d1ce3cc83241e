"""From named relations to base tables by object identity, and a verdict of its own for everything that ends the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_contracts.proofs import longest_path
from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.catalog_snapshot import LoadedSnapshot, SnapshotError, collation_rules, load_snapshot
from dpone_dbt_proof.read_dependencies import (
    ReadBudget,
    ReadClosure,
    normalised_definition,
    read_dependency_document,
    resolve_reads,
)

BUDGET = ReadBudget(max_depth=4, max_nodes=8, max_edges=8, max_definition_bytes=1000)
TARGET = SqlRelation("Shop", "mart", "event")


def table(object_id: int, name: str, **changes: Any) -> dict[str, Any]:
    return {"object_id": object_id, "schema_name": "raw", "name": name, "type": "U", **changes}


def view(object_id: int, name: str, **changes: Any) -> dict[str, Any]:
    bound = {
        "type": "V",
        "schema_bound": True,
        "definition": f"create view raw.{name} with schemabinding as select 1",
    }
    return {**table(object_id, name), **bound, **changes}


def edge(source: int, target: int | None, **changes: Any) -> dict[str, Any]:
    return {"from_object_id": source, "to_object_id": target, "name": f"object {target}", **changes}


def snapshot(
    objects: list[dict[str, Any]], dependencies: list[dict[str, Any]], **changes: Any
) -> LoadedSnapshot:
    plain = {
        "schema": "dpone.catalog-snapshot.v1",
        "database": "Shop",
        "collation": "Latin1_General_100_CI_AS",
        "view_definition": True,
        "objects": objects,
        "dependencies": dependencies,
    }
    return load_snapshot(json.dumps({**plain, **changes}).encode())


def resolve(loaded: LoadedSnapshot, *names: str, budget: ReadBudget = BUDGET) -> ReadClosure:
    return resolve_reads(loaded, [SqlRelation("Shop", "raw", name) for name in names], TARGET, budget)


def codes(closure: ReadClosure) -> list[str]:
    return [reason.code.name for reason in closure.reasons]


def test_views_and_functions_are_followed_to_their_base_tables() -> None:
    loaded = snapshot(
        [table(1, "sales"), table(2, "rates"), view(3, "priced"), view(4, "by_day", type="IF")],
        [edge(4, 3), edge(3, 1), edge(3, 2)],
    )
    closure = resolve(loaded, "BY_DAY")
    assert closure.base_object_ids == (1, 2)
    assert closure.edges == ((3, 1, "BASE_TABLE"), (3, 2, "BASE_TABLE"), (4, 3, "SCHEMABOUND_VIEW"))
    assert codes(closure) == []
    document = read_dependency_document(
        "model.shop.sale_event", f"sha256:{'0' * 64}", loaded, BUDGET, closure
    )
    assert (document.status, document.base_relation_object_ids) == ("PROVEN", (1, 2))


def test_names_compare_as_the_collation_does() -> None:
    objects = [table(1, "Sales"), table(2, "sales")]
    exact = snapshot(objects, [], collation="Latin1_General_100_BIN2")
    assert resolve(exact, "Sales").base_object_ids == (1,)
    assert codes(resolve(exact, "SALES")) == ["CATALOG_UNRESOLVED"]
    assert resolve(snapshot(objects[:1], []), "SALES").base_object_ids == (1,)


def test_what_a_collation_says_of_case() -> None:
    names = ("SQL_Latin1_General_CP1_CI_AS", "Latin1_General_BIN2", "Cyrillic_General_CS_AS", "?")
    assert [collation_rules(name).case_sensitive for name in names] == [False, True, True, None]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"encrypted": True, "definition": None}, "CATALOG_ENCRYPTED"),
        ({"schema_bound": False}, "CATALOG_UNBOUND"),
        ({"definition": None}, "CATALOG_INVISIBLE"),
        ({"type": "TF"}, "CATALOG_KIND"),
        ({"type": "FN"}, "CATALOG_KIND"),
        ({"type": "FT"}, "CATALOG_KIND"),
        ({"type": "SN"}, "CATALOG_KIND"),
        ({"type": "ET"}, "CATALOG_KIND"),
        ({"type": "P"}, "CATALOG_KIND"),
    ],
)
def test_each_unfit_module_has_its_verdict(changes: dict[str, Any], code: str) -> None:
    loaded = snapshot([table(1, "sales"), view(2, "v", **changes)], [edge(2, 1)])
    assert codes(resolve(loaded, "v")) == [code]


@pytest.mark.parametrize(
    ("dependency", "code"),
    [
        ({"server": "erp"}, "CATALOG_CROSS_DATABASE"),
        ({"database": "Archive"}, "CATALOG_CROSS_DATABASE"),
        ({"caller_dependent": True}, "CATALOG_CALLER_DEPENDENT"),
        ({"ambiguous": True}, "CATALOG_CALLER_DEPENDENT"),
        ({"to_object_id": None}, "CATALOG_UNRESOLVED"),
        ({"to_object_id": 99}, "CATALOG_UNRESOLVED"),
    ],
)
def test_each_unfit_dependency_has_its_verdict(dependency: dict[str, Any], code: str) -> None:
    loaded = snapshot([table(1, "sales"), view(2, "v")], [{**edge(2, 1), **dependency}])
    assert codes(resolve(loaded, "v")) == [code]


def test_a_dependency_in_the_same_database_by_three_parts_passes() -> None:
    loaded = snapshot([table(1, "sales"), view(2, "v")], [edge(2, 1, database="SHOP")])
    assert codes(resolve(loaded, "v")) == []


def test_what_the_reader_cant_see_is_not_absent() -> None:
    assert codes(resolve(snapshot([], []), "sales")) == ["CATALOG_UNRESOLVED"]
    assert codes(resolve(snapshot([], [], view_definition=False), "sales")) == ["CATALOG_INVISIBLE"]


def test_a_module_without_dependencies_is_not_proven_to_have_none() -> None:
    assert codes(resolve(snapshot([view(2, "v")], []), "v")) == ["CATALOG_UNRESOLVED"]


def test_computed_columns_are_refused() -> None:
    loaded = snapshot([table(1, "sales", computed_columns=["total"])], [])
    assert codes(resolve(loaded, "sales")) == ["CATALOG_COMPUTED_COLUMN"]


def test_a_cycle_is_refused() -> None:
    loaded = snapshot([view(1, "a"), view(2, "b")], [edge(1, 2), edge(2, 1)])
    assert "CATALOG_CYCLE" in codes(resolve(loaded, "a"))


def test_the_target_behind_a_view_is_refused() -> None:
    target = table(9, "event", schema_name="mart")
    assert codes(resolve(snapshot([target, view(2, "v")], [edge(2, 9)]), "v")) == ["CATALOG_TARGET"]


@pytest.mark.parametrize(
    "budget",
    [
        ReadBudget(1, 8, 8, 1000),
        ReadBudget(4, 3, 8, 1000),
        ReadBudget(4, 8, 2, 1000),
        ReadBudget(4, 8, 8, 100),
    ],
)
def test_each_limit_ends_the_proof(budget: ReadBudget) -> None:
    loaded = snapshot(
        [table(1, "sales"), view(2, "a"), view(3, "b"), view(4, "c")], [edge(4, 3), edge(3, 2), edge(2, 1)]
    )
    assert codes(resolve(loaded, "c")) == []
    assert "CATALOG_BUDGET" in codes(resolve(loaded, "c", budget=budget))


@pytest.mark.parametrize("limits", [(0, 1, 1, 1), (33, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, -1)])
def test_a_budget_bounds(limits: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="limits are positive"):
        ReadBudget(*limits)


def test_definitions_are_digested_without_client_differences() -> None:
    assert normalised_definition("  create view v\r\nas select 1  \r\n") == "create view v\nas select 1"
    base = [table(1, "sales")]
    one = resolve(
        snapshot([*base, view(2, "v", definition="create view v\r\nas select 1")], [edge(2, 1)]), "v"
    )
    same = resolve(
        snapshot([*base, view(2, "v", definition="create view v\nas select 1\n")], [edge(2, 1)]), "v"
    )
    other = resolve(
        snapshot([*base, view(2, "v", definition="create view v as select 2")], [edge(2, 1)]), "v"
    )
    assert one.definitions_sha256 == same.definitions_sha256 != other.definitions_sha256


@pytest.mark.parametrize("broken", [b"[]", b"{}", b'{"schema": "dpone.catalog-snapshot.v1"}', b"\xff"])
def test_bytes_that_are_no_snapshot_are_refused(broken: bytes) -> None:
    with pytest.raises(SnapshotError):
        load_snapshot(broken)


def test_an_object_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(SnapshotError, match="object id 1 stands twice"):
        snapshot([table(1, "a"), table(1, "b")], [])


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=20))
def test_a_proof_is_acyclic_within_budget_and_ends_in_tables(pairs: list[tuple[int, int]]) -> None:
    """Objects 1 to 6 are tables, 7 to 12 views; whatever depends on whatever, PROVEN means what it says."""
    objects = [table(i, f"o{i}") for i in range(1, 7)] + [view(i, f"o{i}") for i in range(7, 13)]
    loaded = snapshot(objects, [edge(a, b) for a, b in sorted(set(pairs))])
    budget = ReadBudget(3, 10, 12, 10_000)
    closure = resolve(loaded, "o12", "o1", budget=budget)
    document = read_dependency_document("model.shop.m", f"sha256:{'0' * 64}", loaded, budget, closure)
    if document.status == "PROVEN":
        depth = longest_path([(a, b) for a, b, _ in closure.edges])
        assert depth is not None
        assert depth <= 3
        assert set(closure.base_object_ids) <= set(range(1, 7))
        followed = {a for a, _, _ in closure.edges}
        assert {b for _, b, kind in closure.edges if kind != "BASE_TABLE"} <= followed
