"""Every template parses under an independent T-SQL grammar; what that grammar lacks is named here."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from sqlfluff.core import FluffConfig, Linter

from dpone_mssql.batches import Statements, places, split
from dpone_mssql.control_schema import ControlNames, control_script
from dpone_mssql.mutation import render_mutation

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.plan_example import Example

LINTER = Linter(config=FluffConfig(overrides={"dialect": "tsql", "large_file_skip_byte_limit": 0}))
NAMED = sorted(
    f"{folder}/{path.name}"
    for folder in ("state", "catalog")
    for path in files("dpone_mssql").joinpath("sql", folder).iterdir()
)


def unparsable(sql: str) -> list[str]:
    parsed = LINTER.parse_string(sql)
    return [f"line {found.line_no}: {found.desc()}" for found in parsed.violations]


def test_the_control_schema_parses_batch_by_batch() -> None:
    batches = split(control_script(ControlNames()))
    assert len(batches) > 70
    assert [found for batch in batches for found in unparsable(batch)] == []


@pytest.mark.parametrize("model", ["flight", "weather", "seen"])
def test_the_rendered_mutation_parses(
    model: str, example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    target = next(t for t in example.bundle.targets if t.model_unique_id.endswith(f".{model}"))
    plan = next(p for p in example.bundle.operation_plans if p.model_unique_id == target.model_unique_id)
    batch = render_mutation(plan, target, admitted[target.model_unique_id], lock_timeout_ms=5000)
    assert unparsable(batch.sql) == []


@pytest.mark.parametrize("path", NAMED)
def test_every_named_statement_parses(path: str) -> None:
    statements = Statements(path, **dict.fromkeys(places(path), "[dpone_control]"))
    found = {
        name: faults
        for name in statements.names()
        if (faults := unparsable(re.sub(r"\?", "@value", statements[name]) + ";"))
    }
    assert found == {}


def test_every_named_statement_is_used() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in files("dpone_mssql").iterdir()
        if path.name.endswith(".py")
    )
    unused = {
        f"{path}: {name}"
        for path in NAMED
        for name in Statements(path, **dict.fromkeys(places(path), "x")).names()
        if f'["{name}"]' not in sources and f', "{name}"' not in sources
    }
    assert unused == set()
