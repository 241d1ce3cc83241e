"""Reads dbt's manifest into the few stable fields that proofs are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST_SCHEMA: Final = "https://schemas.getdbt.com/dbt/manifest/v12.json"
"""The one manifest layout that the certified dbt writes."""


class ManifestError(Exception):
    """The manifest is absent, torn, or of a layout that was not certified."""


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column: its type as written and the kinds of its constraints."""

    name: str
    data_type: str | None
    constraints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A resource of the graph: model, seed, snapshot, test, unit test, operation, analysis, source, exposure.

    `raw_code` is the file without outer blanks, `compiled_code` is None before `dbt compile`. `config` holds
    dbt's merged settings. `depends_on` are unique ids of nodes, in manifest order.
    """

    unique_id: str
    resource_type: str
    package: str
    name: str
    fqn: tuple[str, ...]
    path: str
    patch_path: str | None
    language: str
    raw_code: str
    compiled_code: str | None
    compiled: bool
    checksum: str
    config: Mapping[str, Any]
    meta: Mapping[str, Any]
    columns: tuple[Column, ...]
    constraints: tuple[str, ...]
    depends_on: tuple[str, ...]
    macros: tuple[str, ...]
    database: str | None
    schema: str | None
    identifier: str | None
    relation_name: str | None
    access: str | None
    version: str | None
    test_name: str | None

    @property
    def publish(self) -> Mapping[str, Any] | None:
        """`meta.dpone.publish` as the author wrote it, or None."""
        dpone = self.meta.get("dpone")
        publish = dpone.get("publish") if isinstance(dpone, Mapping) else None
        return publish if isinstance(publish, Mapping) else None


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro with its text; dbt records neither checksums nor the whole closure, so both are computed here."""

    unique_id: str
    package: str
    name: str
    path: str
    sql: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The graph as dbt resolved it."""

    project_name: str
    dbt_version: str
    adapter_type: str
    nodes: Mapping[str, Node]
    macros: Mapping[str, Macro]

    def of_type(self, *resource_types: str) -> list[Node]:
        """Return the nodes of these types, ordered by unique id."""
        return [
            self.nodes[key] for key in sorted(self.nodes) if self.nodes[key].resource_type in resource_types
        ]

    def ancestors(self, unique_id: str) -> list[str]:
        """Return every node that `unique_id` depends on, directly or not, sorted."""
        seen: set[str] = set()
        waiting = [unique_id]
        while waiting:
            node = self.nodes.get(waiting.pop())
            for parent in node.depends_on if node else ():
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return sorted(seen)


def load_manifest(path: Path) -> Manifest:
    """Read `manifest.json`; raises `ManifestError`."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ManifestError(
            f"{path} does not exist: run dbt parse, or dbt compile for the whole proof"
        ) from None
    except OSError as error:
        raise ManifestError(f"{path} can't be read: {error.strerror}") from None
    try:
        return parse_manifest(content)
    except ManifestError as error:
        raise ManifestError(f"{path}: {error}") from error


def parse_manifest(content: bytes) -> Manifest:
    """Project the manifest's bytes; raises `ManifestError` where it is not whole or not of the known layout."""
    try:
        document = json.loads(content)
        metadata = document["metadata"]
    except (ValueError, KeyError, TypeError):
        raise ManifestError("the file is not a dbt manifest: run dbt parse again") from None
    layout = metadata.get("dbt_schema_version") if isinstance(metadata, dict) else None
    if layout != MANIFEST_SCHEMA:
        raise ManifestError(f"the manifest has layout {layout}, not {MANIFEST_SCHEMA}")
    try:
        nodes = {
            key: _node(entry)
            for group in ("nodes", "sources", "unit_tests", "exposures")
            for key, entry in document[group].items()
        }
        macros = {key: _macro(entry) for key, entry in document["macros"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"the manifest lacks a field of its layout: {error}") from error
    return Manifest(
        project_name=str(metadata.get("project_name")),
        dbt_version=str(metadata.get("dbt_version")),
        adapter_type=str(metadata.get("adapter_type")),
        nodes=nodes,
        macros=macros,
    )


def _macro(entry: Mapping[str, Any]) -> Macro:
    return Macro(
        unique_id=entry["unique_id"],
        package=entry["package_name"],
        name=entry["name"],
        path=entry["original_file_path"],
        sql=entry["macro_sql"],
    )


def _node(entry: Mapping[str, Any]) -> Node:
    config = entry.get("config") or {}
    checksum = entry.get("checksum")
    depends_on = entry.get("depends_on") or {}
    metadata = entry.get("test_metadata")
    return Node(
        unique_id=entry["unique_id"],
        resource_type=entry["resource_type"],
        package=entry["package_name"],
        name=entry["name"],
        fqn=tuple(entry.get("fqn") or ()),
        path=str(entry["original_file_path"]).removeprefix("./"),
        patch_path=entry.get("patch_path"),
        language=entry.get("language") or "",
        raw_code=entry.get("raw_code") or "",
        compiled_code=entry.get("compiled_code"),
        compiled=bool(entry.get("compiled")),
        checksum=checksum["checksum"] if isinstance(checksum, Mapping) else str(checksum or ""),
        config=config,
        meta=config.get("meta") or entry.get("meta") or {},
        columns=tuple(_column(column) for column in (entry.get("columns") or {}).values()),
        constraints=tuple(str(constraint["type"]) for constraint in entry.get("constraints") or ()),
        depends_on=tuple(depends_on.get("nodes") or ()),
        macros=tuple(depends_on.get("macros") or ()),
        database=entry.get("database"),
        schema=entry.get("schema"),
        identifier=entry.get("identifier") or entry.get("alias"),
        relation_name=entry.get("relation_name"),
        access=entry.get("access"),
        version=None if entry.get("version") is None else str(entry["version"]),
        test_name=metadata["name"] if isinstance(metadata, Mapping) else None,
    )


def _column(entry: Mapping[str, Any]) -> Column:
    constraints = tuple(str(constraint["type"]) for constraint in entry.get("constraints") or ())
    return Column(entry["name"], entry.get("data_type"), constraints)
