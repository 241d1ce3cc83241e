"""Names of relations as a query writes them, resolved to three parts and compared as the database would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from unicodedata import category, normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.relations import SqlRelation


_HIRAGANA: Final = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}
"""Katakana as Hiragana: a collation tells them apart only where its name says so."""


@dataclass(frozen=True, slots=True)
class NameRules:
    """How the database compares identifiers: by its collation, where that is known.

    Names are surely equal when every such collation says so, and possibly equal when some may: case, width, kana,
    accents and characters without weight (invisible ones, and those beyond the old collations' tables) then do not tell
    two names apart. Only a binary collation compares code points. Blanks at the end never count.
    """

    case_sensitive: bool | None = None
    binary: bool = False
    accents: bool = False
    """Whether accents are known to tell names apart."""

    def surely_equal(self, left: str, right: str) -> bool:
        """Tell whether both certainly name one thing."""
        return left == right or (
            self.case_sensitive is False
            and len(left) == len(right)
            and left.lower() == right.lower()
            and left.upper() == right.upper()
        )

    def possibly_equal(self, left: str, right: str) -> bool:
        """Tell whether both may name one thing."""
        if self.binary:
            return left.rstrip(" ") == right.rstrip(" ")
        return self.folded(left) == self.folded(right)

    def folded(self, name: str) -> str:
        """Return what is left of a name when all is dropped by which it may not differ."""
        weightless = ("Cc", "Cf", "Cn", "Co", "Cs") if self.accents else ("Cc", "Cf", "Cn", "Co", "Cs", "Mn")
        decomposed = normalize("NFKD", name).translate(_HIRAGANA)
        kept = "".join(c for c in decomposed if ord(c) < 0x10000 and category(c) not in weightless)
        return (kept if self.case_sensitive else kept.casefold().replace("\u0131", "i")).rstrip(" ")

    def possibly_same(self, left: SqlRelation, right: SqlRelation) -> bool:
        """Tell whether both may be one relation."""
        return all(
            self.possibly_equal(one, other)
            for one, other in (
                (left.database, right.database),
                (left.schema, right.schema),
                (left.name, right.name),
            )
        )


def distinct(relations: Sequence[SqlRelation], rules: NameRules) -> tuple[SqlRelation, ...]:
    """Return the relations sorted and without those that certainly repeat another."""
    kept: list[SqlRelation] = []
    for relation in sorted(relations):
        if not any(
            rules.surely_equal(str(relation), str(other)) and len(str(relation)) == len(str(other))
            for other in kept
        ):
            kept.append(relation)
    return tuple(kept)
