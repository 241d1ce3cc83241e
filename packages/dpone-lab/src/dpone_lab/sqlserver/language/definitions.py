"""Frozen tree of data definition and permission statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import Condition, Expression, ObjectName, Query
    from dpone_lab.sqlserver.language.syntax import Statement
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a key or index with its direction."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class KeyConstraint:
    """PRIMARY KEY or UNIQUE; ``clustered`` is resolved: a primary key is clustered unless said otherwise."""

    kind: OneOf["PRIMARY KEY", "UNIQUE"]
    columns: tuple[KeyColumn, ...]
    clustered: bool
    name: str | None = None


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """CHECK; ``text`` is the condition as written."""

    condition: Condition
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """FOREIGN KEY without referential actions."""

    columns: tuple[str, ...]
    referenced: ObjectName
    referenced_columns: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DefaultConstraint:
    """DEFAULT; ``text`` is the expression as written."""

    value: Expression
    text: str
    name: str | None = None
    column: str | None = None


Constraint: TypeAlias = KeyConstraint | CheckConstraint | ForeignKey | DefaultConstraint


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column; ``type.nullable`` is the final answer, NULL unless NOT NULL or a key says otherwise."""

    name: str
    type: SqlType
    default: DefaultConstraint | None = None
    identity: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE with all constraints, those of columns included."""

    name: ObjectName
    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE INDEX over a table."""

    name: str
    table: ObjectName
    columns: tuple[KeyColumn, ...]
    included: tuple[str, ...] = ()
    unique: bool = False
    clustered: bool = False
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class DropObjects:
    """DROP of one or more objects of a kind."""

    kind: OneOf["TABLE", "VIEW", "SCHEMA", "PROCEDURE", "FUNCTION", "TRIGGER", "USER", "ROLE", "LOGIN"]
    names: tuple[ObjectName, ...]
    if_exists: bool = False
    on_database: bool = False


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX."""

    name: str
    table: ObjectName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ALTER TABLE … ADD columns."""

    columns: tuple[ColumnDefinition, ...]
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True)
class AddConstraint:
    """ALTER TABLE … ADD CONSTRAINT."""

    constraint: Constraint


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """ALTER TABLE … ALTER COLUMN."""

    column: ColumnDefinition


@dataclass(frozen=True, slots=True)
class DropColumns:
    """ALTER TABLE … DROP COLUMN."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConstraints:
    """ALTER TABLE … DROP CONSTRAINT."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SwitchTriggers:
    """ENABLE or DISABLE TRIGGER, as a statement or inside ALTER TABLE; no names means ALL."""

    enable: bool
    names: tuple[str, ...]
    table: ObjectName | None


TableChange: TypeAlias = AddColumns | AddConstraint | AlterColumn | DropColumns | DropConstraints


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE with one change."""

    name: ObjectName
    change: TableChange


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [OR ALTER] or ALTER VIEW. ``body`` is the exact text after AS, ``text`` the whole statement."""

    name: ObjectName
    columns: tuple[str, ...]
    query: Query
    body: str
    text: str
    schemabinding: bool = False
    mode: OneOf["CREATE", "CREATE OR ALTER", "ALTER"] = "CREATE"


@dataclass(frozen=True, slots=True)
class CreateTrigger:
    """A trigger; ``table`` is None for ON DATABASE. ``events`` are upper-case. ``body`` is parsed."""

    name: ObjectName
    table: ObjectName | None
    timing: OneOf["AFTER", "INSTEAD OF"]
    events: tuple[str, ...]
    body: tuple[Statement, ...]
    text: str
    mode: OneOf["CREATE", "CREATE OR ALTER", "ALTER"] = "CREATE"
    execute_as: str | None = None


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """TRUNCATE TABLE."""

    name: ObjectName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """CREATE SCHEMA."""

    name: str
    authorization: str | None = None


@dataclass(frozen=True, slots=True)
class Permission:
    """GRANT, DENY or REVOKE; ``permissions`` are upper-case, ``securable`` None means the database.

    ``securable_class`` is OBJECT, SCHEMA, DATABASE or SERVER. Executed by the permission layer, not translated.
    """

    action: OneOf["GRANT", "DENY", "REVOKE"]
    permissions: tuple[str, ...]
    securable_class: OneOf["OBJECT", "SCHEMA", "DATABASE", "SERVER"]
    securable: ObjectName | None
    principals: tuple[str, ...]
    with_grant_option: bool = False


@dataclass(frozen=True, slots=True)
class CreatePrincipal:
    """CREATE LOGIN, USER or ROLE. Executed by the permission layer; ``password`` is a LOGIN's."""

    kind: OneOf["LOGIN", "USER", "ROLE"]
    name: str
    password: str | None = None
    login: str | None = None
    default_schema: str | None = None


@dataclass(frozen=True, slots=True)
class AlterRole:
    """ALTER ROLE … ADD or DROP MEMBER."""

    role: str
    member: str
    add: bool


Definition: TypeAlias = (
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
    | Permission
    | CreatePrincipal
    | AlterRole
)
