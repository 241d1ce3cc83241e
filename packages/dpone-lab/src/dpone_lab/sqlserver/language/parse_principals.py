"""Recursive descent over schemas, principals and permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from typing import Literal as OneOf

from dpone_lab.sqlserver.language.definitions import AlterRole, CreatePrincipal, CreateSchema, Permission
from dpone_lab.sqlserver.language.errors import unsupported
from dpone_lab.sqlserver.language.lexer import TokenKind
from dpone_lab.sqlserver.language.parse_definitions import DefinitionParser

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.expressions import ObjectName

PERMISSIONS = frozenset(
    {
        "ALL",
        "ALTER",
        "ALTER ANY CONNECTION",
        "ALTER ANY DATABASE DDL TRIGGER",
        "ALTER ANY SCHEMA",
        "ALTER SERVER STATE",
        "CONNECT",
        "CONNECT SQL",
        "CONTROL",
        "CONTROL SERVER",
        "CREATE PROCEDURE",
        "CREATE SCHEMA",
        "CREATE TABLE",
        "CREATE VIEW",
        "DELETE",
        "EXECUTE",
        "INSERT",
        "REFERENCES",
        "SELECT",
        "TAKE OWNERSHIP",
        "UPDATE",
        "VIEW ANY DEFINITION",
        "VIEW CHANGE TRACKING",
        "VIEW DATABASE PERFORMANCE STATE",
        "VIEW DATABASE STATE",
        "VIEW DEFINITION",
        "VIEW SERVER PERFORMANCE STATE",
        "VIEW SERVER STATE",
    }
)


class PrincipalParser(DefinitionParser):
    """Parses statements about who may do what."""

    def create_schema(self) -> CreateSchema:
        """Parse the rest of CREATE SCHEMA, from the name on; schema elements are refused."""
        if self.at("AUTHORIZATION"):
            raise unsupported("CREATE SCHEMA AUTHORIZATION without a name")
        name = self.name()
        owner = self.name() if self.accept("AUTHORIZATION") else None
        return CreateSchema(name, owner)

    def create_principal(self) -> CreatePrincipal:
        """Parse the rest of CREATE LOGIN, USER or ROLE, from the kind on."""
        kind = cast("OneOf['LOGIN', 'USER', 'ROLE']", self.take().upper)
        name = self.name()
        if kind == "ROLE":
            if self.accept("AUTHORIZATION"):
                self._principal()
            return CreatePrincipal("ROLE", name)
        if kind == "LOGIN":
            return CreatePrincipal("LOGIN", name, password=self._login_password())
        login: str | None = name
        if self.accept("WITHOUT", "LOGIN"):
            login = None
        elif self.accept("FOR", "LOGIN") or self.accept("FROM", "LOGIN"):
            login = self.name()
        elif self.at_any("FOR", "FROM"):
            raise unsupported(f"CREATE USER … {self.current.upper} {self.peek().upper}")
        default_schema = None
        if self.accept("WITH"):
            self.expect("DEFAULT_SCHEMA", "=")
            default_schema = self.name()
        return CreatePrincipal("USER", name, login=login, default_schema=default_schema)

    def _login_password(self) -> str:
        self.expect("WITH", "PASSWORD", "=")
        token = self.take()
        if token.kind not in (TokenKind.STRING, TokenKind.NATIONAL_STRING):
            raise self.unexpected()
        while self.accept(","):
            option = self.take()
            if option.upper not in ("CHECK_POLICY", "CHECK_EXPIRATION", "DEFAULT_DATABASE"):
                raise unsupported(f"CREATE LOGIN … {option.text}")
            self.expect("=")
            self.take()
        return token.value

    def alter_role(self) -> AlterRole:
        """Parse the rest of ALTER ROLE, from the name on."""
        role = self.name()
        if not self.at_any("ADD", "DROP"):
            raise unsupported(f"ALTER ROLE … {self.current.upper}")
        add = self.take().upper == "ADD"
        self.expect("MEMBER")
        return AlterRole(role, self._principal(), add)

    def permission(self) -> Permission:
        """Parse GRANT, DENY or REVOKE."""
        action = cast("OneOf['GRANT', 'DENY', 'REVOKE']", self.take().upper)
        if action == "REVOKE" and self.at("GRANT", "OPTION"):
            raise unsupported("REVOKE GRANT OPTION FOR")
        permissions = [self._permission_name()]
        while self.accept(","):
            permissions.append(self._permission_name())
        securable_class: OneOf["OBJECT", "SCHEMA", "DATABASE", "SERVER"] = "DATABASE"
        securable: ObjectName | None = None
        if self.accept("ON"):
            securable_class, securable = self._securable()
        elif any(
            "SERVER" in name or name in ("CONNECT SQL", "VIEW ANY DEFINITION", "ALTER ANY CONNECTION")
            for name in permissions
        ):
            securable_class = "SERVER"
        if not (self.accept("TO") or (action == "REVOKE" and self.accept("FROM"))):
            raise self.unexpected()
        principals = [self._principal()]
        while self.accept(","):
            principals.append(self._principal())
        with_grant = self.accept("WITH", "GRANT", "OPTION")
        if self.at("CASCADE"):
            raise unsupported("CASCADE")
        return Permission(
            action, tuple(permissions), securable_class, securable, tuple(principals), with_grant
        )

    def _principal(self) -> str:
        if self.accept("PUBLIC"):
            return "public"
        return self.name()

    def _permission_name(self) -> str:
        words: list[str] = []
        while not (self.at_any("ON", "TO", "FROM", ",") or self.at_end()):
            if self.at("("):
                raise unsupported("column permission")
            words.append(self.take().upper)
        name = " ".join(words)
        if name not in PERMISSIONS:
            raise unsupported(f"permission {name}")
        return name

    def _securable(self) -> tuple[OneOf["OBJECT", "SCHEMA", "DATABASE", "SERVER"], ObjectName]:
        if self.peek().upper == "::":
            word = self.take().upper
            self.take()
            if word not in ("OBJECT", "SCHEMA", "DATABASE"):
                raise unsupported(f"{word}::")
            return cast("OneOf['OBJECT', 'SCHEMA', 'DATABASE']", word), self.object_name()
        return "OBJECT", self.object_name()
