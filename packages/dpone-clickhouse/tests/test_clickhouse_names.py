"""Names are exact, quoted in one place, and recognised as identifiers only."""

from __future__ import annotations

import pytest

from dpone_clickhouse.names import AttemptNames, literal, qualified, quoted
from dpone_clickhouse.observation import definition_of, mentions
from dpone_contracts.names import query_id_prefix
from dpone_contracts.relations import ClickHouseRelation

OPERATION, ATTEMPT, EXECUTION = ("sha256:" + digits * 32 for digits in ("0a", "0b", "0d"))


def test_every_character_of_a_name_stands_for_itself() -> None:
    assert quoted("a`b\\c.d'e") == "`a\\`b\\\\c.d'e`"
    assert qualified(ClickHouseRelation("d.x", "t")) == "`d.x`.`t`"
    assert literal("a'b\\") == "'a\\'b\\\\'"


def test_an_attempts_names_follow_from_its_digests() -> None:
    names = AttemptNames(OPERATION, ATTEMPT, EXECUTION)
    assert names.query_id_prefix == query_id_prefix(EXECUTION, OPERATION) + "0b0b0b0b0b0b0b0b-"
    assert names.staging("db") == ClickHouseRelation("db", "dpone_staging_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b")
    assert names.shadow("db", 2).name == "dpone_shadow_0a0a0a0a0a0a0a0a_0b0b0b0b0b0b0b0b_b2"
    assert len({relation.name for relation in names.shadows("db")}) == 10


def test_what_is_no_digest_names_nothing() -> None:
    with pytest.raises(ValueError, match="not a digest"):
        AttemptNames(OPERATION, "sha256:0b", EXECUTION)


@pytest.mark.parametrize(
    ("create", "definition"),
    [
        ("CREATE TABLE db.t (`a` Int8) ENGINE = Log", "(`a` Int8) ENGINE = Log"),
        ("CREATE TABLE `d\\`b`.`t (x` (`a` Int8)", "(`a` Int8)"),
        ("CREATE MATERIALIZED VIEW db.v TO db.t AS SELECT 1", "TO db.t AS SELECT 1"),
    ],
)
def test_a_definition_is_what_follows_the_name(create: str, definition: str) -> None:
    assert definition_of(create) == definition


def test_a_name_is_mentioned_as_a_whole_identifier_or_literal() -> None:
    assert mentions("Buffer('db', 'flights', 1)", "flights")
    assert mentions("SELECT * FROM db.`flights`", "flights")
    assert mentions(r"Buffer('db', 'a\'b', 1)", "a'b")
    assert not mentions("SELECT * FROM flights_2, old_flights, 'my flights'", "flights")
