"""Frozen tree of T-SQL expressions, table sources and queries.

Everything the lab's parser accepts has a node here; what has none was refused. Names keep their spelling;
variables are lower-case with their ``@``; function names are lower-case and known to the function catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A name of up to three parts, as spelled; absent parts are None. Temporary tables start with ``#``."""

    name: str
    schema: str | None = None
    database: str | None = None

    @property
    def is_temporary(self) -> bool:
        return self.name.startswith("#")

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.schema, self.name) if part is not None)


# --- scalar expressions -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. ``text`` is the value without quotes, or the number's spelling, or hex digits without 0x."""

    kind: OneOf["int", "decimal", "float", "string", "nstring", "binary", "null", "default"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """``@name``, ``@@name``, or a niladic function of the session such as ``xact_state()``; lower-case."""

    name: str


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, qualified by nothing, an alias, or up to three name parts."""

    name: str
    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Star:
    """``*`` or ``alias.*``; in select lists, OUTPUT and COUNT(*)."""

    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unary:
    operator: OneOf["-", "+", "~"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: OneOf["+", "-", "*", "/", "%", "&", "|", "^"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Case:
    """Both forms; with an operand the conditions are values compared with it."""

    operand: Expression | None
    branches: tuple[tuple[Expression | Condition, Expression], ...]
    default: Expression | None


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST, CONVERT, TRY_CAST and TRY_CONVERT; only CONVERT has a style."""

    operand: Expression
    target: SqlType
    style: Expression | None = None
    is_try: bool = False


@dataclass(frozen=True, slots=True)
class Collate:
    operand: Expression
    collation: str


@dataclass(frozen=True, slots=True)
class OrderItem:
    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """OVER (…). ``frame`` is PostgreSQL's spelling, which is T-SQL's: ``ROWS BETWEEN … AND …``."""

    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    frame: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; ``argument`` words such as ``day`` of DATEADD arrive as string literals."""

    name: str
    arguments: tuple[Expression | Condition, ...]
    star: bool = False
    distinct: bool = False
    within_group: tuple[OrderItem, ...] = ()
    over: Window | None = None


@dataclass(frozen=True, slots=True)
class ScalarQuery:
    query: Query


# --- conditions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: OneOf["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical:
    operator: OneOf["AND", "OR"]
    left: Condition
    right: Condition


@dataclass(frozen=True, slots=True)
class Not:
    operand: Condition


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class InList:
    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class InQuery:
    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool


@dataclass(frozen=True, slots=True)
class Exists:
    query: Query


Condition: TypeAlias = "Comparison | Logical | Not | IsNull | InList | InQuery | Between | Like | Exists"
Expression: TypeAlias = (
    "Literal | Variable | ColumnRef | Unary | Binary | Case | Cast | Collate | Call | ScalarQuery"
)

# --- table sources ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table, view or CTE by name; ``hints`` are upper-case."""

    name: ObjectName
    alias: str | None = None
    hints: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DerivedTable:
    query: Query
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValuesTable:
    rows: tuple[tuple[Expression, ...], ...]
    alias: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """A table-valued function call such as ``sys.dm_exec_sql_text(x)``."""

    name: ObjectName
    arguments: tuple[Expression, ...]
    alias: str | None = None


JoinKind: TypeAlias = OneOf["INNER", "LEFT", "RIGHT", "FULL", "CROSS", "CROSS APPLY", "OUTER APPLY"]


@dataclass(frozen=True, slots=True)
class Join:
    kind: JoinKind
    left: Source
    right: Source
    on: Condition | None = None


Source: TypeAlias = "TableSource | DerivedTable | ValuesTable | FunctionTable | Join"

# --- queries ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectItem:
    """One entry of a select list: ``expression AS alias``, a star, or ``@variable = expression``."""

    expression: Expression | Star
    alias: str | None = None
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    items: tuple[SelectItem, ...]
    distinct: bool = False
    top: Expression | None = None
    into: ObjectName | None = None
    sources: tuple[Source, ...] = ()
    where: Condition | None = None
    group_by: tuple[Expression, ...] = ()
    having: Condition | None = None


@dataclass(frozen=True, slots=True)
class SetOperation:
    operator: OneOf["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]
    left: QueryBody
    right: QueryBody


QueryBody: TypeAlias = "Select | SetOperation"


@dataclass(frozen=True, slots=True)
class CommonTable:
    name: str
    columns: tuple[str, ...]
    query: Query


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query expression with its WITH, ORDER BY and OFFSET … FETCH."""

    body: QueryBody
    common_tables: tuple[CommonTable, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    offset: Expression | None = None
    fetch: Expression | None = None


# --- data changes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Output:
    """OUTPUT list [INTO table [(columns)]]; columns are qualified by ``inserted`` or ``deleted``."""

    items: tuple[SelectItem, ...]
    into: ObjectName | None = None
    into_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Insert:
    """``rows`` or ``query`` or neither (DEFAULT VALUES); ``columns`` may be empty for all."""

    target: TableSource
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Expression, ...], ...] = ()
    query: Query | None = None
    output: Output | None = None
    common_tables: tuple[CommonTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """``column = value``; ``a += 1`` arrives as ``a = a + 1``."""

    column: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Update:
    target: TableSource
    assignments: tuple[Assignment, ...]
    sources: tuple[Source, ...] = ()
    where: Condition | None = None
    output: Output | None = None
    common_tables: tuple[CommonTable, ...] = ()
    top: Expression | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    target: TableSource
    sources: tuple[Source, ...] = ()
    where: Condition | None = None
    output: Output | None = None
    common_tables: tuple[CommonTable, ...] = ()
    top: Expression | None = None
