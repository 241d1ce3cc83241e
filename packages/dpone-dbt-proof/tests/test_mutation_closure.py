"""Each resource or setting that could mutate beside the governed models has its own reason."""

from __future__ import annotations

from typing import Any

import pytest

from dpone_dbt_proof.mutation_closure import ClosureProof, PlatformProfiles, prove_closure, workflows


def prove(shop: Any, profiles: PlatformProfiles | None = None) -> ClosureProof:
    manifest = shop.load()
    (workflow,) = workflows(manifest, profiles)
    return prove_closure(manifest, workflow, profiles)


def codes(proof: ClosureProof, key: str = "model.shop.sale_event") -> list[str]:
    return [reason.code.name for reason in proof.reasons[key]]


def test_a_conformant_model_is_proven_with_its_tests_as_readers(shop: Any) -> None:
    proof = prove(shop)
    document = proof.document.to_plain()
    del document["mutation_closure_sha256"]
    assert document == {
        "schema": "dpone.semantic-refresh-mutation-closure.v1",
        "status": "PROVEN",
        "indirect_selection": "empty",
        "selectors": ["fqn:shop.marts.sale_event"],
        "selected_node_ids": ["model.shop.sale_event", "test.shop.sale_id_is_there"],
        "selected_mutating_node_ids": ["model.shop.sale_event"],
        "selected_read_only_node_ids": ["test.shop.sale_id_is_there"],
        "unclassified_mutating_node_ids": [],
    }


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("materialized", "table", "NOT_INCREMENTAL"),
        ("materialized", "insert_by_period", "CUSTOM_MATERIALIZATION"),
        ("materialized", "ephemeral", "EPHEMERAL"),
        ("contract", {"enforced": False}, "CONTRACT"),
        ("contract", None, "CONTRACT"),
        ("on_schema_change", "append_new_columns", "ON_SCHEMA_CHANGE"),
        ("on_schema_change", None, "ON_SCHEMA_CHANGE"),
        ("pre-hook", [{"sql": "select 1"}], "MODEL_HOOK"),
        ("post-hook", [{"sql": "select 1"}], "MODEL_HOOK"),
        ("full_refresh", True, "FULL_REFRESH"),
        ("grants", {"select": ["bi"]}, "GRANTS"),
        ("persist_docs", {"relation": True}, "PERSIST_DOCS"),
        ("indexes", [{"columns": ["sale_id"]}], "INDEXES"),
        ("as_columnstore", True, "INDEXES"),
        ("predicates", ["1 = 1"], "PREDICATES"),
        ("incremental_predicates", ["1 = 1"], "PREDICATES"),
        ("sql_header", "set nocount on", "QUERY_OPTIONS"),
        ("batch_size", "day", "BATCHES"),
    ],
)
def test_each_setting_that_opens_another_branch_is_refused(
    shop: Any, setting: str, value: object, code: str
) -> None:
    shop.node["config"][setting] = value
    proof = prove(shop)
    assert code in codes(proof)
    assert proof.document.status == "NONCONFORMANT"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("full_refresh", False),
        ("grants", {}),
        ("persist_docs", {"relation": False}),
        ("as_columnstore", False),
    ],
)
def test_settings_that_change_nothing_pass(shop: Any, setting: str, value: object) -> None:
    shop.node["config"][setting] = value
    assert codes(prove(shop)) == []


def test_another_strategy_under_a_v2_profile_is_refused(shop: Any) -> None:
    shop.node["config"]["incremental_strategy"] = "merge"
    proof = prove(shop, PlatformProfiles({"to_mart": "v2"}))
    assert codes(proof) == ["STRATEGY"]
    assert proof.document.unclassified_mutating_node_ids == ("model.shop.sale_event",)


def test_a_python_model_is_refused(shop: Any) -> None:
    shop.node["language"] = "python"
    assert "PYTHON_MODEL" in codes(prove(shop))


@pytest.mark.parametrize(
    ("kind", "code"), [("seed", "SEED"), ("snapshot", "SNAPSHOT"), ("analysis", "NOT_A_MODEL")]
)
def test_a_resource_that_is_no_model_cant_be_read_through(shop: Any, kind: str, code: str) -> None:
    key = shop.other(kind, "currencies")
    shop.node["depends_on"]["nodes"].append(key)
    assert codes(prove(shop)) == [code]


def test_an_ephemeral_ancestor_is_refused_at_any_depth(shop: Any) -> None:
    inner = shop.model("inner", "select 1 as x", depends_on=[], materialized="ephemeral", meta={})
    view = shop.model("middle", "select 1 as x", depends_on=[inner], materialized="view", meta={})
    shop.node["depends_on"]["nodes"] = [view]
    assert codes(prove(shop)) == ["EPHEMERAL"]


def test_tables_and_views_of_the_project_may_be_read(shop: Any) -> None:
    view = shop.model("staged", "select 1 as x", depends_on=[], materialized="view", meta={})
    shop.node["depends_on"]["nodes"] = [view]
    proof = prove(shop)
    assert codes(proof) == []
    assert "model.shop.staged" not in proof.document.selected_node_ids


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("dpone_platform", "PROJECT_HOOK"),
        ("shop", "PROJECT_HOOK"),
        ("helper", "PACKAGE_HOOK"),
        ("dbt_sqlserver", "ADAPTER_HOOK"),
    ],
)
def test_run_hooks_of_every_project_are_refused(shop: Any, package: str, code: str) -> None:
    shop.other("operation", "shop-on-run-end-0", package_name=package)
    assert codes(prove(shop)) == [code]


def test_a_test_that_stores_failures_is_refused(shop: Any) -> None:
    shop.test("stored", ["model.shop.sale_event"], store_failures=True)
    assert codes(prove(shop)) == ["STORE_FAILURES"]


def test_a_test_that_reads_another_model_too_is_not_selected(shop: Any) -> None:
    other = shop.model("other", "select 1 as x", depends_on=[], materialized="view", meta={})
    shop.test("compares", ["model.shop.sale_event", other], store_failures=True)
    proof = prove(shop)
    assert codes(proof) == []
    assert "test.shop.compares" not in proof.document.selected_node_ids


def test_a_selector_that_also_takes_another_model_is_refused(shop: Any) -> None:
    shop.model("nested", "select 1 as x", depends_on=[], meta={})
    shop.document["nodes"]["model.shop.nested"]["fqn"] = ["shop", "marts", "sale_event", "nested"]
    assert codes(prove(shop)) == ["SELECTOR_NOT_EXACT"]


def test_a_workflow_of_both_modes_is_refused_with_both_named(shop: Any) -> None:
    shop.model("old_event", shop.SQL, depends_on=[], incremental_strategy="merge")
    proof = prove(shop)
    (message,) = [
        r.message for r in proof.reasons["model.shop.sale_event"] if r.code.name == "WORKFLOW_MIXED"
    ]
    assert message == "workflow sales mixes v1: old_event; v2: sale_event"


def test_a_profile_decides_the_mode_where_the_platform_has_a_file(shop: Any) -> None:
    manifest = shop.load()
    assert [w.mode for w in workflows(manifest, PlatformProfiles({"to_mart": "v1"}))] == ["v1"]
    assert [w.mode for w in workflows(manifest, None)] == ["v2"]


def test_an_unknown_profile_and_unknown_keys_are_refused(shop: Any) -> None:
    shop.node["config"]["meta"]["dpone"]["publish"]["mode"] = "fast"
    proof = prove(shop, PlatformProfiles({"other": "v2"}))
    assert codes(proof) == ["PUBLISH_INVALID", "PROFILE_UNKNOWN"] or codes(proof) == [
        "PROFILE_UNKNOWN",
        "PUBLISH_INVALID",
    ]


def test_what_is_not_enabled_is_not_published(shop: Any) -> None:
    shop.node["config"]["meta"]["dpone"]["publish"]["enabled"] = "true"
    assert workflows(shop.load(), None) == []
