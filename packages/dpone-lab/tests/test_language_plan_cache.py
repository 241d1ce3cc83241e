from __future__ import annotations

from dpone_lab.sqlserver.language.batches import parse_batch
from dpone_lab.sqlserver.language.expressions import Query
from dpone_lab.sqlserver.language.plan_cache import PlanCache
from dpone_lab.sqlserver.language.syntax import Located
from dpone_lab.sqlserver.language.translation import Relation, Scope
from dpone_lab.sqlserver.language.types import BIGINT, INT


class VersionedCatalog:
    """An empty database whose version can be moved."""

    database = "lab"
    default_schema = "dbo"

    def __init__(self) -> None:
        self.version = 1

    def relation(self, schema: str | None, name: str) -> Relation | None:
        del schema, name
        return None

    def schema(self, name: str) -> str | None:
        return name

    def trigger(self, schema: str, name: str) -> tuple[str, str, str] | None:
        del schema, name
        return None

    def index_name(self, schema: str, table: str, index: str) -> str | None:
        del schema, table, index
        return None


def _query(text: str) -> Query:
    located = parse_batch(text, {"@a": INT}).statements[0]
    assert isinstance(located, Located)
    assert isinstance(located.statement, Query)
    return located.statement


def test_equal_texts_are_parsed_once() -> None:
    assert _query("select @a + 41") is _query("select @a + 41")


def test_the_declared_variables_of_a_cached_batch_are_its_callers_own() -> None:
    parse_batch("declare @z int").variables["@y"] = INT

    assert parse_batch("declare @z int").variables == {"@z": INT}


def test_a_plan_is_remembered_until_catalog_or_types_change() -> None:
    catalog, cache, node = VersionedCatalog(), PlanCache(), _query("select @a + 42")
    first = cache.translate(node, Scope(catalog, {"@a": INT}))

    assert cache.translate(node, Scope(catalog, {"@a": INT})) is first
    other = cache.translate(node, Scope(catalog, {"@a": BIGINT}))
    assert str(other.columns[0].type) == "bigint"
    catalog.version = 2
    assert cache.translate(node, Scope(catalog, {"@a": BIGINT})) is not other
