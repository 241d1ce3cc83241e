"""One verdict a model from selection, Jinja, T-SQL, catalog and tuple, whatever the other models are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dpone_dbt_proof.mutation_closure import PlatformProfiles
from dpone_dbt_proof.project_proof import ModelProof, ProofInputs, ProofScope, prove_project
from dpone_dbt_proof.tsql_policy import TsqlPolicy

if TYPE_CHECKING:
    from pathlib import Path


def judge(shop: Any, key: str = "model.shop.sale_event", **inputs: Any) -> ModelProof:
    proof = prove_project(shop.load(), inputs=ProofInputs(**inputs), scope=ProofScope.DEFINITION)
    return next(model for model in proof.models if model.unique_id == key)


def codes(model: ModelProof) -> list[str]:
    return [reason.code.name for reason in model.reasons]


def compiled(shop: Any, sql: str) -> ModelProof:
    shop.node["raw_code"] = shop.node["compiled_code"] = sql
    return judge(shop)


def test_the_definition_alone_can_be_proven_offline(shop: Any) -> None:
    model = judge(shop)
    assert (model.status.value, model.reads, codes(model)) == ("PROVEN", ("shop.raw.sales",), [])


def test_the_full_proof_names_the_inputs_that_are_missing(shop: Any) -> None:
    (model,) = prove_project(shop.load()).models
    assert (model.status.value, codes(model)) == ("UNVERIFIED", ["TUPLE_REQUIRED", "CATALOG_REQUIRED"])


def test_after_parse_alone_nothing_is_proven(shop: Any) -> None:
    shop.node["compiled_code"] = None
    model = judge(shop)
    assert (model.status.value, codes(model)) == ("UNVERIFIED", ["COMPILE_REQUIRED"])
    assert model.reads == ("shop.raw.sales",)


def test_one_bad_model_does_not_hide_the_others(shop: Any) -> None:
    shop.model("broken", "select from where", depends_on=[])
    shop.model("dirty", "select s.sold_at, s.sale_id, s.amount from raw.sales s with (nolock)", depends_on=[])
    verdicts = {
        model.unique_id: model.status.value
        for model in prove_project(shop.load(), scope=ProofScope.DEFINITION).models
    }
    assert verdicts == {
        "model.shop.broken": "UNVERIFIED",
        "model.shop.dirty": "NONCONFORMANT",
        "model.shop.sale_event": "PROVEN",
    }


def test_the_target_behind_a_declared_view_is_refused(shop: Any) -> None:
    view = shop.model(
        "totals",
        "select 1 as x from shop.mart.sale_event",
        depends_on=[shop.MODEL],
        materialized="view",
        meta={},
    )
    assert view == "model.shop.totals"
    assert codes(compiled(shop, "select t.sold_at, t.sale_id, t.amount from mart.totals t")) == [
        "SQL_TARGET_DEPENDENCY"
    ]


def test_the_target_behind_a_view_that_names_it_by_hand_is_refused(shop: Any) -> None:
    shop.model(
        "totals", "select 1 as x from [MART].[Sale_Event]", depends_on=[], materialized="view", meta={}
    )
    shop.model("again", "select 1 as x from mart.totals", depends_on=[], materialized="view", meta={})
    assert codes(compiled(shop, "select t.x from shop.mart.AGAIN t")) == ["SQL_TARGET_DEPENDENCY"]


def test_a_model_of_the_same_workflow_may_be_read(shop: Any) -> None:
    shop.model("other_event", shop.SQL, depends_on=["source.shop.raw.sales"])
    assert codes(compiled(shop, "select o.sold_at, o.sale_id, o.amount from mart.other_event o")) == []


def test_a_test_that_queries_while_it_compiles_is_refused(shop: Any) -> None:
    key = shop.test("nosy", ["model.shop.sale_event"])
    shop.document["nodes"][key]["raw_code"] = (
        "{% set x = run_query('drop table t') %}select 1 as x where 1 = 0"
    )
    (reason,) = judge(shop).reasons
    assert (reason.code.name, reason.message) == ("JINJA_RUN_QUERY", "test nosy: run_query is used")


def test_a_platform_may_admit_a_clock_for_payload_but_not_for_key_or_event_time(shop: Any) -> None:
    sql = "select {} as sold_at, s.sale_id as sale_id, {} as amount from raw.sales s"
    policy = TsqlPolicy(frozenset({"GETDATE"}))
    shop.node["raw_code"] = shop.node["compiled_code"] = sql.format(
        "s.sold_at", "datediff(day, s.sold_at, getdate())"
    )
    assert codes(judge(shop)) == ["SQL_CLOCK"]
    assert codes(judge(shop, policy=policy)) == []
    shop.node["raw_code"] = shop.node["compiled_code"] = sql.format(
        "cast(getdate() as datetime2(6))", "s.amount"
    )
    assert codes(judge(shop, policy=policy)) == ["SQL_KEY_NONDETERMINISTIC"]
    shop.node["raw_code"] = shop.node["compiled_code"] = (
        sql.format("x.at", "s.amount") + " cross apply (select getdate() as at) x"
    )
    assert codes(judge(shop, policy=policy)) == ["SQL_KEY_NONDETERMINISTIC"]


def test_v1_models_keep_their_selector_and_are_not_judged(shop: Any) -> None:
    proof = prove_project(shop.load(), inputs=ProofInputs(profiles=PlatformProfiles({"to_mart": "v1"})))
    assert proof.models == ()
    assert [(model.unique_id, model.selector) for model in proof.v1] == [
        ("model.shop.sale_event", "+fqn:shop.marts.sale_event")
    ]


@pytest.mark.parametrize("kind", ["seed", "snapshot"])
def test_a_published_resource_that_is_no_model_is_refused(shop: Any, kind: str) -> None:
    publish = {"dpone": {"publish": {"enabled": True, "profile": "to_mart", "workflow": "sales"}}}
    shop.other(kind, "currencies", config={"meta": publish, "incremental_strategy": "dpone_scope_merge"})
    assert codes(judge(shop, f"{kind}.shop.currencies")) == [kind.upper()]


def test_a_name_that_no_document_admits_is_refused_and_hides_nothing(shop: Any) -> None:
    shop.model("größe x", shop.SQL, depends_on=[])
    assert "UNCLASSIFIED" in codes(judge(shop, "model.shop.größe x"))


def test_yaml_that_follows_the_environment_is_refused_at_its_place(shop: Any, tmp_path: Path) -> None:
    shop.node["patch_path"] = "shop://models/marts.yml"
    shop.document["sources"]["source.shop.raw.sales"]["original_file_path"] = "models/sources.yml"
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text(
        "name: shop\ntarget-path: \"{{ env_var('OUT') }}\"\n# {{ target.name }}\n"
        "models:\n  +schema: \"{{ 'a' if target.name == 'prod' else 'b' }}\"\n"
    )
    (tmp_path / "models" / "marts.yml").write_text("models: [{description: \"{{ doc('a') }}\"}]")
    (tmp_path / "models" / "sources.yml").write_text("sources:\n  - schema: \"{{ env_var('RAW') }}\"\n")
    (tmp_path / "models" / "other.yml").write_text("models: [{name: \"{{ env_var('X') }}\"}]")
    (model,) = prove_project(shop.load(), scope=ProofScope.DEFINITION, project=tmp_path).models
    found = [
        (r.code.name, r.path, r.line, r.column) for r in model.reasons if r.code.name.startswith("JINJA")
    ]
    assert found == [
        ("JINJA_ENVIRONMENT", "dbt_project.yml", 5, 23),
        ("JINJA_ENVIRONMENT", "models/sources.yml", 2, 17),
    ]
