"""Tables, their columns, keys and indexes, with exact types."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, assert_never

from dpone_lab.sqlserver.language.conversions import store
from dpone_lab.sqlserver.language.definitions import (
    AddColumns,
    AddConstraint,
    AlterColumn,
    AlterTable,
    CheckConstraint,
    ColumnDefinition,
    Constraint,
    CreateIndex,
    CreateTable,
    DefaultConstraint,
    DropColumns,
    DropConstraints,
    DropIndex,
    ForeignKey,
    KeyColumn,
    KeyConstraint,
    TruncateTable,
)
from dpone_lab.sqlserver.language.errors import (
    Number,
    SqlServerError,
    already_exists,
    unsupported,
)
from dpone_lab.sqlserver.language.inference import column_label
from dpone_lab.sqlserver.language.name_scopes import BoundColumn, BoundSource, NameScope
from dpone_lab.sqlserver.language.translate_expressions import ExpressionTranslator
from dpone_lab.sqlserver.language.translate_queries import QueryTranslator
from dpone_lab.sqlserver.language.translation import (
    DefinitionEvent,
    Kind,
    Relation,
    Translation,
    ViewDefinition,
)
from dpone_lab.sqlserver.language.values import Value, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.language.expressions import ObjectName
    from dpone_lab.sqlserver.language.statement_context import StatementContext


class TableTranslator:
    """Translates definitions of tables and indexes."""

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.queries = QueryTranslator(context)

    def _plan(
        self,
        statements: Sequence[str],
        event: DefinitionEvent | None = None,
        view: ViewDefinition | None = None,
    ) -> Translation:
        *prelude, last = statements or ["SELECT WHERE false"]
        return Translation(
            Kind.DEFINITION,
            last,
            prelude=tuple(prelude),
            locks=self.context.locks,
            domains=self.context.domains,
            counted=False,
            view=view,
            event=event,
        )

    # --- tables ---------------------------------------------------------------------------------------------------

    def _create_table(self, node: CreateTable) -> Translation:
        place, schema = self._new_place(node.name)
        names = [column.name.lower() for column in node.columns]
        for column in node.columns:
            if names.count(column.name.lower()) > 1:
                raise SqlServerError(
                    Number.DUPLICATE_COLUMN,
                    f"Column names in each table must be unique. Column name '{column.name}' in table '{node.name.name}' is specified more than once.",
                )
        relation = Relation("TABLE", schema, node.name.name, place, ())
        scope = self._column_scope(node.columns, node.name.name)
        parts = [self._column(column) for column in node.columns]
        parts += [self._constraint(constraint, relation, scope) for constraint in node.constraints]
        temporary = "TEMPORARY " if node.name.is_temporary else ""
        sql = f"CREATE {temporary}TABLE {place} ({', '.join(parts)})"
        event = (
            None
            if node.name.is_temporary
            else DefinitionEvent("CREATE_TABLE", "TABLE", schema, node.name.name)
        )
        return self._plan([sql], event)

    def _new_place(self, name: ObjectName) -> tuple[str, str]:
        """Return the PostgreSQL name of a new object and its schema; 2714 when it exists."""
        if name.is_temporary:
            if name.name.startswith("##"):
                raise unsupported("global temporary table")
            if self.context.catalog.relation(None, name.name) is not None:
                raise already_exists(name.name)
            return quote_name(name.name), ""
        schema = self.context.schema_for_creation(name)
        self.context.lock_for_definition(schema, name.name)
        if self.context.catalog.relation(schema, name.name) is not None:
            raise already_exists(name.name)
        return f"{quote_name(schema)}.{quote_name(name.name)}", schema

    def _column_scope(self, columns: Sequence[ColumnDefinition], table: str) -> NameScope:
        """Return the scope of CHECK conditions: bare column names."""
        bound = tuple(
            BoundColumn(column.name, Value(quote_name(column.name), column_label(column.type)))
            for column in columns
        )
        return NameScope([BoundSource(table, bound)])

    def _column(self, column: ColumnDefinition) -> str:
        parts = [quote_name(column.name), self.context.column_type(column.type)]
        if column.identity is not None:
            if not (column.type.is_integer and column.type.name != "tinyint"):
                raise unsupported("IDENTITY of a type other than smallint, int, bigint")
            seed, increment = column.identity
            parts.append(f"GENERATED ALWAYS AS IDENTITY (START WITH {seed} INCREMENT BY {increment})")
        if column.default is not None:
            parts.append(f"DEFAULT {self._default(column)}")
        if not column.type.nullable:
            parts.append("NOT NULL")
        return " ".join(parts)

    def _default(self, column: ColumnDefinition) -> str:
        assert column.default is not None
        translator = ExpressionTranslator(self.context, NameScope(), self.queries)
        value = store(translator.value(column.default.value), column.type, column.name)
        self._require_no_parameters("DEFAULT")
        return f"({value.sql})"

    def _require_no_parameters(self, where: str) -> None:
        if self.context.parameters:
            raise unsupported(f"{self.context.parameters[0]} in {where}")

    def _constraint(self, constraint: Constraint, table: Relation, scope: NameScope) -> str:
        match constraint:
            case KeyConstraint():
                columns = ", ".join(quote_name(column.name) for column in constraint.columns)
                # SQL Server counts NULL as one value among unique keys.
                kind = "UNIQUE NULLS NOT DISTINCT" if constraint.kind == "UNIQUE" else constraint.kind
                name = _named(constraint.name or _generated_key_name(constraint, table.name))
                return f"{name}{kind} ({columns})"
            case CheckConstraint():
                translator = ExpressionTranslator(self.context, scope, self.queries)
                sql = translator.condition(constraint.condition)
                self._require_no_parameters("CHECK")
                return f"{_named(constraint.name)}CHECK ({sql})"
            case ForeignKey():
                return self._foreign_key(constraint, table)
            case DefaultConstraint():
                raise unsupported("DEFAULT as a table constraint")
            case _:
                assert_never(constraint)

    def _foreign_key(self, constraint: ForeignKey, table: Relation) -> str:
        columns = ", ".join(quote_name(name) for name in constraint.columns)
        if (
            constraint.referenced.name.lower() == table.name.lower()
            and (constraint.referenced.schema or table.schema).lower() == table.schema.lower()
        ):
            referenced = table.postgres
        else:
            found = self.context.require(constraint.referenced)
            if found.kind != "TABLE":
                raise SqlServerError(
                    1768,
                    f"Foreign key references object '{constraint.referenced}' which is not a user table.",
                )
            self.context.lock_for_reading(found, frozenset({"HOLDLOCK"}))
            referenced = found.postgres
        listed = ", ".join(quote_name(name) for name in constraint.referenced_columns)
        return f"{_named(constraint.name)}FOREIGN KEY ({columns}) REFERENCES {referenced}{f' ({listed})' if listed else ''}"

    def _table(self, name: ObjectName) -> Relation:
        relation = self.context.find(name)
        if relation is None or relation.kind not in ("TABLE", "TEMPORARY"):
            raise SqlServerError(
                Number.OBJECT_MISSING_FOR_ALTER,
                f'Cannot find the object "{name}" because it does not exist or you do not have permissions.',
            )
        if relation.kind == "TABLE":
            self.context.lock_for_definition(relation.schema, relation.name)
        return relation

    def _alter_table(self, node: AlterTable) -> Translation:
        table = self._table(node.name)
        actions = self._table_change(node.change, table)
        sql = f"ALTER TABLE {table.postgres} {', '.join(actions)}"
        event = DefinitionEvent("ALTER_TABLE", "TABLE", table.schema, table.name) if table.schema else None
        return self._plan([sql] if actions else [], event)

    def _table_change(
        self,
        change: AddColumns | AddConstraint | AlterColumn | DropColumns | DropConstraints,
        table: Relation,
    ) -> list[str]:
        match change:
            case AddColumns(columns, constraints):
                present = {column.name.lower() for column in table.columns}
                for column in columns:
                    if column.name.lower() in present:
                        raise SqlServerError(
                            Number.DUPLICATE_COLUMN,
                            f"Column names in each table must be unique. Column name '{column.name}' in table '{table.name}' is specified more than once.",
                        )
                scope = self._whole_scope(table, columns)
                return [f"ADD COLUMN {self._column(column)}" for column in columns] + [
                    f"ADD {self._constraint(constraint, table, scope)}" for constraint in constraints
                ]
            case AddConstraint(DefaultConstraint() as default):
                return [self._added_default(default, table)]
            case AddConstraint(constraint):
                return [f"ADD {self._constraint(constraint, table, self._whole_scope(table, ()))}"]
            case AlterColumn(column):
                return self._altered_column(column, table)
            case DropColumns(names, if_exists):
                return [
                    f"DROP COLUMN {'IF EXISTS ' if if_exists else ''}{quote_name(self._stored_column(table, name, if_exists=if_exists))}"
                    for name in names
                ]
            case DropConstraints(names, if_exists):
                return [
                    f"DROP CONSTRAINT {'IF EXISTS ' if if_exists else ''}{quote_name(name)}" for name in names
                ]
            case _:
                assert_never(change)

    def _added_default(self, default: DefaultConstraint, table: Relation) -> str:
        assert default.column is not None
        stored = self._stored_column(table, default.column, if_exists=False)
        column = next(column for column in table.columns if column.name == stored)
        text = self._default(ColumnDefinition(stored, column.type, default))
        return f"ALTER COLUMN {quote_name(stored)} SET DEFAULT {text}"

    def _altered_column(self, column: ColumnDefinition, table: Relation) -> list[str]:
        stored = self._stored_column(table, column.name, if_exists=False)
        old = next(known for known in table.columns if known.name == stored)
        name = quote_name(stored)
        scope = self._whole_scope(table, ())
        current = next(bound.value for bound in scope.sources[0].columns if bound.name == stored)
        using = store(current, column.type, stored).sql
        actions = []
        if not old.type.same_type(column.type) or old.type.collation != column.type.collation:
            actions.append(f"ALTER COLUMN {name} TYPE {self.context.column_type(column.type)} USING {using}")
        if old.type.nullable != column.type.nullable:
            actions.append(f"ALTER COLUMN {name} {'DROP' if column.type.nullable else 'SET'} NOT NULL")
        return actions

    def _whole_scope(self, table: Relation, added: Sequence[ColumnDefinition]) -> NameScope:
        columns = [ColumnDefinition(column.name, column.type) for column in table.columns]
        return self._column_scope([*columns, *added], table.name)

    def _stored_column(self, table: Relation, name: str, *, if_exists: bool) -> str:
        for column in table.columns:
            if column.name.lower() == name.lower():
                return column.name
        if if_exists:
            return name
        raise SqlServerError(
            4924, f"ALTER TABLE failed because column '{name}' does not exist in table '{table.name}'."
        )

    def _truncate(self, node: TruncateTable) -> Translation:
        relation = self.context.find(node.name)
        if relation is None or relation.kind not in ("TABLE", "TEMPORARY"):
            raise SqlServerError(
                4701,
                f'Cannot find the object "{node.name}" because it does not exist or you do not have permissions.',
            )
        if relation.kind == "TABLE":
            self.context.lock((relation.schema, relation.name), "SCH-M", hold=True)
        return self._plan([f"TRUNCATE TABLE {relation.postgres}"])

    # --- indexes --------------------------------------------------------------------------------------------------

    def _create_index(self, node: CreateIndex) -> Translation:
        table = self._table(node.table)
        if table.kind == "TABLE" and self.context.catalog.index_name(table.schema, table.name, node.name):
            raise SqlServerError(
                1913,
                f"The operation failed because an index or statistics with name '{node.name}' already exists on table '{table.name}'.",
            )
        columns = ", ".join(self._key_column(column, table) for column in node.columns)
        included = ", ".join(quote_name(self._indexed(table, name)) for name in node.included)
        where = ""
        if node.where is not None:
            translator = ExpressionTranslator(self.context, self._whole_scope(table, ()), self.queries)
            where = f" WHERE {translator.condition(node.where)}"
            self._require_no_parameters("a filtered index")
        # Index names are unique for a table in SQL Server and for a schema in PostgreSQL.
        name = index_name(table.schema or "tempdb", table.name, node.name)
        sql = (
            f"CREATE {'UNIQUE ' if node.unique else ''}INDEX {quote_name(name)} ON {table.postgres} ({columns})"
            f"{f' INCLUDE ({included})' if included else ''}{' NULLS NOT DISTINCT' if node.unique else ''}{where}"
        )
        event = (
            DefinitionEvent("CREATE_INDEX", "INDEX", table.schema, node.name, table.name)
            if table.schema
            else None
        )
        return self._plan([sql], event)

    def _key_column(self, column: KeyColumn, table: Relation) -> str:
        order = " DESC NULLS LAST" if column.descending else " NULLS FIRST"
        return f"{quote_name(self._indexed(table, column.name))}{order}"

    def _indexed(self, table: Relation, name: str) -> str:
        for column in table.columns:
            if column.name.lower() == name.lower():
                return column.name
        raise SqlServerError(1911, f"Column name '{name}' does not exist in the target table or view.")

    def _drop_index(self, node: DropIndex) -> Translation:
        relation = self.context.find(node.table)
        found = None
        if relation is not None and relation.kind in ("TABLE", "TEMPORARY"):
            found = self.context.catalog.index_name(relation.schema, relation.name, node.name)
        if relation is None or found is None:
            if node.if_exists:
                return self._plan([])
            raise SqlServerError(
                Number.DROP_MISSING,
                f"Cannot drop the index '{node.table}.{node.name}', because it does not exist or you do not have permission.",
            )
        if relation.kind == "TABLE":
            self.context.lock_for_definition(relation.schema, relation.name)
        event = (
            DefinitionEvent("DROP_INDEX", "INDEX", relation.schema, node.name, relation.name)
            if relation.schema
            else None
        )
        return self._plan([f"DROP INDEX {found}"], event)


def index_name(schema: str, table: str, index: str) -> str:
    """Return PostgreSQL's name of an index, unique in its schema and within 63 bytes."""
    digest = hashlib.sha256(f"{schema.lower()}\x00{table.lower()}\x00{index.lower()}".encode()).hexdigest()
    return f"index {digest[:32]}"


def _generated_key_name(constraint: KeyConstraint, table: str) -> str:
    """Return a name of SQL Server's pattern for an unnamed key, stable for the same table and columns."""
    columns = ",".join(column.name.lower() for column in constraint.columns)
    digest = (
        hashlib.sha256(f"{table.lower()}\0{constraint.kind}\0{columns}".encode()).hexdigest()[:16].upper()
    )
    prefix = "PK" if constraint.kind == "PRIMARY KEY" else "UQ"
    return f"{prefix}__{table[:9]}__{digest}"


def _named(name: str | None) -> str:
    return "" if name is None else f"CONSTRAINT {quote_name(name)} "
