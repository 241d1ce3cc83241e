"""Measures the scope mutation over a large day: time by step inside its transaction, and the memory on our side.

A day of `--rows` rows of twenty columns stands in the target; the model gives every second of them a new value and
adds one in ten. The batch is the one that dbt would run, with a clock between its steps. Then the after image is read
as Arrow batches, as the seal reads it. The engine is DPONE_MSSQL_DSN's, or the lab's endpoint: its times say nothing
about SQL Server, the memory of this process is what a worker would need.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpone_contracts.effects import Applied
from dpone_contracts.errors import DponeError
from dpone_contracts.testing.plan_example import ExampleModel
from dpone_mssql.connection import Session, SqlServerConfig
from dpone_mssql.control_schema import ControlNames, install
from dpone_mssql.image_reader import MssqlImageReader
from dpone_mssql.literals import local_name
from dpone_mssql.testing.refreshed import refreshed
from measurements import keep_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_mssql.testing.refreshed import Refreshed

ROWS_PER_BATCH = 65_536
DAY = ExampleModel(
    "big_day",
    (
        ("at", "datetime2(6)", False),
        ("id", "bigint", False),
        *((f"small_{number}", "smallint", True) for number in range(4)),
        *((f"whole_{number}", "int", False) for number in range(4)),
        *((f"money_{number}", "decimal(18,4)", True) for number in range(4)),
        *((f"name_{number}", "nvarchar(20)", True) for number in range(4)),
        *((f"flag_{number}", "bit", False) for number in range(2)),
    ),
    ("at", "id"),
)
# What stands at the beginning of a step of the batch and nowhere else in it.
STEPS = {
    "session, locks, fences": "SET NOCOUNT ON;",
    "types": "-- Exact types, not a successful INSERT",
    "lock and gates of the target": "-- The first touch of the target",
    "before image": "INSERT INTO {before} WITH (TABLOCK)",
    "source and its gates": "-- The model's whole result, counted",
    "index of the source": "CREATE UNIQUE CLUSTERED INDEX [ix_dpone_scope]",
    "update": "-- Every matched row is written",
    "insert": "INSERT INTO {target} (",
    "gates of the result": "IF @updated_rows + @inserted_rows <> @source_rows",
    "every row compared": "-- Each source row stands in the target",
    "after image": "INSERT INTO {after} WITH (TABLOCK)",
    "digests of both images": "IF @image_rows <> @result_rows",
    "log budget and receipt": "-- What the transaction has logged so far",
}


def values(number: str) -> str:
    """The row of a number, as T-SQL expressions."""
    return ", ".join(
        [
            f"CAST(DATEADD(microsecond, {number} % 86400 * 1000, CAST('2026-08-08' AS datetime2(6))) AS datetime2(6))",
            f"CAST({number} AS bigint)",
            *(f"CAST({number} % {900 + n} AS smallint)" for n in range(4)),
            *(f"CAST({number} % {90_000 + n} AS int)" for n in range(4)),
            *(f"CAST({number} % {70_000 + n} AS decimal(18,4))" for n in range(4)),
            *(f"CAST(CONCAT(N'name ', {number} % {5_000 + n}) AS nvarchar(20))" for n in range(4)),
            *(f"CAST({number} % 2 AS bit)" for _ in range(2)),
        ]
    )


@contextmanager
def engine() -> Iterator[str]:
    """The connection string of a real server, or of an endpoint that lives as long as the block."""
    given = os.environ.get("DPONE_MSSQL_DSN")
    if given:
        yield given
        return
    from dpone_lab.odbc import find_driver  # noqa: PLC0415 - only where the lab is used

    with tempfile.TemporaryDirectory(prefix="dpone-bench-") as folder:
        Path(folder).chmod(0o711)
        password = secrets.token_hex(12)
        Path(folder, "password").write_text(password)
        command = [sys.executable, "-m", "dpone_lab.sqlserver", "--data", f"{folder}/data"]
        command += ["--password-file", f"{folder}/password", "--log", f"{folder}/log"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as endpoint:
            assert endpoint.stdout is not None
            port = json.loads(endpoint.stdout.readline())["port"]
            yield (
                f"DRIVER={{{find_driver(None)}}};SERVER=127.0.0.1,{port};PORT={port};DATABASE=lab;UID=sa;"
                f"PWD={password};Encrypt=no;TDS_Version=7.4"
            )
            endpoint.terminate()


def fill(found: Refreshed, rows: int) -> None:
    """Write the day into the target, below any gate."""
    name = found.models[0].name
    digits = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
    with Session(found.config) as session:
        session.rows(f"CREATE TABLE [mart].[numbers_{name}] ([n] bigint NOT NULL);")
        wide = " CROSS JOIN ".join(f"{digits} AS d{n} ([n])" for n in range(7))
        number = " + ".join(f"CAST(d{n}.[n] AS bigint) * {10**n}" for n in range(7))
        session.rows(
            f"INSERT INTO [mart].[numbers_{name}] SELECT {number} FROM {wide} WHERE {number} < {rows * 11 // 10};"
        )
        session.rows(
            f"INSERT INTO {found.table} SELECT {values('q.[n]')} FROM [mart].[numbers_{name}] AS q WHERE q.[n] < {rows};"
        )


def clocked(found: Refreshed, sql: str, before: str, after: str) -> str:
    """The batch with a clock between its steps."""
    table = f"[mart].[clock_{found.models[0].name}]"
    for number, (name, marker) in enumerate(STEPS.items()):
        place = marker.format(before=before, after=after, target=found.table)
        if sql.count(place) != 1:
            raise SystemExit(f"step {name!r} does not begin once with {place!r}")
        tick = f"INSERT INTO {table} ([step], [at]) VALUES ({number}, SYSUTCDATETIME());\n"
        # The first step of all must stay before the clock: it proves the transaction.
        sql = sql.replace(place, f"{place}\n{tick}" if number == 0 else f"{tick}{place}")
    return sql


def measure(rows: int) -> dict[str, Any]:
    """One large day through the mutation and its images."""
    with engine() as connection_string:
        config = SqlServerConfig(connection_string, 60, 600_000, 7_200)
        names = ControlNames()
        assert isinstance(install(config, names), Applied)
        limits = {"max_statement_seconds": 7_200, "max_mssql_scope_lock_seconds": 3_600}
        found = refreshed(config, names, (DAY,), limits=limits)
        fill(found, rows)
        admitted = found.started()
        evidence = found.evidence(admitted)
        before, after = local_name(evidence.before_image.relation), local_name(evidence.after_image.relation)
        batch = found.mutation.render(found.plan, found.target, admitted).sql
        sql = clocked(found, batch, before, after)
        name = found.models[0].name
        columns = ", ".join(f"[{column}]" for column, _, _ in found.models[0].columns)
        model = f"SELECT {columns} FROM (SELECT {values('q.[n]')} FROM [mart].[numbers_{name}] AS q) AS r ({columns})"
        found.sql(f"CREATE TABLE [mart].[clock_{name}] ([step] int NOT NULL, [at] datetime2(6) NOT NULL);")
        idle = peak_bytes()
        seconds: dict[str, float] = {}
        with Session(config) as session:
            session.rows("BEGIN TRANSACTION;")
            with timed(seconds, "model into the temp relation"):
                session.rows(f"SELECT * INTO {found.temp} FROM ({model}) AS model_result;")
            with timed(seconds, "the batch"):
                session.rows(sql)
            with timed(seconds, "commit"):
                session.rows("COMMIT TRANSACTION;")
        found.sql(f"DROP TABLE {found.temp};")
        ticks = found.sql(f"SELECT [at] FROM [mart].[clock_{name}] ORDER BY [step];")
        steps = {
            step: (later[0] - earlier[0]).total_seconds()
            for step, earlier, later in zip(list(STEPS)[:-1], ticks, ticks[1:], strict=False)
        }
        with timed(seconds, "evidence, both digests anew"):
            evidence = found.evidence(admitted)
        read, batches = 0, 0
        with timed(seconds, "after image to Arrow batches"):
            reader = MssqlImageReader(config)
            for piece in reader.batches(
                found.plan, found.target, evidence.after_image.relation, ROWS_PER_BATCH
            ):
                read, batches = read + piece.row_count, batches + 1
        assert evidence.receipt is not None
        assert read == evidence.after_image.row_count == rows * 11 // 10
        return {
            "name": "mutation_large_day",
            "rows": rows,
            "columns": len(DAY.columns),
            "image_rows": {"before": evidence.before_image.row_count, "after": read},
            "engine": "DPONE_MSSQL_DSN" if os.environ.get("DPONE_MSSQL_DSN") else "lab",
            "seconds": {key: round(value, 2) for key, value in seconds.items()},
            "seconds_by_step": {key: round(value, 2) for key, value in steps.items()},
            "continuation": continuation(found),
            "our_peak_bytes": {"before": idle, "after": peak_bytes(), "batches": batches},
        }


def continuation(found: Refreshed) -> str:
    """What a continuation says of a scope of this size: the hard gate binds it, and it alone."""
    try:
        found.mutation.current_scope(found.plan, found.target)
    except DponeError as error:
        return error.code
    return "admitted"


def peak_bytes() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note how long a block took."""
    begun = time.monotonic()
    yield
    seconds[name] = time.monotonic() - begun
    print(f"{seconds[name]:8.1f} s  {name}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    found = measure(parser.parse_args().rows)
    print(json.dumps(found, indent=2))
    keep_steps("mutation_large_day", found)


if __name__ == "__main__":
    main()
