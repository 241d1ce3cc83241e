"""How a session calls a system procedure: arguments in, a status, outputs and result sets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import psycopg

    from dpone_lab.sqlserver.catalog import Principal
    from dpone_lab.sqlserver.language.translation import Catalog, DefinitionEvent, ResultColumn
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class ProcedureArgument:
    """One argument: `name` with its `@` in lower case, or None when positional; `default` says DEFAULT was given."""

    name: str | None
    type: SqlType
    value: Any
    output: bool = False
    default: bool = False


@dataclass(frozen=True, slots=True)
class ProcedureResult:
    """One result set of a procedure."""

    columns: tuple[ResultColumn, ...]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ProcedureOutcome:
    """What a procedure gave back: return status, values of output arguments by lower-case name, result sets.

    ``event`` is the definition that it was, for DDL triggers.
    """

    status: int = 0
    outputs: Mapping[str, tuple[SqlType, Any]] = field(default_factory=dict)
    results: tuple[ProcedureResult, ...] = ()
    event: DefinitionEvent | None = None


class ProcedureSession(Protocol):
    """What a procedure may use of the session that calls it."""

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Return the session's own backend: statements run in the session's transaction."""
        ...

    @property
    def catalog(self) -> Catalog:
        """Return the catalog as this session sees it."""
        ...

    @property
    def principal(self) -> Principal:
        """Return who the session is."""
        ...

    @property
    def session_id(self) -> int:
        """Return @@SPID."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Return whether @@TRANCOUNT is above 0."""
        ...

    def application_lock(
        self, resource: str, mode: str, owner: str, timeout_ms: int | None, principal: str
    ) -> int:
        """Take a lock and return 0, 1 after a wait, -1 on timeout, -3 for a deadlock victim."""
        ...

    def application_unlock(self, resource: str, owner: str, principal: str) -> int:
        """Release a lock once and return 0; -999 when it isn't held."""
        ...

    def application_mode(self, resource: str, owner: str, principal: str) -> str:
        """Return what APPLOCK_MODE tells: NoLock, Shared, Update, Exclusive, …."""
        ...

    def lock_object(self, schema: str, name: str) -> None:
        """Take the locks of DDL on an object and on its schema's metadata, to the end of the transaction."""
        ...

    def describe_parameters(self, text: str, declarations: str) -> list[tuple[str, SqlType]]:
        """Return the undeclared `@parameters` of a batch in order of appearance with suggested types."""
        ...
