"""Adapters are built in composition roots only (architecture, the house)."""

from __future__ import annotations

import ast
from pathlib import Path

import dpone
import dpone_clickhouse
import dpone_dbt_proof
import dpone_lab
import dpone_mssql
import dpone_seal

ROOTS = {"composition", "fault_matrix_lab"}
"""Folders and modules that may build adapters: the product's composition, the lab's, the fault matrix's own worlds."""


def sources(package: object) -> list[Path]:
    return sorted(Path(str(package.__file__)).parent.rglob("*.py"))  # type: ignore[attr-defined]


def adapters() -> set[str]:
    """Public classes of the adapter wheels that keep a connection's settings: those whose constructor takes any."""
    found = set()
    for package in (dpone_mssql, dpone_clickhouse, dpone_seal, dpone_dbt_proof):
        for path in sources(package):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name.startswith(
                    ("Mssql", "ClickHouse", "Dbt", "Parquet", "CreateOnly")
                ):
                    found.add(node.name)
    return found


def built_in(path: Path, names: set[str]) -> list[str]:
    called = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return [name.id for name in called if isinstance(name, ast.Name) and name.id in names]


def test_the_adapters_are_found() -> None:
    assert {"MssqlRefreshState", "ClickHousePublisher", "DbtModelBuild", "ParquetChunkEncoder"} <= adapters()


def test_only_composition_roots_build_adapters() -> None:
    names = adapters() - {"ClickHouseProcess", "ClickHouseLogin"}
    elsewhere = {
        str(path): built
        for package in (dpone, dpone_lab)
        for path in sources(package)
        if not ROOTS & {path.stem, *path.parts} and (built := built_in(path, names))
    }
    assert elsewhere == {}


def test_the_products_composition_builds_them() -> None:
    composition = Path(dpone.__file__).parent / "composition"
    assert "MssqlRefreshState" in [
        name for path in composition.rglob("*.py") for name in built_in(path, adapters())
    ]
