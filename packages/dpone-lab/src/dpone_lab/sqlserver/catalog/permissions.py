"""Whether a principal may run a statement: what a statement needs, and SQL Server's error when it is lacking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpone_lab.sqlserver.language.errors import Number, SqlServerError

if TYPE_CHECKING:
    import psycopg

SERVER, DATABASE, SCHEMA, OBJECT = 100, 0, 3, 1
"""Classes of securables, as in ``sys.database_permissions``."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a session is: a login of the server and the user that it is in the database."""

    login: str
    login_id: int
    user: str
    user_id: int
    default_schema: str
    is_sysadmin: bool = False

    @property
    def is_unlimited(self) -> bool:
        """Whether nothing is checked: a sysadmin, or the database's dbo."""
        return self.is_sysadmin or self.user_id == 1


@dataclass(frozen=True, slots=True)
class Securable:
    """What a permission is about: its class, and the names with stored spelling (empty for database and server)."""

    place: int
    schema: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """A permission that a statement needs.

    ``refusal`` is the error to raise instead of 229 (or 262 for a database, 297 for the server): statements that
    must not tell a missing object from an invisible one have numbers of their own.
    """

    permission: str
    securable: Securable
    refusal: SqlServerError | None = None
    or_else: tuple[tuple[str, Securable], ...] = ()


def require(connection: psycopg.Connection[Any], principal: Principal, needs: tuple[Need, ...]) -> None:
    """Raise the documented error for the first need that the principal lacks."""
    for need in needs:
        if principal.is_sysadmin or (principal.is_unlimited and need.securable.place != SERVER):
            continue
        ways = ((need.permission, need.securable), *need.or_else)
        if not any(_allowed(connection, principal, securable, permission) for permission, securable in ways):
            raise need.refusal or _refusal(connection, need)


_ALLOWED = """
SELECT _lab.allowed(%(login)s, %(user)s, %(place)s, CASE %(place)s
    WHEN 1 THEN (SELECT c.oid::integer FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relname = %(name)s AND n.nspname = %(schema)s)
    WHEN 3 THEN (SELECT oid::integer FROM pg_namespace WHERE nspname = %(schema)s)
    ELSE 0 END, %(permission)s)
"""


def _allowed(
    connection: psycopg.Connection[Any], principal: Principal, securable: Securable, permission: str
) -> bool:
    row = connection.execute(
        _ALLOWED,
        {
            "login": principal.login_id,
            "user": principal.user_id,
            "place": securable.place,
            "schema": securable.schema,
            "name": securable.name,
            "permission": permission,
        },
    ).fetchone()
    return row is not None and bool(row[0])


def _refusal(connection: psycopg.Connection[Any], need: Need) -> SqlServerError:
    """Return the error that a missing permission has unless the statement has one of its own."""
    row = connection.execute("SELECT name FROM _lab.database_facts").fetchone()
    database = row[0] if row is not None else ""
    if need.securable.place == SERVER:
        return SqlServerError(
            300,
            f"{need.permission} permission was denied on object 'server', database 'master'.",
            severity=14,
        )
    if need.securable.place == DATABASE:
        return SqlServerError(
            262, f"{need.permission} permission denied in database '{database}'.", severity=14
        )
    return SqlServerError(
        Number.PERMISSION_DENIED,
        f"The {need.permission} permission was denied on the object '{need.securable.name}',"
        f" database '{database}', schema '{need.securable.schema}'.",
        severity=14,
    )
