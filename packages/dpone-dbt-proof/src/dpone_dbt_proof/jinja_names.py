"""Reads a Jinja template into the outside names that it uses, how, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension

from dpone_dbt_proof.jinja_policy import CHOOSING_FILTERS, CLOCK_MEMBERS, DBT_FILTERS, FILTERS_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2.parser import Parser

_ALWAYS_LOCAL: Final = frozenset({"loop", "caller", "varargs", "kwargs", "true", "false", "none"})


class _DbtBlocks(Extension):
    """dbt's own block tags, read as macros: only the names that their bodies use matter here."""

    tags = {"materialization", "test", "data_test", "snapshot", "docs"}  # noqa: RUF012  # jinja's own contract

    def parse(self, parser: Parser) -> nodes.Node:
        """Read the block up to its end tag; arguments of a test are its parameters."""
        tag = next(parser.stream)
        macro = nodes.Macro(lineno=tag.lineno)
        macro.name = f"{tag.value}_{parser.parse_assign_target(name_only=True).name}"
        macro.args, macro.defaults = [], []
        if tag.value in ("test", "data_test"):
            parser.parse_signature(macro)
        while parser.stream.current.type != "block_end":
            next(parser.stream)
        end = "test" if tag.value == "data_test" else tag.value
        macro.body = parser.parse_statements((f"name:end{end}", "name:enddata_test"), drop_needle=True)
        return macro


_ENVIRONMENT: Final = Environment(
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", _DbtBlocks],
    autoescape=False,  # noqa: S701
)


_FILTERS: Final = DBT_FILTERS | set(_ENVIRONMENT.filters)


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a name from outside the template.

    `chain` is the name and the attributes behind it (`adapter`, `dispatch`), `arguments` the literal positional
    arguments of a call (None for a computed one), `keywords` likewise; `called` tells whether it is a call.
    `varying` are the positions and keywords whose value comes from `var`.
    """

    chain: tuple[str, ...]
    line: int
    called: bool
    in_condition: bool
    arguments: tuple[object, ...] = ()
    keywords: tuple[tuple[str, object], ...] = ()
    varying: frozenset[int | str] = frozenset()


@dataclass(slots=True)
class TemplateNames:
    """What a template uses from outside, which of its parameters decide branches, and what can't be followed."""

    uses: list[Use] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    branching_parameters: set[str] = field(default_factory=set)
    dynamic: list[tuple[int, str]] = field(default_factory=list)
    varying_branches: list[int] = field(default_factory=list)


class JinjaError(Exception):
    """The template is not Jinja; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


COMPUTED: Final = object()
"""Stands for an argument that is not a literal."""


def read_template(source: str, from_var: frozenset[str] = frozenset()) -> TemplateNames:
    """Read a model's or a macro's text; raises `JinjaError`. `from_var` are macros whose text takes from `var`."""
    try:
        template = _ENVIRONMENT.parse(source)
    except TemplateSyntaxError as error:
        raise JinjaError(error.message or "not a template", error.lineno) from None
    names = TemplateNames()
    _Walk(names, from_var | {"var"}).statements(template.body, _Scope())
    return names


def column_of(source: str, line: int, name: str) -> int | None:
    """Return the column, from 1, at which a line first has a name in Jinja, outside comments and strings."""
    position, member = 0, False
    try:
        pieces = list(_ENVIRONMENT.lex(source))
    except TemplateSyntaxError:
        return None
    for _, kind, text in pieces:
        position = source.find(text, position)
        if position < 0:
            return None  # The lexer changed line ends.
        if kind == "name" and text == name and not member and source.count("\n", 0, position) + 1 == line:
            return position - source.rfind("\n", 0, position)
        if kind != "whitespace":
            member = text == "."
        position += len(text)
    return None


def tag_column(source: str, line: int) -> int:
    """Return the column, from 1, of the first Jinja tag in a line; 1 where it has none."""
    lines = source.splitlines()
    found = re.search(r"\{[{%#]", lines[line - 1] if 0 < line <= len(lines) else "")
    return found.start() + 1 if found else 1


@dataclass(slots=True)
class _Scope:
    """Names that are bound here, and those of them whose value comes from `var`."""

    bound: set[str] = field(default_factory=set)
    varying: set[str] = field(default_factory=set)

    def inner(self, *names: str) -> _Scope:
        return _Scope(self.bound | set(names), self.varying - set(names))


class _Walk:
    """Follows statements in their order, so that a name counts as bound only where it surely is."""

    def __init__(self, names: TemplateNames, from_var: frozenset[str]) -> None:
        self._names = names
        self._from_var = from_var

    def statements(self, body: list[nodes.Node], scope: _Scope) -> None:
        for node in body:
            self._statement(node, scope)

    def _statement(self, node: nodes.Node, scope: _Scope) -> None:
        match node:
            case nodes.Macro():
                self._macro(node, scope)
            case nodes.Assign():
                self._expression(node.node, scope)
                self._bind(node.target, scope, varying=self._uses_var(node.node, scope))
            case nodes.AssignBlock():
                self.statements(node.body, scope.inner())
                self._bind(node.target, scope, varying=self._uses_var(node, scope))
            case nodes.If():
                self._if(node, scope)
            case nodes.For():
                self._for(node, scope)
            case nodes.CallBlock():
                self._expression(node.call, scope)
                arguments = [argument.name for argument in node.args]
                self.statements(node.body, scope.inner(*arguments))
            case nodes.With():
                for value in node.values:
                    self._expression(value, scope)
                inner = scope.inner()
                for target, value in zip(node.targets, node.values, strict=True):
                    self._bind(target, inner, varying=self._uses_var(value, scope))
                self.statements(node.body, inner)
            case nodes.Import() | nodes.FromImport() | nodes.Include() | nodes.Extends():
                self._names.dynamic.append((node.lineno, type(node).__name__.lower()))
            case nodes.ExprStmt():
                self._expression(node.node, scope)
            case _:
                self._children(node, scope)

    def _children(self, node: nodes.Node, scope: _Scope) -> None:
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Stmt):
                self._statement(child, scope)
            else:
                self._expression(child, scope)

    def _macro(self, node: nodes.Macro, scope: _Scope) -> None:
        parameters = [argument.name for argument in node.args]
        self._names.parameters += parameters
        for default in node.defaults:
            self._expression(default, scope)
        scope.bound.add(node.name)
        self.statements(node.body, scope.inner(*parameters))
        self._names.branching_parameters |= _deciding(node) & set(parameters)
        if self._uses_var(node, scope):
            scope.varying.add(node.name)

    def _if(self, node: nodes.If, scope: _Scope) -> None:
        self._condition(node.test, scope)
        branches = [node.body, *(branch.body for branch in node.elif_), node.else_]
        for branch in node.elif_:
            self._condition(branch.test, scope)
        inner = [scope.inner() for _ in branches]
        for body, branch_scope in zip(branches, inner, strict=True):
            self.statements(body, branch_scope)
        scope.bound |= set.intersection(*(branch.bound for branch in inner))
        scope.varying |= set.union(*(branch.varying for branch in inner))

    def _for(self, node: nodes.For, scope: _Scope) -> None:
        self._condition(node.iter, scope)
        targets = [
            name.name
            for name in (node.target, *node.target.find_all(nodes.Name))
            if isinstance(name, nodes.Name)
        ]
        inner = scope.inner(*targets)
        if node.test is not None:
            self._condition(node.test, inner)
        self.statements(node.body, inner)
        self.statements(node.else_, scope.inner())

    def _bind(self, target: nodes.Expr, scope: _Scope, *, varying: bool) -> None:
        if isinstance(target, nodes.NSRef) and varying:
            scope.varying.add(target.name)
        for name in _names_in(target):
            scope.bound.add(name.name)
            (scope.varying.add if varying else scope.varying.discard)(name.name)

    def _condition(self, node: nodes.Node, scope: _Scope) -> None:
        if self._uses_var(node, scope):
            self._names.varying_branches.append(node.lineno)
        self._expression(node, scope, in_condition=True)

    def _expression(self, node: nodes.Node, scope: _Scope, *, in_condition: bool = False) -> None:
        match node:
            case nodes.Call():
                self._call(node, scope, in_condition=in_condition)
            case nodes.Name() | nodes.Getattr() | nodes.Getitem():
                self._name(node, scope, in_condition=in_condition)
            case nodes.And() | nodes.Or():
                # `a and b or c` chooses a text, as an inline `if` does.
                self._condition(node.left, scope)
                self._expression(node.right, scope, in_condition=in_condition)
            case nodes.CondExpr():
                self._condition(node.test, scope)
                for branch in (node.expr1, node.expr2):
                    if branch is not None:
                        self._expression(branch, scope, in_condition=in_condition)
            case nodes.Filter():
                self._filter(node, scope, in_condition=in_condition)
            case _:
                for child in node.iter_child_nodes():
                    self._expression(child, scope, in_condition=in_condition)

    def _filter(self, node: nodes.Filter, scope: _Scope, *, in_condition: bool) -> None:
        """Judge the filter, and that which it applies by name; an attribute that it takes must stand in the text."""
        applied = [node.name]
        if node.name in FILTERS_BY_NAME and node.args:
            name = _literal(node.args[0])
            applied.append(name if isinstance(name, str) else "attr")
        if "random" in applied:
            self._names.uses.append(Use(("random",), node.lineno, called=True, in_condition=in_condition))
        named = [keyword.value for keyword in node.kwargs if keyword.key == "attribute"]
        if node.name in ("groupby", "rejectattr", "selectattr"):
            named += node.args[:1]
        if "attr" in applied or not all(_is_plain_member(_literal(value)) for value in named):
            self._names.dynamic.append((node.lineno, f"filter {node.name}"))
        if node.name not in _FILTERS:
            self._names.uses.append(Use((node.name,), node.lineno, called=True, in_condition=in_condition))
        if node.name in CHOOSING_FILTERS and self._uses_var(node, scope):
            self._names.varying_branches.append(node.lineno)
        for child in node.iter_child_nodes():
            self._expression(child, scope, in_condition=in_condition)

    def _call(self, node: nodes.Call, scope: _Scope, *, in_condition: bool) -> None:
        chain = self._chain(node.node, scope)
        if isinstance(node.node, nodes.Getattr) and node.node.attr == "timestamp":
            self._names.dynamic.append((node.lineno, "timestamp"))  # Of a time without zone: the machine's.
        varying = frozenset(self._varying_arguments(node, scope))
        if chain is None:
            self._expression(node.node, scope, in_condition=in_condition)
        elif chain[0] not in scope.bound | _ALWAYS_LOCAL:
            self._names.uses.append(
                Use(
                    chain,
                    node.lineno,
                    called=True,
                    in_condition=in_condition,
                    arguments=tuple(_literal(argument) for argument in node.args),
                    keywords=tuple((keyword.key, _literal(keyword.value)) for keyword in node.kwargs),
                    varying=varying,
                )
            )
        if varying and (chain is None or chain[0] in scope.bound):
            # What is called is not known by name, so it may branch on the value.
            self._names.varying_branches.append(node.lineno)
        for part in _arguments(node):
            self._expression(part, scope, in_condition=in_condition)

    def _varying_arguments(self, node: nodes.Call, scope: _Scope) -> Iterator[int | str]:
        yield from (index for index, argument in enumerate(node.args) if self._uses_var(argument, scope))
        yield from (keyword.key for keyword in node.kwargs if self._uses_var(keyword.value, scope))
        if any(self._uses_var(part, scope) for part in (node.dyn_args, node.dyn_kwargs) if part is not None):
            yield "*"

    def _item(self, node: nodes.Getitem, scope: _Scope) -> None:
        """A choice among texts by a value of `var` is a branch on it."""
        if self._uses_var(node.arg, scope):
            self._names.varying_branches.append(node.lineno)

    def _name(self, node: nodes.Expr, scope: _Scope, *, in_condition: bool) -> None:
        if isinstance(node, nodes.Getitem):
            self._item(node, scope)
        chain = self._chain(node, scope)
        if chain is None:
            for child in node.iter_child_nodes():
                self._expression(child, scope, in_condition=in_condition)
        elif chain[0] not in scope.bound | _ALWAYS_LOCAL:
            self._names.uses.append(Use(chain, node.lineno, called=False, in_condition=in_condition))

    def _chain(self, node: nodes.Node, scope: _Scope) -> tuple[str, ...] | None:
        """Return name and attributes; None where the expression is not such a chain."""
        match node:
            case nodes.Name():
                return (node.name,)
            case nodes.Getattr():
                before = self._chain(node.node, scope)
                self._member(node, node.attr, before)
                return None if before is None else (*before, node.attr)
            case nodes.Getitem():
                before = self._chain(node.node, scope)
                key = node.arg.value if isinstance(node.arg, nodes.Const) else None
                if isinstance(key, str):
                    self._member(node, key, before)
                if before is None:
                    return None
                if not isinstance(key, str):
                    self._expression(node.arg, scope)
                return (*before, key if isinstance(key, str) else "*")
            case _:
                return None

    def _member(self, node: nodes.Node, name: str, before: tuple[str, ...] | None) -> None:
        """Refuse members that no text needs, and the clock of a value that came from `modules` some other way."""
        clock = name in CLOCK_MEMBERS and (before is None or before[0] != "modules")
        if name.startswith("_") or clock:
            self._names.dynamic.append((node.lineno, name))

    def _uses_var(self, node: nodes.Node, scope: _Scope) -> bool:
        members = node.find_all(nodes.Getattr)
        return any(
            name.ctx == "load"
            and (name.name in scope.varying or (name.name in self._from_var and name.name not in scope.bound))
            for name in _names_in(node)
        ) or any(
            member.attr in self._from_var and isinstance(member.node, nodes.Name)
            for member in (node, *members)
            if isinstance(member, nodes.Getattr)
        )


def _names_in(node: nodes.Node) -> Iterator[nodes.Name]:
    """Yield every name of an expression, itself included."""
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


def _arguments(node: nodes.Call) -> Iterator[nodes.Expr]:
    yield from node.args
    yield from (keyword.value for keyword in node.kwargs)
    yield from (part for part in (node.dyn_args, node.dyn_kwargs) if part is not None)


def _deciding(macro: nodes.Macro) -> set[str]:
    """Return the names that decide a branch, or that are handed on to a call which may."""
    return set(_deciding_names(macro))


def _deciding_names(macro: nodes.Macro) -> Iterator[str]:
    deciding: list[nodes.Node] = [branch.test for branch in macro.find_all(nodes.If)]
    deciding += [choice.test for choice in macro.find_all(nodes.CondExpr)]
    deciding += [loop.iter for loop in macro.find_all(nodes.For)]
    deciding += list(macro.find_all(nodes.Call))
    for node in deciding:
        yield from (name.name for name in _names_in(node))


def _is_plain_member(value: object) -> bool:
    """Tell whether it is the name of a member, or the number of one, as a text or a number."""
    parts = value.split(".") if isinstance(value, str) else []
    return isinstance(value, int) or (
        bool(parts) and not any(part.startswith("_") or part in CLOCK_MEMBERS for part in parts)
    )


def _literal(node: nodes.Expr) -> object:
    try:
        return node.as_const()
    except nodes.Impossible:
        return COMPUTED
