"""A SQL Server catalog as a closed input document: objects, their modules and dependencies, by object id.

Reading a live catalog is another package's work; here a snapshot is bytes with a digest, so that a proof over it
can be made again anywhere.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from dpone_contracts.canonical import CanonicalError, decode, digest_of
from dpone_contracts.document import Part
from dpone_contracts.scalars import Positive  # noqa: TC001  # pydantic reads the annotation
from dpone_dbt_proof.relation_names import NameRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_contracts.relations import SqlRelation

ObjectType: TypeAlias = Literal["U", "V", "IF", "TF", "FN", "FS", "FT", "P", "PC", "SN", "ET", "SO", "X"]
"""`sys.objects.type`, with ET for an external table."""


_DOTLESS: Final = ("TURKISH", "AZERI")
"""Collations to which `I` and `i` are two letters."""


class SnapshotError(Exception):
    """The bytes are no catalog snapshot; the message names the field."""


class CatalogObject(Part):
    """One object. `definition` is None where the reader may not see it; `indexes` are names of its indexes."""

    object_id: Positive
    schema_name: str
    name: str
    type: ObjectType
    schema_bound: bool = False
    encrypted: bool = False
    definition: str | None = None
    computed_columns: tuple[str, ...] = Field(default=(), strict=False)
    indexes: tuple[str, ...] = Field(default=(), strict=False)


class CatalogDependency(Part):
    """One row of the server's own expression dependencies; parts beyond the database are as the module writes them."""

    from_object_id: Positive
    to_object_id: Positive | None = None
    server: str | None = None
    database: str | None = None
    schema_name: str | None = None
    name: str
    caller_dependent: bool = False
    ambiguous: bool = False


class CatalogSnapshot(Part):
    """One database as one reader saw it. `view_definition` tells whether the reader may see every definition."""

    schema_id: Literal["dpone.catalog-snapshot.v1"] = Field(alias="schema")
    database: str
    collation: str
    view_definition: bool
    objects: tuple[CatalogObject, ...] = Field(strict=False)
    dependencies: tuple[CatalogDependency, ...] = Field(strict=False)

    @cached_property
    def by_id(self) -> Mapping[int, CatalogObject]:
        """Objects by id."""
        return {item.object_id: item for item in self.objects}

    @cached_property
    def outgoing(self) -> Mapping[int, tuple[CatalogDependency, ...]]:
        """Dependencies by the object that has them."""
        found: dict[int, list[CatalogDependency]] = {}
        for dependency in self.dependencies:
            found.setdefault(dependency.from_object_id, []).append(dependency)
        return {key: tuple(items) for key, items in found.items()}

    @property
    def rules(self) -> NameRules:
        """How this database compares names."""
        return collation_rules(self.collation)

    def find(self, relation: SqlRelation) -> CatalogObject | None:
        """Return the object of a name in this database, compared as the collation does."""
        rules = self.rules
        named = (
            item
            for item in self.objects
            if rules.surely_equal(item.name, relation.name)
            and rules.surely_equal(item.schema_name, relation.schema)
        )
        return next(named, None) if rules.surely_equal(relation.database, self.database) else None


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """A snapshot with the digest of its canonical form."""

    snapshot: CatalogSnapshot
    sha256: str


def load_snapshot(data: bytes) -> LoadedSnapshot:
    """Read a snapshot; raises `SnapshotError`."""
    try:
        plain = decode(data).value
        snapshot = CatalogSnapshot.model_validate(plain)
    except CanonicalError as error:
        raise SnapshotError(str(error)) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise SnapshotError(f"{where}: {first['msg']}") from None
    repeated = [
        key for key, count in Counter(item.object_id for item in snapshot.objects).items() if count > 1
    ]
    if repeated:
        raise SnapshotError(f"object id {repeated[0]} stands twice")
    return LoadedSnapshot(snapshot, digest_of(plain))


def collation_rules(collation: str) -> NameRules:
    """Tell how a collation compares identifiers; an unknown name leaves it open."""
    parts = collation.upper().split("_")
    accents = "AS" in parts
    if "BIN" in parts or "BIN2" in parts:
        return NameRules(case_sensitive=True, binary=True, accents=True)
    if "CS" in parts:
        return NameRules(case_sensitive=True, accents=accents)
    if "CI" in parts and parts[0] not in _DOTLESS:
        return NameRules(case_sensitive=False, accents=accents)
    return NameRules()
