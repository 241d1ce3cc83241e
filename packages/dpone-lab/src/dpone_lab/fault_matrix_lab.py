"""The lab under the fault matrix: one deployed day, kept as templates, put back exactly before every case."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import uuid
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyodbc

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.refresh_state import WorkerIdentity
from dpone_dbt_proof.model_build import DbtModelBuild
from dpone_lab.composition import lab_services
from dpone_lab.deployment import Deployment, deploy
from dpone_lab.expected import MART_SCHEMA, MARTS
from dpone_lab.fault_matrix_check import Standing
from dpone_lab.fault_matrix_control import Control, read_operations
from dpone_lab.faults import WorkerKilled
from dpone_lab.fixture import day_start
from dpone_lab.flights import RAW_SCHEMA
from dpone_lab.independent_check import Multiset, read_base, successor_rows, take_snapshot
from dpone_lab.platform import KILLED, PodRecord, PodRegistry
from dpone_lab.prepared_dbt import PreparedDbt
from dpone_lab.profile import (
    CLICKHOUSE_VARIABLE,
    DATABASE,
    MSSQL_VARIABLE,
    STORE_VARIABLE,
    running_lab,
    stop_processes,
)
from dpone_lab.sqlserver.cluster import Cluster
from dpone_lab.sqlserver.server import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from datetime import date

    from dpone.application.services import Services
    from dpone_contracts.ports.progress import Progress
    from dpone_lab.profile import LabProfile

TASK_ID: Final = "semantic_refresh__dbt_build_test"
OWNER_ID: Final = "dpone-lab/worker"
_KEPT_FOLDERS: Final = ("objects", "pods", "attestations")


@dataclass(frozen=True)
class Until:
    """Progress that ends the process where a stage first begins."""

    stage_name: str

    def stage(self, name: str, model_unique_id: str | None, state: str) -> None:  # noqa: ARG002 - the port's
        """Raise at the stage."""
        if name == self.stage_name:
            raise WorkerKilled


class NotRestoredError(Exception):
    """An engine could not be put back to the template: no later case would mean anything."""


@dataclass(frozen=True, slots=True)
class Table:
    """A ClickHouse table: its name, its UUID, its active parts as (name, rows, content hash)."""

    name: str
    uuid: str
    parts: tuple[tuple[str, int, str], ...]


@dataclass
class FaultLab:
    """A running lab whose SQL Server endpoint lives in this process, so that it can be broken on the wire and put back.

    `deployment_id` and `plan_bundle_sha256` name the activated day. Templates are directories by name.
    """

    profile: LabProfile
    deployment: Deployment
    day: date
    deployment_id: str
    plan_bundle_sha256: str
    endpoint: Endpoint
    predecessor: dict[str, Multiset]
    successor: dict[str, Multiset]
    dbt: PreparedDbt
    pods: dict[int, str] = field(default_factory=dict)
    templates: dict[str, tuple[Table, ...]] = field(default_factory=dict)
    _seen: dict[tuple[str, str, str], str] = field(default_factory=dict)
    _digests: dict[Table, str] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        """The lab's directory."""
        return Path(self.profile.directory)

    # --- tries --------------------------------------------------------------------------------------------------

    def services(self, progress: Progress) -> Services:
        """The product's services as a worker process builds them; dbt comes from the prepared process."""
        services = lab_services(self.deployment.settings, progress)
        assert isinstance(services.build, DbtModelBuild), "the product builds with dbt"
        return replace(services, build=services.build.started_by(self.dbt.start))

    def worker(self, number: int) -> WorkerIdentity:
        """The n-th try of the one DagRun, in a pod of its own."""
        pod = self.pods.setdefault(number, str(uuid.uuid4()))
        return WorkerIdentity(self.dag_run_id, TASK_ID, number, pod, OWNER_ID)

    @property
    def dag_run_id(self) -> str:
        """The DagRun that all tries belong to."""
        return f"manual__{self.day}T00:00:00+00:00"

    def end(self, worker: WorkerIdentity) -> None:
        """Record that the worker's process was killed and reaped."""
        at = "2026-01-01T00:00:00.000000Z"
        record = PodRecord(worker.pod_uid, 1, worker.task_id, worker.try_number, at, KILLED, at)
        PodRegistry(self.deployment.settings.pods).write(record)

    def stop(self) -> None:
        """End the endpoint that serves now."""
        self.endpoint.stop()

    # --- templates ----------------------------------------------------------------------------------------------

    def keep(self, name: str) -> None:
        """Keep everything as it is now under a template's name."""
        self.endpoint.stop()
        self.templates[name] = self.clickhouse_tables()
        template = self.directory / "templates" / name
        shutil.rmtree(template, ignore_errors=True)
        template.mkdir(parents=True)
        _copy(self._cluster, template / "postgres")
        for folder in _KEPT_FOLDERS:
            if (self.directory / folder).exists():
                _copy(self.directory / folder, template / folder)
        self._start()

    def holds(self, name: str) -> bool:
        """Whether a template is there, and every ClickHouse table of it still is."""
        there = {table.uuid for table in self.clickhouse_tables()}
        return name in self.templates and {table.uuid for table in self.templates[name]} <= there

    def put_back(self, name: str) -> None:
        """Restore a template: SQL Server's files, objects, pods, and ClickHouse's tables by exact UUID and parts."""
        self.endpoint.stop()
        template = self.directory / "templates" / name
        for folder, kept in (("mssql/data/postgres", "postgres"), *((each, each) for each in _KEPT_FOLDERS)):
            if (template / kept).exists():
                mirror(template / kept, self.directory / folder)
            else:
                shutil.rmtree(self.directory / folder, ignore_errors=True)
        (self.directory / "objects").mkdir(exist_ok=True)
        self._put_back_clickhouse(self.templates[name])
        self._start()
        self.pods = {number: pod for number, pod in self.pods.items() if number == 1}

    @property
    def _cluster(self) -> Path:
        return self.directory / "mssql" / "data" / "postgres"

    def _start(self) -> None:
        old = self.endpoint
        fresh = Endpoint(
            self.directory / "mssql" / "data", _password(self.directory), database=DATABASE, port=old.port
        )
        fresh.faults = old.faults
        fresh.start()
        self.endpoint = fresh

    def _put_back_clickhouse(self, wanted: tuple[Table, ...]) -> None:
        """Give every table of the template its name again, by UUID, and drop all others."""
        execute, database = self.deployment.clickhouse.execute, self.deployment.clickhouse.database
        names = {table.uuid: table.name for table in wanted}
        there = {table.uuid: table.name for table in self.clickhouse_tables()}
        if not names.keys() <= there.keys():
            raise NotRestoredError("a table of the template is gone")
        moved = [table for table, name in there.items() if names.get(table, name) != name]
        for table in moved:
            execute(f"RENAME TABLE {database}.`{there[table]}` TO {database}.`moved_{table}`")
        for table in there.keys() - names.keys():
            execute(f"DROP TABLE {database}.`{there[table]}` SYNC")
        for table in moved:
            execute(f"RENAME TABLE {database}.`moved_{table}` TO {database}.`{names[table]}`")
        if self.clickhouse_tables() != wanted:
            raise NotRestoredError("ClickHouse's tables are not the template's")

    # --- looking from outside -----------------------------------------------------------------------------------

    def clickhouse_tables(self) -> tuple[Table, ...]:
        """Every table of the published database, by name."""
        return read_tables(self.deployment)

    def standing(self) -> Standing:
        """Both engines and the object store, past the product."""
        tables = {table.name: table for table in self.clickhouse_tables()}
        names = {name: table.uuid for name, table in tables.items()}
        with closing(pyodbc.connect(self.profile.mssql_dsn, autocommit=True)) as connection:
            control = Control.read(connection, self.plan_bundle_sha256)
        models = tuple(
            control.model(
                mart.name,
                sql=self._whose("sql", mart.name, self.sql_digest(MART_SCHEMA, mart.name)),
                clickhouse=self._whose(
                    "clickhouse", mart.name, self._clickhouse_digest(tables.get(mart.name))
                ),
                uuids=names,
            )
            for mart in MARTS
        )
        return Standing(models, control.summary, _objects(self.directory / "objects"))

    def operations(self) -> dict[str, str]:
        """The day's operations in hex, by table name."""
        with closing(pyodbc.connect(self.profile.mssql_dsn, autocommit=True)) as connection:
            return read_operations(connection, self.plan_bundle_sha256)

    def sql_digest(self, schema: str, table: str) -> str:
        """A digest of all rows of a table, read from the engine below the endpoint."""
        with self.endpoint.cluster.connect() as connection:
            found = connection.execute(
                f'SELECT md5(string_agg(r::text, E\'\n\' ORDER BY r::text)) FROM "{schema}"."{table}" AS r'.encode()
            ).fetchone()
        return str(found)

    def _clickhouse_digest(self, table: Table | None) -> str:
        """A digest of all rows of a target, computed by the server once for a UUID and its parts."""
        if table is None:
            return "absent"
        if table not in self._digests:
            self._digests[table] = self.deployment.clickhouse.execute(
                "SELECT count(), hex(SHA256(arrayStringConcat(arraySort(groupArray(toString(tuple(*)))), '\\n')))"
                f" FROM {self.deployment.clickhouse.database}.`{table.name}`"
            )
        return self._digests[table]

    def _whose(self, engine: str, name: str, content: str) -> str:
        """Whose rows a table holds; a content, known by the digest of all rows, is compared once."""
        key = (engine, name, content)
        if key not in self._seen:
            snapshot = take_snapshot(self.deployment.engines())
            rows = (snapshot.sql if engine == "sql" else snapshot.clickhouse)[name]
            match rows == self.predecessor[name], rows == self.successor[name]:
                case True, True:
                    self._seen[key] = "both"
                case True, False:
                    self._seen[key] = "predecessor"
                case False, True:
                    self._seen[key] = "successor"
                case _:
                    self._seen[key] = "neither"
        return self._seen[key]


@contextmanager
def fault_lab(
    parent: Path, day: date, step: Callable[[str], AbstractContextManager[None]]
) -> Iterator[FaultLab]:
    """Start a lab, deploy the sample, activate the day, and take the SQL Server endpoint into this process.

    Raises `DponeError` where a variable puts a real engine in place of the lab's: nobody's real tables are put back.
    """
    real = [name for name in (MSSQL_VARIABLE, CLICKHOUSE_VARIABLE, STORE_VARIABLE) if os.environ.get(name)]
    if real:
        raise DponeError("DPONE_USAGE", f"only the lab's own engines are broken: unset {', '.join(real)}")
    with ExitStack() as stack:
        with step("start the engines"):
            profile = stack.enter_context(running_lab(parent / "lab"))
        deployment = deploy(profile, day, step)
        _keep_only_near(Path(profile.directory), day)
        with step(f"activate {day}"):
            deployment_id, plan = deployment.activate(day)
        engines = deployment.engines()
        before = take_snapshot(engines)
        scope = (day_start(day), day_start(day) + timedelta(days=1))
        base = read_base(engines, *scope)
        lab = FaultLab(
            profile=profile,
            deployment=deployment,
            day=day,
            deployment_id=deployment_id,
            plan_bundle_sha256=plan,
            endpoint=_adopt_endpoint(profile),
            dbt=stack.enter_context(PreparedDbt()),
            predecessor=before.sql,
            successor={
                mart.name: successor_rows(mart, before.sql[mart.name], mart.rows(base, *scope), scope)
                for mart in MARTS
            },
        )
        stack.callback(lab.stop)
        yield lab


def _keep_only_near(directory: Path, day: date) -> None:
    """Take base rows far from the day away, below the endpoint: models scan all of them, and the judge none."""
    near = f"time_hour >= '{day_start(day, -1)}' AND time_hour < '{day_start(day, 2)}'"
    with Cluster(directory / "mssql" / "data", DATABASE).connect() as connection:
        for table in ("flights", "weather"):
            connection.execute(f"DELETE FROM {RAW_SCHEMA}.{table} WHERE NOT ({near})".encode())
            connection.execute(f"VACUUM FULL {RAW_SCHEMA}.{table}".encode())


def read_tables(deployment: Deployment) -> tuple[Table, ...]:
    """Every table of the published database with its active parts."""
    execute, database = deployment.clickhouse.execute, deployment.clickhouse.database
    tables = execute(
        f"SELECT name, toString(uuid) FROM system.tables WHERE database = '{database}' ORDER BY name"
        " FORMAT JSONCompactEachRow"
    )
    parts = execute(
        "SELECT table, name, toString(rows), hash_of_all_files FROM system.parts"
        f" WHERE active AND database = '{database}' ORDER BY table, name FORMAT JSONCompactEachRow"
    )
    by_table: dict[str, list[tuple[str, int, str]]] = {}
    for table, name, rows, content in map(json.loads, parts.splitlines()):
        by_table.setdefault(table, []).append((name, int(rows), content))
    return tuple(
        Table(name, found, tuple(by_table.get(name, ())))
        for name, found in map(json.loads, tables.splitlines())
    )


def _adopt_endpoint(profile: LabProfile) -> Endpoint:
    """End the endpoint's own process, and serve the same directory on the same port from here."""
    process = next(each for each in profile.processes if each.name == "SQL Server endpoint")
    stop_processes([process])
    port = int(profile.mssql_dsn.split(";PORT=", 1)[1].split(";", 1)[0])
    directory = Path(profile.directory)
    endpoint = Endpoint(directory / "mssql" / "data", _password(directory), database=DATABASE, port=port)
    endpoint.start()
    return endpoint


def _password(directory: Path) -> str:
    return (directory / "mssql" / "password").read_text().strip()


def _copy(source: Path, target: Path) -> None:
    """Copy a directory with owners and times: PostgreSQL refuses files of another account."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)  # noqa: S607


def mirror(source: Path, target: Path) -> None:
    """Make `target` what `_copy` of `source` would be, writing only what differs in size, time or kind.

    Whatever was written since has another time: copies carry the template's, which is long past.
    """
    _mirror_entry(source, target)
    wanted = {each.name: each for each in os.scandir(source)}
    for there in list(os.scandir(target)):
        if there.name not in wanted or wanted[there.name].is_dir() != there.is_dir():
            shutil.rmtree(there.path) if there.is_dir(follow_symlinks=False) else Path(there.path).unlink()
    for name, entry in wanted.items():
        if entry.is_dir(follow_symlinks=False):
            mirror(source / name, target / name)
        else:
            _mirror_entry(source / name, target / name)


def _mirror_entry(source: Path, target: Path) -> None:
    want = source.stat(follow_symlinks=False)
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif target.exists():
        have = target.stat(follow_symlinks=False)
        if (want.st_size, want.st_mtime_ns) == (have.st_size, have.st_mtime_ns):
            return
    if not source.is_dir():
        shutil.copy2(source, target, follow_symlinks=False)
    os.chown(target, want.st_uid, want.st_gid, follow_symlinks=False)
    shutil.copystat(source, target, follow_symlinks=False)


def _objects(root: Path) -> tuple[tuple[str, str], ...]:
    return tuple(
        sorted(
            (str(path.relative_to(root)), hashlib.sha256(path.read_bytes()).hexdigest())
            for path in root.rglob("*.object")
        )
    )
