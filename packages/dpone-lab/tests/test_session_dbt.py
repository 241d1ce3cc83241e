"""Real dbt against the endpoint: dbt-core and dbt-sqlserver unmodified, every statement they send is translated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyodbc

    from dpone_lab.sqlserver.server import Endpoint

    Sql = Callable[..., list[list[tuple[Any, ...]]]]
    Connect = Callable[..., pyodbc.Connection]

pytestmark = pytest.mark.engine

PROJECT = """
name: probe
version: "1.0"
config-version: 2
profile: probe
flags:
  dbt_sqlserver_use_dbt_transactions: true
  send_anonymous_usage_stats: false
"""
PROFILE = """
probe:
  target: lab
  outputs:
    lab:
      type: sqlserver
      driver: "{driver}"
      server: 127.0.0.1
      port: {port}
      database: lab
      schema: mart
      user: sa
      password: "{password}"
      encrypt: false
      trust_cert: true
      threads: 1
      retries: 0
"""
MODEL = """
{{ config(materialized='incremental', unique_key='id', incremental_strategy='append', as_columnstore=false,
          on_schema_change='fail') }}
select cast(id as bigint) as id, cast(name as nvarchar(50)) as name, cast(amount as decimal(18, 4)) as amount,
       cast(at as datetime2(6)) as at
from {{ source('raw', 'orders') }}
{% if is_incremental() %} where id > (select coalesce(max(id), 0) from {{ this }}) {% endif %}
"""
SCHEMA = """
version: 2
sources:
  - name: raw
    schema: raw
    tables: [{name: orders}]
models:
  - name: orders
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: bigint, data_tests: [not_null, unique]}
      - {name: name, data_type: nvarchar(50)}
      - {name: amount, data_type: "decimal(18,4)"}
      - {name: at, data_type: datetime2(6)}
unit_tests:
  - name: keeps_what_is_new
    model: orders
    overrides: {macros: {is_incremental: false}}
    given:
      - input: source('raw', 'orders')
        rows: [{id: 1, name: a, amount: 1.5, at: "2013-01-01 00:00:00"}]
    expect:
      rows: [{id: 1, name: a, amount: 1.5, at: "2013-01-01 00:00:00"}]
"""
TABLE = "(id bigint NOT NULL, name nvarchar(50) NULL, amount decimal(18, 4) NULL, at datetime2(6) NULL)"


@pytest.fixture
def written(tmp_path: Path, endpoint: Endpoint, password: str) -> Callable[[str], Path]:
    def write(library: str) -> Path:
        (tmp_path / "models").mkdir()
        (tmp_path / "dbt_project.yml").write_text(PROJECT)
        profile = PROFILE.format(driver=library, port=endpoint.port, password=password)
        (tmp_path / "profiles.yml").write_text(profile)
        (tmp_path / "models" / "orders.sql").write_text(MODEL)
        (tmp_path / "models" / "schema.yml").write_text(SCHEMA)
        return tmp_path

    return write


@pytest.fixture
def warehouse(connect: Connect, sql: Sql) -> pyodbc.Connection:
    db = connect()
    sql(db, "IF SCHEMA_ID(N'raw') IS NULL EXEC(N'CREATE SCHEMA raw')")
    sql(db, "IF SCHEMA_ID(N'mart') IS NULL EXEC(N'CREATE SCHEMA mart')")
    sql(
        db,
        f"DROP TABLE IF EXISTS raw.orders; DROP TABLE IF EXISTS mart.orders; CREATE TABLE raw.orders {TABLE}",
    )
    sql(db, f"CREATE TABLE mart.orders {TABLE}")
    sql(db, "INSERT raw.orders VALUES (1, N'a', 1.5, '2013-01-01T00:00:00.000001'), (2, N'b', NULL, NULL)")
    return db


@pytest.fixture
def recorded(endpoint: Endpoint, tmp_path: Path) -> Iterator[Path]:
    """Record every statement that clients send, with the errors they meet, while the test runs."""
    record = tmp_path / "statements.jsonl"
    endpoint.shared.record = record
    yield record
    endpoint.shared.record = None


def dbt(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "dbt"), *arguments, "--no-use-colors", "--no-version-check"]
    environment = {**os.environ, "DBT_PROFILES_DIR": str(project), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def refusals(record: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert sum(line["kind"] == "statement" for line in lines) > 20, "the record holds no run of dbt"
    return [line for line in lines if line["kind"] == "error"]


def test_an_incremental_model_with_its_tests_builds_on_an_existing_table(
    written: Callable[[str], Path], any_driver: str, warehouse: pyodbc.Connection, recorded: Path, sql: Sql
) -> None:
    project = written(any_driver)
    done = dbt(project, "build")
    assert done.returncode == 0, done.stdout
    assert sql(warehouse, "SELECT id, name FROM mart.orders ORDER BY id")[-1] == [(1, "a"), (2, "b")]
    sql(warehouse, "INSERT raw.orders VALUES (3, N'c', 2, NULL)")
    done = dbt(project, "run")
    assert done.returncode == 0, done.stdout
    assert sql(warehouse, "SELECT id FROM mart.orders ORDER BY id")[-1] == [(1,), (2,), (3,)]
    assert refusals(recorded) == []


def test_create_rename_and_drift_end_as_dbt_means_them(
    written: Callable[[str], Path], driver: str, warehouse: pyodbc.Connection, recorded: Path, sql: Sql
) -> None:
    project = written(driver)
    sql(warehouse, "DROP TABLE mart.orders")
    for arguments in (("run",), ("run", "--full-refresh")):
        done = dbt(project, *arguments)
        assert done.returncode == 0, done.stdout
        assert sql(warehouse, "SELECT id FROM mart.orders ORDER BY id")[-1] == [(1,), (2,)]
    assert refusals(recorded) == []
    sql(warehouse, "ALTER TABLE mart.orders ADD extra int NULL; INSERT raw.orders VALUES (3, N'c', 2, NULL)")
    assert dbt(project, "run").returncode == 1
    assert sql(warehouse, "SELECT id FROM mart.orders ORDER BY id")[-1] == [(1,), (2,)]
