"""With catalog and tuple every proof can be PROVEN, and the bundle's documents are those of the contracts."""

from __future__ import annotations

import json
from typing import Any

from dpone_contracts.proofs import (
    ModelDefinitionProof,
    MutationClosure,
    ReadDependencyProof,
    SqlServerLifecyclePolicy,
)
from dpone_dbt_proof.catalog_snapshot import load_snapshot
from dpone_dbt_proof.lifecycle import load_tuple
from dpone_dbt_proof.mutation_closure import PlatformProfiles
from dpone_dbt_proof.project_proof import ProofInputs, ProofScope, catalog_roots, prove_project
from dpone_dbt_proof.proof_bundle import bundle_bytes
from dpone_dbt_proof.read_dependencies import ReadBudget

TUPLE = {
    "python_version": "3.11.9",
    "pyodbc_version": "5.2.0",
    "odbc_driver": "ODBC Driver 18 for SQL Server",
    "sqlserver_version": "16.0.4135.4",
    "compatibility_level": 160,
    "runtime_image_digest": f"sha256:{'1' * 64}",
    "driver_digest": f"sha256:{'2' * 64}",
}


def catalog(*indexes: str) -> dict[str, Any]:
    return {
        "schema": "dpone.catalog-snapshot.v1",
        "database": "shop",
        "collation": "Latin1_General_100_CI_AS",
        "view_definition": True,
        "objects": [
            {"object_id": 11, "schema_name": "raw", "name": "sales", "type": "U"},
            {
                "object_id": 12,
                "schema_name": "mart",
                "name": "sale_event",
                "type": "U",
                "indexes": list(indexes),
            },
        ],
        "dependencies": [],
    }


def inputs(document: dict[str, Any]) -> ProofInputs:
    return ProofInputs(
        snapshot=load_snapshot(json.dumps(document).encode()),
        budget=ReadBudget(4, 16, 16, 10_000),
        certified=load_tuple(json.dumps(TUPLE).encode()),
        profiles=PlatformProfiles({"to_mart": "v2"}),
    )


def bundle(shop: Any, given: ProofInputs) -> dict[str, Any]:
    manifest = shop.load()
    proof = prove_project(manifest, inputs=given)
    found: dict[str, Any] = json.loads(
        bundle_bytes(proof, manifest, given, {"models/x.sql": f"sha256:{'3' * 64}"})
    )
    return found


def test_every_document_is_proven_and_loads_as_the_contract_has_it(shop: Any) -> None:
    found = bundle(shop, inputs(catalog()))
    (workflow,) = found["workflows"]
    (model,) = workflow["models"]
    definition = ModelDefinitionProof.from_plain(model["model_definition_proof"])
    reads = ReadDependencyProof.from_plain(model["read_dependency_proof"])
    closure = MutationClosure.from_plain(workflow["mutation_closure"])
    lifecycle = SqlServerLifecyclePolicy.from_plain(workflow["sqlserver_lifecycle_policy"])
    assert {found["verdict"], definition.status, reads.status, closure.status} == {"PROVEN"}
    assert reads.base_relation_object_ids == (11,)
    assert definition.compiled_sql_sha256 == reads.compiled_sql_sha256
    assert (
        definition.macro_closure_sha256 == lifecycle.macro_closure_sha256 == workflow["macro_closure_sha256"]
    )
    assert definition.catalog_observation_digest == reads.catalog_snapshot_sha256


def test_without_catalog_and_tuple_the_requirements_stand_in_their_place(shop: Any) -> None:
    (workflow,) = bundle(shop, ProofInputs())["workflows"]
    (model,) = workflow["models"]
    assert "sqlserver_lifecycle_policy" not in workflow
    assert "read_dependency_proof" not in model
    assert model["read_requirements"]["relations"] == ["shop.raw.sales"]
    assert ModelDefinitionProof.from_plain(model["model_definition_proof"]).status == "UNVERIFIED"


def test_each_input_has_its_digest_in_the_bundle_and_changes_the_proof(shop: Any) -> None:
    one, other = bundle(shop, inputs(catalog())), bundle(shop, inputs(catalog("ix_other")))
    assert sorted(one["inputs"]) == [
        "catalog_snapshot_sha256",
        "certified_tuple_sha256",
        "platform_profiles_sha256",
    ]
    assert one["inputs"]["catalog_snapshot_sha256"] != other["inputs"]["catalog_snapshot_sha256"]
    assert one["bundle_sha256"] != other["bundle_sha256"]


def test_the_order_in_which_dbt_met_things_changes_no_byte(shop: Any) -> None:
    shop.source("rates")
    shop.node["depends_on"]["nodes"].append("source.shop.raw.rates")
    one = bundle(shop, ProofInputs())
    shop.node["depends_on"]["nodes"].reverse()
    shop.document["nodes"] = dict(reversed(shop.document["nodes"].items()))
    assert bundle(shop, ProofInputs()) == one


def test_a_changed_macro_changes_the_closure(shop: Any) -> None:
    shop.node["raw_code"] = "{{ day() }}" + shop.SQL
    shop.macro("shop", "day", "{% macro day() %}{% endmacro %}")
    one = bundle(shop, ProofInputs())
    shop.macro("shop", "day", "{% macro day() %} {% endmacro %}")
    other = bundle(shop, ProofInputs())
    assert one["workflows"][0]["macro_closure_sha256"] != other["workflows"][0]["macro_closure_sha256"]


def test_an_index_that_dbt_would_drop_is_refused(shop: Any) -> None:
    (model,) = prove_project(shop.load(), inputs=inputs(catalog("DBT_IDX_x"))).models
    assert [reason.code.name for reason in model.reasons] == ["STRAY_INDEX"]


def test_a_table_function_is_proven_by_the_catalog_alone(shop: Any) -> None:
    shop.node["raw_code"] = shop.node["compiled_code"] = (
        "select f.sold_at, f.sale_id, f.amount from raw.sales_of(1) f"
    )
    (model,) = prove_project(shop.load(), scope=ProofScope.DEFINITION).models
    assert [reason.code.name for reason in model.reasons] == ["SQL_TABLE_FUNCTION"]
    document = catalog()
    document["objects"].append(
        {
            "object_id": 13,
            "schema_name": "raw",
            "name": "sales_of",
            "type": "IF",
            "schema_bound": True,
            "definition": "x",
        }
    )
    document["dependencies"].append({"from_object_id": 13, "to_object_id": 11, "name": "sales"})
    (model,) = prove_project(shop.load(), inputs=inputs(document)).models
    assert (model.status.value, model.reads) == ("PROVEN", ("shop.raw.sales_of",))


def test_names_compare_as_the_catalogs_collation_says(shop: Any) -> None:
    sql = "with A as (select s.sold_at, s.sale_id, s.amount from SHOP.RAW.Sales s) select * from a"
    shop.node["raw_code"] = shop.node["compiled_code"] = sql
    (model,) = prove_project(shop.load(), scope=ProofScope.DEFINITION).models
    assert [reason.code.name for reason in model.reasons] == ["SQL_NAME_CASE", "SQL_NAME_CASE"]
    (model,) = prove_project(shop.load(), inputs=inputs(catalog())).models
    assert model.status.value == "PROVEN"


def test_a_target_that_the_snapshot_does_not_show_is_not_proven(shop: Any) -> None:
    document = catalog()
    del document["objects"][1]
    (model,) = prove_project(shop.load(), inputs=inputs(document)).models
    assert [(r.code.name, model.status.value) for r in model.reasons] == [
        ("CATALOG_UNRESOLVED", "UNVERIFIED")
    ]


def test_a_target_that_is_no_table_is_refused(shop: Any) -> None:
    document = catalog()
    document["objects"][1]["type"] = "V"
    (model,) = prove_project(shop.load(), inputs=inputs(document)).models
    assert [reason.code.name for reason in model.reasons] == ["CATALOG_KIND"]


def test_a_catalog_snapshot_begins_with_what_is_read_and_with_the_targets(shop: Any) -> None:
    shop.node["raw_code"] = shop.node["compiled_code"] = (
        "select f.sold_at, f.sale_id, f.amount from [raw].[sales.of](1) f join raw.rates r on r.id = f.sale_id"
    )
    manifest = shop.load()
    roots = catalog_roots(manifest, prove_project(manifest))
    assert [(root.schema, root.name) for root in roots] == [
        ("mart", "sale_event"),
        ("raw", "rates"),
        ("raw", "sales.of"),
    ]


def test_dependencies_within_a_workflow_are_those_that_dbt_knows_and_those_that_the_sql_names(
    shop: Any,
) -> None:
    rest: dict[str, Any] = {"depends_on": []}
    sql = "select s.sold_at, s.sale_id, s.amount from {} s"
    shop.model("by_name", sql.format("mart.sale_event"), **rest)
    shop.model("a_through_view", sql.format("mart.stage"), depends_on=["model.shop.stage"])
    shop.model("stage", sql.format("mart.by_name"), **rest, meta={}, materialized="view")
    (workflow,) = bundle(shop, ProofInputs())["workflows"]
    assert workflow["dependencies"] == {
        "model.shop.a_through_view": ["model.shop.by_name", "model.shop.sale_event"],
        "model.shop.by_name": ["model.shop.sale_event"],
        "model.shop.sale_event": [],
    }
