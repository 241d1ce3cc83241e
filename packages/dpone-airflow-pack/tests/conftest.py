"""The published projection of a normal day, and variants of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpone_contracts.projection import DagProjection

VECTORS = Path(__file__).parents[2] / "dpone-contracts" / "tests" / "vectors" / "published-0.74" / "valid"


@pytest.fixture(scope="session")
def plain_projection() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VECTORS / "v2-dag-projection.normal.json").read_bytes())
    return found


@pytest.fixture(scope="session")
def projection(plain_projection: dict[str, Any]) -> DagProjection:
    return DagProjection.from_plain(plain_projection)
