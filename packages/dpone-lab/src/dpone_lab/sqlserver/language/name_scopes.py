"""Which columns a query level sees, and how a column's name is bound to one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.inference import column_label
from dpone_lab.sqlserver.language.translation import ResultColumn
from dpone_lab.sqlserver.language.values import Value, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpone_lab.sqlserver.language.expressions import ColumnRef, Star
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A column as a source offers it: its stored spelling and what it translates to."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class BoundSource:
    """A table source with its correlation name; ``path`` holds the lower-case (schema, table) it may be called by."""

    alias: str
    columns: tuple[BoundColumn, ...]
    path: tuple[str, ...] = ()

    def answers_to(self, qualifier: tuple[str, ...]) -> bool:
        """Tell whether a qualifier of a column means this source."""
        wanted = tuple(part.lower() for part in qualifier)
        if len(wanted) == 1:
            return wanted[0] == self.alias.lower()
        if not self.path:
            return False
        # database.schema.table, schema.table; an empty part stands for the default.
        return all(
            part in ("", own) for part, own in zip(reversed(wanted), reversed(self.path), strict=False)
        ) and len(wanted) <= len(self.path)

    def nullable(self) -> BoundSource:
        """Return the source as the outer side of a join offers it: every column may be NULL."""
        return BoundSource(self.alias, tuple(_nullable(column) for column in self.columns), self.path)


def _nullable(column: BoundColumn) -> BoundColumn:
    value = column.value
    return BoundColumn(
        column.name, Value(value.sql, value.type.with_null(nullable=True), value.literal, value.is_identity)
    )


def make_source(
    alias: str, read_by: str, columns: Iterable[tuple[str, SqlType, bool]], path: tuple[str, ...] = ()
) -> BoundSource:
    """Return a source called ``alias`` in T-SQL whose columns are read through the PostgreSQL alias ``read_by``."""
    quoted = quote_name(read_by)
    return BoundSource(
        alias,
        tuple(
            BoundColumn(
                name, Value(f"{quoted}.{quote_name(name)}", column_label(sql_type), is_identity=is_identity)
            )
            for name, sql_type, is_identity in columns
        ),
        path,
    )


@dataclass(slots=True)
class NameScope:
    """The sources of one query level and, outside of it, those of the enclosing levels."""

    sources: list[BoundSource] = field(default_factory=list)
    outer: NameScope | None = None

    def add(self, source: BoundSource) -> None:
        """Add a source; 1013 when its exposed name is taken."""
        for known in self.sources:
            if known.alias.lower() == source.alias.lower() and known.path == source.path:
                raise SqlServerError(
                    Number.DUPLICATE_CORRELATION,
                    f'The objects "{source.alias}" and "{known.alias}" in the FROM clause have the same exposed names. '
                    "Use correlation names to distinguish them.",
                )
        self.sources.append(source)

    def resolve(self, column: ColumnRef) -> Value:
        """Bind a column from the innermost level outwards; 207, 209 or 4104 when that fails."""
        level: NameScope | None = self
        while level is not None:
            found = level.here(column)
            if found is not None:
                return found
            level = level.outer
        if column.qualifier:
            path = ".".join((*column.qualifier, column.name))
            raise SqlServerError(
                Number.UNBOUND_IDENTIFIER, f'The multi-part identifier "{path}" could not be bound.'
            )
        raise SqlServerError(Number.INVALID_COLUMN, f"Invalid column name '{column.name}'.")

    def here(self, column: ColumnRef) -> Value | None:
        """Bind a column at this level only; None when no source has it."""
        wanted = column.name.lower()
        candidates = self.sources
        if column.qualifier:
            candidates = [source for source in self.sources if source.answers_to(column.qualifier)]
        found = [
            offered.value
            for source in candidates
            for offered in source.columns
            if offered.name.lower() == wanted
        ]
        if len(found) > 1:
            raise SqlServerError(Number.AMBIGUOUS_COLUMN, f"Ambiguous column name '{column.name}'.")
        if not found and column.qualifier and candidates:
            raise SqlServerError(Number.INVALID_COLUMN, f"Invalid column name '{column.name}'.")
        return found[0] if found else None

    def expand(self, star: Star) -> list[BoundColumn]:
        """Return the columns that ``*`` or ``alias.*`` stands for; 107 for an unknown alias."""
        if not star.qualifier:
            return [column for source in self.sources for column in source.columns]
        for source in self.sources:
            if source.answers_to(star.qualifier):
                return list(source.columns)
        raise SqlServerError(
            Number.COLUMN_PREFIX_MISMATCH,
            f"The column prefix '{'.'.join(star.qualifier)}' does not match with a table name or alias name "
            "used in the query.",
        )


def rename_columns(
    columns: Sequence[ResultColumn], names: Sequence[str], table: str
) -> tuple[ResultColumn, ...]:
    """Return the columns of a derived table under its own names; each needs a name (8155) and only one (8156)."""
    if names:
        if len(names) != len(columns):
            raise SqlServerError(
                8158 if len(names) < len(columns) else 8159,
                f"'{table}' has {'more' if len(names) < len(columns) else 'fewer'} columns than were specified in the column list.",
            )
        columns = [ResultColumn(name, column.type) for name, column in zip(names, columns, strict=True)]
    seen: set[str] = set()
    for index, column in enumerate(columns):
        if not column.name:
            raise SqlServerError(
                Number.DUPLICATE_RESULT_COLUMN,
                f"No column name was specified for column {index + 1} of '{table}'.",
            )
        if column.name.lower() in seen:
            raise SqlServerError(
                8156, f"The column '{column.name}' was specified multiple times for '{table}'."
            )
        seen.add(column.name.lower())
    return tuple(columns)
