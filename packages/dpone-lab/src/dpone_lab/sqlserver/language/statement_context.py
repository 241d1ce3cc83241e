"""What one statement's translation gathers on its way: parameters, locks, domains, inlined views."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.translation import (
    SESSION_VALUES,
    Catalog,
    LockMode,
    LockRequest,
    Relation,
    Scope,
)
from dpone_lab.sqlserver.language.types import Domain, SqlType, column_type, domain_of
from dpone_lab.sqlserver.language.values import Value, cast

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import ObjectName

CATALOG = "#catalog"
EVERY_SCHEMA = "*"
_STRENGTH = {"S": 0, "U": 1, "X": 2, "SCH-M": 3}
_SYSTEM_SCHEMAS = frozenset({"sys", "information_schema"})


class StatementContext:
    """Mutable collector behind the pure face of translation; one for each statement."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._numbers: dict[str, int] = {}
        self.reads_view = False
        self._locks: dict[tuple[str, str], LockRequest] = {}
        self._domains: dict[str, Domain] = {}
        self._names = 0
        self._aliases: set[str] = set()
        self.view_schema: str | None = None

    @property
    def catalog(self) -> Catalog:
        """The catalog that names are looked up in."""
        return self.scope.catalog

    @property
    def parameters(self) -> tuple[str, ...]:
        """The variables and session values that stand for ``$1``, ``$2`` and so on."""
        return tuple(self._numbers)

    # --- parameters -----------------------------------------------------------------------------------------------

    def variable(self, name: str) -> Value:
        """Return a variable or session value as a typed parameter."""
        sql_type = self.scope.variables.get(name) or SESSION_VALUES.get(name)
        if sql_type is None:
            raise SqlServerError(Number.UNDECLARED_VARIABLE, f'Must declare the scalar variable "{name}".')
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        sql = cast(f"${number}", sql_type)
        return Value(sql, sql_type.with_null(nullable=True))

    def fresh_name(self) -> str:
        """Return an alias that no T-SQL text can spell."""
        self._names += 1
        return f"#{self._names}"

    def unique_alias(self, wanted: str) -> str:
        """Return a PostgreSQL alias that no other source of the statement has, the wanted one if possible."""
        alias = wanted
        while alias in self._aliases:
            self._names += 1
            alias = f"{wanted}#{self._names}"
        self._aliases.add(alias)
        return alias

    # --- types ----------------------------------------------------------------------------------------------------

    def column_type(self, sql_type: SqlType) -> str:
        """Return the PostgreSQL type of a stored column and note the domain it needs."""
        domain = domain_of(sql_type)
        if domain is not None:
            self._domains[domain.name] = domain
        return column_type(sql_type)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domains that stored columns of the statement need."""
        return tuple(self._domains.values())

    # --- locks ----------------------------------------------------------------------------------------------------

    def lock(
        self,
        resource: tuple[str, str],
        mode: LockMode,
        *,
        hold: bool,
        key_range: bool = False,
        always: bool = False,
    ) -> None:
        """Ask for a lock; the strongest request for a resource wins, holding wins over releasing."""
        asked = LockRequest(resource, mode, hold, key_range, always)
        known = self._locks.get(resource)
        if known is not None:
            stronger = max(known.mode, mode, key=_STRENGTH.__getitem__)
            asked = replace(
                asked,
                mode=stronger,
                hold_to_end=hold or known.hold_to_end,
                key_range=key_range or known.key_range,
                always=always or known.always,
            )
        self._locks[resource] = asked

    def lock_for_reading(self, relation: Relation, hints: frozenset[str]) -> None:
        """Ask for the lock that reading a relation takes under its hints."""
        dirty = bool(hints & {"NOLOCK", "READUNCOMMITTED"})
        if relation.kind == "TEMPORARY":
            return
        if relation.kind == "SYSTEM":
            # Management views show the server's memory, not rows of the catalog.
            if not dirty and not relation.name.startswith("dm_"):
                self.lock((CATALOG, EVERY_SCHEMA), "S", hold=bool(hints & {"HOLDLOCK", "SERIALIZABLE"}))
            return
        if dirty:
            raise unsupported("NOLOCK outside the catalog")
        key_range = bool(hints & {"HOLDLOCK", "SERIALIZABLE"})
        mode: LockMode = "S"
        if hints & {"TABLOCKX", "XLOCK"}:
            mode = "X"
        elif "UPDLOCK" in hints:
            mode = "U"
        hold = mode != "S" or key_range or "REPEATABLEREAD" in hints
        always = hold or bool(hints & {"READCOMMITTEDLOCK", "TABLOCK"})
        self.lock((relation.schema, relation.name), mode, hold=hold, key_range=key_range, always=always)

    def lock_for_metadata(self, schema: str | None) -> None:
        """Ask for the lock that reading metadata takes: of one schema, or of all when it isn't known which."""
        stored = None if schema is None else self.catalog.schema(schema) or schema
        self.lock((CATALOG, stored or EVERY_SCHEMA), "S", hold=False)

    def lock_for_change(self, relation: Relation) -> None:
        """Ask for the lock that changing rows of a table takes, to the end of the transaction."""
        if relation.kind != "TEMPORARY":
            self.lock((relation.schema, relation.name), "X", hold=True)

    def lock_for_definition(self, schema: str, name: str | None) -> None:
        """Ask for the locks of a DDL statement: the schema's catalog and, if named, the object."""
        self.lock((CATALOG, schema), "X", hold=True)
        if name is not None:
            self.lock((schema, name), "SCH-M", hold=True)

    @property
    def locks(self) -> tuple[LockRequest, ...]:
        """Return the locks in one order for all statements, so that plans alone never deadlock."""
        return tuple(sorted(self._locks.values(), key=lambda lock: lock.resource))

    # --- names ----------------------------------------------------------------------------------------------------

    def find(self, name: ObjectName) -> Relation | None:
        """Look a relation up; error 911 for another database, None when there is no such relation."""
        if name.is_temporary:
            return self.catalog.relation(None, name.name)
        if name.database is not None and name.database.lower() != self.catalog.database.lower():
            elsewhere = f"{name.database}.{name.schema or ''}".lower()
            if elsewhere in ("tempdb.sys", "msdb.dbo"):
                return self.catalog.relation(elsewhere, name.name)
            raise SqlServerError(
                Number.DATABASE_MISSING,
                f"Database '{name.database}' does not exist. Make sure that the name is entered correctly.",
            )
        if name.schema is not None:
            return self.catalog.relation(name.schema, name.name)
        for schema in dict.fromkeys((self.view_schema, self.catalog.default_schema, "dbo")):
            if schema is not None and (found := self.catalog.relation(schema, name.name)) is not None:
                return found
        return None

    def require(self, name: ObjectName) -> Relation:
        """Look a relation up or raise 208, which says where it was missed."""
        found = self.find(name)
        if found is not None:
            return found
        schema = name.schema or self.catalog.default_schema
        missing = None if name.is_temporary else (self.catalog.schema(schema) or schema, name.name)
        raise SqlServerError(Number.INVALID_OBJECT, f"Invalid object name '{name}'.", missing=missing)

    def schema_for_creation(self, name: ObjectName) -> str:
        """Return the stored spelling of the schema that a new object goes to; 2760 when it is absent."""
        if name.database is not None and name.database.lower() != self.catalog.database.lower():
            raise SqlServerError(
                Number.DATABASE_MISSING,
                f"Database '{name.database}' does not exist. Make sure that the name is entered correctly.",
            )
        wanted = name.schema or self.catalog.default_schema
        stored = self.catalog.schema(wanted)
        if stored is None or stored.lower() in _SYSTEM_SCHEMAS:
            raise SqlServerError(
                2760,
                f'The specified schema name "{wanted}" either does not exist or you do not have permission to use it.',
            )
        return stored
