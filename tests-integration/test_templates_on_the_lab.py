"""Every T-SQL template of the product is in the language that the lab's SQL Server endpoint admits."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.errors import SqlServerError
from dpone_lab.sqlserver.language.types import parse_type
from dpone_mssql.batches import Statements, places, split
from dpone_mssql.control_schema import ControlNames, control_script

GIVEN = {"@value": parse_type("nvarchar(max)")}
NAMED = sorted(
    f"{folder}/{path.name}"
    for folder in ("state", "catalog")
    for path in files("dpone_mssql").joinpath("sql", folder).iterdir()
)


def refusal(sql: str) -> str | None:
    """What the endpoint says against a batch before anything runs."""
    try:
        assert parse_batch(sql, GIVEN).statements
    except SqlServerError as error:
        return f"{error.number}: {error.message}"
    return None


def test_the_endpoint_admits_the_control_schema() -> None:
    batches = split(control_script(ControlNames()))
    assert len(batches) > 70
    assert [found for batch in batches if (found := refusal(batch))] == []


@pytest.mark.parametrize("path", NAMED)
def test_the_endpoint_admits_every_named_statement(path: str) -> None:
    statements = Statements(path, **dict.fromkeys(places(path), "[dpone_control]"))
    assert statements.names()
    found = {name: refusal(re.sub(r"\?", "@value", statements[name])) for name in statements.names()}
    assert {name: why for name, why in found.items() if why} == {}


def test_what_the_endpoint_does_not_admit_is_found_here() -> None:
    assert refusal("SELECT 1 FOR JSON PATH") == (
        "40517: Keyword or statement option 'FOR JSON' is not supported in this version of SQL Server."
    )
