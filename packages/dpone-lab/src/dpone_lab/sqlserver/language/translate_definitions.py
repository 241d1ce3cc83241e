"""Definitions: views as typed stubs, triggers that only THROW, schemas, drops; tables are the base class's."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from dpone_lab.sqlserver.language.definitions import (
    AlterTable,
    CreateIndex,
    CreateSchema,
    CreateTable,
    CreateTrigger,
    CreateView,
    DropIndex,
    DropObjects,
    SwitchTriggers,
    TruncateTable,
)
from dpone_lab.sqlserver.language.errors import (
    RAISED_SQLSTATE,
    TRIGGER_MARK,
    Number,
    SqlServerError,
    already_exists,
    unsupported,
)
from dpone_lab.sqlserver.language.expressions import Literal, ObjectName, TableSource
from dpone_lab.sqlserver.language.name_scopes import rename_columns
from dpone_lab.sqlserver.language.statement_context import StatementContext
from dpone_lab.sqlserver.language.syntax import Located, Statement, Throw
from dpone_lab.sqlserver.language.translate_tables import TableTranslator
from dpone_lab.sqlserver.language.translation import (
    DefinitionEvent,
    Relation,
    ResultColumn,
    Translation,
    ViewDefinition,
)
from dpone_lab.sqlserver.language.tree_walk import walk
from dpone_lab.sqlserver.language.values import quote_name, text_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

TranslatedDefinition = (
    CreateTable
    | CreateIndex
    | DropObjects
    | DropIndex
    | AlterTable
    | SwitchTriggers
    | CreateView
    | CreateTrigger
    | TruncateTable
    | CreateSchema
)


class DefinitionTranslator(TableTranslator):
    """Translates one definition; several PostgreSQL statements come as a prelude and a last one."""

    def translate(self, node: TranslatedDefinition) -> Translation:
        """Return the plan of a definition."""
        match node:
            case CreateTable():
                return self._create_table(node)
            case CreateIndex():
                return self._create_index(node)
            case CreateView():
                return self._create_view(node)
            case CreateTrigger():
                return self._create_trigger(node)
            case CreateSchema():
                return self._create_schema(node)
            case AlterTable():
                return self._alter_table(node)
            case DropObjects():
                return self._drop(node)
            case DropIndex():
                return self._drop_index(node)
            case SwitchTriggers():
                return self._switch_triggers(node)
            case TruncateTable():
                return self._truncate(node)
            case _:
                assert_never(node)

    # --- views ----------------------------------------------------------------------------------------------------

    def _create_view(self, node: CreateView) -> Translation:
        if node.name.database is not None:
            raise SqlServerError(
                166,
                "'CREATE/ALTER VIEW' does not allow specifying the database name as a prefix to the object name.",
                severity=15,
            )
        schema = self.context.schema_for_creation(node.name)
        existing = self.context.catalog.relation(schema, node.name.name)
        if existing is not None and (node.mode == "CREATE" or existing.kind != "VIEW"):
            raise already_exists(node.name.name)
        if existing is None and node.mode == "ALTER":
            raise SqlServerError(Number.INVALID_OBJECT, f"Invalid object name '{node.name}'.")
        translated = self.queries.view(node.body, schema)
        columns = rename_columns(translated.columns, node.columns, node.name.name)
        name = node.name.name if existing is None else existing.name
        place = f"{quote_name(schema)}.{quote_name(name)}"
        stub = ", ".join(
            f"CAST(NULL AS {self.context.column_type(column.type)}) AS {quote_name(column.name)}"
            for column in columns
        )
        self._require_no_parameters("a view")
        statements: list[str] = []
        if existing is not None and not _same_columns(existing, columns):
            statements.append(f"DROP VIEW {place}")
        if existing is None or statements:
            statements.append(f"CREATE VIEW {place} AS SELECT {stub} WHERE false")
        statements.append(f"COMMENT ON VIEW {place} IS {_string(node.body)}")
        definition = ViewDefinition(
            schema, name, node.body, node.text, columns, _references(node), node.schemabinding
        )
        # Creating a view reads the catalog of what it names but takes no lock on rows.
        fresh = StatementContext(self.context.scope)
        fresh.lock_for_definition(schema, name)
        event = DefinitionEvent("CREATE_VIEW" if existing is None else "ALTER_VIEW", "VIEW", schema, name)
        return replace(self._plan(statements, event, definition), locks=fresh.locks, reads_view=True)

    # --- triggers -------------------------------------------------------------------------------------------------

    def _create_trigger(self, node: CreateTrigger) -> Translation:
        if node.table is None:
            event = DefinitionEvent("CREATE_TRIGGER", "TRIGGER", None, node.name.name)
            self.context.lock_for_definition("*", None)
            return self._plan([], event)
        table = self._table(node.table)
        throw = _only_throw(node.body)
        schema = table.schema
        name = quote_name(node.name.name)
        function = _trigger_function(schema, node.name.name)
        raising = (
            f"BEGIN RAISE EXCEPTION USING ERRCODE = '{RAISED_SQLSTATE}', MESSAGE = {text_literal(throw)}; END"
        )
        body = _string(raising)
        statements = [f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {body}"]
        if node.mode != "CREATE":
            statements.append(f"DROP TRIGGER IF EXISTS {name} ON {table.postgres}")
        events = " OR ".join(node.events)
        # A statement trigger fires even when no row is affected, as SQL Server's do.
        statements.append(
            f"CREATE TRIGGER {name} BEFORE {events} ON {table.postgres} FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
        return self._plan(
            statements, DefinitionEvent("CREATE_TRIGGER", "TRIGGER", schema, node.name.name, table.name)
        )

    def _switch_triggers(self, node: SwitchTriggers) -> Translation:
        if node.table is None:
            self.context.lock_for_definition("*", None)
            return self._plan([])
        table = self._table(node.table)
        verb = "ENABLE" if node.enable else "DISABLE"
        names = [quote_name(self._trigger(table, name)) for name in node.names] or ["USER"]
        actions = ", ".join(f"{verb} TRIGGER {name}" for name in names)
        return self._plan([f"ALTER TABLE {table.postgres} {actions}"])

    def _trigger(self, table: Relation, name: str) -> str:
        """Return a trigger's stored name; 4902 when the table has none of that name."""
        found = self.context.catalog.trigger(table.schema, name)
        if found is None or found[2] != table.postgres:
            raise SqlServerError(
                Number.OBJECT_MISSING_FOR_ALTER,
                f'Cannot find the object "{name}" because it does not exist or you do not have permissions.',
            )
        return found[0]

    # --- schemas and drops ----------------------------------------------------------------------------------------

    def _create_schema(self, node: CreateSchema) -> Translation:
        if self.context.catalog.schema(node.name) is not None:
            raise already_exists(node.name)
        self.context.lock_for_definition(node.name, None)
        event = DefinitionEvent("CREATE_SCHEMA", "SCHEMA", node.name, node.name)
        return self._plan([f"CREATE SCHEMA {quote_name(node.name)}"], event)

    def _drop(self, node: DropObjects) -> Translation:
        match node.kind:
            case "TABLE" | "VIEW":
                return self._drop_relations(node)
            case "SCHEMA":
                return self._drop_schema(node)
            case "TRIGGER":
                return self._drop_triggers(node)
            case "PROCEDURE" | "FUNCTION" if node.if_exists:
                return self._plan([])
            case _:
                raise _cannot_drop(node.kind, str(node.names[0]))

    def _drop_relations(self, node: DropObjects) -> Translation:
        statements: list[str] = []
        event = None
        for name in node.names:
            relation = self.context.find(name)
            kind = None if relation is None else ("VIEW" if relation.kind == "VIEW" else "TABLE")
            if relation is None or kind != node.kind or relation.kind == "SYSTEM":
                if relation is not None and relation.kind != "SYSTEM":
                    raise SqlServerError(
                        3705,
                        f"Cannot use DROP {node.kind} with '{name}' because '{name}' is a {(kind or '').lower()}. Use DROP {kind}.",
                    )
                if node.if_exists:
                    self._wait_for_absence(name)
                    continue
                raise _cannot_drop(node.kind, str(name))
            if relation.kind != "TEMPORARY":
                self.context.lock_for_definition(relation.schema, relation.name)
                event = DefinitionEvent(f"DROP_{node.kind}", node.kind, relation.schema, relation.name)
            statements.append(f"DROP {node.kind} {relation.postgres}")
        return self._plan(statements, event)

    def _wait_for_absence(self, name: ObjectName) -> None:
        """Absence is certain only when no other session's definition is under way in the schema."""
        if not name.is_temporary:
            schema = self.context.catalog.schema(name.schema or self.context.catalog.default_schema)
            if schema is not None:
                self.context.lock(("#catalog", schema), "S", hold=False)

    def _drop_schema(self, node: DropObjects) -> Translation:
        name = node.names[0].name
        stored = self.context.catalog.schema(name)
        if stored is None:
            if node.if_exists:
                return self._plan([])
            raise SqlServerError(
                15151,
                f"Cannot drop the schema '{name}', because it does not exist or you do not have permission.",
            )
        self.context.lock_for_definition(stored, None)
        event = DefinitionEvent("DROP_SCHEMA", "SCHEMA", stored, stored)
        return self._plan([f"DROP SCHEMA {quote_name(stored)}"], event)

    def _drop_triggers(self, node: DropObjects) -> Translation:
        if node.on_database:
            self.context.lock_for_definition("*", None)
            return self._plan([], DefinitionEvent("DROP_TRIGGER", "TRIGGER", None, node.names[0].name))
        event = None
        statements: list[str] = []
        for name in node.names:
            schema = self.context.catalog.schema(name.schema or self.context.catalog.default_schema)
            found = None if schema is None else self.context.catalog.trigger(schema, name.name)
            if schema is None or found is None:
                if node.if_exists:
                    continue
                raise _cannot_drop("TRIGGER", str(name))
            stored, table, _ = found
            self.context.lock_for_definition(schema, table)
            function = _trigger_function(schema, stored)
            statements.append(f"DROP FUNCTION {function}() CASCADE")
            event = DefinitionEvent("DROP_TRIGGER", "TRIGGER", schema, stored, table)
        return self._plan(statements, event)


def _trigger_function(schema: str, trigger: str) -> str:
    """Return the quoted name of the function behind a trigger; a digest, for the trigger's name may be of full length."""
    digest = hashlib.sha256(trigger.encode()).hexdigest()
    return f"{quote_name(schema)}.{quote_name(f'trigger {digest[:32]}')}"


def _cannot_drop(kind: str, name: str) -> SqlServerError:
    return SqlServerError(
        Number.DROP_MISSING,
        f"Cannot drop the {kind.lower()} '{name}', because it does not exist or you do not have permission.",
    )


def _same_columns(existing: Relation, columns: Sequence[ResultColumn]) -> bool:
    """Tell whether a view keeps its columns, and with them its identity."""
    return len(existing.columns) == len(columns) and all(
        old.name == new.name and old.type.same_type(new.type)
        for old, new in zip(existing.columns, columns, strict=True)
    )


def _string(body: str) -> str:
    quoted = body.replace("'", "''")
    return f"'{quoted}'"


def _references(node: CreateView) -> tuple[ObjectName, ...]:
    common = {
        table.name.lower()
        for part in walk(node.query)
        if hasattr(part, "common_tables")
        for table in part.common_tables
    }
    names = {
        part.name: None
        for part in walk(node.query)
        if isinstance(part, TableSource)
        and not (part.name.schema is None and part.name.name.lower() in common)
    }
    return tuple(names)


def _only_throw(body: Sequence[Statement]) -> str:
    """Return what a trigger raises; a body that does anything but THROW is outside the lab."""
    statements = [statement.statement if isinstance(statement, Located) else statement for statement in body]
    if len(statements) == 1 and isinstance(statements[0], Throw):
        throw = statements[0]
        parts = (throw.number, throw.message, throw.state)
        if all(isinstance(part, Literal) for part in parts):
            number, message, state = (part.text for part in parts if isinstance(part, Literal))
            return f"{TRIGGER_MARK}{number}|16|{state}|{message}"
    raise unsupported("table trigger that does more than THROW")
