"""Names of relations in the two engines, and the one bracketed spelling that documents use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from dpone_contracts.errors import DponeError

_BRACKETED: Final = re.compile(r"\[((?:[^\]]|\]\])+)\]\.\[((?:[^\]]|\]\])+)\]\.\[((?:[^\]]|\]\])+)\]")


@dataclass(frozen=True, slots=True, order=True)
class SqlRelation:
    """A three-part SQL Server name, each part as stored, without quotes."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        """`database.schema.name`, for messages and authority ids."""
        return f"{self.database}.{self.schema}.{self.name}"

    @property
    def bracketed(self) -> str:
        """`[database].[schema].[name]`, as relation ids of images and in T-SQL; `]` is doubled."""
        return ".".join(f"[{part.replace(']', ']]')}]" for part in (self.database, self.schema, self.name))

    @classmethod
    def from_id(cls, relation_id: str) -> Self:
        """Read `database.schema.name`; raises DponeError for names that hold dots."""
        parts = relation_id.split(".")
        if len(parts) != 3 or not all(parts):
            raise DponeError(
                "DPONE_TARGET_NAME_UNSUPPORTED", "the id is not database.schema.name", {"id": relation_id}
            )
        return cls(*parts)

    @classmethod
    def from_bracketed(cls, text: str) -> Self:
        """Read what `bracketed` wrote; raises ValueError for anything else."""
        match = _BRACKETED.fullmatch(text)
        if match is None:
            raise ValueError("not a bracketed three-part name")
        return cls(*(part.replace("]]", "]") for part in match.groups()))


@dataclass(frozen=True, slots=True, order=True)
class ClickHouseRelation:
    """A table of one ClickHouse database, both names as stored, without quotes."""

    database: str
    name: str

    def __str__(self) -> str:
        """`database.name`, for messages and authority ids."""
        return f"{self.database}.{self.name}"
