from __future__ import annotations

import pytest

from dpone_contracts import standalone_verify
from dpone_contracts.effective_key import key_column, key_digests, key_pair
from dpone_contracts.payload_types import collation_admitted, payload_type
from dpone_contracts.policies import template_of

# Written by hand from the specification and the record on payload types.
ADMITTED = [
    ("bit", "BOOLEAN", "Bool"),
    ("tinyint", "INT32 (INT 8 unsigned)", "UInt8"),
    ("smallint", "INT32 (INT 16 signed)", "Int16"),
    ("int", "INT32 (INT 32 signed)", "Int32"),
    ("bigint", "INT64 (INT 64 signed)", "Int64"),
    ("date", "INT32 (DATE)", "Date"),
    ("uniqueidentifier", "FIXED_LEN_BYTE_ARRAY(16) (UUID)", "UUID"),
    ("decimal(1,0)", "FIXED_LEN_BYTE_ARRAY(1) (DECIMAL(1,0))", "Decimal(1,0)"),
    ("decimal(9,2)", "FIXED_LEN_BYTE_ARRAY(4) (DECIMAL(9,2))", "Decimal(9,2)"),
    ("decimal(18,4)", "FIXED_LEN_BYTE_ARRAY(8) (DECIMAL(18,4))", "Decimal(18,4)"),
    ("decimal(38,38)", "FIXED_LEN_BYTE_ARRAY(16) (DECIMAL(38,38))", "Decimal(38,38)"),
    ("datetime2(0)", "INT64 (TIMESTAMP MILLIS UTC)", "DateTime64(0,'UTC')"),
    ("datetime2(3)", "INT64 (TIMESTAMP MILLIS UTC)", "DateTime64(3,'UTC')"),
    ("datetime2(6)", "INT64 (TIMESTAMP MICROS UTC)", "DateTime64(6,'UTC')"),
    ("nvarchar(400)", "BYTE_ARRAY (STRING)", "String"),
    ("nvarchar(max)", "BYTE_ARRAY (STRING)", "String"),
    ("varchar(8000)", "BYTE_ARRAY (STRING)", "String"),
    ("varbinary(16)", "BYTE_ARRAY", "String"),
]
REFUSED = [
    "float", "float(53)", "real", "datetime", "smalldatetime", "datetime2(7)", "datetime2", "datetimeoffset(6)", "time(6)",
    "money", "numeric(9,2)", "decimal", "decimal(39,0)", "decimal(5,6)", "decimal(09,2)", "decimal(9, 2)", "decimal(0,0)",
    "char(3)", "nchar(3)", "nvarchar(4001)", "varchar(8001)", "nvarchar(0)", "varchar", "text", "ntext", "image", "xml",
    "sql_variant", "rowversion", "hierarchyid", "geography", "INT", " int", "int ", "bit\n", "json", "vector(3)", "",
]  # fmt: skip


@pytest.mark.parametrize(("source", "parquet", "clickhouse"), ADMITTED)
def test_an_admitted_payload_type_has_one_parquet_and_one_clickhouse_type(
    source: str, parquet: str, clickhouse: str
) -> None:
    kind = payload_type(source)
    assert kind is not None
    assert (kind.parquet, kind.clickhouse) == (parquet, clickhouse)
    assert kind.target_type(nullable=False) == clickhouse
    assert kind.target_type(nullable=True) == f"Nullable({clickhouse})"
    assert standalone_verify.payload_target(source) == clickhouse


@pytest.mark.parametrize("source", REFUSED)
def test_every_other_payload_type_is_refused(source: str) -> None:
    assert payload_type(source) is None
    assert standalone_verify.payload_target(source) is None


@pytest.mark.parametrize(
    ("source", "domain"),
    [
        ("date", ("1970-01-01", "2149-06-06")),
        ("datetime2(0)", ("1900-01-01T00:00:00Z", "2299-12-31T23:59:59Z")),
        ("datetime2(6)", ("1900-01-01T00:00:00.000000Z", "2299-12-31T23:59:59.999999Z")),
        ("bigint", None),
    ],
)
def test_a_type_that_is_wider_in_sql_server_has_a_domain(source: str, domain: tuple[str, str] | None) -> None:
    kind = payload_type(source)
    assert kind is not None
    assert kind.domain == domain


@pytest.mark.parametrize(
    ("source", "collation", "admitted"),
    [
        ("nvarchar(10)", "SQL_Latin1_General_CP1_CI_AS", True),
        ("varchar(10)", "Latin1_General_100_BIN2_UTF8", True),
        ("varchar(10)", "Latin1_General_100_CI_AS_SC_UTF8", True),
        ("varchar(10)", "Latin1_General_BIN2", False),
        ("varchar(10)", "SQL_Latin1_General_CP1_CI_AS", False),
    ],
)
def test_varchar_needs_a_collation_whose_bytes_are_utf_8(
    source: str, collation: str, *, admitted: bool
) -> None:
    assert collation_admitted(source, collation) is admitted


@pytest.mark.parametrize(
    ("source", "target", "mapping"),
    [
        ("bit", "Bool", "bit_bool"),
        ("tinyint", "UInt8", "integer_width_preserving"),
        ("smallint", "Int16", "integer_width_preserving"),
        ("int", "Int32", "integer_width_preserving"),
        ("bigint", "Int64", "integer_width_preserving"),
        ("uniqueidentifier", "UUID", "uuid_equality"),
        ("date", "Date", "date"),
        ("datetime2(6)", "DateTime64(6,'UTC')", "datetime2_utc"),
        ("decimal(38,10)", "Decimal(38,10)", "decimal_exact"),
    ],
)
def test_an_admitted_key_pair_is_the_one_of_the_specification(source: str, target: str, mapping: str) -> None:
    pair = key_pair(source)
    assert pair is not None
    assert (pair.target_type, pair.mapping) == (target, mapping)


@pytest.mark.parametrize("source", [*REFUSED, "nvarchar(10)", "varchar(max)", "varbinary(8)", "datetime2(3)"])
def test_text_floats_and_times_of_another_scale_are_no_keys(source: str) -> None:
    assert key_pair(source) is None
    with pytest.raises(ValueError, match="cannot be an effective key"):
        key_column("k", source)


def test_a_template_is_the_key_without_the_receipts_of_a_deployment() -> None:
    columns = [
        key_column("shop_id", "int"),
        key_column("observed_at", "datetime2(6)", utc_assurance_sha256="sha256:" + "a" * 64),
    ]
    other = [columns[0], {**columns[1], "utc_assurance_sha256": "sha256:" + "b" * 64}]
    assert key_digests(columns)[0] != key_digests(other)[0]
    assert key_digests(columns)[1] == key_digests(other)[1] == template_of(columns).digest
    assert template_of(columns).columns_for({"observed_at": "sha256:" + "a" * 64}) == columns
