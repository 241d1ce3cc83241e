"""Key, event time and column types as the specification admits them."""

from __future__ import annotations

from typing import Any

import pytest

from dpone_dbt_proof.author_contract import AuthorContract, read_contract


def contract(shop: Any) -> AuthorContract:
    return read_contract(shop.load().nodes[shop.MODEL])


def codes(shop: Any) -> list[str]:
    return [reason.code.name for reason in contract(shop).reasons]


def test_the_mapping_of_each_column(shop: Any) -> None:
    read = contract(shop)
    assert read.key == ("sold_at", "sale_id")
    assert read.event_time == "sold_at"
    assert [(c.name, c.source_type, c.target_type, c.role) for c in read.columns] == [
        ("sold_at", "datetime2(6)", "DateTime64(6,'UTC')", "EFFECTIVE_KEY_EVENT_TIME"),
        ("sale_id", "int", "Int32", "EFFECTIVE_KEY"),
        ("amount", "decimal(18,4)", "Decimal(18,4)", "MUTABLE_VALUE"),
    ]
    assert read.reasons == ()


def test_without_the_setting_the_only_temporal_key_column_is_the_event_time(shop: Any) -> None:
    shop.node["config"]["event_time"] = None
    assert (contract(shop).event_time, codes(shop)) == ("sold_at", [])


def test_two_temporal_key_columns_need_the_setting(shop: Any) -> None:
    shop.node["config"]["event_time"] = None
    shop.node["columns"]["sale_id"]["data_type"] = "date"
    assert (contract(shop).event_time, codes(shop)) == (None, ["EVENT_TIME"])


def test_the_setting_chooses_among_two_temporal_key_columns(shop: Any) -> None:
    shop.node["columns"]["sale_id"]["data_type"] = "date"
    shop.node["config"]["event_time"] = "sale_id"
    assert (contract(shop).event_time, codes(shop)) == ("sale_id", [])


@pytest.mark.parametrize("event_time", ["amount", "sale_id", "Sold_At"])
def test_event_time_is_a_temporal_key_column(shop: Any, event_time: str) -> None:
    shop.node["config"]["event_time"] = event_time
    assert codes(shop) == ["EVENT_TIME"]


def test_a_key_column_needs_its_constraint(shop: Any) -> None:
    shop.node["columns"]["sale_id"]["constraints"] = []
    assert codes(shop) == ["KEY_NULLABLE"]


@pytest.mark.parametrize(
    "kind", ["nvarchar(20)", "float", "datetime2", "datetime2(7)", "datetime", "money", "numeric(9,2)"]
)
def test_a_key_column_needs_an_admitted_type(shop: Any, kind: str) -> None:
    shop.node["columns"]["sale_id"]["data_type"] = kind
    assert codes(shop) == ["KEY_TYPE"]


@pytest.mark.parametrize(
    "kind",
    ["BIT", "tinyint", "smallint", "integer", "bigint", "uniqueidentifier", "Decimal( 38 , 0 )", "dec(9,2)"],
)
def test_spellings_of_admitted_key_types(shop: Any, kind: str) -> None:
    shop.node["columns"]["sale_id"]["data_type"] = kind
    assert codes(shop) == []


@pytest.mark.parametrize("key", [None, [], ""])
def test_a_model_without_key_is_refused(shop: Any, key: object) -> None:
    shop.node["config"]["unique_key"] = key
    assert "KEY_MISSING" in codes(shop) or "KEY_COLUMN" in codes(shop)


def test_a_key_names_declared_columns_each_once(shop: Any) -> None:
    shop.node["config"]["unique_key"] = ["sold_at", "SOLD_AT", "sale_id"]
    assert codes(shop) == ["KEY_COLUMN", "KEY_COLUMN"]


@pytest.mark.parametrize("kind", ["float", "xml", "datetime", None])
def test_a_payload_column_needs_an_exact_type(shop: Any, kind: str | None) -> None:
    shop.node["columns"]["amount"]["data_type"] = kind
    assert codes(shop) == ["COLUMN_TYPE"]
