"""An allowlist walk over the syntax tree of a query: node types and their arguments, and the relations it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from dpone_dbt_proof.reasons import Code
from dpone_dbt_proof.tsql_choices import chosen_rows
from dpone_dbt_proof.tsql_nodes import ARGUMENTS, MUTATIONS, NODES, QUERY_TYPES, TUPLE_PARENTS
from dpone_dbt_proof.tsql_policy import (
    COMPATIBILITY_VIEWS,
    JOIN_HINTS,
    LOCK_HINTS,
    PLAN_HINTS,
    RESERVED,
    TABLE_FUNCTIONS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_dbt_proof.relation_names import NameRules

_SYSTEM_SCHEMAS: Final = ("SYS", "INFORMATION_SCHEMA")


@dataclass(frozen=True, slots=True)
class TreeFinding:
    """A refusal, and the name near which the text has it (the tree keeps few positions)."""

    code: Code
    message: str
    near: exp.Expression | None


@dataclass(frozen=True, slots=True)
class NameRead:
    """A relation that the query names, in its parts; `function` when it is called with arguments."""

    parts: tuple[str, ...]
    function: bool
    near: exp.Expression


@dataclass(slots=True)
class TreeReading:
    """What the walk found."""

    rules: NameRules
    reads: list[NameRead] = field(default_factory=list)
    findings: list[TreeFinding] = field(default_factory=list)

    def refuse(self, code: Code, message: str, near: exp.Expression | None) -> None:
        """Note a refusal."""
        self.findings.append(TreeFinding(code, message, near))


def read_tree(tree: exp.Expression, rules: NameRules, *, whole: bool = True) -> TreeReading:
    """Walk one statement: refuse what is not on the list, and collect every relation that is not a CTE.

    Where the text is not whole, what its names stand for is not said.
    """
    reading = TreeReading(rules)
    if isinstance(tree, MUTATIONS) and not isinstance(tree, QUERY_TYPES):
        reading.refuse(Code.SQL_MUTATION, f"the statement is {tree.key.upper()}", tree)
        return reading
    if not isinstance(tree, QUERY_TYPES):
        reading.refuse(Code.SQL_NOT_A_QUERY, "the statement is not a query", tree)
        return reading
    for node in tree.walk():
        _check_node(node, reading)
        for code, message, near in chosen_rows(node):
            reading.refuse(code, message, near)
    if whole:
        _check_qualifiers(tree, reading)
    _collect(tree, reading)
    return reading


def column_list_aliases(tree: exp.Expression) -> frozenset[str]:
    """Return the names that a column list follows: `v (a, b)`, in upper case."""
    return frozenset(alias.name.upper() for alias in tree.find_all(exp.TableAlias))


def _check_node(node: exp.Expression, reading: TreeReading) -> None:
    kind = type(node)
    if kind not in NODES and not isinstance(node, (exp.Func, exp.JSONPathPart)):
        reading.refuse(_refusal_of(node), f"{kind.__name__} is not admitted", node)
        return
    allowed = ARGUMENTS.get(kind)
    if allowed is not None:
        for name, value in node.args.items():
            if value and name not in allowed:
                reading.refuse(*_argument_refusal(kind, name), node)
    match node:
        case exp.Tuple() if not isinstance(node.parent, TUPLE_PARENTS):
            reading.refuse(Code.SQL_NOT_TSQL, "a row of values is no expression", node)
        case exp.DPipe() | exp.ILike() | exp.RegexpLike() | exp.SimilarTo() | exp.Glob():
            reading.refuse(Code.SQL_NOT_TSQL, f"{kind.__name__} is not T-SQL", node)
        case exp.Identifier() if not node.args.get("quoted") and node.name.upper() in RESERVED:
            reading.refuse(Code.SQL_SYNTAX, f"{node.name} is a reserved word", node)
        case exp.Dot():
            _check_dot(node, reading)
        case exp.Exists() if not isinstance(node.this, QUERY_TYPES):
            reading.refuse(Code.SQL_SYNTAX, "EXISTS needs a query", node)
        case exp.Join():
            _check_join(node, reading)
        case exp.WithTableHint():
            _check_hints(node, reading)
        case exp.DataType():
            _check_type(node, reading)
        case _:
            return


def _refusal_of(node: exp.Expression) -> Code:
    match node:
        case exp.Parameter() | exp.SessionParameter():
            return Code.SQL_VARIABLE
        case exp.Into():
            return Code.SQL_INTO
        case exp.TableSample():
            return Code.SQL_NONDETERMINISTIC
        case exp.ScopeResolution():
            return Code.SQL_METHOD
        case exp.Version():
            return Code.SQL_TEMPORAL
        case exp.Command() | exp.DML() | exp.DDL():
            return Code.SQL_MUTATION
        case _:
            return Code.SQL_CONSTRUCT


def _argument_refusal(kind: type[exp.Expression], name: str) -> tuple[Code, str]:
    match name:
        case "into":
            return Code.SQL_INTO, "SELECT INTO creates a table"
        case "sample":
            return Code.SQL_NONDETERMINISTIC, "TABLESAMPLE reads some rows"
        case "version" | "when":
            return Code.SQL_TEMPORAL, "FOR SYSTEM_TIME reads history"
        case "options":
            return Code.SQL_OPTION, "a view has no OPTION"
        case "using" | "method" | "qualify":
            return Code.SQL_NOT_TSQL, f"{name.upper()} is not T-SQL"
        case _:
            return Code.SQL_CONSTRUCT, f"{name} of {kind.__name__} is not admitted"


def _check_dot(node: exp.Dot, reading: TreeReading) -> None:
    if _is_applied(node) or _is_xml_text(node) or isinstance(node.parent, exp.Dot):
        return
    if isinstance(node.expression, exp.Func):
        code = Code.SQL_USER_FUNCTION if isinstance(node.this, (exp.Identifier, exp.Dot)) else Code.SQL_METHOD
        reading.refuse(code, f"{node.expression.name or 'a function'} is called on a name", node)
    elif not isinstance(node.parent, exp.Table) and not _is_column_in_xml(node):
        reading.refuse(Code.SQL_CONSTRUCT, "a member of an expression is named", node)


def _is_xml_text(node: exp.Dot) -> bool:
    """Tell whether the call takes the text of `(SELECT … FOR XML …, TYPE)`: the old way to join texts."""
    query = node.this.this if isinstance(node.this, exp.Subquery) else None
    call = node.expression
    literal = isinstance(call, exp.Anonymous) and all(
        isinstance(part, exp.Literal) for part in call.expressions
    )
    made_here = isinstance(query, exp.Select) and isinstance(query.args.get("for_"), exp.ForClause)
    return literal and made_here and call.name.upper() == "VALUE"


def _is_column_in_xml(node: exp.Dot) -> bool:
    """The parser keeps `t.name` as a member where the query around it has a method called on it."""
    around = node.find_ancestor(exp.Dot)
    while around is not None and not _is_xml_text(around):
        around = around.find_ancestor(exp.Dot)
    return around is not None and isinstance(node.this, exp.Identifier)


def _is_applied(node: exp.Dot) -> bool:
    """Tell whether the call is the right side of APPLY: a table function, judged as a relation."""
    return isinstance(node.parent, exp.Lateral) and node.arg_key == "this"


def _check_join(node: exp.Join, reading: TreeReading) -> None:
    hint = node.args.get("hint")
    if hint and str(hint).upper() not in JOIN_HINTS:
        reading.refuse(Code.SQL_HINT, f"join hint {hint} is not admitted", node)
    if node.side.upper() not in ("", "LEFT", "RIGHT", "FULL") or node.kind.upper() not in (
        "",
        "INNER",
        "OUTER",
        "CROSS",
    ):
        reading.refuse(Code.SQL_NOT_TSQL, f"{node.side} {node.kind} JOIN is not T-SQL", node)


def _check_hints(node: exp.WithTableHint, reading: TreeReading) -> None:
    for hint in node.expressions:
        name = hint.name.upper()
        if name in ("NOLOCK", "READUNCOMMITTED", "READPAST"):
            reading.refuse(Code.SQL_DIRTY_READ, f"{name} reads uncommitted or skips locked rows", node)
        elif name in LOCK_HINTS or name == "HOLDLOCK":
            reading.refuse(Code.SQL_LOCK_HINT, f"locking hint {name} is not admitted", node)
        elif name not in PLAN_HINTS:
            reading.refuse(Code.SQL_HINT, f"hint {name} is not admitted", node)


def _check_type(node: exp.DataType, reading: TreeReading) -> None:
    refused = ("GEOGRAPHY", "GEOMETRY", "HIERARCHYID", "VARIANT")
    if node.this in (exp.DataType.Type.USERDEFINED, exp.DataType.Type.UNKNOWN) or (
        getattr(node.this, "name", str(node.this)) in refused
    ):
        reading.refuse(Code.SQL_USER_TYPE, f"type {node.sql('tsql')} is not a plain system type", node)


def _check_qualifiers(tree: exp.Expression, reading: TreeReading) -> None:
    """Refuse `x.y` and `x.y.z` where no relation of the query is called so: then it is a member of a CLR column."""
    tables = list(tree.find_all(exp.Table))
    aliases = {alias.name.casefold() for alias in tree.find_all(exp.TableAlias)}
    aliases |= {table.name.casefold() for table in tables}
    schemas = {table.db.casefold() for table in tables}
    for column in tree.find_all(exp.Column):
        named = column.table.casefold()
        if named.startswith("$"):
            continue  # A number of money.
        if (named and named not in aliases) or (column.db and column.db.casefold() not in schemas):
            message = f"{column.sql('tsql')} is no column of a relation of the query"
            reading.refuse(Code.SQL_METHOD, message, column)


def _collect(statement: exp.Expression, reading: TreeReading) -> None:
    """Collect the relations of a statement; each node is looked at with the common table expressions in its scope."""
    waiting: list[tuple[exp.Expression, tuple[str, ...], bool]] = [(statement, (), True)]
    while waiting:
        node, ctes, top = waiting.pop()
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            if not top:
                reading.refuse(Code.SQL_NESTED_WITH, "WITH stands inside a subquery", clause)
            for cte in clause.expressions:
                ctes = (*ctes, cte.alias)
                waiting.append((cte.this, ctes, False))
        if isinstance(node, exp.Table):
            _collect_table(node, ctes, reading)
        if isinstance(node, exp.Dot) and _is_applied(node):
            parts = (*_flatten(node.this), node.expression.name)
            reading.reads.append(NameRead(parts, isinstance(node.expression, exp.Func), node))
        for name, child in _children(node):
            if name != "with_":
                # A set expression and parentheses around it keep the statement's WITH at its leftmost query.
                leftmost = top and name == "this" and isinstance(node, (exp.SetOperation, exp.Subquery))
                waiting.append((child, ctes, leftmost))


def _children(node: exp.Expression) -> Iterator[tuple[str, exp.Expression]]:
    for name, value in node.args.items():
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expression):
                yield name, child


def _collect_table(table: exp.Table, ctes: tuple[str, ...], reading: TreeReading) -> None:
    if isinstance(table.this, exp.Func):
        _collect_function(table, reading)
        return
    parts = _name_parts(table)
    if len(parts) == 1:
        if any(reading.rules.surely_equal(parts[0], cte) for cte in ctes):
            return
        if any(reading.rules.possibly_equal(parts[0], cte) for cte in ctes):
            message = f"{parts[0]} may or may not be a common table expression"
            reading.refuse(Code.SQL_NAME_CASE, message, table)
        else:
            reading.refuse(Code.SQL_ONE_PART_NAME, f"{parts[0]} has no schema", table)
        return
    reading.reads.append(NameRead(parts, function=False, near=table))


def _collect_function(table: exp.Table, reading: TreeReading) -> None:
    name = table.this.name or table.this.key
    if not table.args.get("db"):
        if name.upper() not in TABLE_FUNCTIONS and not isinstance(table.this, exp.GenerateSeries):
            reading.refuse(Code.SQL_FUNCTION, f"{name} is not on the list of rowset functions", table)
        return
    parts = (*(part for part in (table.catalog, table.db) if part), name)
    reading.reads.append(NameRead(parts, function=True, near=table))


def _name_parts(table: exp.Table) -> tuple[str, ...]:
    """Return the parts as written; an omitted schema is an empty part."""
    parts: list[str] = []
    for part in (table.args.get("catalog"), table.args.get("db"), table.this):
        if part is None:
            continue
        parts += _flatten(part)
    return tuple(parts)


def _flatten(part: Any) -> list[str]:
    if isinstance(part, exp.Dot):
        return [*_flatten(part.this), *_flatten(part.expression)]
    return [part.name if isinstance(part, exp.Expression) else str(part)]


def is_system_name(schema: str, name: str) -> bool:
    """Tell whether a name is of the server's own catalog."""
    return schema.upper() in _SYSTEM_SCHEMAS or (
        schema.upper() == "DBO" and name.upper() in COMPATIBILITY_VIEWS
    )
