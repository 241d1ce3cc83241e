"""Frozen tree of T-SQL expressions, table sources and queries.

Everything the lab's parser accepts has a node here; what has none was refused. Names keep their spelling;
variables are lower-case with their ``@``; function names are lower-case and known to the function catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A name of up to three parts, as spelled; absent parts are None. Temporary tables start with ``#``."""

    name: str
    schema: str | None = None
    database: str | None = None

    @property
    def is_temporary(self) -> bool:
        """Whether the name is of a ``#table``."""
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
    """A sign or ``~`` before an expression."""

    operator: OneOf["-", "+", "~"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, concatenation or bitwise combination."""

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
    """COLLATE after an expression."""

    operand: Expression
    collation: str


@dataclass(frozen=True, slots=True)
class OrderItem:
    """One item of ORDER BY."""

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
    arguments: tuple[Expression, ...]
    star: bool = False
    distinct: bool = False
    within_group: tuple[OrderItem, ...] = ()
    over: Window | None = None


@dataclass(frozen=True, slots=True)
class ScalarQuery:
    """A query in parentheses that stands for one value."""

    query: Query


# --- conditions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values compared."""

    operator: OneOf["=", "<>", "<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical:
    """AND or OR."""

    operator: OneOf["AND", "OR"]
    left: Condition
    right: Condition


@dataclass(frozen=True, slots=True)
class Not:
    """NOT before a condition."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class IsNull:
    """IS [NOT] NULL."""

    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class InList:
    """IN over listed values."""

    operand: Expression
    items: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class InQuery:
    """IN over a query."""

    operand: Expression
    query: Query
    negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    """BETWEEN, both ends included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    """LIKE with an optional escape character."""

    operand: Expression
    pattern: Expression
    escape: Expression | None
    negated: bool


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS over a query."""

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
    """A query in FROM, with its alias and column names."""

    query: Query
    alias: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValuesTable:
    """``(VALUES …) AS alias (columns)``."""

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
    """Two sources joined; APPLY is a join kind."""

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
    """One SELECT without its ORDER BY."""

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
    """Two bodies combined."""

    operator: OneOf["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]
    left: QueryBody
    right: QueryBody


QueryBody: TypeAlias = "Select | SetOperation"


@dataclass(frozen=True, slots=True)
class CommonTable:
    """One common table expression."""

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
    """``column = value``, or with an operator ``column += value``."""

    column: str
    value: Expression
    operator: OneOf["+", "-", "*", "/", "%", "&", "|", "^"] | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE; ``sources`` is its FROM."""

    target: TableSource
    assignments: tuple[Assignment, ...]
    sources: tuple[Source, ...] = ()
    where: Condition | None = None
    output: Output | None = None
    common_tables: tuple[CommonTable, ...] = ()
    top: Expression | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE; ``sources`` is its second FROM."""

    target: TableSource
    sources: tuple[Source, ...] = ()
    where: Condition | None = None
    output: Output | None = None
    common_tables: tuple[CommonTable, ...] = ()
    top: Expression | None = None
