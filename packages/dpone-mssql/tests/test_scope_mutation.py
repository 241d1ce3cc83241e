"""The fenced mutation on an engine: what it does, each gate that stops it, and what becomes of an attempt."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.descriptors import ActivationReceipt
from dpone_contracts.effects import Applied, Unknown
from dpone_contracts.errors import DponeError
from dpone_contracts.outcomes import BuildIdentity, ReceiptClaims, SqlOutcome, classify_sql
from dpone_contracts.ports.scope_mutation import Fate, SessionEvidence
from dpone_contracts.row_encoding import field_type, image_digest
from dpone_mssql import scope_mutation
from dpone_mssql.connection import Session, SqlServerConfig, SqlServerError
from dpone_mssql.gates import GATES
from dpone_mssql.image_reader import MAX_VALUE_BYTES, MssqlImageReader
from dpone_mssql.literals import local_name
from dpone_mssql.names import target_relation
from dpone_mssql.testing.refreshed import Refreshed, applied, refreshed

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.ports.scope_mutation import BuildEvidence
    from dpone_contracts.testing.plan_example import ExampleModel
    from dpone_mssql.control_schema import ControlNames

pytestmark = pytest.mark.engine

# The day before, a row to update, a row that the input lacks, and a row that stays the same.
FLIGHTS = (
    "('2026-08-07T23:59:59.999999', 1, 1, 1.50, N'BEFORE', 0), "
    "('2026-08-08T01:00:00', 1, 1, 1.50, N'abc', 0), "
    "('2026-08-08T02:00:00', 1, 2, NULL, N'MISSING', 1), "
    "('2026-08-08T03:00:00', 2, 3, -0.25, NULL, 0)"
)
COLUMNS = "[time_hour], [carrier_id], [flight], [dep_delay], [tail_number], [cancelled]"
MODEL = (
    f"SELECT {COLUMNS} FROM {{table}} WHERE [flight] = 3 "
    "UNION ALL SELECT [time_hour], [carrier_id], [flight], [dep_delay], CAST(N'ABC ' AS nvarchar(20)), [cancelled] "
    "FROM {table} WHERE [flight] = 1 "
    "UNION ALL SELECT CAST('2026-08-08T04:00:00' AS datetime2(6)), [carrier_id], CAST(4 AS int), "
    "CAST(7.25 AS decimal(9,2)), CAST(N'né|w' AS nvarchar(20)), [cancelled] FROM {table} WHERE [flight] = 3"
)


@pytest.fixture
def flights(
    installer: SqlServerConfig, runtime: SqlServerConfig, names: ControlNames, flight: ExampleModel
) -> Refreshed:
    return replace(refreshed(installer, names, (flight,), rows=FLIGHTS), config=runtime)


def model(found: Refreshed) -> str:
    return MODEL.format(table=found.table)


def refusal(gate: str, found: Refreshed, admitted: AdmittedOperation, model_sql: str) -> SqlServerError:
    """Run the batch; it must be stopped by this gate and leave target, images and receipt as they were."""
    before = found.sql(f"SELECT * FROM {found.table};")
    with pytest.raises(SqlServerError) as refused:
        found.run_batch(admitted, model_sql)
    assert (refused.value.number, refused.value.name) == (GATES[gate].number, GATES[gate].code)
    assert sorted(map(repr, found.sql(f"SELECT * FROM {found.table};"))) == sorted(map(repr, before))
    receipts = found.sql(
        f"SELECT COUNT(*) FROM [dpone_control].[build_receipts] AS r WHERE r.[attempt_binding_sha256] = "
        f"0x{admitted.attempt.digest[7:]};"
    )
    assert receipts == [(0,)]
    return refused.value


def outcome(found: Refreshed, admitted: AdmittedOperation, evidence: BuildEvidence) -> SqlOutcome:
    fork = ActivationReceipt.from_bytes(found.record().receipt).recovery_fork if evidence.reachable else ""
    attempt = admitted.attempt
    expected = BuildIdentity(found.plan.operation_id, attempt.digest, attempt.fencing_epoch, fork)
    claims = None
    if evidence.receipt is not None:
        receipt = ModelBuildReceipt.from_bytes(evidence.receipt)
        claims = ReceiptClaims(
            BuildIdentity(
                receipt.operation_id,
                receipt.attempt_binding_sha256,
                receipt.fencing_epoch,
                receipt.recovery_fork,
            ),
            receipt.before_image_row_count,
            receipt.before_image_sha256,
            receipt.after_image_row_count,
            receipt.after_image_sha256,
        )
    return classify_sql(evidence, expected, claims).outcome


def test_a_day_is_updated_and_inserted_and_nothing_else_is_touched(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    rows = sorted(flights.sql(f"SELECT {COLUMNS} FROM {flights.table};"))
    assert rows == [
        (dt.datetime(2026, 8, 7, 23, 59, 59, 999999), 1, 1, Decimal("1.50"), "BEFORE", False),
        (dt.datetime(2026, 8, 8, 1), 1, 1, Decimal("1.50"), "ABC ", False),
        (dt.datetime(2026, 8, 8, 2), 1, 2, None, "MISSING", True),
        (dt.datetime(2026, 8, 8, 3), 2, 3, Decimal("-0.25"), None, False),
        (dt.datetime(2026, 8, 8, 4), 2, 4, Decimal("7.25"), "né|w", False),
    ]
    evidence = flights.evidence(admitted)
    assert outcome(flights, admitted, evidence) is SqlOutcome.COMMITTED_WITH_IMAGES
    assert evidence.receipt is not None
    receipt = ModelBuildReceipt.from_bytes(evidence.receipt)
    assert (receipt.source_row_count, receipt.updated_row_count, receipt.inserted_row_count) == (3, 2, 1)
    assert (receipt.before_image_row_count, receipt.after_image_row_count) == (3, 4)
    types = [field_type(kind) for _, kind, _ in flights.models[0].columns]
    assert receipt.after_image_sha256 == image_digest(types, (0, 1, 2), rows[1:])
    assert evidence.after_image.content_sha256 == receipt.after_image_sha256
    assert flights.mutation.current_scope(flights.plan, flights.target) == (4, receipt.after_image_sha256)


@pytest.mark.parametrize("other", ["ABC", "abc ", "abc  ", "Abc"])
def test_text_of_another_case_or_with_trailing_blanks_is_another_value_everywhere(
    flights: Refreshed, other: str
) -> None:
    admitted = flights.started()
    changed = COLUMNS.replace("[tail_number]", f"CAST(N'{other}' AS nvarchar(20)) AS [tail_number]")
    flights.run_batch(admitted, f"SELECT {changed} FROM {flights.table} WHERE [tail_number] = N'abc'")
    stored = "[flight] = 1 AND [time_hour] >= '2026-08-08'"
    seen = flights.sql(f"SELECT CONVERT(varbinary(40), [tail_number]) FROM {flights.table} WHERE {stored};")
    assert [bytes(row[0]) for row in seen] == [other.encode("utf-16-le")]
    evidence = flights.evidence(admitted)
    assert evidence.receipt is not None
    receipt = ModelBuildReceipt.from_bytes(evidence.receipt)
    assert (receipt.updated_row_count, receipt.inserted_row_count) == (1, 0)
    # The images are told apart by their digests, and each is that of its own rows.
    assert receipt.before_image_sha256 != receipt.after_image_sha256
    types = [field_type(kind) for _, kind, _ in flights.models[0].columns]
    rows = flights.sql(f"SELECT {COLUMNS} FROM {flights.table} WHERE [time_hour] >= '2026-08-08';")
    assert image_digest(types, (0, 1, 2), rows) == receipt.after_image_sha256
    texts = [
        row["tail_number"]
        for batch in MssqlImageReader(flights.config).batches(
            flights.plan, flights.target, evidence.after_image.relation, 10
        )
        for row in batch.data.to_pylist()
    ]
    assert other in texts


def test_an_image_of_another_case_is_not_the_receipts(flights: Refreshed, installer: SqlServerConfig) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    after = local_name(flights.evidence(admitted).after_image.relation)
    change = f"UPDATE {after} SET [tail_number] = N'abc ' WHERE [tail_number] = N'ABC ';"
    with pytest.raises(SqlServerError) as refused:
        flights.sql(change)
    assert refused.value.number == 229
    replace(flights, config=installer).sql(change)
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.COMMIT_UNKNOWN


def test_the_64_mib_gate_binds_the_continuation_and_not_the_mutation(
    flights: Refreshed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scope_mutation.CONTINUATION_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(scope_mutation, "CONTINUATION_BYTES", 50)
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    evidence = flights.evidence(admitted)
    assert outcome(flights, admitted, evidence) is SqlOutcome.COMMITTED_WITH_IMAGES
    with pytest.raises(DponeError) as refused:
        flights.mutation.current_scope(flights.plan, flights.target)
    assert refused.value.code == "DPONE_CONTINUATION_TOO_LARGE"
    assert refused.value.evidence["limit_bytes"] == "50"


def test_keys_of_uniqueidentifier_and_long_text_reach_the_reference_digest(
    installer: SqlServerConfig, names: ControlNames, weather: ExampleModel
) -> None:
    found = refreshed(installer, names, (weather,))
    stations = [
        "ffffffff-0000-0000-0000-000000000001",
        "00000000-ffff-0000-0000-000000000002",
        "0a000000-0000-ffff-0000-000000000003",
    ]
    rows = [
        (
            dt.date(2026, 8, 8),
            UUID(station),
            f"a|b\n{'é' * 5000}{number}",
            bytes([0, number]),
            dt.date(1970, 1, 1),
        )
        for number, station in enumerate(stations)
    ] + [(dt.date(2026, 8, 8), UUID(int=9), None, None, None)]
    admitted = found.started()
    texts = " UNION ALL ".join(
        "SELECT CAST('2026-08-08' AS date) AS [day], "
        f"CAST('{station}' AS uniqueidentifier) AS [station], "
        + ("CAST(NULL AS nvarchar(max))" if note is None else f"CAST(N'{note}' AS nvarchar(max))")
        + " AS [note], "
        + ("CAST(NULL AS varbinary(10))" if raw is None else f"CAST(0x{raw.hex()} AS varbinary(10))")
        + " AS [raw], "
        + ("CAST(NULL AS date)" if seen is None else f"CAST('{seen}' AS date)")
        + " AS [seen_on]"
        for _, station, note, raw, seen in rows
    )
    found.run_batch(admitted, texts)
    evidence = found.evidence(admitted)
    types = [field_type(kind) for _, kind, _ in weather.columns]
    assert evidence.after_image.content_sha256 == image_digest(types, (0, 1), rows)
    batches = list(
        MssqlImageReader(found.config).batches(found.plan, found.target, evidence.after_image.relation, 3)
    )
    assert [(batch.first_row, batch.row_count) for batch in batches] == [(0, 3), (3, 1)]
    read = [row for batch in batches for row in batch.data.to_pylist()]
    assert [row["station"] for row in read] == sorted([*stations, str(UUID(int=9))])


def test_a_value_longer_than_the_reader_admits_is_an_error_and_never_cut(
    installer: SqlServerConfig, names: ControlNames, weather: ExampleModel
) -> None:
    found = refreshed(installer, names, (weather,))
    for number, length in enumerate((MAX_VALUE_BYTES // 2, MAX_VALUE_BYTES // 2 + 1), 1):
        found.sql(
            f"INSERT INTO {found.table} ([day], [station], [note]) VALUES ('2026-08-08', "
            f"'00000000-0000-0000-0000-00000000000{number}', REPLICATE(CAST(N'€' AS nvarchar(max)), {length}));"
        )
    reader, image = MssqlImageReader(found.config), target_relation(found.target)
    with pytest.raises(DponeError) as refused:
        [batch.row_count for batch in reader.batches(found.plan, found.target, image, 100)]
    assert refused.value.code == "DPONE_ROW_VALUE_REFUSED"
    found.sql(f"UPDATE {found.table} SET [note] = N'short' WHERE LEN([note]) > {MAX_VALUE_BYTES // 2};")
    read = [row for b in reader.batches(found.plan, found.target, image, 100) for row in b.data.to_pylist()]
    assert [row["note"] for row in read] == ["€" * (MAX_VALUE_BYTES // 2), "short"]


def test_text_at_full_width_is_read_whole(flights: Refreshed) -> None:
    widest = ["€" * 20, "\U0001f6eb" * 10, "z" * 20, " x ", ""]
    flights.sql(f"UPDATE {flights.table} SET [tail_number] = NULL;")
    for number, text in enumerate(widest):
        flights.sql(f"INSERT INTO {flights.table} VALUES ('2026-08-09', 1, {number}, NULL, N'{text}', 0);")
    reader, image = MssqlImageReader(flights.config), target_relation(flights.target)
    batches = list(reader.batches(flights.plan, flights.target, image, 100))
    read = [row["tail_number"] for batch in batches for row in batch.data.to_pylist()]
    assert read[-len(widest) :] == widest


def test_a_model_of_keys_alone_inserts_what_is_missing(
    installer: SqlServerConfig, names: ControlNames, keys_only: ExampleModel
) -> None:
    found = refreshed(installer, names, (keys_only,), rows="('2026-08-08', 1)")
    admitted = found.started()
    found.run_batch(
        admitted,
        f"SELECT [day], CAST([id] + d.[n] AS bigint) AS [id] FROM {found.table} CROSS JOIN (VALUES (0), (1)) AS d ([n])",
    )
    assert sorted(found.sql(f"SELECT [id] FROM {found.table};")) == [(1,), (2,)]


def test_an_empty_result_leaves_two_equal_images(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, f"SELECT {COLUMNS} FROM {flights.table} WHERE 1 = 0")
    evidence = flights.evidence(admitted)
    assert evidence.before_image.content_sha256 == evidence.after_image.content_sha256
    assert (evidence.before_image.row_count, evidence.after_image.row_count) == (3, 3)


def test_a_committed_mutation_is_reconciled_and_not_repeated(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    first = flights.evidence(admitted)
    flights.run_batch(admitted, f"SELECT {COLUMNS} FROM {flights.table} WHERE 1 = 0")
    assert flights.evidence(admitted) == first


def test_outside_of_a_transaction_nothing_happens(flights: Refreshed) -> None:
    admitted = flights.started()
    batch = flights.mutation.render(flights.plan, flights.target, admitted)
    with Session(flights.config) as session, pytest.raises(SqlServerError) as refused:
        session.rows(batch.sql)
    assert refused.value.number == GATES["no_transaction"].number


@pytest.mark.parametrize("lock", ["operation", "ddl-freeze"])
def test_a_lock_that_another_session_holds_stops_it(flights: Refreshed, lock: str) -> None:
    admitted = flights.started()
    resource = (
        f"dpone:operation:{flights.plan.operation_id[7:]}" if lock == "operation" else "dpone:ddl-freeze"
    )
    with Session(flights.config) as other:
        other.rows("BEGIN TRANSACTION;")
        other.rows(
            f"EXEC sys.sp_getapplock @Resource = N'{resource}', @LockMode = N'Exclusive', "
            "@LockOwner = N'Transaction', @LockTimeout = 0;"
        )
        refusal("lock", flights, admitted, model(flights))


def test_a_moved_ddl_epoch_stops_it(flights: Refreshed, installer: SqlServerConfig) -> None:
    admitted = flights.started()
    with Session(installer) as session:
        session.rows(f"CREATE INDEX [ix_late] ON {flights.table} ([flight]);")
    refusal("epoch", flights, admitted, model(flights))


def test_a_lost_fence_stops_it(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.sql(
        "UPDATE [dpone_control].[guards] SET [fencing_epoch] = [fencing_epoch] + 1 "
        f"WHERE [resource_id] = N'{admitted.guard_resource_id}';"
    )
    refusal("fence", flights, admitted, model(flights))


def test_absent_images_stop_it(flights: Refreshed) -> None:
    admitted = applied(flights.admit()).operations[0]
    refusal("image", flights, admitted, model(flights))


def test_an_image_with_rows_stops_it(flights: Refreshed) -> None:
    admitted = flights.started()
    after = local_name(flights.evidence(admitted).after_image.relation)
    flights.sql(f"INSERT INTO {after} SELECT {COLUMNS} FROM {flights.table};")
    refusal("image", flights, admitted, model(flights))


def test_a_tampered_image_is_no_evidence_and_stops_a_second_batch(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    evidence = flights.evidence(admitted)
    before = local_name(evidence.before_image.relation)
    flights.sql(f"INSERT INTO {before} VALUES ('2026-08-08T09:00:00', 1, 9, NULL, NULL, 0);")
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.COMMIT_UNKNOWN
    with pytest.raises(SqlServerError) as refused:
        flights.run_batch(admitted, model(flights))
    assert refused.value.number == GATES["image"].number


@pytest.mark.parametrize(
    ("column", "cast"),
    [
        ("[dep_delay]", "CAST([dep_delay] AS decimal(9,3))"),
        ("[dep_delay]", "CAST([dep_delay] AS decimal(10,2))"),
        ("[time_hour]", "CAST([time_hour] AS datetime2(5))"),
        ("[tail_number]", "CAST([tail_number] AS nvarchar(21))"),
        ("[carrier_id]", "CAST([carrier_id] AS int)"),
    ],
)
def test_another_type_in_the_temp_relation_stops_it(flights: Refreshed, column: str, cast: str) -> None:
    drifted = COLUMNS.replace(column, f"{cast} AS {column}")
    refusal("type", flights, flights.started(), f"SELECT {drifted} FROM {flights.table}")


def test_a_missing_or_additional_column_stops_it(flights: Refreshed) -> None:
    admitted = flights.started()
    refusal("type", flights, admitted, f"SELECT {COLUMNS.removesuffix(', [cancelled]')} FROM {flights.table}")
    refusal("type", flights, admitted, f"SELECT {COLUMNS}, [flight] AS [more] FROM {flights.table}")


@pytest.mark.parametrize("key", ["[carrier_id]", "[time_hour]"])
def test_a_null_in_a_key_stops_it(flights: Refreshed, key: str) -> None:
    kind = {"[carrier_id]": "smallint", "[time_hour]": "datetime2(6)"}[key]
    with_null = COLUMNS.replace(key, f"CAST(NULL AS {kind}) AS {key}")
    refusal("null_source", flights, flights.started(), f"SELECT {with_null} FROM {flights.table}")


def test_a_duplicate_key_in_the_source_stops_it_without_showing_a_value(flights: Refreshed) -> None:
    twice = f"SELECT {COLUMNS} FROM {flights.table} UNION ALL SELECT {COLUMNS} FROM {flights.table}"
    error = refusal("duplicate_source", flights, flights.started(), twice)
    assert "2026" not in str(error)


def test_a_duplicate_key_in_the_target_stops_it(flights: Refreshed) -> None:
    flights.sql(f"INSERT INTO {flights.table} VALUES ('2026-08-08T01:00:00', 1, 1, NULL, N'again', 1);")
    refusal(
        "duplicate_target", flights, flights.started(), f"SELECT {COLUMNS} FROM {flights.table} WHERE 1 = 0"
    )


@pytest.mark.parametrize("gate", ["domain_source", "domain_target"])
def test_a_date_that_clickhouse_cannot_hold_stops_it(
    installer: SqlServerConfig, names: ControlNames, weather: ExampleModel, gate: str
) -> None:
    early = "('2026-08-08', '00000000-0000-0000-0000-000000000001', NULL, NULL, '1969-12-31')"
    found = refreshed(installer, names, (weather,), rows=early if gate == "domain_target" else None)
    if gate == "domain_source":
        found.sql(f"INSERT INTO {found.table} VALUES {early.replace('2026-08-08', '2026-08-07')};")
    model_sql = (
        f"SELECT CAST('2026-08-08' AS date) AS [day], [station], [note], [raw], [seen_on] FROM {found.table}"
    )
    refusal(gate, found, found.started(), model_sql)


@pytest.mark.parametrize(
    ("gate", "limit", "most"),
    [
        ("source_budget", "max_source_scope_rows", 2),
        ("target_budget", "max_target_scope_rows", 2),
        ("temp_budget", "max_dbt_temp_rows", 3),
        ("temp_budget", "max_dbt_temp_bytes", 20),
        ("image_budget", "max_before_image_rows", 2),
        ("image_budget", "max_before_image_bytes", 20),
        ("image_budget", "max_after_image_rows", 3),
        ("image_budget", "max_after_image_bytes", 100),
        ("image_budget", "max_scope_image_total_bytes", 160),
    ],
)
def test_a_budget_stops_it(
    installer: SqlServerConfig, names: ControlNames, flight: ExampleModel, gate: str, limit: str, most: int
) -> None:
    found = refreshed(installer, names, (flight,), rows=FLIGHTS, limits={limit: most})
    refusal(gate, found, found.started(), model(found))


def test_other_session_options_stop_it(flights: Refreshed) -> None:
    admitted = flights.started()
    batch = flights.mutation.render(flights.plan, flights.target, admitted)
    with Session(flights.config) as session:
        session.rows("BEGIN TRANSACTION;")
        session.rows("SET IMPLICIT_TRANSACTIONS ON;")
        with pytest.raises(SqlServerError) as refused:
            session.rows(batch.sql)
    assert refused.value.number == GATES["session"].number


def test_a_rolled_back_mutation_leaves_nothing_and_is_proven_by_its_fate(flights: Refreshed) -> None:
    admitted = flights.started()
    before = flights.sql(f"SELECT * FROM {flights.table};")
    flights.run_batch(admitted, model(flights), commit=False)
    assert flights.sql(f"SELECT * FROM {flights.table};") == before
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.COMMIT_UNKNOWN
    assert flights.mutation.abandon(admitted) == Applied(Fate.ABANDONED)
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.ROLLED_BACK
    assert flights.mutation.abandon(admitted) == Applied(Fate.ABANDONED)


def test_an_attempt_without_intent_was_not_invoked(flights: Refreshed) -> None:
    admitted = applied(flights.admit()).operations[0]
    assert flights.mutation.abandon(admitted) == Applied(Fate.ABANDONED)
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.NOT_INVOKED


def test_an_abandoned_attempt_can_never_commit_later(flights: Refreshed) -> None:
    admitted = flights.started()
    assert flights.mutation.abandon(admitted) == Applied(Fate.ABANDONED)
    refusal("fate", flights, admitted, model(flights))


def test_a_running_mutation_is_unknown_until_it_has_ended(flights: Refreshed) -> None:
    admitted = flights.started()
    hasty = replace(flights, config=replace(flights.config, lock_timeout_ms=200))
    batch = flights.mutation.render(flights.plan, flights.target, admitted)
    with Session(flights.config) as session:
        session.rows("BEGIN TRANSACTION;")
        session.rows(f"SELECT * INTO {flights.temp} FROM ({model(flights)}) AS model_result;")
        session.rows(batch.sql)
        evidence = hasty.evidence(admitted)
        assert not evidence.reachable
        assert outcome(flights, admitted, evidence) is SqlOutcome.COMMIT_UNKNOWN
        quiescence = flights.state.guard_quiescence(flights.plan.operation_id)
        assert quiescence is None or quiescence == (1, False)
        assert isinstance(hasty.mutation.abandon(admitted), Unknown)
        session.rows("COMMIT TRANSACTION;")
    assert flights.mutation.abandon(admitted) == Applied(Fate.COMMITTED)
    assert flights.state.guard_quiescence(flights.plan.operation_id) == (0, True)
    flights.sql(f"DROP TABLE {flights.temp};")
    evidence = flights.evidence(admitted)
    assert evidence.sessions is SessionEvidence.GONE
    assert outcome(flights, admitted, evidence) is SqlOutcome.COMMITTED_WITH_IMAGES


def test_a_killed_client_leaves_nothing(flights: Refreshed) -> None:
    admitted = flights.started()
    before = flights.sql(f"SELECT * FROM {flights.table};")
    session = Session(flights.config)
    session.rows("BEGIN TRANSACTION;")
    session.rows(f"SELECT * INTO {flights.temp} FROM ({model(flights)}) AS model_result;")
    session.rows(flights.mutation.render(flights.plan, flights.target, admitted).sql)
    session.close()
    assert flights.mutation.abandon(admitted) == Applied(Fate.ABANDONED)
    assert flights.sql(f"SELECT * FROM {flights.table};") == before
    assert outcome(flights, admitted, flights.evidence(admitted)) is SqlOutcome.ROLLED_BACK


def test_another_attempt_does_not_take_over_a_receipt(flights: Refreshed) -> None:
    admitted = flights.started()
    flights.run_batch(admitted, model(flights))
    receipt, termination = flights.continuation(admitted)
    worker = flights.worker("run-1", try_number=2, pod_uid=receipt.pod_uid)
    continued = applied(flights.state.continue_attempt(receipt, termination, worker))
    refusal("receipt", flights, continued, model(flights))


def test_every_gate_has_a_test_that_names_it() -> None:
    here = Path(__file__)
    files = (here, here.with_name("test_mutation_gates.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert {gate for gate in GATES if f'"{gate}"' not in text} == set()
