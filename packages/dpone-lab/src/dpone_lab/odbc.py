"""Finds an ODBC driver for SQL Server on this machine: Microsoft's or FreeTDS."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MICROSOFT = "ODBC Driver 18 for SQL Server"
FREETDS = "FreeTDS"
_PACKAGE = "mssql_python_odbc"


class DriverMissingError(Exception):
    """No ODBC driver, or no driver manager, was found; the message names what to install."""


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
            "no ODBC driver for SQL Server: install Debian's tdsodbc or Microsoft's msodbcsql18"
        )
    return found[0]


def open_connection(dsn: str) -> Any:
    """Open an autocommit connection without pooling."""
    pyodbc = _pyodbc()
    pyodbc.pooling = False
    return pyodbc.connect(dsn, autocommit=True, timeout=15)


def _pyodbc() -> Any:
    try:
        # Its import fails without the system's libodbc.so.2.
        return import_module("pyodbc")
    except ImportError as fault:
        raise DriverMissingError("pyodbc can't load libodbc.so.2: install Debian's libodbc2") from fault
