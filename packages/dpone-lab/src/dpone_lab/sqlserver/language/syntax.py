"""Frozen tree of a T-SQL batch: control flow, session statements, and the nodes that are translated.

:func:`dpone_lab.sqlserver.language.batches.parse_batch` makes a :class:`Batch` or raises before anything ran. An
interpreter walks ``Batch.statements``; it does control flow, variables, transactions and procedures itself and
hands every :class:`Query`, data change, DDL node and every expression to ``language.translate``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.definitions import Definition
    from dpone_lab.sqlserver.language.expressions import (
        Condition,
        Delete,
        Expression,
        Insert,
        ObjectName,
        Query,
        Update,
    )
    from dpone_lab.sqlserver.language.types import SqlType


@dataclass(frozen=True, slots=True)
class Declaration:
    """One variable of a DECLARE; ``name`` is lower-case with its ``@``."""

    name: str
    type: SqlType
    initial: Expression | None = None


@dataclass(frozen=True, slots=True)
class Declare:
    """DECLARE of one or more variables."""

    variables: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET @x = …; compound assignment is already spelled out."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET of a session option from the allowlist.

    ``option`` is upper-case (``XACT_ABORT``, ``LOCK_TIMEOUT``, ``TRANSACTION ISOLATION LEVEL``), ``value`` is
    ``ON``, ``OFF``, a number's text, or the level's upper-case words (``READ COMMITTED``).
    """

    option: str
    value: str


@dataclass(frozen=True, slots=True)
class Block:
    """BEGIN … END, or several statements made of one."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """IF with an optional ELSE."""

    condition: Condition
    then: Statement
    otherwise: Statement | None = None


@dataclass(frozen=True, slots=True)
class While:
    """WHILE."""

    condition: Condition
    body: Statement


@dataclass(frozen=True, slots=True)
class Break:
    """BREAK of the innermost WHILE."""


@dataclass(frozen=True, slots=True)
class Continue:
    """CONTINUE of the innermost WHILE."""


@dataclass(frozen=True, slots=True)
class TryCatch:
    """BEGIN TRY … END TRY BEGIN CATCH … END CATCH."""

    body: tuple[Statement, ...]
    handler: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Throw:
    """THROW number, message, state; all None re-raises inside CATCH."""

    number: Expression | None = None
    message: Expression | None = None
    state: Expression | None = None


@dataclass(frozen=True, slots=True)
class Print:
    """PRINT."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Return:
    """RETURN with an optional status."""

    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of EXEC: named or positional; ``value`` is a Literal('default') for DEFAULT."""

    value: Expression
    name: str | None = None
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Execute:
    """EXEC [@result =] procedure arguments; sp_executesql is one of them. ``procedure.name`` keeps its spelling."""

    procedure: ObjectName
    arguments: tuple[Argument, ...] = ()
    result: str | None = None


@dataclass(frozen=True, slots=True)
class ExecuteString:
    """EXEC ('…' + @x): its text is parsed as a batch of its own, with variables of its own."""

    text: Expression


@dataclass(frozen=True, slots=True)
class InsertExecute:
    """INSERT table (columns) EXEC …: refused by the parser unless an interpreter asks for it."""

    target: ObjectName
    columns: tuple[str, ...]
    execute: Execute | ExecuteString


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN TRANSACTION [name]."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK [name]; a name is a savepoint's or the outermost transaction's."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """SAVE TRANSACTION name."""

    name: str


@dataclass(frozen=True, slots=True)
class Use:
    """USE database."""

    database: str


@dataclass(frozen=True, slots=True)
class WaitForDelay:
    """WAITFOR DELAY; the value is a literal or a variable holding ``hh:mm:ss[.fff]``."""

    delay: Expression


@dataclass(frozen=True, slots=True)
class Located:
    """A statement with the 1-based line it starts on and its exact source text."""

    statement: Statement
    line: int
    text: str


Statement: TypeAlias = (
    "Declare | SetVariable | SetOption | Block | If | While | Break | Continue | TryCatch | Throw | Print | Return "
    "| Execute | ExecuteString | InsertExecute | Begin | Commit | Rollback | Save | Use | WaitForDelay "
    "| Query | Insert | Update | Delete | Definition | Located"
)


@dataclass(frozen=True, slots=True)
class Batch:
    """A parsed batch: every statement is a :class:`Located` around its node, at every depth."""

    text: str
    statements: tuple[Statement, ...]
    variables: dict[str, SqlType] = field(default_factory=dict, hash=False, compare=False)
