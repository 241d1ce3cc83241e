"""Values that must not be shown: wrapped where they enter an error, a log or a report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

REDACTED = "<redacted>"

_LITERAL = re.compile(r"N?'(?:[^']|'')*'|\"[^\"]*\"|\([^()]*\)|0x[0-9A-Fa-f]+|[0-9]+(?:[.,:-][0-9]+)*")


class Redacted(str, Generic[T]):
    """A row value, key, secret or module definition that prints as `<redacted>` wherever text is made of it.

    It is the text `<redacted>`, so that str, repr, format, logging and JSON can only show that. The value comes
    back by `reveal()` alone. It isn't part of equality, and pickling or copying it is refused.
    """

    __slots__ = ("_reveal",)
    _reveal: Callable[[], T]

    def __new__(cls, value: T) -> Redacted[T]:
        """Wrap a value."""
        self = super().__new__(cls, REDACTED)
        self._reveal = lambda: value
        return self

    def reveal(self) -> T:
        """The value itself: for the call that needs it, never for a message."""
        return self._reveal()

    def __repr__(self) -> str:
        return REDACTED

    def __reduce_ex__(self, protocol: object) -> str | tuple[object, ...]:
        raise TypeError("a redacted value is not pickled or copied")


def without_literals(message: str) -> str:
    """An engine's message with each quoted text, bracketed group and number replaced.

    Databases print key values in their errors (SQL Server's 2627, for one). What stays is the wording, which
    names the rule.
    """
    return _LITERAL.sub(REDACTED, message)
