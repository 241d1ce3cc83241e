"""Recursive descent over table, index, view and trigger definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal as OneOf

from dpone_lab.sqlserver.language.collations import accepted_collation
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
    CreateView,
    DefaultConstraint,
    DropColumns,
    DropConstraints,
    DropIndex,
    DropObjects,
    ForeignKey,
    KeyColumn,
    KeyConstraint,
    SwitchTriggers,
    TruncateTable,
)
from dpone_lab.sqlserver.language.errors import SqlServerError, syntax_near, unsupported
from dpone_lab.sqlserver.language.expressions import ObjectName
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_changes import ChangeParser
from dpone_lab.sqlserver.language.types import DEFAULT_LENGTH_IN_DDL

_DROPPABLE: tuple[OneOf["TABLE", "VIEW", "SCHEMA", "PROCEDURE", "FUNCTION", "USER", "ROLE", "LOGIN"], ...] = (
    "TABLE",
    "VIEW",
    "SCHEMA",
    "PROCEDURE",
    "FUNCTION",
    "USER",
    "ROLE",
    "LOGIN",
)


class DefinitionParser(ChangeParser):
    """Parses definitions of objects."""

    # --- tables ---------------------------------------------------------------------------------------------------

    def create_table(self) -> CreateTable:
        """Parse the rest of CREATE TABLE, from the name on."""
        name = self.object_name()
        columns: list[ColumnDefinition] = []
        constraints: list[Constraint] = []
        self.expect("(")
        while True:
            if self._at_table_constraint():
                constraints.append(self._table_constraint())
            else:
                column, own = self._column_definition()
                columns.append(column)
                constraints.extend(own)
            if not self.accept(","):
                break
            if self.at(")"):
                break
        self.expect(")")
        if self.at_any("ON", "WITH", "TEXTIMAGE_ON", "AS"):
            raise unsupported(f"CREATE TABLE … {self.current.upper}")
        keys = {
            key.name.lower()
            for constraint in constraints
            if isinstance(constraint, KeyConstraint) and constraint.kind == "PRIMARY KEY"
            for key in constraint.columns
        }
        resolved = tuple(
            replace(column, type=column.type.with_null(nullable=False))
            if column.name.lower() in keys
            else column
            for column in columns
        )
        return CreateTable(name, resolved, tuple(constraints))

    def _at_table_constraint(self) -> bool:
        return self.at_any("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") or self.at("INDEX")

    def _table_constraint(self) -> Constraint:
        name = self.name() if self.accept("CONSTRAINT") else None
        if self.at("INDEX"):
            raise unsupported("inline INDEX")
        if self.at_any("PRIMARY", "UNIQUE"):
            return self._key_constraint(name, None)
        if self.at("CHECK"):
            return self._check(name)
        if self.accept("FOREIGN"):
            self.expect("KEY")
            return self._references(name, self.names_in_parentheses())
        if self.accept("DEFAULT"):
            default = self._default(name)
            self.expect("FOR")
            return replace(default, column=self.name())
        raise self.unexpected()

    def _key_constraint(self, name: str | None, column: str | None) -> KeyConstraint:
        kind: OneOf["PRIMARY KEY", "UNIQUE"] = "UNIQUE"
        if self.take().upper == "PRIMARY":
            self.expect("KEY")
            kind = "PRIMARY KEY"
        clustered = kind == "PRIMARY KEY"
        if self.accept("CLUSTERED"):
            clustered = True
        elif self.accept("NONCLUSTERED"):
            clustered = False
        columns = self.key_columns() if column is None or self.at("(") else (KeyColumn(column),)
        self._refuse_index_options()
        return KeyConstraint(kind, columns, clustered, name)

    def key_columns(self) -> tuple[KeyColumn, ...]:
        """Parse ``(a, b DESC)``."""
        self.expect("(")
        columns: list[KeyColumn] = []
        while True:
            name = self.name()
            descending = self.accept("DESC")
            if not descending:
                self.accept("ASC")
            columns.append(KeyColumn(name, descending))
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(columns)

    def _refuse_index_options(self) -> None:
        if self.at("WITH", "("):
            raise unsupported(f"index option {self.peek(2).upper}")
        if self.at("ON") and self.peek().kind is not TokenKind.END:
            raise unsupported("ON filegroup")

    def _check(self, name: str | None) -> CheckConstraint:
        self.expect("CHECK")
        if self.at("NOT", "FOR"):
            raise unsupported("NOT FOR REPLICATION")
        start = self.position
        self.expect("(")
        condition = self.condition()
        self.expect(")")
        return CheckConstraint(condition, self.source(start, self.position), name)

    def _references(self, name: str | None, columns: tuple[str, ...]) -> ForeignKey:
        self.expect("REFERENCES")
        referenced = self.object_name()
        referenced_columns = self.names_in_parentheses() if self.at("(") else ()
        while self.accept("ON"):
            if not (self.accept("DELETE") or self.accept("UPDATE")):
                raise self.unexpected()
            if not self.accept("NO", "ACTION"):
                raise unsupported(f"referential action {self.current.upper}")
        return ForeignKey(columns, referenced, referenced_columns, name)

    def _default(self, name: str | None) -> DefaultConstraint:
        start = self.position
        value = self.expression()
        return DefaultConstraint(value, self.source(start, self.position), name)

    def _column_definition(self) -> tuple[ColumnDefinition, tuple[Constraint, ...]]:  # noqa: C901, PLR0912 - one case an option
        name = self.name()
        if self.at("AS"):
            raise unsupported("computed column")
        data_type = self.type_name(DEFAULT_LENGTH_IN_DDL)
        if self.accept("COLLATE"):
            if not data_type.is_character:
                raise SqlServerError(
                    452, f"COLLATE clause cannot be used on the data type of column '{name}'."
                )
            data_type = replace(data_type, collation=accepted_collation(self.take().value))
        column = ColumnDefinition(name, data_type)
        constraints: list[Constraint] = []
        nullable: bool | None = None
        while True:
            constraint_name = self.name() if self.accept("CONSTRAINT") else None
            if self.accept("NOT", "NULL"):
                nullable = False
            elif self.accept("NULL"):
                nullable = True
            elif self.accept("DEFAULT"):
                column = replace(column, default=replace(self._default(constraint_name), column=name))
            elif self.at("IDENTITY"):
                column = replace(column, identity=self._identity())
                nullable = False
            elif self.at_any("PRIMARY", "UNIQUE"):
                constraints.append(self._key_constraint(constraint_name, name))
            elif self.at("CHECK"):
                constraints.append(self._check(constraint_name))
            elif self.at("REFERENCES"):
                constraints.append(self._references(constraint_name, (name,)))
            elif constraint_name is not None:
                raise self.unexpected()
            else:
                break
        if self.at_any("SPARSE", "ROWGUIDCOL", "MASKED", "FILESTREAM", "GENERATED", "HIDDEN", "ENCRYPTED"):
            raise unsupported(f"column option {self.current.upper}")
        if nullable is None:
            nullable = data_type.nullable
        return replace(column, type=data_type.with_null(nullable)), tuple(constraints)

    def _identity(self) -> tuple[int, int]:
        self.expect("IDENTITY")
        if not self.accept("("):
            return (1, 1)
        seed = self.integer()
        self.expect(",")
        increment = self.integer()
        self.expect(")")
        return (seed, increment)

    # --- ALTER TABLE ----------------------------------------------------------------------------------------------

    def alter_table(self) -> AlterTable | SwitchTriggers:
        """Parse the rest of ALTER TABLE, from the name on."""
        name = self.object_name()
        if self.accept("WITH"):
            if not (self.accept("CHECK") or self.accept("NOCHECK")):
                raise self.unexpected()
            if self.tokens[self.position - 1].upper == "NOCHECK":
                raise unsupported("WITH NOCHECK")
        if self.accept("ADD"):
            return AlterTable(name, self._added())
        if self.accept("ALTER", "COLUMN"):
            column, constraints = self._column_definition()
            if constraints or column.default is not None or column.identity is not None:
                raise unsupported("ALTER COLUMN with a constraint")
            return AlterTable(name, AlterColumn(column))
        if self.accept("DROP"):
            return AlterTable(name, self._dropped())
        if self.at_any("ENABLE", "DISABLE"):
            enable = self.take().upper == "ENABLE"
            self.expect("TRIGGER")
            return SwitchTriggers(enable, self._trigger_names(), name)
        if self.at_any("SWITCH", "REBUILD", "SET", "CHECK", "NOCHECK"):
            raise unsupported(f"ALTER TABLE … {self.current.upper}")
        raise self.unexpected()

    def _added(self) -> AddColumns | AddConstraint:
        if self._at_table_constraint() or self.at("DEFAULT"):
            return AddConstraint(self._table_constraint())
        columns: list[ColumnDefinition] = []
        constraints: list[Constraint] = []
        while True:
            column, own = self._column_definition()
            columns.append(column)
            constraints.extend(own)
            if not self.accept(","):
                return AddColumns(tuple(columns), tuple(constraints))

    def _dropped(self) -> DropColumns | DropConstraints:
        is_column = self.accept("COLUMN")
        if not is_column:
            self.accept("CONSTRAINT")
        if_exists = self.accept("IF", "EXISTS")
        names = [self.name()]
        while self.accept(","):
            names.append(self.name())
        if is_column:
            return DropColumns(tuple(names), if_exists)
        return DropConstraints(tuple(names), if_exists)

    # --- indexes, drops, views ------------------------------------------------------------------------------------

    def create_index(self) -> CreateIndex:
        """Parse the rest of CREATE [UNIQUE] [CLUSTERED] INDEX, from UNIQUE on."""
        unique = self.accept("UNIQUE")
        clustered = self.accept("CLUSTERED")
        if not clustered:
            self.accept("NONCLUSTERED")
        if self.at_any("COLUMNSTORE", "XML", "SPATIAL"):
            raise unsupported(f"{self.current.upper} index")
        self.expect("INDEX")
        name = self.name()
        self.expect("ON")
        table = self.object_name()
        columns = self.key_columns()
        included = self.names_in_parentheses() if self.accept("INCLUDE") else ()
        where = self.condition() if self.accept("WHERE") else None
        self._refuse_index_options()
        return CreateIndex(name, table, columns, included, unique, clustered, where)

    def drop(self) -> DropObjects | DropIndex:
        """Parse the rest of DROP, from the kind on."""
        if self.accept("INDEX"):
            return self._drop_index()
        if self.accept("TRIGGER"):
            if_exists, names = self._names_to_drop()
            on_database = self.accept("ON", "DATABASE")
            return DropObjects("TRIGGER", names, if_exists, on_database)
        if self.at("PROC"):
            raise unsupported("DROP PROC")
        for kind in _DROPPABLE:
            if self.accept(kind):
                if_exists, names = self._names_to_drop()
                return DropObjects(kind, names, if_exists)
        if self.current.kind is TokenKind.WORD:
            raise unsupported(f"DROP {self.current.upper}")
        raise self.unexpected()

    def _names_to_drop(self) -> tuple[bool, tuple[ObjectName, ...]]:
        if_exists = self.accept("IF", "EXISTS")
        names = [self.object_name()]
        while self.accept(","):
            names.append(self.object_name())
        return if_exists, tuple(names)

    def _drop_index(self) -> DropIndex:
        if_exists = self.accept("IF", "EXISTS")
        name = self.object_name()
        if self.accept("ON"):
            if name.schema is not None:
                raise syntax_near(".")
            return DropIndex(name.name, self.object_name(), if_exists)
        if name.schema is None:
            raise SqlServerError(
                159, "Must specify the table name and index name for the DROP INDEX statement."
            )
        return DropIndex(name.name, ObjectName(name.schema, name.database), if_exists)

    def create_view(self, start: int, mode: OneOf["CREATE", "CREATE OR ALTER", "ALTER"]) -> CreateView:
        """Parse the rest of CREATE VIEW, from the name on; it must be alone in its batch (111)."""
        name = self.object_name()
        columns = self.names_in_parentheses() if self.at("(") else ()
        schemabinding = False
        if self.accept("WITH"):
            self.expect("SCHEMABINDING")
            schemabinding = True
        self.expect("AS")
        body_start = self.position
        query = self.query()
        if self.at("WITH", "CHECK"):
            raise unsupported("WITH CHECK OPTION")
        body = self.source(body_start, self.position)
        end = self.position
        while self.accept(";"):
            pass
        if not self.at_end():
            raise self.unexpected()
        return CreateView(name, columns, query, body, self.source(start, end), schemabinding, mode)

    def truncate(self) -> TruncateTable:
        """Parse TRUNCATE TABLE."""
        self.expect("TRUNCATE", "TABLE")
        name = self.object_name()
        if self.at("WITH", "("):
            raise unsupported("TRUNCATE … WITH (PARTITIONS)")
        return TruncateTable(name)

    def _trigger_names(self) -> tuple[str, ...]:
        if self.accept("ALL"):
            return ()
        names = [self.object_name().name]
        while self.accept(","):
            names.append(self.object_name().name)
        return tuple(names)

    def switch_triggers(self) -> SwitchTriggers:
        """Parse ENABLE or DISABLE TRIGGER … ON table or DATABASE."""
        enable = self.take().upper == "ENABLE"
        self.expect("TRIGGER")
        names = self._trigger_names()
        self.expect("ON")
        if self.accept("DATABASE"):
            return SwitchTriggers(enable, names, None)
        return SwitchTriggers(enable, names, self.object_name())
