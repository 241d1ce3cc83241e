"""A small manifest to build on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpone_dbt_proof.manifest import MANIFEST_SCHEMA, Manifest, parse_manifest


@pytest.fixture
def shop() -> ShopManifest:
    """A manifest of one conformant V2 model with a source and a test, to be changed by a test."""
    return ShopManifest()


class ShopManifest:
    """Builds manifest JSON as dbt writes it; `load` reads it."""

    MODEL = "model.shop.sale_event"
    SQL = 'select s.sold_at, s.sale_id, s.amount from "shop"."raw"."sales" as s'

    def __init__(self) -> None:
        self.document: dict[str, Any] = {
            "metadata": {
                "dbt_schema_version": MANIFEST_SCHEMA,
                "dbt_version": "1.10.13",
                "adapter_type": "sqlserver",
                "project_name": "dpone_platform",
            },
            "nodes": {},
            "sources": {},
            "unit_tests": {},
            "exposures": {},
            "macros": {},
        }
        self.source("sales")
        self.model("sale_event", self.SQL, depends_on=["source.shop.raw.sales"])
        self.test("sale_id_is_there", ["model.shop.sale_event"])

    @property
    def node(self) -> dict[str, Any]:
        """The conformant model."""
        found: dict[str, Any] = self.document["nodes"][self.MODEL]
        return found

    def source(self, name: str) -> str:
        """Add a table of schema raw."""
        key = f"source.shop.raw.{name}"
        self.document["sources"][key] = {
            **self._resource(key, "source", name, ["shop", "raw", name]),
            "schema": "raw",
            "identifier": name,
            "relation_name": f'"shop"."raw"."{name}"',
        }
        return key

    def model(self, name: str, sql: str, *, depends_on: list[str], **changes: Any) -> str:
        """Add a V2 model; its compiled SQL is its raw SQL."""
        key = f"model.shop.{name}"
        config = {
            "materialized": "incremental",
            "incremental_strategy": "dpone_scope_merge",
            "on_schema_change": "fail",
            "contract": {"enforced": True},
            "unique_key": ["sold_at", "sale_id"],
            "event_time": "sold_at",
            "meta": {"dpone": {"publish": {"enabled": True, "profile": "to_mart", "workflow": "sales"}}},
        }
        columns = {"sold_at": "datetime2(6)", "sale_id": "int", "amount": "decimal(18, 4)"}
        self.document["nodes"][key] = {
            **self._resource(key, "model", name, ["shop", "marts", name]),
            "original_file_path": f"models/{name}.sql",
            "raw_code": sql,
            "compiled_code": sql,
            "compiled": True,
            "config": {**config, **changes},
            "columns": {
                column: {"name": column, "data_type": kind, "constraints": [{"type": "not_null"}]}
                for column, kind in columns.items()
            },
            "depends_on": {"nodes": depends_on, "macros": []},
            "relation_name": f'"shop"."mart"."{name}"',
        }
        return key

    def test(self, name: str, tested: list[str], **config: Any) -> str:
        """Add a singular test."""
        key = f"test.shop.{name}"
        self.document["nodes"][key] = {
            **self._resource(key, "test", name, ["shop", name]),
            "raw_code": "select 1 as x where 1 = 0",
            "config": config,
            "depends_on": {"nodes": tested, "macros": []},
        }
        return key

    def other(self, resource_type: str, name: str, **fields: Any) -> str:
        """Add a seed, snapshot, operation or the like."""
        key = f"{resource_type}.shop.{name}"
        self.document["nodes"][key] = {
            **self._resource(key, resource_type, name, ["shop", name]),
            "config": {"materialized": resource_type},
            **fields,
        }
        return key

    def macro(self, package: str, name: str, sql: str) -> None:
        """Add a macro."""
        self.document["macros"][f"macro.{package}.{name}"] = {
            "unique_id": f"macro.{package}.{name}",
            "package_name": package,
            "name": name,
            "original_file_path": f"macros/{name}.sql",
            "macro_sql": sql,
        }

    def load(self) -> Manifest:
        """Read the JSON as the product does."""
        return parse_manifest(json.dumps(self.document).encode())

    def _resource(self, key: str, kind: str, name: str, fqn: list[str]) -> dict[str, Any]:
        return {
            "unique_id": key,
            "resource_type": kind,
            "package_name": "shop",
            "name": name,
            "alias": name,
            "fqn": fqn,
            "original_file_path": f"{kind}s/{name}.sql",
            "language": "sql",
            "database": "shop",
            "schema": "mart",
            "config": {},
        }
