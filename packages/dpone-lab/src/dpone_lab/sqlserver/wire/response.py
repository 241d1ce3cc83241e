"""One server message under construction: tokens in order, the last DONE held back until it is known to be the last."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from dpone_lab.sqlserver.wire import tokens
from dpone_lab.sqlserver.wire.tokens import DoneKind, DoneStatus, EnvChange
from dpone_lab.sqlserver.wire.values import encode_value, type_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_lab.sqlserver.language.errors import SqlServerError
    from dpone_lab.sqlserver.language.types import SqlType
    from dpone_lab.sqlserver.wire.packets import PacketWriter


class Response:
    """Writes whole tokens only, so that an attention can end it after any of them."""

    def __init__(self, writer: PacketWriter, server: str) -> None:
        self._writer = writer
        self._server = server
        self._held: tuple[DoneKind, DoneStatus, int, int] | None = None
        self._procedures = 0
        self.errors = 0

    def write(self, token: bytes) -> None:
        """Append whole tokens."""
        if self._held is not None:
            kind, status, command, count = self._held
            self._held = None
            self._writer.write(tokens.done(kind, status | DoneStatus.MORE, command, count))
        self._writer.write(token)

    def statement_done(self, command: int, count: int | None, *, failed: bool = False) -> None:
        """End a statement; `count` None says that it counts no rows."""
        status = DoneStatus.FINAL if count is None else DoneStatus.COUNT
        if failed:
            status |= DoneStatus.ERROR
        self._done(DoneKind.DONEINPROC if self._procedures else DoneKind.DONE, status, command, count or 0)

    def procedure_done(self, *, failed: bool = False) -> None:
        """End a procedure call."""
        status = DoneStatus.ERROR if failed else DoneStatus.FINAL
        self._done(DoneKind.DONEINPROC if self._procedures else DoneKind.DONEPROC, status, 0, 0)

    def _done(self, kind: DoneKind, status: DoneStatus, command: int, count: int) -> None:
        self.write(b"")
        self._held = (kind, status, command, count)

    @contextmanager
    def procedure(self) -> Iterator[None]:
        """Mark the statements inside as those of a procedure."""
        self._procedures += 1
        try:
            yield
        finally:
            self._procedures -= 1

    def error(self, error: SqlServerError, line: int = 1) -> None:
        """Report an error, or below severity 11 an information."""
        self.errors += 1
        self.information(error.number, error.message, error.severity, error.state, line)

    def information(self, number: int, text: str, severity: int = 0, state: int = 1, line: int = 1) -> None:
        """Write INFO or ERROR."""
        self.write(
            tokens.message(
                number=number,
                state=state,
                severity=severity,
                text=text,
                server=self._server,
                procedure="",
                line=line,
            )
        )

    def transaction_changed(
        self, change: Literal["begun", "committed", "rolled back"], identity: int
    ) -> None:
        """Tell the client that the outermost transaction began or ended."""
        descriptor = identity.to_bytes(8, "little")
        if change == "begun":
            self.write(tokens.environment_bytes(EnvChange.BEGIN_TRANSACTION, descriptor, b""))
        elif change == "committed":
            self.write(tokens.environment_bytes(EnvChange.COMMIT_TRANSACTION, b"", descriptor))
        else:
            self.write(tokens.environment_bytes(EnvChange.ROLLBACK_TRANSACTION, b"", descriptor))

    def database(self, name: str) -> None:
        """Tell the client that USE took effect."""
        self.write(tokens.environment(EnvChange.DATABASE, name, name))
        self.information(5701, f"Changed database context to '{name}'.", state=2)

    def return_value(self, ordinal: int, name: str, sql_type: SqlType, value: Any) -> None:
        """Write the value of an output parameter."""
        self.write(tokens.return_value(ordinal, name, type_info(sql_type), encode_value(sql_type, value)))

    def finish(self, *, attention: bool = False) -> None:
        """Send the rest; with `attention` the message ends by acknowledging it."""
        if attention:
            self._done(DoneKind.DONE, DoneStatus.ATTENTION, 0, 0)
        kind, status, command, count = self._held or (DoneKind.DONE, DoneStatus.FINAL, 0, 0)
        self._held = None
        self._writer.write(tokens.done(kind, status, command, count))
        self._writer.end_message()
