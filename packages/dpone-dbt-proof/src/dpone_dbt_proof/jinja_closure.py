"""The Jinja and macro closure of a model: everything that its text can reach, and what of that is refused.

The manifest's own `depends_on.macros` names neither materialisation nor strategy and carries no checksums, so the
closure is computed from the texts. Where dbt would choose among macros by context, all candidates are followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.jinja_names import (
    COMPUTED,
    JinjaError,
    TemplateNames,
    Use,
    column_of,
    read_template,
    tag_column,
)
from dpone_dbt_proof.jinja_policy import (
    ADMITTED_CHAINS,
    ADMITTED_MEMBERS,
    ADMITTED_NAMES,
    AUTHOR_MAY_OVERRIDE,
    CLOCK_ATTRIBUTES,
    HANDED_ON,
    REFUSED_NAMES,
)
from dpone_dbt_proof.reasons import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dpone_dbt_proof.manifest import Macro, Manifest, Node

INTERNAL_PACKAGES: Final = ("dbt_sqlserver", "dbt")
"""dbt's own macros, the adapter's first."""

ASKS_A_DATABASE: Final = (
    Code.JINJA_ADAPTER,
    Code.JINJA_INTROSPECTION,
    Code.JINJA_IS_INCREMENTAL,
    Code.JINJA_RUN_QUERY,
)
"""Reasons of texts at which dbt stops when it has no connection."""

_ADAPTER_PREFIXES: Final = ("sqlserver__", "default__")
_RELATION_CALLS: Final = ("ref", "source")


@dataclass(frozen=True, slots=True)
class MacroClosure:
    """Unique ids of every macro that can be reached, sorted, and the reasons against the text."""

    macro_ids: tuple[str, ...]
    reasons: tuple[Reason, ...]


class MacroIndex:
    """The manifest's macros by name and package."""

    def __init__(self, manifest: Manifest) -> None:
        self._by_name: dict[str, dict[str, Macro]] = {}
        for macro in manifest.macros.values():
            self._by_name.setdefault(macro.name, {})[macro.package] = macro
        self._packages = {macro.package for macro in manifest.macros.values()}
        self.from_var = _macros_from_var(manifest)
        """Names of the macros of authors and packages whose text takes from `var`, by whatever way."""

    def is_package(self, name: str) -> bool:
        """Tell whether a name is that of a package with macros."""
        return name in self._packages

    def bare(self, name: str, packages: Iterable[str]) -> list[Macro]:
        """Return what a bare name can mean: the macro of each package that is in view, or dbt's own."""
        named = self._by_name.get(name, {})
        found = [named[package] for package in packages if package in named]
        internal = [named[package] for package in INTERNAL_PACKAGES if package in named]
        return list(dict.fromkeys([*found, *internal[:1]]))

    def qualified(self, package: str, name: str) -> list[Macro]:
        """Return `package.name`; `dbt.name` also means the adapter's."""
        named = self._by_name.get(name, {})
        packages = INTERNAL_PACKAGES if package == "dbt" else (package,)
        return [named[key] for key in packages if key in named][:1]

    def dispatched(self, name: str, packages: Iterable[str], author: str) -> list[Macro]:
        """Return what `adapter.dispatch` chooses: the first package that has the macro, the adapter's form first.

        An implementation in the author's own project counts under the author's root only, so the next one is
        followed as well.
        """
        found: list[Macro] = []
        for package in dict.fromkeys((*packages, *INTERNAL_PACKAGES)):
            for prefix in _ADAPTER_PREFIXES:
                macro = self._by_name.get(f"{prefix}{name}", {}).get(package)
                if macro is not None:
                    found.append(macro)
                    break
            if found and found[-1].package != author:
                break
        return found

    def names_of(self, package: str) -> dict[str, Macro]:
        """Return the macros of one package by name."""
        return {name: named[package] for name, named in self._by_name.items() if package in named}


def _macros_from_var(manifest: Manifest) -> frozenset[str]:
    calls: dict[str, set[str]] = {}
    for macro in manifest.macros.values():
        names = _names(macro.sql) if macro.package not in INTERNAL_PACKAGES else None
        if isinstance(names, TemplateNames):
            calls.setdefault(macro.name, set()).update(*map(_called, names.uses))
    found: set[str] = {"var"}
    while reached := {name for name, called in calls.items() if called & found} - found:
        found |= reached
    return frozenset(found - {"var"})


def _called(use: Use) -> set[str]:
    """Return the names that a use may call: its own, a member's, and what dispatch is asked for."""
    dispatched = use.arguments[:1] if use.chain == ("adapter", "dispatch") else ()
    return {*use.chain[:2], *(f"{prefix}{name}" for name in dispatched for prefix in _ADAPTER_PREFIXES)}


def model_closure(manifest: Manifest, index: MacroIndex, node: Node) -> MacroClosure:
    """Follow a model's (or test's) text through every macro that it can reach."""
    walk = _ClosureWalk(index, node.package, manifest.project_name)
    walk.template(node.raw_code, node.path, trail=())
    return MacroClosure(
        tuple(sorted(walk.seen)), tuple(sorted(walk.reasons, key=lambda reason: reason.sort_key))
    )


def refused_uses(source: str, path: str) -> Iterator[Reason]:
    """Yield a reason for each refused name of a text that is no model: the YAML of a project."""
    names = _names(source)
    place = _Place(source, path, ())
    for use in () if isinstance(names, JinjaError) else names.uses:
        refusal = _refusal(use)
        if refusal is not None:
            yield place.reason(*refusal, use.line, use.chain[0])


def reachable_macros(
    manifest: Manifest, index: MacroIndex, names: Iterable[str], package: str
) -> tuple[str, ...]:
    """Return every macro that the named entry macros can reach, without judging them (lifecycle closures)."""
    walk = _ClosureWalk(index, package, manifest.project_name)
    for name in names:
        for macro in index.bare(name, (manifest.project_name, package)):
            walk.macro(macro, trail=())
    return tuple(sorted(walk.seen))


def overriding_macros(index: MacroIndex, package: str) -> list[Reason]:
    """Refuse macros of a project that have the name of one of dbt's, the adapter's or the platform's."""
    internal = {
        name for internal in (*INTERNAL_PACKAGES, "dpone_platform") for name in index.names_of(internal)
    }
    return [
        Reason(
            Code.DISPATCH_OVERRIDE if name.startswith(_ADAPTER_PREFIXES) else Code.MACRO_OVERRIDE,
            f"macro {name} replaces one of dbt's",
            path=macro.path,
        )
        for name, macro in sorted(index.names_of(package).items())
        if name in internal and name not in AUTHOR_MAY_OVERRIDE
    ]


@lru_cache(maxsize=8192)
def _names(source: str, from_var: frozenset[str] = frozenset()) -> TemplateNames | JinjaError:
    """Read a text once; the same macro is reached from many models."""
    try:
        return read_template(source, from_var)
    except JinjaError as error:
        return error


@dataclass(slots=True)
class _ClosureWalk:
    index: MacroIndex
    package: str
    project: str
    seen: set[str] = field(default_factory=set)
    reasons: list[Reason] = field(default_factory=list)

    def macro(self, macro: Macro, trail: tuple[str, ...]) -> None:
        if macro.unique_id in self.seen:
            return
        self.seen.add(macro.unique_id)
        foreign = macro.package not in (self.package, *INTERNAL_PACKAGES)
        path = f"dbt_packages/{macro.package}/{macro.path}" if foreign else macro.path
        self.template(macro.sql, path, (*trail, macro.unique_id.removeprefix("macro.")), macro.package)

    def template(self, source: str, path: str, trail: tuple[str, ...], package: str | None = None) -> None:
        names = _names(source, self.index.from_var)
        place = _Place(source, path, trail)
        if isinstance(names, JinjaError):
            reason = place.reason(Code.JINJA_SYNTAX, str(names), names.line, None)
            self.reasons.append(replace(reason, column=tag_column(source, names.line)))
            return
        for line, what in names.dynamic:
            self.reasons.append(place.reason(Code.JINJA_DYNAMIC, f"{what} can't be followed", line, what))
        for line in names.varying_branches:
            self.reasons.append(place.reason(Code.JINJA_VAR_BRANCH, "a branch depends on var", line, "var"))
        packages = tuple(dict.fromkeys((self.package, package or self.package, self.project)))
        for use in names.uses:
            self._use(use, packages, place, trail)

    def _use(self, use: Use, packages: tuple[str, ...], place: _Place, trail: tuple[str, ...]) -> None:
        if use.chain == ("adapter", "dispatch"):
            self._dispatch(use, packages, place, trail)
            return
        refusal = _refusal(use)
        if refusal is not None:
            code, what = refusal
            self.reasons.append(place.reason(code, what, use.line, use.chain[0]))
            return
        if use.chain[0] in ADMITTED_NAMES or use.chain[: len(use.chain)] in ADMITTED_CHAINS:
            if use.chain[-1] in _RELATION_CALLS and use.varying:
                message = f"{use.chain[-1]} takes its name from var"
                self.reasons.append(place.reason(Code.JINJA_DYNAMIC, message, use.line, use.chain[0]))
            for macro in self.index.bare(use.chain[0], packages):
                if macro.package not in INTERNAL_PACKAGES:  # It stands in place of dbt's own.
                    self.macro(macro, trail)
            return
        self._follow(use, packages, place, trail)

    def _follow(self, use: Use, packages: tuple[str, ...], place: _Place, trail: tuple[str, ...]) -> None:
        found = self.index.bare(use.chain[0], packages)
        if not found and len(use.chain) > 1 and self.index.is_package(use.chain[0]):
            found = self.index.qualified(use.chain[0], use.chain[1])
            refused = REFUSED_NAMES.get(use.chain[1])
            if refused is not None:
                message = f"{'.'.join(use.chain)} is used"
                self.reasons.append(place.reason(refused, message, use.line, use.chain[0]))
                return
        if not found and self.index.is_package(use.chain[0]) and len(use.chain) == 1:
            message = f"package {use.chain[0]} is handed on"
            self.reasons.append(place.reason(Code.JINJA_DYNAMIC, message, use.line, use.chain[0]))
            return
        if not found:
            message = f"{'.'.join(use.chain)} is not defined"
            self.reasons.append(place.reason(Code.JINJA_UNKNOWN, message, use.line, use.chain[0]))
        for macro in found:
            if use.varying and _branches_on(macro, use, self.index.from_var):
                message = f"{macro.name} branches on an argument that comes from var"
                self.reasons.append(place.reason(Code.JINJA_VAR_BRANCH, message, use.line, use.chain[-1]))
            self.macro(macro, trail)

    def _dispatch(self, use: Use, packages: tuple[str, ...], place: _Place, trail: tuple[str, ...]) -> None:
        keywords = dict(use.keywords)
        name = use.arguments[0] if use.arguments else keywords.get("macro_name")
        namespace = use.arguments[1] if len(use.arguments) > 1 else keywords.get("macro_namespace")
        if not isinstance(name, str) or namespace is COMPUTED:
            message = "adapter.dispatch takes a computed name"
            self.reasons.append(place.reason(Code.JINJA_DYNAMIC, message, use.line, "adapter"))
            return
        within = packages if namespace is None else (*packages, str(namespace))
        found = self.index.dispatched(name, within, self.package)
        if not found:
            message = f"no macro implements {name}"
            self.reasons.append(place.reason(Code.JINJA_UNKNOWN, message, use.line, "adapter"))
        for macro in found:
            self.macro(macro, trail)


@dataclass(frozen=True, slots=True)
class _Place:
    source: str
    path: str
    trail: tuple[str, ...]

    def reason(self, code: Code, message: str, line: int, name: str | None) -> Reason:
        through = f" (through {' > '.join(self.trail)})" if self.trail else ""
        column = column_of(self.source, line, name) if name else None
        return Reason(code, message + through, self.path, line, column)


def _refusal(use: Use) -> tuple[Code, str] | None:
    first = use.chain[0]
    if any(use.chain[: len(chain)] == chain for chain in ADMITTED_CHAINS):
        return None
    if len(use.chain) > 1 and use.chain[1] not in ADMITTED_MEMBERS.get(first, use.chain):
        return Code.JINJA_DYNAMIC, f"{'.'.join(use.chain)} is used"
    if first in HANDED_ON and not use.called:
        return Code.JINJA_DYNAMIC, f"{first} is handed on"
    if first in REFUSED_NAMES:
        return REFUSED_NAMES[first], f"{'.'.join(use.chain)} is used"
    if first == "modules" and any(part in CLOCK_ATTRIBUTES for part in use.chain[1:]):
        return Code.JINJA_NONDETERMINISTIC, f"{'.'.join(use.chain)} reads the clock"
    if use.chain[:2] == ("modules", "datetime") and not use.called:
        return Code.JINJA_NONDETERMINISTIC, f"{'.'.join(use.chain)} is handed on, and it has a clock"
    if first == "modules" and len(use.chain) == 1:
        return Code.JINJA_DYNAMIC, "modules is handed on"
    return None


def _branches_on(macro: Macro, use: Use, from_var: frozenset[str]) -> bool:
    names = _names(macro.sql, from_var)
    if isinstance(names, JinjaError):
        return True
    parameters = names.parameters
    given = {
        parameters[key] if isinstance(key, int) and key < len(parameters) else str(key) for key in use.varying
    }
    return bool(given & names.branching_parameters) or "*" in given or bool(given - set(parameters))


def closure_texts(manifest: Manifest, macro_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return (unique id, text) of each macro in order: what a closure's digest is taken over."""
    macros: Mapping[str, Macro] = manifest.macros
    return ((key, macros[key].sql) for key in sorted(macro_ids))
