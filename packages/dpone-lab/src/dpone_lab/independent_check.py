"""The lab's independent check: both databases against what the day must have become, row by row.

It imports nothing of the product: it speaks ODBC and HTTP by itself, and computes what the published tables
must hold from the base tables and from its own snapshot of the tables before the run.
"""

from __future__ import annotations

import base64
import json
import urllib.parse
import urllib.request
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import pyodbc

from dpone_lab.expected import MARTS, BaseRows, Mart, Row

Multiset: TypeAlias = "Counter[Row]"


@dataclass(frozen=True)
class Engines:
    """How to reach both databases: an ODBC connection string; a ClickHouse URL with its login."""

    odbc: str
    sql_schema: str
    clickhouse_url: str
    clickhouse_user: str
    clickhouse_password: str
    clickhouse_database: str


@dataclass(frozen=True)
class Snapshot:
    """All rows of both tables of every sample model at one moment."""

    sql: dict[str, Multiset]
    clickhouse: dict[str, Multiset]


def _sql_rows(connection: pyodbc.Connection, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute(statement).fetchall()]


def _names(mart: Mart) -> list[str]:
    return [name for name, _, _ in mart.columns]


def _clickhouse_value(text: str | None, declared: str) -> Any:
    """A value of ClickHouse's own text, as the Python value that the driver gives for SQL Server's."""
    if text is None:
        return None
    kind = declared.removeprefix("Nullable(")
    if kind.startswith("DateTime64"):
        return datetime.fromisoformat(text)
    if kind.startswith("Decimal"):
        return Decimal(text)
    if kind.startswith("Bool"):
        return text == "true"
    return text if kind.startswith("String") else int(text)


def _clickhouse_rows(engines: Engines, mart: Mart) -> list[Row]:
    columns = ", ".join(f"toString(`{name}`)" for name in _names(mart))
    query = f"SELECT {columns} FROM `{engines.clickhouse_database}`.`{mart.name}` FORMAT JSONCompactEachRow"
    request = urllib.request.Request(  # noqa: S310 - the lab's own loopback address
        f"{engines.clickhouse_url}/?{urllib.parse.urlencode({'output_format_json_quote_64bit_integers': '0'})}",
        data=query.encode(),
    )
    login = f"{engines.clickhouse_user}:{engines.clickhouse_password}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(login).decode()}")
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        lines = answer.read().decode().splitlines()
    kinds = [declared for _, _, declared in mart.columns]
    return [
        tuple(_clickhouse_value(text, kind) for text, kind in zip(json.loads(line), kinds, strict=True))
        for line in lines
    ]


def take_snapshot(engines: Engines) -> Snapshot:
    """Read every row of every sample model from both databases."""
    with pyodbc.connect(engines.odbc, autocommit=True) as connection:
        sql = {
            mart.name: Counter(
                _sql_rows(
                    connection, f"SELECT {', '.join(_names(mart))} FROM {engines.sql_schema}.{mart.name}"
                )
            )
            for mart in MARTS
        }
    return Snapshot(sql, {mart.name: Counter(_clickhouse_rows(engines, mart)) for mart in MARTS})


def read_base(engines: Engines, start: datetime, end: datetime) -> BaseRows:
    """The base tables as dictionaries by column; flights and weather of [start, end) only."""
    scope = f"WHERE time_hour >= '{start:%Y-%m-%dT%H:%M:%S}' AND time_hour < '{end:%Y-%m-%dT%H:%M:%S}'"
    base: dict[str, list[dict[str, Any]]] = {}
    with pyodbc.connect(engines.odbc, autocommit=True) as connection:
        for name in ("carriers", "airports", "weather", "flights"):
            cursor = connection.execute(
                f"SELECT * FROM raw.{name} {scope if name in {'weather', 'flights'} else ''}"
            )
            columns = [column[0] for column in cursor.description]
            base[name] = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    return base


def successor_rows(
    mart: Mart, old: Multiset, source: list[Row], scope: tuple[datetime, datetime]
) -> Multiset:
    """What a table that holds `old` must hold once the scope [start, end) was refreshed from `source`."""
    start, end = scope
    event = _names(mart).index(mart.event_time)
    new_by_key = {mart.key_of(row): row for row in source}
    outside = Counter({row: count for row, count in old.items() if not start <= row[event] < end})
    kept = [row for row in old if start <= row[event] < end and mart.key_of(row) not in new_by_key]
    return outside + Counter(kept) + Counter(new_by_key.values())


def _mart_report(
    mart: Mart, before: Snapshot, after: Snapshot, source: list[Row], scope: tuple[datetime, datetime]
) -> dict[str, Any]:
    start, end = scope
    event = _names(mart).index(mart.event_time)
    old = before.sql[mart.name]
    new_by_key = {mart.key_of(row): row for row in source}
    in_scope = {mart.key_of(row): row for row in old if start <= row[event] < end}
    outside = sum(count for row, count in old.items() if not start <= row[event] < end)
    must_be = successor_rows(mart, old, source, scope)
    reports = {}
    for engine, tables in (("sql_server", after.sql), ("clickhouse", after.clickhouse)):
        there = tables[mart.name]
        reports[engine] = {
            "rows": there.total(),
            "missing": (must_be - there).total(),
            "unexpected": (there - must_be).total(),
        }
    return {
        "model": mart.name,
        "source_rows": len(source),
        "updated": sum(1 for key, row in in_scope.items() if key in new_by_key and new_by_key[key] != row),
        "unchanged_in_scope": sum(1 for key, row in in_scope.items() if new_by_key.get(key) == row),
        "kept_without_input": len(in_scope.keys() - new_by_key.keys()),
        "inserted": len(new_by_key.keys() - in_scope.keys()),
        "outside_scope": outside,
        "source_keys_unique": len(new_by_key) == len(source),
        "engines_agree_before": old == before.clickhouse[mart.name],
        "engines": reports,
    }


def judge(before: Snapshot, after: Snapshot, base: BaseRows, day: datetime) -> dict[str, Any]:
    """What two snapshots and the base tables of a UTC day say: the report and its verdict; nothing is read here.

    The verdict is true only when no row is missing or unexpected in either database.
    """
    scope = (day, day + timedelta(days=1))
    models = [_mart_report(mart, before, after, mart.rows(base, *scope), scope) for mart in MARTS]
    clean = all(
        report["source_keys_unique"]
        and report["engines_agree_before"]
        and all(engine["missing"] == 0 and engine["unexpected"] == 0 for engine in report["engines"].values())
        for report in models
    )
    return {"day": f"{day:%Y-%m-%d}", "models": models, "verdict": clean}


def compare(engines: Engines, before: Snapshot, day: datetime) -> dict[str, Any]:
    """Read both databases now, and judge what `before` and the base tables of the UTC day demand of them."""
    return judge(before, take_snapshot(engines), read_base(engines, day, day + timedelta(days=1)), day)
