"""Reads from the catalog who is who and who was granted what, and says what of it is hidden from the reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_mssql.reach import (
    COMMANDS,
    DATABASE,
    OBJECT,
    PLAIN_WRITES,
    SCHEMA,
    SERVER,
    Directory,
    Permission,
    Principal,
    Securable,
    Way,
    denied,
    fixed_roles,
    granted,
    joined,
    measured,
    reached,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from dpone_contracts.measurements import MeasuredPrincipal
    from dpone_contracts.relations import SqlRelation
    from dpone_mssql.batches import Statements
    from dpone_mssql.connection import Session

_HIDING = frozenset({"VIEW DEFINITION", "CONTROL", "VIEW SECURITY DEFINITION"})
_SERVER_WIDE = frozenset(
    {
        "CONTROL SERVER",
        "ALTER ANY DATABASE",
        "ALTER ANY LOGIN",
        "ALTER ANY SERVER ROLE",
        "IMPERSONATE ANY LOGIN",
    }
)
_SERVER_ROLES = ("sysadmin", "securityadmin", "dbcreator", "##MS_DatabaseManager##", "##MS_LoginManager##")
"""securityadmin is to be treated as sysadmin (its documentation); the ##MS_ roles came with SQL Server 2022."""
_DATABASE_WIDE = COMMANDS | {"ALTER ANY SCHEMA", "ALTER ANY ROLE"}


@dataclass(frozen=True, slots=True)
class Access:
    """Both directories, the target's place in them, and what the reader could not see."""

    database: str
    major_version: int
    reader: str
    object_id: int
    schema_id: int
    owner_id: int
    owner_sid: bytes
    schemas: Mapping[int, tuple[str, int]]
    users: Directory
    logins: Directory
    cross_database: tuple[str, ...]
    unseen: list[str] = field(default_factory=list)
    """What of the database is hidden."""
    unseen_around: list[str] = field(default_factory=list)
    """What of the server is hidden."""

    @property
    def all_unseen(self) -> list[str]:
        """Everything that is hidden, sorted, for a measurement."""
        return sorted({*self.unseen, *self.unseen_around})

    def writers(
        self, target: SqlRelation, surface: Iterable[tuple[int, int, str]], modules: Iterable[tuple[int, str]]
    ) -> tuple[MeasuredPrincipal, ...]:
        """Who can write the target.

        `surface` are the views and synonyms over it as (object id, schema id, name), `modules` the modules of its
        owner as (object id, name): who may change one of those, or anything in a schema of that owner, writes
        through the ownership chain.
        """
        rows = PLAIN_WRITES | COMMANDS
        places = [
            Securable(OBJECT, self.object_id, f"table {target.schema}.{target.name}", rows),
            Securable(SCHEMA, self.schema_id, f"schema {target.schema}", rows),
            Securable(DATABASE, 0, f"database {self.database}", PLAIN_WRITES | _DATABASE_WIDE),
        ]
        owners = {self.owner_id: {Way(f"owner of {target.schema}.{target.name}")}}
        for object_id, schema_id, name in surface:
            places.append(Securable(OBJECT, object_id, f"{name} over it", rows))
            if schema_id != self.schema_id:
                schema = self.schemas.get(schema_id, (str(schema_id), 0))[0]
                places.append(Securable(SCHEMA, schema_id, f"schema {schema} with {name} over it", rows))
        places += [
            Securable(OBJECT, object_id, f"module {name} of its owner", COMMANDS)
            for object_id, name in modules
        ]
        places += [
            Securable(SCHEMA, schema_id, f"schema {name} of its owner", COMMANDS)
            for schema_id, (name, owner) in self.schemas.items()
            if owner == self.owner_id and schema_id != self.schema_id
        ]
        roles = fixed_roles(self.users, ("db_owner", "db_ddladmin", "db_securityadmin"), ("db_datawriter",))
        taken = denied(self.users, [(DATABASE, 0), (SCHEMA, self.schema_id), (OBJECT, self.object_id)])
        return self._everybody(joined(granted(self.users, places), owners, roles), taken)

    def controllers(self) -> tuple[MeasuredPrincipal, ...]:
        """Who can disable or replace a database's DDL trigger."""
        wanted = COMMANDS | {"ALTER ANY DATABASE DDL TRIGGER", "ALTER ANY ROLE"}
        places = [Securable(DATABASE, 0, f"database {self.database}", wanted)]
        roles = fixed_roles(self.users, ("db_owner", "db_ddladmin", "db_securityadmin"))
        return self._everybody(joined(granted(self.users, places), roles), {})

    def _everybody(
        self, direct: dict[int, set[Way]], taken: Mapping[int, set[str]]
    ) -> tuple[MeasuredPrincipal, ...]:
        """The database's principals that have a way, and the logins that have one on the whole server."""
        found = reached(self.users, direct, taken)
        # dbo is not a person: it is the login that owns the database, and every sysadmin.
        found.pop(1, None)
        server = joined(
            granted(self.logins, [Securable(SERVER, 0, "the server", _SERVER_WIDE)]),
            fixed_roles(self.logins, _SERVER_ROLES),
        )
        by_sid = {login.sid: login.principal_id for login in self.logins.principals.values() if login.sid}
        if self.owner_sid in by_sid:
            server[by_sid[self.owner_sid]].add(Way(f"owner of database {self.database}"))
        else:
            self.unseen_around.append("the login that owns the database")
        named = {
            by_sid[user.sid]
            for one in found
            if (user := self.users.principals.get(one)) and user.sid in by_sid
        }
        masters = {login: {Way("login of a database principal")} for login in named}
        above = reached(self.logins, joined(server, masters), {})
        for login in named:
            left = {way for way in above.get(login, ()) if way not in masters[login]}
            above.pop(login, None)
            above |= {login: left} if left else {}
        return (*measured(self.users, found), *measured(self.logins, above))


def read_access(session: Session, sql: Statements, target: SqlRelation) -> Access:
    """Read principals, memberships and permissions; raises DponeError where the target is no visible table."""
    database, major, reader, reader_id, owner, trustworthy, chained, view, view_any, view_security = (
        session.rows(sql["context"])[0]
    )
    found = session.rows(sql["target"], target.schema, target.name)
    if str(database) != target.database or len(found) != 1:
        raise DponeError("DPONE_TARGET_ABSENT", f"{target} is no table here, or is not visible")
    object_id, schema_id, owner_id = (int(value) for value in found[0])
    chaining = session.rows(sql["chaining"])
    risks = (
        (bool(trustworthy), f"database {database} is TRUSTWORTHY"),
        (bool(chained), f"database {database} has DB_CHAINING"),
        (chaining == [(1,)], "server option cross db ownership chaining"),
    )
    access = Access(
        database=str(database),
        major_version=int(major),
        reader=str(reader),
        object_id=object_id,
        schema_id=schema_id,
        owner_id=owner_id,
        owner_sid=bytes(owner),
        schemas={int(row[0]): (str(row[1]), int(row[2])) for row in session.rows(sql["schemas"])},
        users=_directory(
            session,
            "database",
            (sql["database_principals"], sql["database_members"], sql["database_permissions"]),
        ),
        logins=_directory(
            session, "server", (sql["server_principals"], sql["server_members"], sql["server_permissions"])
        ),
        cross_database=tuple(name for holds, name in risks if holds),
    )
    if view != 1:
        access.unseen.append("definitions and permissions of the database (VIEW DEFINITION)")
    if view_any != 1 and view_security != 1:
        access.unseen_around.append("logins and server permissions (VIEW ANY DEFINITION)")
    if not chaining:
        access.unseen_around.append("server option cross db ownership chaining")
    if int(reader_id) != 1:
        mine = access.users.identities(int(reader_id))
        hiding = {row.name for row in access.users.permissions if row.is_denied and row.grantee_id in mine}
        access.unseen.extend(f"what a DENY of {name} hides" for name in sorted(hiding & _HIDING))
    return access


def _directory(
    session: Session, scope: Literal["database", "server"], statements: tuple[str, str, str]
) -> Directory:
    of_principals, of_members, of_permissions = statements
    principals = {
        int(number): Principal(
            int(number),
            str(name),
            str(kind),
            bool(is_role),
            None if owner is None else int(owner),
            None if sid is None else bytes(sid),
        )
        for number, name, kind, is_role, owner, sid in session.rows(of_principals)
    }
    members = frozenset((int(role), int(member)) for role, member in session.rows(of_members))
    permissions = tuple(
        Permission(int(place), int(major), int(minor), int(grantee), str(name), str(state).strip())
        for place, major, minor, grantee, name, state in session.rows(of_permissions)
    )
    return Directory(scope, principals, members, permissions)
