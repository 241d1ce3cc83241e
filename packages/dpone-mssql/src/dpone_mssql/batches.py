"""The `.sql` templates of this package: named places filled once, split into batches at GO."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_GO = re.compile(r"^GO\s*$", re.MULTILINE)


def template(name: str) -> str:
    """Read a template by its path below `sql/`, for instance `control/10_store.sql`."""
    path: Traversable = files("dpone_mssql").joinpath("sql", *name.split("/"))
    return path.read_text(encoding="utf-8")


def render(name: str, /, **places: str) -> str:
    """Fill a template; a place without a value, or a value without a place, is a fault of the caller."""
    text = template(name)
    wanted = set(_PLACE.findall(text))
    if wanted != set(places):
        raise KeyError(f"{name}: places {sorted(wanted ^ set(places))} are not both named and given")
    return _PLACE.sub(lambda place: places[place.group(1)], text)


def places(name: str) -> frozenset[str]:
    """Name the places of a template."""
    return frozenset(_PLACE.findall(template(name)))


def split(script: str) -> tuple[str, ...]:
    """Split a script at its GO lines; batches of comments and blanks only are left out."""
    found = (part.strip() for part in _GO.split(script))
    return tuple(part for part in found if re.sub(r"--[^\n]*", "", part).strip())


_NAMED = re.compile(r"^-- name: ([a-z_]+)\n", re.MULTILINE)


class Statements:
    """The named statements of one template file, rendered for one store: `-- name: lock_guard` starts each."""

    def __init__(self, name: str, **filled: str) -> None:
        pieces: list[str] = _NAMED.split(render(name, **filled))
        self._found: dict[str, str] = dict(
            zip(pieces[1::2], (text.strip().rstrip(";") for text in pieces[2::2]), strict=True)
        )

    def __getitem__(self, name: str) -> str:
        """Return a statement without its semicolon; raises KeyError for an unknown name."""
        return self._found[name]

    def names(self) -> frozenset[str]:
        """Name all statements."""
        return frozenset(self._found)
