"""The catalog that translation asks: relations of the session's database, read through its own backend and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpone_lab.sqlserver.language.translation import Column, Relation
from dpone_lab.sqlserver.language.types import from_postgres
from dpone_lab.sqlserver.language.values import quote_name

if TYPE_CHECKING:
    import psycopg

    from dpone_lab.sqlserver.catalog.permissions import Principal

_SYSTEM = ("sys", "INFORMATION_SCHEMA", "tempdb.sys", "msdb.dbo")

_RELATION = """
SELECT c.oid, n.nspname, c.relname, c.relkind, obj_description(c.oid, 'pg_class')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v') AND lower(c.relname) = lower(%(name)s)
  AND CASE WHEN %(schema)s::text IS NULL THEN n.oid = pg_my_temp_schema()
      ELSE lower(n.nspname) = lower(%(schema)s) AND n.nspname NOT IN ('information_schema', '_lab', 'public')
           AND n.nspname NOT LIKE 'pg\\_%%' END
ORDER BY c.relname = %(name)s DESC, n.nspname = %(schema)s DESC LIMIT 1
"""
_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod, a.attnotnull, a.atthasdef, a.attidentity <> ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


class Generation:
    """A counter that every definition statement advances: what was remembered under an older value is asked again."""

    def __init__(self) -> None:
        self.value = 0

    def advance(self) -> None:
        """Make all sessions forget what they know of the catalog."""
        self.value += 1


class PostgresCatalog:
    """Names and types in one session's database, its own uncommitted definitions and temporary tables included."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        database: str,
        principal: Principal,
        generation: Generation | None = None,
    ) -> None:
        self._connection = connection
        self._database = database
        self._principal = principal
        self._generation = generation or Generation()
        self._seen = self._generation.value
        self._relations: dict[tuple[str | None, str], Relation | None] = {}
        self._schemas: dict[str, str | None] = {}
        self._system: dict[tuple[str | None, str], Relation] = {}
        self._forgotten = 0

    @property
    def version(self) -> object:
        """What changes with every definition of any session and with every one undone in this."""
        return self._generation.value, self._forgotten

    @property
    def database(self) -> str:
        """The current database's name, stored spelling."""
        return self._database

    @property
    def default_schema(self) -> str:
        """The schema in which an unqualified name is looked for first."""
        return self._principal.default_schema

    def forget(self) -> None:
        """Drop what was remembered: this session changed or rolled back a definition."""
        self._relations.clear()
        self._schemas.clear()
        self._forgotten += 1

    def relation(self, schema: str | None, name: str) -> Relation | None:
        """Find a table, view, system view or, with schema None, a temporary table, case-insensitively."""
        self._refresh()
        key = (None if schema is None else schema.lower(), name.lower())
        if key in self._system:
            return self._system[key]
        if key not in self._relations:
            found = self._read(schema, name)
            if found is not None and found.kind == "SYSTEM":
                self._system[key] = found
            else:
                self._relations[key] = found
            return found
        return self._relations[key]

    def schema(self, name: str) -> str | None:
        """Return a schema's stored spelling, or None."""
        self._refresh()
        key = name.lower()
        if key not in self._schemas:
            row = self._connection.execute(
                "SELECT nspname FROM pg_namespace WHERE lower(nspname) = %s"
                " AND (_lab.is_user_schema(nspname) OR nspname IN ('sys', 'INFORMATION_SCHEMA'))"
                " ORDER BY nspname = %s DESC LIMIT 1",
                (key, name),
            ).fetchone()
            self._schemas[key] = None if row is None else str(row[0])
        return self._schemas[key]

    def trigger(self, schema: str, name: str) -> tuple[str, str, str] | None:
        """Return a table trigger's stored name, its table's name, and the table's quoted PostgreSQL name."""
        row = self._connection.execute(
            "SELECT t.tgname, n.nspname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE NOT t.tgisinternal AND lower(t.tgname) = lower(%s) AND lower(n.nspname) = lower(%s)",
            (name, schema),
        ).fetchone()
        return None if row is None else (row[0], row[2], f"{quote_name(row[1])}.{quote_name(row[2])}")

    def index_name(self, schema: str, table: str, index: str) -> str | None:
        """Return the quoted PostgreSQL name of a table's index or key constraint, or None."""
        row = self._connection.execute(
            "SELECT n.nspname, c.relname FROM _lab.indexes i JOIN pg_class c ON c.oid = i.index_oid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace JOIN _lab.relations r ON r.object_id = i.object_id"
            " WHERE lower(i.name) = lower(%s) AND lower(r.name) = lower(%s)"
            " AND (r.is_temp OR lower(r.schema_name) = lower(%s))",
            (index, table, schema),
        ).fetchone()
        return None if row is None else f"{quote_name(row[0])}.{quote_name(row[1])}"

    def _refresh(self) -> None:
        if self._seen != self._generation.value:
            self._seen = self._generation.value
            self.forget()

    def _read(self, schema: str | None, name: str) -> Relation | None:
        row = self._connection.execute(_RELATION, {"schema": schema, "name": name}).fetchone()
        if row is None:
            return None
        oid, stored_schema, stored_name, relkind, body = row
        columns = tuple(
            Column(
                column, from_postgres(type_name, modifier, nullable=not required), has_default, is_identity
            )
            for column, type_name, modifier, required, has_default, is_identity in self._connection.execute(
                _COLUMNS, (oid,)
            ).fetchall()
        )
        kind: Literal["TABLE", "VIEW", "SYSTEM", "TEMPORARY"]
        if schema is None:
            kind, shown_schema, read_by = "TEMPORARY", "", f"pg_temp.{quote_name(stored_name)}"
        else:
            kind = "SYSTEM" if stored_schema in _SYSTEM else "VIEW" if relkind == "v" else "TABLE"
            shown_schema, read_by = stored_schema, f"{quote_name(stored_schema)}.{quote_name(stored_name)}"
        is_view = kind == "VIEW"
        return Relation(
            kind,
            shown_schema,
            stored_name,
            read_by,
            columns,
            body if is_view else None,
            tuple(column.name for column in columns) if is_view else (),
        )
