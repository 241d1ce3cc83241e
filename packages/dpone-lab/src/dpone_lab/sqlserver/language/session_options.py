"""SET options of a session that the lab accepts, and the values it can honour for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import unsupported
from dpone_lab.sqlserver.language.lexer import TokenKind

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.stream import TokenStream

SWITCHES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "ANSI_DEFAULTS",
            "ANSI_NULLS",
            "ANSI_NULL_DFLT_ON",
            "ANSI_PADDING",
            "ANSI_WARNINGS",
            "ARITHABORT",
            "CONCAT_NULL_YIELDS_NULL",
            "QUOTED_IDENTIFIER",
        ),
        frozenset({"ON"}),
    ),
    **dict.fromkeys(
        ("NUMERIC_ROUNDABORT", "CURSOR_CLOSE_ON_COMMIT", "FMTONLY", "PARSEONLY", "NOEXEC"),
        frozenset({"OFF"}),
    ),
    **dict.fromkeys(
        ("NOCOUNT", "XACT_ABORT", "IMPLICIT_TRANSACTIONS", "NO_BROWSETABLE"), frozenset({"ON", "OFF"})
    ),
}
"""On/off options and the settings whose semantics the lab has; the other setting is refused."""

ISOLATION_LEVELS = (
    "READ COMMITTED",
    "REPEATABLE READ",
    "SERIALIZABLE",
    "READ UNCOMMITTED",
    "SNAPSHOT",
)
_REFUSED_LEVELS = ("READ UNCOMMITTED", "SNAPSHOT")


def parse_option_setting(stream: TokenStream) -> list[tuple[str, str]]:  # noqa: C901, PLR0912 - one case an option
    """Parse what follows SET when it isn't a variable; return (option, value) pairs, upper-case."""
    if stream.accept("TRANSACTION", "ISOLATION", "LEVEL"):
        return [("TRANSACTION ISOLATION LEVEL", _isolation_level(stream))]
    option = stream.take().upper
    match option:
        case "LOCK_TIMEOUT":
            return [(option, _number(stream))]
        case "ROWCOUNT":
            value = _number(stream)
            if value != "0":
                raise unsupported("SET ROWCOUNT other than 0")
            return [(option, value)]
        case "TEXTSIZE":
            return [(option, _number(stream))]
        case "DATEFIRST":
            value = _number(stream)
            if value != "7":
                raise unsupported("SET DATEFIRST other than 7")
            return [(option, value)]
        case "LANGUAGE":
            value = stream.take().value.lower()
            if value not in ("us_english", "english"):
                raise unsupported("SET LANGUAGE other than us_english")
            return [(option, "us_english")]
        case "DATEFORMAT":
            value = stream.take().value.lower()
            if value not in ("mdy", "ymd"):
                raise unsupported("SET DATEFORMAT other than mdy or ymd")
            return [(option, value)]
        case "DEADLOCK_PRIORITY":
            sign = "-" if stream.accept("-") else ""
            return [(option, sign + stream.take().value.upper())]
        case "CONTEXT_INFO":
            if stream.current.kind is not TokenKind.BINARY:
                raise unsupported("SET CONTEXT_INFO from an expression")
            return [(option, stream.take().value)]
        case _:
            return _switches(stream, option)


def _switches(stream: TokenStream, first: str) -> list[tuple[str, str]]:
    options = [first]
    while stream.accept(","):
        options.append(stream.take().upper)
    for option in options:
        if option not in SWITCHES:
            raise unsupported(f"SET {option or stream.tokens[stream.position - 1].text}")
    if not stream.at_any("ON", "OFF"):
        raise stream.unexpected()
    value = stream.take().upper
    for option in options:
        if value not in SWITCHES[option]:
            raise unsupported(f"SET {option} {value}")
    return [(option, value) for option in options]


def _number(stream: TokenStream) -> str:
    sign = "-" if stream.accept("-") else ""
    return f"{sign}{stream.integer()}"


def _isolation_level(stream: TokenStream) -> str:
    for level in ISOLATION_LEVELS:
        if stream.accept(*level.split()):
            if level in _REFUSED_LEVELS:
                raise unsupported(f"SET TRANSACTION ISOLATION LEVEL {level}")
            return level
    raise stream.unexpected()
