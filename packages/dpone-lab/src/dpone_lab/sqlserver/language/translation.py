"""What translation yields and what it asks for: the plan of one statement, and the catalog it resolves names in.

How an interpreter uses it::

    batch = parse_batch(text, variables)                 # raises before any effect
    plan = translate(node, scope)                        # scope: Scope(catalog, variables)
    for domain in plan.domains: ensure(domain)           # on a connection of its own, autocommitted, cached
    for lock in plan.locks: take(lock)                   # in the given order
    for statement in plan.prelude: run(statement)        # same transaction, no parameters
    rows = run(plan.sql, [value_of(name) for name in plan.parameters])     # server-side $n parameters
    release the locks with hold_to_end=False after the last row

``plan.columns`` is empty where no result set is sent. With ``plan.assigns`` rows aren't sent: the last row's values
go to those variables, and no row leaves them as they are. ``plan.counted`` says whether the statement sets
@@ROWCOUNT, from PostgreSQL's command status. Values of parameters and results are Python's for
``types.base_type``: bool, int, Decimal, float, date, time, datetime, UUID, str, bytes.

After having waited for a lock, translate again: names may resolve otherwise by then. Error 208 carries ``missing``: an
uncommitted definition of another session may stand behind it, so take a short S lock on that schema's metadata and
translate once more before reporting it. Short S locks are held to the end under REPEATABLE READ and SERIALIZABLE.

The database is UTF-8 with locale C and TimeZone UTC; ``functions.sql`` runs once, after schema ``sys`` was made.
A view is stored as a typed stub without rows; its T-SQL stands in its COMMENT and is inlined wherever it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias
from typing import Literal as OneOf

from dpone_lab.sqlserver.language.types import BIGINT, INT, SMALLINT, SYSNAME, Domain, SqlType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_lab.sqlserver.language.expressions import ObjectName

LockMode: TypeAlias = OneOf["S", "U", "X", "SCH-M"]


class Kind(StrEnum):
    """What a plan does; the DONE token's command follows from it."""

    SELECT = "SELECT"
    ASSIGN = "ASSIGN"
    SELECT_INTO = "SELECT INTO"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    DEFINITION = "DEFINITION"
    EXPRESSION = "EXPRESSION"


@dataclass(frozen=True, slots=True)
class LockRequest:
    """A lock to take before the statement.

    ``resource`` is ``(schema, name)`` with stored spelling, or ``("#catalog", schema)`` for the metadata of a schema;
    ``("#catalog", "*")`` stands for the catalog as a whole. Temporary tables take none. ``key_range`` tells that absent
    keys are covered too (HOLDLOCK), which table locks do anyway. ``always`` tells that a hint asks for the lock even
    where row versions would do (READCOMMITTEDLOCK, TABLOCK).
    """

    resource: tuple[str, str]
    mode: LockMode
    hold_to_end: bool
    key_range: bool = False
    always: bool = False


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result set: its name ('' where T-SQL gives none) and its T-SQL type."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """What CREATE VIEW leaves for the catalog.

    ``body`` is the T-SQL after AS (PostgreSQL keeps it in the view's COMMENT), ``text`` the whole statement for
    ``sys.sql_modules``, ``references`` the names it depends on as spelled.
    """

    schema: str
    name: str
    body: str
    text: str
    columns: tuple[ResultColumn, ...]
    references: tuple[ObjectName, ...]
    schemabinding: bool


@dataclass(frozen=True, slots=True)
class Translation:
    """The plan of one statement; see the module's text for its use."""

    kind: Kind
    sql: str
    parameters: tuple[str, ...] = ()
    prelude: tuple[str, ...] = ()
    columns: tuple[ResultColumn, ...] = ()
    assigns: tuple[str, ...] = ()
    locks: tuple[LockRequest, ...] = ()
    domains: tuple[Domain, ...] = ()
    counted: bool = True
    reads_view: bool = False
    view: ViewDefinition | None = None
    event: DefinitionEvent | None = None


@dataclass(frozen=True, slots=True)
class DefinitionEvent:
    """What a DDL statement did, for DDL triggers: ``CREATE_TABLE`` on ``(TABLE, schema, name)``.

    ``target`` is the table of an index or a trigger.
    """

    event_type: str
    object_type: str
    schema: str | None
    name: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a stored relation, with stored spelling."""

    name: str
    type: SqlType
    has_default: bool = False
    is_identity: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """A stored relation as the catalog knows it, with stored spelling.

    ``kind`` is TABLE, VIEW (``body`` is its T-SQL after AS), SYSTEM (a view of schemas ``sys`` or
    ``INFORMATION_SCHEMA``; read under an S lock on the catalog), or TEMPORARY (``schema`` is then '').
    ``postgres`` is the quoted PostgreSQL name to read it by. ``columns`` of a view are those recorded at its creation.
    """

    kind: OneOf["TABLE", "VIEW", "SYSTEM", "TEMPORARY"]
    schema: str
    name: str
    postgres: str
    columns: tuple[Column, ...]
    body: str | None = None
    view_columns: tuple[str, ...] = ()


class Catalog(Protocol):
    """What translation asks of the current session's database; implemented over PostgreSQL."""

    @property
    def database(self) -> str:
        """The current database's name, stored spelling."""
        ...

    @property
    def version(self) -> object:
        """A value that differs whenever a name may resolve to something else than before."""
        ...

    @property
    def default_schema(self) -> str:
        """The session's default schema, ``dbo`` as a rule."""
        ...

    def relation(self, schema: str | None, name: str) -> Relation | None:
        """Find a table, view, system view or temporary table (schema None for ``#name``), case-insensitively."""
        ...

    def schema(self, name: str) -> str | None:
        """Return a schema's stored spelling, or None."""
        ...

    def trigger(self, schema: str, name: str) -> tuple[str, str, str] | None:
        """Return a table trigger's stored name, its table's name, and the table's quoted PostgreSQL name."""
        ...

    def index_name(self, schema: str, table: str, index: str) -> str | None:
        """Return the quoted PostgreSQL name of a table's index or key constraint, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a statement is translated: the catalog and the declared variables (lower-case with ``@``)."""

    catalog: Catalog
    variables: Mapping[str, SqlType]


SESSION_VALUES: dict[str, SqlType] = {
    "@@rowcount": INT,
    "@@trancount": INT,
    "@@error": INT,
    "@@spid": SMALLINT,
    "@@version": SqlType("nvarchar", length=300),
    "@@options": INT,
    "@@lock_timeout": INT,
    "@@servername": SYSNAME,
    "@@microsoftversion": INT,
    "@@nestlevel": INT,
    "@@procid": INT,
    "@@datefirst": SqlType("tinyint"),
    "@@language": SYSNAME,
    "@@max_precision": SqlType("tinyint"),
    "@@textsize": INT,
    "@@dbts": SqlType("varbinary", length=8),
    "xact_state()": SMALLINT,
    "error_number()": INT,
    "error_message()": SqlType("nvarchar", length=4000),
    "error_severity()": INT,
    "error_state()": INT,
    "error_line()": INT,
    "error_procedure()": SYSNAME,
    "rowcount_big()": BIGINT,
    "suser_sname()": SYSNAME,
    "suser_name()": SYSNAME,
    "original_login()": SYSNAME,
    "system_user": SYSNAME,
    "session_user": SYSNAME,
    "current_user": SYSNAME,
    "user_name()": SYSNAME,
    "app_name()": SYSNAME,
    "host_name()": SYSNAME,
    "host_id()": SqlType("char", length=10),
    "db_name()": SYSNAME,
    "schema_name()": SYSNAME,
    "current_transaction_id()": BIGINT,
    "context_info()": SqlType("varbinary", length=128),
    "eventdata:eventtype": SYSNAME,
    "eventdata:objecttype": SYSNAME,
    "eventdata:schemaname": SYSNAME,
    "eventdata:objectname": SYSNAME,
    "eventdata:targetobjectname": SYSNAME,
    "eventdata:loginname": SYSNAME,
}
"""Values the session supplies as parameters, by the names that ``Translation.parameters`` uses for them."""
