"""Names of relations as a query writes them, resolved to three parts and compared as the database would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_contracts.relations import SqlRelation


@dataclass(frozen=True, slots=True)
class NameRules:
    """How the database compares identifiers: by its collation, where that is known.

    Without a known collation two names are the same for refusing when they differ by case or width alone, and the
    same for proving only when they are equal. Blanks at the end never tell two names apart.
    """

    case_sensitive: bool | None = None

    def surely_equal(self, left: str, right: str) -> bool:
        """Tell whether both certainly name one thing."""
        return left == right or (self.case_sensitive is False and left.casefold() == right.casefold())

    def possibly_equal(self, left: str, right: str) -> bool:
        """Tell whether both may name one thing."""
        if self.case_sensitive is True:
            return left.rstrip(" ") == right.rstrip(" ")
        return _folded(left) == _folded(right)

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


def _folded(name: str) -> str:
    return normalize("NFKC", name).casefold().rstrip(" ")


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
