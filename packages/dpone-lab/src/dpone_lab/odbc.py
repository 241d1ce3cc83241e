"""ODBC on this machine: which driver for SQL Server there is, and a client that surfaces every error of a batch."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpone_contracts.errors import DponeError

MICROSOFT = "ODBC Driver 18 for SQL Server"
FREETDS = "FreeTDS"
_PACKAGE = "mssql_python_odbc"
_NUMBER = re.compile(r"\((\d+)\) \(SQL")


class DriverMissingError(DponeError):
    """No ODBC driver, or no driver manager, was found; the message names what to install."""


class CannotConnectError(DponeError):
    """The server or the driver refused a connection; the text is the driver's, which names no password."""


def packaged_driver() -> str | None:
    """Return the path of Microsoft's driver inside the Python package that carries it, or None."""
    spec = find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(Path(location).glob("libs/linux/debian_ubuntu/x86_64/lib/libmsodbcsql-*.so*"))
        if found:
            return str(found[-1])
    return None


def drivers() -> list[str]:
    """Return the usable drivers, best first: Microsoft's as installed, as packaged, then FreeTDS.

    Raises :class:`DriverMissingError` when the driver manager itself is missing.
    """
    installed = _pyodbc().drivers()
    packaged = packaged_driver()
    known = [MICROSOFT] if MICROSOFT in installed else []
    if packaged is not None:
        known.append(packaged)
    return [*known, *([FREETDS] if FREETDS in installed else [])]


def find_driver(wanted: str | None = None) -> str:
    """Return the wanted driver, or the best one; :class:`DriverMissingError` when there is none."""
    if wanted is not None:
        return wanted
    found = drivers()
    if not found:
        raise DriverMissingError(
            "DPONE_LAB_DRIVER_MISSING",
            "no ODBC driver for SQL Server: install Debian's tdsodbc or Microsoft's msodbcsql18",
        )
    return found[0]


def open_connection(dsn: str) -> Any:
    """Open an autocommit connection without pooling; :class:`CannotConnectError` when that fails."""
    pyodbc = _pyodbc()
    pyodbc.pooling = False
    try:
        return pyodbc.connect(dsn, autocommit=True, timeout=15)
    except pyodbc.Error as fault:
        raise CannotConnectError("DPONE_LAB_CANNOT_CONNECT", str(fault.args[-1])) from fault


@dataclass(frozen=True, slots=True)
class SqlFault:
    """A failed batch: the server's number (None when the driver itself gave up), the SQLSTATE and the text."""

    number: int | None
    state: str
    text: str


class SqlClient:
    """One connection, with results drained to the end and errors read as SQL Server's numbers.

    ``user`` is who it is connected as, for statements that grant to it. ``in_master`` says that statements about
    the server must be sent from master, as SQL Server wants; the lab has no master.
    """

    def __init__(self, connection: Any, user: str = "", *, in_master: bool = False) -> None:
        self.connection = connection
        self.user = user
        self._in_master = in_master

    def run(self, sql: str, *values: object) -> None:
        """Run a batch to its end; every error surfaces, not only the first result's."""
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(sql, *values)
            while cursor.nextset():
                pass

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a batch and return the rows of its first result set."""
        with contextlib.closing(self.connection.cursor()) as cursor:
            cursor.execute(sql, *values)
            while cursor.description is None:
                if not cursor.nextset():
                    raise AssertionError("the batch sent no result set")
            rows = [tuple(row) for row in cursor.fetchall()]
            while cursor.nextset():
                pass
        return rows

    def one(self, sql: str, *values: object) -> Any:
        """Run a batch and return the only value of its first result set."""
        ((value,),) = self.rows(sql, *values)
        return value

    def fault(self, sql: str, *values: object) -> SqlFault | None:
        """Run a batch and return its first error, None when there was none."""
        try:
            self.run(sql, *values)
        except _pyodbc().Error as error:
            state, text = str(error.args[0]), str(error.args[-1])
            numbers = _NUMBER.findall(text)
            return SqlFault(int(numbers[0]) if numbers else None, state, text)
        return None

    def error(self, sql: str, *values: object) -> int:
        """Run a batch that must fail and return SQL Server's number; AssertionError when there is none."""
        found = self.fault(sql, *values)
        if found is None or found.number is None:
            raise AssertionError(f"no error of the server: {found}")
        return found.number

    def at_server(self, sql: str) -> None:
        """Run a statement about the server."""
        self.run(f"USE master; {sql}" if self._in_master else sql)

    def close(self) -> None:
        """End the connection, once."""
        if not self.connection.closed:
            self.connection.close()


def _pyodbc() -> Any:
    try:
        # Its import fails without the system's libodbc.so.2.
        return import_module("pyodbc")
    except ImportError as fault:
        raise DriverMissingError(
            "DPONE_LAB_DRIVER_MISSING", "pyodbc can't load libodbc.so.2: install Debian's libodbc2"
        ) from fault
