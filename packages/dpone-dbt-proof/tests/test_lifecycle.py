"""The one certified lifecycle: versions, root settings, profile, and the text of the materialisation."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from dpone_dbt_proof.jinja_closure import MacroIndex
from dpone_dbt_proof.lifecycle import (
    CertifiedTuple,
    LifecycleClosures,
    TupleError,
    lifecycle_document,
    load_tuple,
    materialization_reasons,
    profile_reasons,
    project_reasons,
    root_only_settings,
    toolchain_reasons,
)
from dpone_dbt_proof.platform_project import platform_files
from dpone_dbt_proof.two_roots import root_differences

PROJECT: dict[str, Any] = yaml.safe_load(platform_files()["dbt_project.yml"])
PROFILE: dict[str, Any] = yaml.safe_load(platform_files()["profiles.yml"])["dpone_platform"]["outputs"][
    "refresh"
]
TUPLE = {
    "python_version": "3.11.9",
    "pyodbc_version": "5.2.0",
    "odbc_driver": "ODBC Driver 18 for SQL Server",
    "sqlserver_version": "16.0.4135.4",
    "compatibility_level": 160,
    "runtime_image_digest": f"sha256:{'1' * 64}",
    "driver_digest": f"sha256:{'2' * 64}",
}


def test_the_platforms_own_root_and_profile_conform() -> None:
    assert list(project_reasons(PROJECT)) == []
    assert list(profile_reasons(PROFILE)) == []


@pytest.mark.parametrize("flags", [None, {}, {"dbt_sqlserver_use_dbt_transactions": False}])
def test_without_the_transaction_flag_begin_and_commit_are_nothing(flags: object) -> None:
    assert "TRANSACTIONS_FLAG" in {r.code.name for r in project_reasons({**PROJECT, "flags": flags})}


@pytest.mark.parametrize("setting", ["dispatch", "query-comment", "on-run-start", "on-run-end", "quoting"])
def test_settings_that_change_what_is_sent_are_refused(setting: str) -> None:
    assert [r.code.name for r in project_reasons({**PROJECT, setting: ["x"]})] == ["LIFECYCLE_SETTING"]


def test_an_unknown_flag_is_refused() -> None:
    changed = {**PROJECT, "flags": {**PROJECT["flags"], "empty": True}}
    assert [r.code.name for r in project_reasons(changed)] == ["LIFECYCLE_SETTING"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("threads", 4, "THREADS"),
        ("retries", 3, "RETRIES"),
        ("query_timeout", 0, "QUERY_TIMEOUT"),
        ("query_timeout", None, "QUERY_TIMEOUT"),
        ("type", "postgres", "LIFECYCLE_SETTING"),
        ("backend", "mssql-python", "LIFECYCLE_SETTING"),
        ("trace_flag", True, "LIFECYCLE_SETTING"),
        ("schema_authorization", "dbo", "LIFECYCLE_SETTING"),
    ],
)
def test_each_profile_setting_that_matters(name: str, value: object, code: str) -> None:
    assert [r.code.name for r in profile_reasons({**PROFILE, name: value})] == [code]


def test_another_dbt_or_adapter_is_refused(shop: Any) -> None:
    shop.document["metadata"] |= {"dbt_version": "1.10.14", "adapter_type": "fabric"}
    assert [r.code.name for r in toolchain_reasons(shop.load())] == ["DBT_VERSION", "DBT_VERSION"]


def test_another_materialisation_text_is_refused(shop: Any) -> None:
    shop.macro(
        "dbt_sqlserver",
        "materialization_incremental_sqlserver",
        "{% materialization incremental, adapter='x' %}{% endmaterialization %}",
    )
    manifest = shop.load()
    assert [r.code.name for r in materialization_reasons(manifest, MacroIndex(manifest))] == [
        "MATERIALIZATION_CLOSURE"
    ]


def test_a_certified_tuple_is_closed() -> None:
    assert isinstance(load_tuple(json.dumps(TUPLE).encode()), CertifiedTuple)
    for broken in ({**TUPLE, "compatibility_level": 0}, {**TUPLE, "note": "x"}, {"python_version": "3.11"}):
        with pytest.raises(TupleError):
            load_tuple(json.dumps(broken).encode())


def test_the_policy_document_holds_the_tuple_and_the_closed_branches(shop: Any) -> None:
    certified = load_tuple(json.dumps(TUPLE).encode())
    document = lifecycle_document(
        shop.load(), LifecycleClosures((), (), ()), certified, {"a.sql": "sha256:x"}, ["build"]
    )
    assert document.odbc_driver == "ODBC Driver 18 for SQL Server"
    assert (document.full_refresh_allowed, document.hooks_allowed, document.contract_enforced) == (
        False,
        False,
        True,
    )


def test_root_only_settings_of_an_author_are_named() -> None:
    settings = {"dispatch": [{}], "query-comment": "x", "flags": {"a": 1}, "on-run-end": ["x"], "models": {}}
    assert root_only_settings(settings) == ["dispatch", "flags.a", "query-comment"]


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("schema", "mart_finance", "schema is mart_finance under its own root, mart under the platform's"),
        ("compiled_code", "select 2", "compiled code differs under the two roots"),
        ("alias", "sales", "identifier is sales under its own root, sale_event under the platform's"),
    ],
)
def test_what_differs_under_the_two_roots_is_named(shop: Any, field: str, value: str, what: str) -> None:
    platform = shop.load()
    shop.node[field] = value
    (reason,) = root_differences(shop.load(), platform, shop.MODEL, ["dispatch"])
    assert reason.message == f"{what}; root-only settings: dispatch"


def test_equal_roots_have_no_difference(shop: Any) -> None:
    manifest = shop.load()
    shop.node["depends_on"]["nodes"].reverse()
    assert list(root_differences(shop.load(), manifest, shop.MODEL, [])) == []


def test_a_relation_that_is_read_has_one_name_under_both_roots(shop: Any) -> None:
    platform = shop.load()
    shop.document["sources"]["source.shop.raw.sales"]["relation_name"] = '"shop"."dev_raw"."sales"'
    (reason,) = root_differences(shop.load(), platform, shop.MODEL, [])
    assert 'sales is "shop"."dev_raw"."sales" under its own root' in reason.message
