"""Who reaches a permission in SQL Server: grants, ownership, roles and impersonation, computed from catalog rows.

Pure functions over rows, by the rules that SQL Server documents; where a rule would need more than the catalog shows,
somebody is listed rather than left out.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpone_contracts.measurements import MeasuredPrincipal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

PLAIN_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
"""Permissions on rows alone: a DENY takes them. What can change permissions or objects is taken by no DENY here."""
COMMANDS: Final = frozenset({"ALTER", "CONTROL", "TAKE OWNERSHIP"})
TAKES_OVER: Final = frozenset({"IMPERSONATE", "CONTROL", "ALTER", "TAKE OWNERSHIP"})
"""Permissions on a principal by which another becomes it, or decides who is its member."""
DATABASE, OBJECT, SCHEMA, DATABASE_PRINCIPAL, SERVER, SERVER_PRINCIPAL = 0, 1, 3, 4, 100, 101
PUBLIC_OF_DATABASE, PUBLIC_OF_SERVER = 0, 2


@dataclass(frozen=True, slots=True)
class Principal:
    """A row of `sys.database_principals` or `sys.server_principals`."""

    principal_id: int
    name: str
    type_desc: str
    is_role: bool
    owner_id: int | None
    sid: bytes | None


@dataclass(frozen=True, slots=True)
class Permission:
    """A row of `sys.database_permissions` or `sys.server_permissions`; column grants have a `minor_id`."""

    securable_class: int
    major_id: int
    minor_id: int
    grantee_id: int
    name: str
    state: str

    @property
    def is_denied(self) -> bool:
        """Whether the row takes instead of gives."""
        return self.state == "D"


@dataclass(frozen=True, slots=True)
class Directory:
    """All principals of one scope with their memberships (role id, member id) and permissions."""

    scope: Literal["database", "server"]
    principals: Mapping[int, Principal]
    members: frozenset[tuple[int, int]]
    permissions: tuple[Permission, ...]

    @property
    def public_id(self) -> int:
        """The role that everybody is a member of."""
        return PUBLIC_OF_DATABASE if self.scope == "database" else PUBLIC_OF_SERVER

    @property
    def principal_class(self) -> int:
        """The class of permissions on principals."""
        return DATABASE_PRINCIPAL if self.scope == "database" else SERVER_PRINCIPAL

    def identities(self, principal_id: int) -> set[int]:
        """A principal, every role above it, and public."""
        found = {principal_id}
        while more := {role for role, member in self.members if member in found} - found:
            found |= more
        return found | {self.public_id}

    def named(self, name: str) -> int | None:
        """The id of a principal by its exact name."""
        return next((one.principal_id for one in self.principals.values() if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Securable:
    """Something that permissions are granted on, and which of them are looked for there."""

    securable_class: int
    major_id: int
    label: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Way:
    """How somebody reaches what is asked; `plain` names the row permission that a DENY would take."""

    text: str
    plain: str | None = None


def granted(directory: Directory, securables: Iterable[Securable]) -> dict[int, set[Way]]:
    """The direct ways that grants on the securables give, by grantee."""
    found: dict[int, set[Way]] = defaultdict(set)
    for securable in securables:
        for row in directory.permissions:
            place = (row.securable_class, row.major_id)
            if row.is_denied or place != (securable.securable_class, securable.major_id):
                continue
            if row.name in securable.wanted:
                column = " (columns)" if row.minor_id else ""
                # A grant on a column outweighs a DENY on its table.
                plain = row.name if row.name in PLAIN_WRITES and not row.minor_id else None
                found[row.grantee_id].add(Way(f"{row.name}{column} on {securable.label}", plain))
    return found


def denied(directory: Directory, places: Iterable[tuple[int, int]]) -> dict[int, set[str]]:
    """Row permissions that are denied on any of the (class, id) places as a whole, by grantee."""
    wanted, found = set(places), defaultdict[int, set[str]](set)
    for row in directory.permissions:
        if row.is_denied and not row.minor_id and (row.securable_class, row.major_id) in wanted:
            found[row.grantee_id] |= PLAIN_WRITES if row.name == "CONTROL" else {row.name} & PLAIN_WRITES
    denying_role = directory.named("db_denydatawriter")
    if directory.scope == "database" and denying_role is not None:
        found[denying_role] |= PLAIN_WRITES
    return found


def reached(
    directory: Directory, direct: Mapping[int, set[Way]], taken: Mapping[int, set[str]]
) -> dict[int, set[Way]]:
    """Everybody but roles who has a way: directly, as a member, or by taking over somebody who has."""
    ways: dict[int, set[Way]] = defaultdict(set)
    for principal_id, found in direct.items():
        ways[principal_id] |= found
    while True:
        before = sum(len(found) for found in ways.values())
        _through_roles(directory, ways)
        _by_taking_over(directory, ways)
        if sum(len(found) for found in ways.values()) == before:
            break
    left: dict[int, set[Way]] = {}
    for principal_id, found in ways.items():
        principal = directory.principals.get(principal_id)
        if principal is not None and principal.is_role and principal_id != directory.public_id:
            continue
        gone = {name for one in directory.identities(principal_id) for name in taken.get(one, ())}
        if kept := {way for way in found if way.plain not in gone}:
            left[principal_id] = kept
    return left


def measured(directory: Directory, ways: Mapping[int, set[Way]]) -> tuple[MeasuredPrincipal, ...]:
    """Sorted parts for a measurement; a principal without a visible name is named by its id."""
    found = []
    for principal_id, reasons in ways.items():
        principal = directory.principals.get(principal_id)
        found.append(
            MeasuredPrincipal(
                scope=directory.scope,
                principal=principal.name if principal else f"principal {principal_id}",
                principal_type=principal.type_desc if principal else "UNKNOWN",
                ways=tuple(sorted({way.text for way in reasons})),
            )
        )
    return tuple(sorted(found, key=lambda one: one.principal))


def fixed_roles(directory: Directory, names: Sequence[str], plain: Sequence[str] = ()) -> dict[int, set[Way]]:
    """The direct ways of fixed roles; those in `plain` write rows and nothing else."""
    found: dict[int, set[Way]] = {}
    for name in (*names, *plain):
        role = directory.named(name)
        if role is not None:
            writes: tuple[str | None, ...] = tuple(PLAIN_WRITES) if name in plain else (None,)
            found[role] = {Way(f"fixed role {name}", permission) for permission in writes}
    return found


def joined(*many: Mapping[int, set[Way]]) -> dict[int, set[Way]]:
    """The union of several maps of ways."""
    found: dict[int, set[Way]] = defaultdict(set)
    for one in many:
        for principal_id, ways in one.items():
            found[principal_id] |= ways
    return found


def _through_roles(directory: Directory, ways: dict[int, set[Way]]) -> None:
    for role_id, member_id in directory.members:
        for way in tuple(ways.get(role_id, ())):
            told = way.text.startswith("fixed role ") or " through role " in way.text
            text = way.text if told else f"{way.text} through role {_name(directory, role_id)}"
            ways[member_id].add(Way(text, way.plain))


def _by_taking_over(directory: Directory, ways: dict[int, set[Way]]) -> None:
    for row in directory.permissions:
        held = row.major_id in ways and row.securable_class == directory.principal_class
        if held and not row.is_denied and row.name in TAKES_OVER and row.grantee_id != row.major_id:
            name = _name(directory, row.major_id)
            ways[row.grantee_id].add(Way(f"{row.name} on principal {name}"))
    for principal in directory.principals.values():
        if principal.is_role and principal.principal_id in ways and principal.owner_id not in (None, 1):
            assert principal.owner_id is not None
            ways[principal.owner_id].add(Way(f"owner of role {principal.name}"))


def _name(directory: Directory, principal_id: int) -> str:
    principal = directory.principals.get(principal_id)
    return principal.name if principal else f"id {principal_id}"
