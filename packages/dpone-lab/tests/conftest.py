"""One endpoint for the tests of the lab, and connections to it through either driver."""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyodbc
import pytest

from dpone_lab.sqlserver.server import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSWORD = "Lab!password-1"
_FREETDS = (
    "/usr/lib/x86_64-linux-gnu/odbc/libtdsodbc.so",
    "/usr/lib/aarch64-linux-gnu/odbc/libtdsodbc.so",
)
_MICROSOFT = "libs/linux/debian_ubuntu/x86_64/lib/libmsodbcsql-18*.so*"

pyodbc.pooling = False


def freetds() -> str | None:
    """Return FreeTDS's ODBC driver, Debian's tdsodbc."""
    return next((path for path in _FREETDS if Path(path).exists()), None)


def microsoft() -> str | None:
    """Return the Microsoft driver from the PyPI package mssql-python-odbc, which a user may choose to install."""
    spec = find_spec("mssql_python_odbc")
    if spec is None or spec.submodule_search_locations is None:
        return None
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    return next((str(path) for folder in folders for path in folder.glob(_MICROSOFT)), None)


class Connect(Protocol):
    """Opens a connection that the test's end closes."""

    def __call__(
        self,
        user: str = "sa",
        password: str = PASSWORD,
        *,
        autocommit: bool = True,
        extra: str = "",
        database: str = "lab",
    ) -> pyodbc.Connection: ...


def connection_string(
    driver: str, port: int, user: str, password: str, extra: str = "", database: str = "lab"
) -> str:
    """Return what pyodbc takes for the endpoint's database through a driver's shared library."""
    place = (
        f"SERVER=127.0.0.1;PORT={port};TDS_Version=7.4"
        if "tdsodbc" in driver
        else f"SERVER=127.0.0.1,{port};TrustServerCertificate=yes"
    )
    if "tdsodbc" not in driver and "Encrypt" not in extra:
        place += ";Encrypt=no"
    return f"DRIVER={driver};{place};DATABASE={database};UID={user};PWD={password};{extra}"


def short_directory() -> Path:
    """Return a new directory whose path is short enough for a socket; the caller removes it."""
    return Path(tempfile.mkdtemp(prefix="dpone-lab-test-"))


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    """An endpoint in this process, empty but for what earlier tests left."""
    data = short_directory()
    with Endpoint(data, PASSWORD) as running:
        yield running
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def data_directory() -> Iterator[Path]:
    """A directory for an endpoint of the test's own."""
    data = short_directory()
    yield data
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def dsn() -> Callable[..., str]:
    """Make connection strings: driver, port, and optionally more keywords."""

    def make(driver: str, port: int, extra: str = "") -> str:
        return connection_string(driver, port, "sa", PASSWORD, extra)

    return make


@pytest.fixture
def password() -> str:
    """Give the password of sa."""
    return PASSWORD


@pytest.fixture
def freetds_driver() -> str:
    """FreeTDS or a skip that says what is missing."""
    path = freetds()
    if path is None:
        pytest.skip("FreeTDS is not installed (Debian: tdsodbc)")
    return path


@pytest.fixture
def microsoft_driver() -> str:
    """The Microsoft driver or a skip that says what is missing."""
    path = microsoft()
    if path is None:
        pytest.skip("the Microsoft driver is not installed (PyPI: mssql-python-odbc)")
    return path


@pytest.fixture(params=["freetds_driver", "microsoft_driver"])
def any_driver(request: pytest.FixtureRequest) -> str:
    """Each driver's shared library in turn."""
    path: str = request.getfixturevalue(request.param)
    return path


@pytest.fixture
def driver() -> str:
    """One driver, for tests of what doesn't depend on it."""
    path = freetds() or microsoft()
    if path is None:
        pytest.skip("no SQL Server ODBC driver is installed (Debian: tdsodbc)")
    return path


def _connector(endpoint: Endpoint, library: str) -> Iterator[Connect]:
    opened: list[pyodbc.Connection] = []

    def connect(
        user: str = "sa",
        password: str = PASSWORD,
        *,
        autocommit: bool = True,
        extra: str = "",
        database: str = "lab",
    ) -> pyodbc.Connection:
        text = connection_string(library, endpoint.port, user, password, extra, database)
        connection = pyodbc.connect(text, autocommit=autocommit, timeout=20)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        if not connection.closed:
            connection.close()


@pytest.fixture
def connect(endpoint: Endpoint, driver: str) -> Iterator[Connect]:
    """Open connections through one driver."""
    yield from _connector(endpoint, driver)


@pytest.fixture
def connect_any(endpoint: Endpoint, any_driver: str) -> Iterator[Connect]:
    """Open connections through each driver in turn."""
    yield from _connector(endpoint, any_driver)


def drain(cursor: pyodbc.Cursor) -> list[list[tuple[Any, ...]]]:
    """Return every result set of a batch; raises the first error that stands among them."""
    results = []
    while True:
        if cursor.description is not None:
            results.append([tuple(row) for row in cursor.fetchall()])
        if not cursor.nextset():
            return results


def run(connection: pyodbc.Connection, sql: str, *parameters: object) -> list[list[tuple[Any, ...]]]:
    """Execute a batch and return every result set."""
    cursor = connection.cursor()
    try:
        cursor.execute(sql, *parameters)
        return drain(cursor)
    finally:
        cursor.close()


def error_of(work: Callable[[], object]) -> tuple[str, int]:
    """Return SQLSTATE and SQL Server's number of the error that the work raises."""
    with pytest.raises(pyodbc.Error) as caught:
        work()
    state, message = caught.value.args[0], caught.value.args[1]
    return state, int(message.rsplit("(", 2)[1].split(")")[0]) if message.count("(") > 1 else 0


@pytest.fixture
def sql() -> Callable[..., list[list[tuple[Any, ...]]]]:
    """Execute a batch and return every result set."""
    return run


@pytest.fixture
def error() -> Callable[[Callable[[], object]], tuple[str, int]]:
    """Tell SQLSTATE and number of the error that a call raises."""
    return error_of
