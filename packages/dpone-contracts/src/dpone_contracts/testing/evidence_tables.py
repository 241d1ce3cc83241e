"""Reads expected tables that were written by hand: rows of patterns over a space of evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

Point = Mapping[str, str]


def points(space: Mapping[str, Sequence[str]]) -> Iterator[Point]:
    """Every point of a space given as dimension -> values."""
    for values in product(*space.values()):
        yield dict(zip(space, values, strict=True))


class Table:
    """A table whose first line names the dimensions and `=>`; `*` matches all, `a/b` either, `!a` all but a."""

    def __init__(self, text: str) -> None:
        head, *rows = (line.split() for line in text.strip().splitlines())
        self._dimensions = head[:-2]
        self._rows = [(row[:-2], row[-1]) for row in rows]
        assert all(len(cells) == len(self._dimensions) for cells, _ in self._rows)

    def expected(self, point: Point) -> str:
        """The one answer of all rows that match; a point that no row or two answers match is a fault of the table."""
        answers = {answer for cells, answer in self._rows if self._matches(cells, point)}
        assert len(answers) == 1, f"{answers or 'no answer'} for {point}"
        return answers.pop()

    def _matches(self, cells: Sequence[str], point: Point) -> bool:
        return all(
            cell == "*"
            or (
                point[name] not in cell[1:].split("/")
                if cell.startswith("!")
                else point[name] in cell.split("/")
            )
            for name, cell in zip(self._dimensions, cells, strict=True)
        )
