from __future__ import annotations

import json
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]


@pytest.mark.engine
def test_the_entry_point_gives_metadata_in_airflows_shape() -> None:
    (entry,) = [entry for entry in entry_points(group="apache_airflow_provider") if "dpone" in entry.value]
    spec = find_spec("airflow")
    assert spec is not None
    assert spec.origin is not None
    schema = json.loads((Path(spec.origin).parent / "provider_info.schema.json").read_bytes())
    info = entry.load()()
    Draft7Validator(schema).validate(info)
    assert info["package-name"] == "apache-airflow-providers-dpone"
    modules = [module for group in info["operators"] for module in group["python-modules"]]
    assert all(find_spec(module) for module in modules)
