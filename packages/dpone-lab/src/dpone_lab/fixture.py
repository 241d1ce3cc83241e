"""The lab's fixture: base tables with real events, targets in both engines, and a baseline worth refreshing.

The baseline holds the two weeks before the day, and of the day itself (and of the next one) rows that the refresh must
update, rows that it must leave as they are, and one key that the new input lacks.
"""

from __future__ import annotations

import io
import json
import urllib.parse
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

import psycopg
import pyodbc
from pyarrow import csv

from dpone_lab.expected import MART_SCHEMA, MARTS, BaseRows, Mart, Row
from dpone_lab.flights import RAW_SCHEMA, BaseTable, base_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

BASELINE_DAYS: Final = 14
MISSING_KEY_FLIGHT: Final = 99_999
MISSING_KEY_AIRPORT: Final = 30_000


class BulkLoader(Protocol):
    """Loads many rows into an existing table of the SQL Server side."""

    def load_table(self, table: BaseTable) -> None:
        """Load a base table whole."""

    def load_rows(self, schema: str, table: str, rows: Sequence[Row]) -> None:
        """Load rows in column order."""


@dataclass(frozen=True)
class PostgresCopy:
    """Loads past the wire, straight into the lab's embedded engine; only a fixture may."""

    conninfo: str

    def load_table(self, table: BaseTable) -> None:
        """COPY of the Arrow table as CSV."""
        buffer = io.BytesIO()
        csv.write_csv(table.rows, buffer, csv.WriteOptions(include_header=False))
        with (
            closing(psycopg.connect(self.conninfo, autocommit=True)) as connection,
            connection.cursor() as cursor,
        ):
            columns = ", ".join(f'"{name}"' for name, _ in table.columns)
            with cursor.copy(
                f'COPY "{RAW_SCHEMA}"."{table.name}" ({columns}) FROM STDIN (FORMAT csv)'
            ) as copy:
                copy.write(buffer.getvalue())

    def load_rows(self, schema: str, table: str, rows: Sequence[Row]) -> None:
        """COPY of Python rows."""
        with (
            closing(psycopg.connect(self.conninfo, autocommit=True)) as connection,
            connection.cursor() as cursor,
            cursor.copy(f'COPY "{schema}"."{table}" FROM STDIN') as copy,
        ):
            for row in rows:
                copy.write_row(row)


@dataclass(frozen=True)
class OdbcInserts:
    """Loads through multi-row INSERT statements, for a server that is not the lab's own."""

    odbc: str

    def load_table(self, table: BaseTable) -> None:
        """Parameterised inserts of the whole table."""
        with closing(pyodbc.connect(self.odbc, autocommit=True)) as connection, connection.cursor() as cursor:
            for statement, parameters in table.inserts():
                cursor.execute(statement, parameters)

    def load_rows(self, schema: str, table: str, rows: Sequence[Row]) -> None:
        """One parameterised insert a row."""
        if not rows:
            return
        marks = ", ".join("?" * len(rows[0]))
        with closing(pyodbc.connect(self.odbc, autocommit=True)) as connection, connection.cursor() as cursor:
            for row in rows:
                cursor.execute(f"INSERT INTO {schema}.{table} VALUES ({marks})", row)


@dataclass(frozen=True)
class ClickHouseLogin:
    """The ClickHouse side: HTTP address, login, database."""

    url: str
    user: str
    password: str
    database: str

    def execute(self, statement: str, body: bytes = b"") -> str:
        """Run one statement; a body is the data of an INSERT."""
        query = urllib.parse.urlencode({"query": statement}) if body else ""
        request = urllib.request.Request(  # noqa: S310 - the lab's own loopback address
            f"{self.url}/?{query}",
            data=body or statement.encode(),
            headers={"X-ClickHouse-User": self.user, "X-ClickHouse-Key": self.password},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            text: str = answer.read().decode()
        return text


def day_start(day: date, later: int = 0) -> datetime:
    """Midnight UTC of a day, or of one some days later, as the naive instant that both engines store."""
    return datetime.combine(day + timedelta(days=later), datetime.min.time(), UTC).replace(tzinfo=None)


def create_base_tables(odbc: str, loader: BulkLoader) -> dict[str, int]:
    """Create and load schema `raw`; rows by table."""
    tables = base_tables()
    with closing(pyodbc.connect(odbc, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {RAW_SCHEMA}")
        for table in tables:
            connection.execute(table.create_statement)
    for table in tables:
        loader.load_table(table)
    return {table.name: table.rows.num_rows for table in tables}


def create_marts(odbc: str, loader: BulkLoader, clickhouse: ClickHouseLogin, day: date) -> dict[str, int]:
    """Create both sides' targets of the sample models and load the baseline of a day into both; rows by model."""
    base = _base_rows([day + timedelta(days=offset) for offset in range(-BASELINE_DAYS, 2)])
    with closing(pyodbc.connect(odbc, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {MART_SCHEMA}")
        for mart in MARTS:
            columns = ", ".join(f"{name} {declared}" for name, declared, _ in mart.columns)
            key = f"CONSTRAINT pk_{mart.name} PRIMARY KEY CLUSTERED ({', '.join(mart.key)})"
            connection.execute(f"CREATE TABLE {MART_SCHEMA}.{mart.name} ({columns}, {key})")
    clickhouse.execute(f"CREATE DATABASE IF NOT EXISTS {clickhouse.database} ENGINE = Atomic")
    counts = {}
    for mart in MARTS:
        rows = baseline_rows(mart, base, day)
        loader.load_rows(MART_SCHEMA, mart.name, rows)
        columns = ", ".join(f"`{name}` {declared}" for name, _, declared in mart.columns)
        clickhouse.execute(
            f"CREATE TABLE {clickhouse.database}.{mart.name} ({columns}) ENGINE = MergeTree "
            f"PARTITION BY toYYYYMMDD({mart.event_time}) ORDER BY ({', '.join(mart.key)})"
        )
        body = "\n".join(json.dumps([_plain(value) for value in row]) for row in rows).encode()
        clickhouse.execute(f"INSERT INTO {clickhouse.database}.{mart.name} FORMAT JSONCompactEachRow", body)
        counts[mart.name] = len(rows)
    return counts


def baseline_rows(mart: Mart, base: BaseRows, day: date) -> list[Row]:
    """The rows that both targets hold before the refresh."""
    start = day_start(day)
    history = mart.rows(base, start - timedelta(days=BASELINE_DAYS), start)
    one_day = timedelta(days=1)
    seeded = [_seed(mart, mart.rows(base, start + n * one_day, start + (n + 1) * one_day)) for n in range(2)]
    return [*history, *seeded[0], *seeded[1]]


def _seed(mart: Mart, rows: list[Row]) -> list[Row]:
    """Of a day's true rows a third as they are, a third changed, a third absent; and a key that has no input."""
    ordered = sorted(rows, key=mart.key_of)
    kept = ordered[0::3]
    changed = [_changed(mart, row) for row in ordered[1::3]]
    return [*kept, *changed, *([_without_input(mart, ordered[0])] if ordered else [])]


def _replaced(mart: Mart, row: Row, **values: Any) -> Row:
    return tuple(values.get(name, value) for (name, _, _), value in zip(mart.columns, row, strict=True))


def _changed(mart: Mart, row: Row) -> Row:
    if mart.name == "flight_departure_event":
        return _replaced(
            mart, row, tail_number="unknown ", departure_delay_minutes=None, distance_km=Decimal("0.001")
        )
    return _replaced(mart, row, scheduled_departures=0, temperature_f=None)


def _without_input(mart: Mart, row: Row) -> Row:
    if mart.name == "flight_departure_event":
        return _replaced(mart, row, flight=MISSING_KEY_FLIGHT)
    return _replaced(mart, row, airport_id=MISSING_KEY_AIRPORT)


def _base_rows(days: list[date]) -> BaseRows:
    return {table.name: table.rows.to_pylist() for table in base_tables(days)}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return str(value) if isinstance(value, Decimal) else value
