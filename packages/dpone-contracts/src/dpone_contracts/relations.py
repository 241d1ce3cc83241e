"""Names of relations in the two engines; quoting is the adapters' own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SqlRelation:
    """A three-part SQL Server name, each part as stored, without quotes."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        """`database.schema.name`, for messages and authority ids."""
        return f"{self.database}.{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class ClickHouseRelation:
    """A table of one ClickHouse database, both names as stored, without quotes."""

    database: str
    name: str

    def __str__(self) -> str:
        """`database.name`, for messages and authority ids."""
        return f"{self.database}.{self.name}"
