from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpone_lab.sqlserver.language.errors import LONGEST_STORED_IDENTIFIER, SqlServerError
from dpone_lab.sqlserver.language.lexer import Token, TokenKind, tokenize

_PIECES = st.sampled_from(
    [
        "SELECT",
        "[a]]b]",
        '"a""b"',
        "'it''s'",
        "N'ü'",
        "@x",
        "@@ROWCOUNT",
        "#t",
        "0xAB",
        "1.5",
        "1e3",
        "42",
        "<>",
        "!=",
        "+=",
        "(",
        ")",
        ",",
        ";",
        ".",
        "*",
        "-- to the end\n",
        "/* a /* nested */ b */",
        "::",
    ]
)


def _kinds(text: str) -> list[TokenKind]:
    return [token.kind for token in tokenize(text)[:-1]]


def _values(text: str) -> list[str]:
    return [token.value for token in tokenize(text)[:-1]]


@given(st.lists(_PIECES, max_size=30))
def test_token_positions_round_trip_the_text(pieces: list[str]) -> None:
    text = " ".join(pieces)
    tokens = tokenize(text)[:-1]

    assert [text[token.start : token.end] for token in tokens] == [token.text for token in tokens]
    assert all(first.end <= second.start for first, second in itertools.pairwise(tokens))
    gaps = _gaps(text, tokens)
    assert all(_is_blank_or_comment(gap) for gap in gaps)


def _gaps(text: str, tokens: tuple[Token, ...]) -> list[str]:
    edges = [0, *(edge for token in tokens for edge in (token.start, token.end)), len(text)]
    return [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _is_blank_or_comment(gap: str) -> bool:
    return not gap.strip() or tokenize(gap)[0].kind is TokenKind.END


@given(st.text(alphabet=st.characters(exclude_characters="\x00"), max_size=40))
def test_any_string_constant_keeps_its_value_when_quotes_are_doubled(value: str) -> None:
    text = "N'" + value.replace("'", "''") + "'"

    assert _values(text) == [value]


@given(
    st.text(alphabet=st.characters(exclude_characters="\x00"), min_size=1, max_size=40).filter(
        lambda name: len(name.encode(errors="surrogatepass")) <= LONGEST_STORED_IDENTIFIER
    )
)
def test_any_name_keeps_its_spelling_in_brackets_when_the_closing_one_is_doubled(name: str) -> None:
    assert _values("[" + name.replace("]", "]]") + "]") == [name]


def test_comments_nest() -> None:
    assert _values("1 /* a /* b */ c */ 2") == ["1", "2"]


def test_lines_are_counted_through_comments_and_strings() -> None:
    tokens = tokenize("a /*\n*/ 'x\ny'\nb")

    assert [token.line for token in tokens[:-1]] == [1, 2, 4]


def test_numbers_are_told_apart_by_their_spelling() -> None:
    assert _kinds("1 1. .5 1e5 0x0A 1.5E-3") == [
        TokenKind.INTEGER,
        TokenKind.DECIMAL,
        TokenKind.DECIMAL,
        TokenKind.FLOAT,
        TokenKind.BINARY,
        TokenKind.FLOAT,
    ]


def test_an_odd_number_of_hex_digits_is_padded_on_the_left() -> None:
    assert _values("0xABC") == ["0ABC"]


def test_quoted_words_are_never_keywords() -> None:
    assert [token.upper for token in tokenize("select [select] \"select\" 'select'")[:-1]] == [
        "SELECT",
        "",
        "",
        "",
    ]


def test_comparisons_have_one_spelling_each() -> None:
    assert [token.upper for token in tokenize("a != b !< c !> d")[:-1]] == [
        "A",
        "<>",
        "B",
        ">=",
        "C",
        "<=",
        "D",
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("select 'a", 105),
        ("select N'a", 105),
        ("select [a", 105),
        ("select /* a", 113),
        ("select 1 ? 2", 102),
    ],
)
def test_what_begins_no_token_is_refused_with_its_number(text: str, number: int) -> None:
    with pytest.raises(SqlServerError) as caught:
        tokenize(text)

    assert caught.value.number == number
