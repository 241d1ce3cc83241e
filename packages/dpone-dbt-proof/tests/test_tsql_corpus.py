"""Models like those that teams write: proven with their exact relations, refused, or left open at the right place.

The corpus is files of blocks, each with its expected answer in a `--#` line: `reads` and the base relations,
`refused` and the code, or `unverified`, the code and the place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.catalog_snapshot import collation_rules
from dpone_dbt_proof.reasons import Reason, Status, verdict
from dpone_dbt_proof.tsql import QueryReading, read_query
from dpone_dbt_proof.tsql_grammar import argument_words
from dpone_dbt_proof.tsql_lexer import tokenize
from dpone_dbt_proof.tsql_policy import TsqlPolicy

CORPUS = Path(__file__).parent / "corpus"
TARGET = SqlRelation("shop", "mart", "event")


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the corpus; `reads` for proven ones, `code` and `at` (line, column) for the others."""

    name: str
    sql: str
    status: Status
    reads: tuple[str, ...] = ()
    code: str = ""
    at: tuple[int, int] | None = None


def models(kind: str) -> list[Model]:
    """Return the models of one folder: proven, refused or unverified."""
    found: list[Model] = []
    for path in sorted((CORPUS / kind).glob("*.sql")):
        for block in path.read_text(encoding="utf-8").split("--# ")[1:]:
            header, _, sql = block.partition("\n")
            found.append(_model(header, sql))
    return found


def _model(header: str, sql: str) -> Model:
    name, verb, rest = header.split(" ", 2)
    match verb:
        case "reads":
            return Model(name, sql, Status.PROVEN, tuple(sorted(f"shop.{read}" for read in rest.split(", "))))
        case "refused":
            return Model(name, sql, Status.NONCONFORMANT, code=rest)
        case _:
            code, _, place = rest.partition(" ")
            line, _, column = place.partition(":")
            return Model(name, sql, Status.UNVERIFIED, code=code, at=(int(line), int(column)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the product says of a model's text."""

    status: Status
    reading: QueryReading
    reasons: tuple[Reason, ...]


def answer_to(model: Model) -> Answer:
    """Judge a model's text in database `shop` with target `shop.mart.event`."""
    reading = read_query(model.sql, "shop", target=TARGET)
    reasons = (*reading.reasons, *reading.calls)
    return Answer(verdict(reasons), reading, reasons)


PROVEN, REFUSED, UNVERIFIED = (models(kind) for kind in ("proven", "refused", "unverified"))


def test_the_corpus_has_its_size() -> None:
    names = [model.name for model in (*PROVEN, *REFUSED, *UNVERIFIED)]
    assert len(PROVEN) >= 120
    assert len(REFUSED) >= 220
    assert len(UNVERIFIED) >= 45
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("model", PROVEN, ids=lambda model: model.name)
def test_what_only_reads_is_proven_with_its_relations(model: Model) -> None:
    answer = answer_to(model)
    assert [(str(r.code), r.message, r.line, r.column) for r in answer.reasons] == []
    assert tuple(str(relation) for relation in answer.reading.reads) == model.reads


@pytest.mark.parametrize("model", PROVEN, ids=lambda model: model.name)
def test_the_target_in_place_of_any_relation_is_refused(model: Model) -> None:
    tokens = tokenize(model.sql)
    for index, token in enumerate(tokens):
        if (
            token.word in ("FROM", "JOIN", "APPLY")
            and index not in argument_words(tokens)
            and index + 3 < len(tokens)
            and tokens[index + 2].value == "."
        ):
            last = index + 5 if [t.value for t in tokens[index + 4 : index + 5]] == ["."] else index + 3
            if [t.value for t in tokens[last + 1 : last + 2]] == ["("]:
                continue
            altered = model.sql[: tokens[index + 1].start] + '[Mart]."EVENT"' + model.sql[tokens[last].end :]
            answer = answer_to(Model("altered", altered, Status.NONCONFORMANT))
            assert "SQL_TARGET_READ" in {reason.code.name for reason in answer.reasons}, altered


@pytest.mark.parametrize("model", PROVEN, ids=lambda model: model.name)
def test_blanks_and_comments_between_tokens_change_nothing(model: Model) -> None:
    tokens = tokenize(model.sql)
    spaced = "\n/* x */ ".join(model.sql[token.start : token.end] for token in tokens)
    assert answer_to(Model("spaced", spaced, model.status)).reading.reads == answer_to(model).reading.reads


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: model.name)
def test_what_is_not_admitted_is_refused_with_its_code(model: Model) -> None:
    answer = answer_to(model)
    assert answer.status is Status.NONCONFORMANT
    assert model.code in {reason.code.name for reason in answer.reasons}


@pytest.mark.parametrize("model", UNVERIFIED, ids=lambda model: model.name)
def test_what_cant_be_read_is_left_open_at_its_place(model: Model) -> None:
    answer = answer_to(model)
    assert answer.status is Status.UNVERIFIED
    assert [(r.code.name, (r.line, r.column)) for r in answer.reasons] == [(model.code, model.at)]


def test_a_comment_that_another_reader_may_end_earlier_is_left_open() -> None:
    hidden = "select o.id from sales.orders o -- x{}union all select id from mart.event"
    for end in ("\r", "\x85", "\u2028", "\v"):
        answer = answer_to(Model("hidden", hidden.format(end), Status.UNVERIFIED))
        assert [(r.code.name, r.line, r.column) for r in answer.reasons] == [("SQL_LEXICAL", 1, 37)]
    windows = Model("windows", "select o.id -- x\r\nfrom sales.orders o -- y\r\n", Status.PROVEN)
    assert answer_to(windows).status is Status.PROVEN


@pytest.mark.parametrize(
    ("first", "repeated", "middle", "closed"),
    [
        ("select 1 as x from a.b where 1 = 1", " and 1 = 1", "", ""),
        ("select 1 as x from a.b", " union all select 1 as x from a.b", "", ""),
        ("select 1", " + 1", " as x from a.b", ""),
    ],
)
def test_a_long_text_is_read(first: str, repeated: str, middle: str, closed: str) -> None:
    sql = first + repeated * 2000 + middle + closed * 2000
    assert answer_to(Model("long", sql, Status.PROVEN)).status is Status.PROVEN


@pytest.mark.parametrize(
    ("first", "repeated", "middle", "closed"),
    [
        ("select * from ", "(select * from ", "a.b", ") q"),
        ("select ", "(", "1", ") as x from a.b"),
        ("select * from a.b t", " join a.c u", "", " on 1 = 1"),
    ],
)
def test_a_text_that_no_stack_holds_is_left_open(first: str, repeated: str, middle: str, closed: str) -> None:
    sql = first + repeated * 5000 + middle + closed * 5000
    (reason,) = answer_to(Model("deep", sql, Status.UNVERIFIED)).reasons
    assert (reason.code.name, reason.line) == ("SQL_SYNTAX", 1)
    assert "nested too deeply" in reason.message


def test_names_are_one_or_not_as_the_collation_may_say() -> None:
    spellings = {
        "case": "EVENT",
        "width": "\uff45\uff56\uff45\uff4e\uff54",
        "accent": "évent",
        "invisible": "ev\u200bent",
        "weightless": "event😀",
        "blank": "event  ",
    }
    same = {
        "Latin1_General_BIN2": {"blank"},
        "Latin1_General_CS_AS": {"width", "invisible", "weightless", "blank"},
        "Latin1_General_CI_AS": {"case", "width", "invisible", "weightless", "blank"},
        "Latin1_General_CI_AI": set(spellings),
        "unknown": set(spellings),
    }
    for collation, expected in same.items():
        rules = collation_rules(collation)
        found = {kind for kind, name in spellings.items() if rules.possibly_equal("event", name)}
        assert found == expected, collation


def test_names_are_surely_one_only_where_every_such_collation_says_so() -> None:
    ignores, turkish = collation_rules("Latin1_General_CI_AS"), collation_rules("Turkish_CI_AS")
    assert ignores.surely_equal("Äpfel", "äPFEL")
    for left, right in (("straße", "STRASSE"), ("\u03c2", "\u03c3"), ("\u212a", "k"), ("évent", "event")):
        assert not ignores.surely_equal(left, right)
    assert not turkish.surely_equal("files", "FILES")


@pytest.mark.parametrize(
    ("sql", "admitted"),
    [
        ("select o.id, getdate() as loaded_at from sales.orders o", True),
        ("select distinct o.id, case when o.x < getdate() then 1 end as late from sales.orders o", True),
        ("select top (datepart(second, getdate())) o.id, o.at from sales.orders o order by o.id", False),
        ("select distinct top (datepart(second, getdate())) o.id from sales.orders o order by o.id", False),
        ("select o.id, getdate() as [at ] from sales.orders o", False),
        ("select o.id, [at] = getdate() from sales.orders o", False),
        ("select o.id, o.at from sales.orders o where o.at < getdate()", False),
        ("with n as (select getdate() as at) select o.id, n.at from sales.orders o, n", False),
        (
            "select o.id, o.at from sales.orders o union select o.id, getdate() as x from sales.orders o",
            False,
        ),
    ],
)
def test_an_admitted_clock_reaches_no_key_and_no_choice_of_rows(sql: str, *, admitted: bool) -> None:
    policy = TsqlPolicy(frozenset({"GETDATE"}))
    reading = read_query(sql, "shop", target=TARGET, policy=policy, protected=frozenset({"ID", "AT"}))
    assert ("SQL_KEY_NONDETERMINISTIC" not in {reason.code.name for reason in reading.reasons}) is admitted
