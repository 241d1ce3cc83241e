"""The `.sql` templates of this package: named places filled once, split into batches at GO."""

from __future__ import annotations

import re
from importlib.resources import files

_PLACE = re.compile(r"\{\{([a-z_]+)\}\}")
_GO = re.compile(r"^GO\s*$", re.MULTILINE)


def template(name: str) -> str:
    """Read a template by its path below `sql/`, for instance `control/10_store.sql`."""
    return files("dpone_mssql").joinpath("sql", *name.split("/")).read_text(encoding="utf-8")


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
