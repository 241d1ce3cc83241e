"""Logins, users and roles: who a session is, and the statements that create, grant, deny and drop."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.catalog.permissions import DATABASE, OBJECT, SCHEMA, SERVER, Principal
from dpone_lab.sqlserver.language.definitions import AlterRole, CreatePrincipal, DropObjects, Permission
from dpone_lab.sqlserver.language.errors import Number, SqlServerError
from dpone_lab.sqlserver.language.translation import DefinitionEvent

if TYPE_CHECKING:
    import psycopg

    from dpone_lab.sqlserver.language.expressions import ObjectName

_ROUNDS = 500
"""Few: a login happens hundreds of times in a run, and the lab's passwords are random and die with it."""

_CLASSES = {"SERVER": SERVER, "DATABASE": DATABASE, "SCHEMA": SCHEMA, "OBJECT": OBJECT}
_ABBREVIATIONS = {"EXEC": "EXECUTE"}
_OBJECT_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE", "REFERENCES")


def _digest(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode("utf-16-le"), salt, _ROUNDS)


def set_password(connection: psycopg.Connection[Any], login: str, password: str) -> None:
    """Give a login its password; only a salted digest is stored."""
    salt = secrets.token_bytes(16)
    connection.execute(
        "UPDATE _lab.logins SET salt = %s, password_digest = %s WHERE name = %s",
        (salt, _digest(password, salt), login),
    )


def authenticate(connection: psycopg.Connection[Any], login: str, password: str) -> Principal | None:
    """Return who logs in; None for an unknown or disabled login or a wrong password.

    A login that is no user of the database gets 4060.
    """
    row = connection.execute(
        "SELECT principal_id, name, salt, password_digest, is_disabled, _lab.is_sysadmin(principal_id), sid"
        " FROM _lab.logins WHERE lower(name) = lower(%s) AND NOT is_role",
        (login,),
    ).fetchone()
    salt, expected = (row[2], row[3]) if row and row[2] is not None else (b"", b"")
    right = hmac.compare_digest(_digest(password, salt), expected)
    if row is None or not right or row[4]:
        return None
    login_id, name, is_sysadmin, sid = row[0], row[1], row[5], row[6]
    if is_sysadmin:
        return Principal(name, login_id, "dbo", 1, "dbo", is_sysadmin=True)
    user = connection.execute(
        "SELECT u.name, u.principal_id, coalesce(u.default_schema, 'dbo') FROM _lab.users u"
        " WHERE u.sid = %s AND u.type = 'S' AND _lab.allowed(%s, u.principal_id, 0, 0, 'CONNECT')",
        (sid, login_id),
    ).fetchone()
    if user is None:
        raise SqlServerError(
            4060, "Cannot open database requested by the login. The login failed.", severity=11
        )
    return Principal(name, login_id, user[0], user[1], user[2], is_sysadmin=False)


def apply_principals(
    connection: psycopg.Connection[Any],
    node: Permission | CreatePrincipal | AlterRole | DropObjects,
    actor: Principal,
) -> None:
    """Carry out a statement about principals or permissions, in the session's own transaction."""
    match node:
        case Permission():
            _apply_permission(connection, node, actor)
        case CreatePrincipal():
            _create(connection, node, actor)
        case AlterRole():
            _alter_role(connection, node, actor)
        case DropObjects():
            for name in node.names:
                _drop(connection, node.kind, name.name, actor, if_exists=node.if_exists)


def principal_events(
    connection: psycopg.Connection[Any], node: Permission | CreatePrincipal | AlterRole | DropObjects
) -> tuple[DefinitionEvent, ...]:
    """Return the database-level events of a statement about principals; statements about the server have none."""
    match node:
        case Permission(securable_class="SERVER") | CreatePrincipal(kind="LOGIN") | DropObjects(kind="LOGIN"):
            return ()
        case Permission():
            named = node.securable
            is_object = node.securable_class == "OBJECT"
            default = connection.execute("SELECT _lab.default_schema()").fetchone() if is_object else None
            schema = (named.schema if named else None) or (str(default[0]) if default else None)
            name = named.name if named else ""
            return (DefinitionEvent(f"{node.action}_DATABASE", node.securable_class, schema, name),)
        case CreatePrincipal():
            return (DefinitionEvent(f"CREATE_{node.kind}", node.kind, None, node.name),)
        case AlterRole():
            event = "ADD_ROLE_MEMBER" if node.add else "DROP_ROLE_MEMBER"
            return (DefinitionEvent(event, "ROLE", None, node.role),)
        case DropObjects():
            return tuple(
                DefinitionEvent(f"DROP_{node.kind}", node.kind, None, name.name) for name in node.names
            )


def _create(connection: psycopg.Connection[Any], node: CreatePrincipal, actor: Principal) -> None:
    needed = {"LOGIN": "ALTER ANY LOGIN", "USER": "ALTER ANY USER", "ROLE": "CREATE ROLE"}[node.kind]
    _demand(connection, actor, needed, SERVER if node.kind == "LOGIN" else DATABASE)
    taken = _login_id(connection, node.name) if node.kind == "LOGIN" else _user_id(connection, node.name)
    if taken is not None and node.kind == "LOGIN":
        raise SqlServerError(15025, f"The server principal '{node.name}' already exists.")
    if taken is not None:
        raise SqlServerError(
            15023, f"User, group, or role '{node.name}' already exists in the current database."
        )
    if node.kind == "LOGIN":
        sid = secrets.token_bytes(16)
        connection.execute("INSERT INTO _lab.logins (name, sid) VALUES (%s, %s)", (node.name, sid))
        set_password(connection, node.name, node.password or "")
        return
    if node.kind == "ROLE":
        connection.execute(
            "INSERT INTO _lab.users (name, type, owner_id) VALUES (%s, 'R', %s)", (node.name, actor.user_id)
        )
        return
    login = node.login or node.name
    row = connection.execute(
        "SELECT sid FROM _lab.logins WHERE lower(name) = lower(%s) AND NOT is_role", (login,)
    ).fetchone()
    if row is None:
        raise SqlServerError(15007, f"'{login}' is not a valid login or you do not have permission.")
    if connection.execute("SELECT 1 FROM _lab.users WHERE sid = %s", (row[0],)).fetchone() is not None:
        raise SqlServerError(15063, "The login already has an account under a different user name.")
    connection.execute(
        "WITH made AS (INSERT INTO _lab.users (name, type, sid, default_schema)"
        " VALUES (%s, 'S', %s, %s) RETURNING principal_id)"
        " INSERT INTO _lab.permissions (class, major_id, grantee_id, permission, state)"
        " SELECT 0, 0, principal_id, 'CONNECT', 'G' FROM made",
        (node.name, row[0], node.default_schema or "dbo"),
    )


def _alter_role(connection: psycopg.Connection[Any], node: AlterRole, actor: Principal) -> None:
    role, member = _user_id(connection, node.role, "R"), _user_id(connection, node.member)
    if role is not None:
        owner = connection.execute(
            "SELECT owner_id FROM _lab.users WHERE principal_id = %s", (role,)
        ).fetchone()
        if owner is None or owner[0] != actor.user_id:
            _demand(connection, actor, "ALTER ANY ROLE", DATABASE, hidden=f"role '{node.role}'")
    if role is None or member is None:
        missing = node.role if role is None else node.member
        raise SqlServerError(
            15151,
            f"Cannot {'alter' if role is None else 'add'} the {'role' if role is None else 'principal'} '{missing}',"
            " because it does not exist or you do not have permission.",
        )
    if not node.add:
        connection.execute(
            "DELETE FROM _lab.role_members WHERE role_principal_id = %s AND member_principal_id = %s",
            (role, member),
        )
        return
    around = connection.execute(
        "SELECT 1 FROM _lab.identities(%s) WHERE principal_id = %s", (role, member)
    ).fetchone()
    if around is not None:
        raise SqlServerError(15413, "Cannot make a role a member of itself.")
    connection.execute("INSERT INTO _lab.role_members VALUES (%s, %s) ON CONFLICT DO NOTHING", (role, member))


def _drop(
    connection: psycopg.Connection[Any], kind: str, name: str, actor: Principal, *, if_exists: bool
) -> None:
    word = "login" if kind == "LOGIN" else kind.lower()
    needed = {"LOGIN": "ALTER ANY LOGIN", "USER": "ALTER ANY USER", "ROLE": "ALTER ANY ROLE"}[kind]
    found = (
        _login_id(connection, name)
        if kind == "LOGIN"
        else _user_id(connection, name, "S" if kind == "USER" else "R")
    )
    if found is None and if_exists:
        return
    _demand(connection, actor, needed, SERVER if kind == "LOGIN" else DATABASE, hidden=f"{word} '{name}'")
    if found is None:
        raise SqlServerError(
            15151,
            f"Cannot drop the {word} '{name}', because it does not exist or you do not have permission.",
        )
    if kind == "LOGIN":
        connection.execute("DELETE FROM _lab.permissions WHERE class = 100 AND grantee_id = %s", (found,))
        connection.execute("DELETE FROM _lab.logins WHERE principal_id = %s", (found,))
        return
    owns = connection.execute("SELECT 1 FROM _lab.schema_owners WHERE principal_id = %s", (found,)).fetchone()
    if owns is not None:
        raise SqlServerError(
            15138, "The database principal owns a schema in the database, and cannot be dropped."
        )
    has_members = connection.execute(
        "SELECT 1 FROM _lab.role_members WHERE role_principal_id = %s", (found,)
    ).fetchone()
    if kind == "ROLE" and has_members is not None:
        raise SqlServerError(15144, "The role has members. It must be empty before it can be dropped.")
    connection.execute("DELETE FROM _lab.permissions WHERE class <> 100 AND grantee_id = %s", (found,))
    connection.execute("DELETE FROM _lab.users WHERE principal_id = %s", (found,))


def _apply_permission(connection: psycopg.Connection[Any], node: Permission, actor: Principal) -> None:
    place = _CLASSES[node.securable_class]
    major = _major(connection, node.securable_class, node.securable)
    names = [_ABBREVIATIONS.get(name, name) for name in node.permissions]
    if names in (["ALL"], ["ALL PRIVILEGES"]) and place == OBJECT:
        names = list(_OBJECT_ALL)
    for name in names:
        if place == SERVER or not _may_grant(connection, actor, place, major, name):
            _demand(
                connection,
                actor,
                "CONTROL SERVER" if place == SERVER else "CONTROL",
                place,
                major,
                hidden=_named(node),
            )
        known = connection.execute(
            "SELECT 1 FROM _lab.builtin_permissions WHERE class = %s AND permission = %s", (place, name)
        ).fetchone()
        if known is None:
            raise SqlServerError(Number.SYNTAX, f"Incorrect syntax near '{name}'.")
        for principal in node.principals:
            grantee = _login_id(connection, principal) if place == SERVER else _user_id(connection, principal)
            if grantee is None:
                raise SqlServerError(
                    15151,
                    f"Cannot find the {'login' if place == SERVER else 'user'} '{principal}',"
                    " because it does not exist or you do not have permission.",
                )
            _store(connection, node, (place, major, grantee, name), actor)


def _store(
    connection: psycopg.Connection[Any], node: Permission, key: tuple[int, int, int, str], actor: Principal
) -> None:
    """Write one row of the permission table; the key is class, securable, grantee and permission."""
    connection.execute(
        "DELETE FROM _lab.permissions WHERE class = %s AND major_id = %s AND minor_id = 0 AND grantee_id = %s"
        " AND permission = %s",
        key,
    )
    if node.action == "REVOKE":
        return
    state = "D" if node.action == "DENY" else "W" if node.with_grant_option else "G"
    connection.execute(
        "INSERT INTO _lab.permissions (class, major_id, grantee_id, permission, state, grantor_id)"
        " VALUES (%s, %s, %s, %s, %s, %s)",
        (*key, state, 1 if key[0] == SERVER else actor.user_id),
    )


def _may_grant(
    connection: psycopg.Connection[Any], actor: Principal, place: int, major: int, name: str
) -> bool:
    row = connection.execute(
        "SELECT 1 FROM _lab.permissions WHERE class = %s AND major_id = %s AND permission = %s AND state = 'W'"
        " AND grantee_id IN (SELECT principal_id FROM _lab.identities(%s))",
        (place, major, name, actor.user_id),
    ).fetchone()
    return row is not None


def _named(node: Permission) -> str:
    return f"{node.securable_class.lower()} '{node.securable.name if node.securable else ''}'"


def _major(connection: psycopg.Connection[Any], place: str, name: ObjectName | None) -> int:
    """Return the id of the securable as the permission tables hold it; 15151 when there is none."""
    if name is None or place in ("DATABASE", "SERVER"):
        return 0
    if place == "SCHEMA":
        row = connection.execute(
            "SELECT oid::integer FROM pg_namespace WHERE lower(nspname) = lower(%s) AND _lab.is_user_schema(nspname)",
            (name.name,),
        ).fetchone()
    else:
        row = connection.execute(
            "SELECT coalesce(_lab.find_object(coalesce(%(schema)s, _lab.default_schema()), %(name)s, NULL),"
            " CASE WHEN %(schema)s::text IS NULL THEN _lab.find_object('dbo', %(name)s, NULL) END)",
            {"schema": name.schema, "name": name.name},
        ).fetchone()
    if row is None or row[0] is None:
        raise SqlServerError(
            15151,
            f"Cannot find the {place.lower()} '{name.name}', because it does not exist or you do not have permission.",
        )
    return int(row[0])


def _demand(
    connection: psycopg.Connection[Any],
    actor: Principal,
    permission: str,
    place: int,
    major: int = 0,
    *,
    hidden: str | None = None,
) -> None:
    """Require a permission of the actor; ``hidden`` names a securable whose existence a refusal must not betray."""
    if actor.is_sysadmin or (actor.is_unlimited and place != SERVER):
        return
    row = connection.execute(
        "SELECT _lab.allowed(%s, %s, %s, %s, %s)", (actor.login_id, actor.user_id, place, major, permission)
    ).fetchone()
    if row is not None and row[0]:
        return
    if hidden is None:
        raise SqlServerError(15247, "User does not have permission to perform this action.")
    raise SqlServerError(
        15151, f"Cannot find the {hidden}, because it does not exist or you do not have permission."
    )


def _login_id(connection: psycopg.Connection[Any], name: str) -> int | None:
    row = connection.execute(
        "SELECT principal_id FROM _lab.logins WHERE lower(name) = lower(%s)", (name,)
    ).fetchone()
    return None if row is None else int(row[0])


def _user_id(connection: psycopg.Connection[Any], name: str, kind: str | None = None) -> int | None:
    row = connection.execute(
        "SELECT principal_id FROM _lab.users WHERE lower(name) = lower(%s) AND type = coalesce(%s::char(1), type)",
        (name, kind),
    ).fetchone()
    return None if row is None else int(row[0])
