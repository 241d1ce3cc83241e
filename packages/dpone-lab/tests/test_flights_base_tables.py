"""The base tables hold the data set whole, with unique keys and exact values."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import islice

import pytest

from dpone_lab.flights import BaseTable, base_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, BaseTable]:
    return {table.name: table for table in base_tables()}


def test_every_row_of_the_data_set_is_there(tables: dict[str, BaseTable]) -> None:
    counts = {name: table.rows.num_rows for name, table in tables.items()}
    assert counts == {"carriers": 16, "airports": 1462, "weather": 26115, "flights": 336776}


@pytest.mark.parametrize("name", ["carriers", "airports", "weather", "flights"])
def test_keys_are_unique_and_present(tables: dict[str, BaseTable], name: str) -> None:
    table = tables[name]
    keys = table.rows.select(list(table.primary_key))
    assert keys.group_by(list(table.primary_key)).aggregate([]).num_rows == table.rows.num_rows
    assert all(column.null_count == 0 for column in keys.columns)


def test_columns_of_rows_are_the_columns_of_the_table(tables: dict[str, BaseTable]) -> None:
    for table in tables.values():
        assert [name for name, _ in table.columns] == table.rows.column_names


def test_time_is_utc_and_codes_stay_text(tables: dict[str, BaseTable]) -> None:
    first = next(tables["flights"].tuples())
    assert first[:6] == (datetime(2013, 1, 1, 10), "UA", 1545, "N14228", "EWR", "IAH")  # noqa: DTZ001


def test_binary_fractions_become_the_decimal_that_was_measured(tables: dict[str, BaseTable]) -> None:
    first = next(tables["weather"].tuples())
    assert first[2:] == (
        Decimal("39.02"),
        Decimal("10.35702"),
        Decimal("0.00"),
        Decimal("1012.0"),
        Decimal("10.00"),
    )


def test_a_day_is_a_utc_day() -> None:
    flights = base_tables([date(2013, 1, 2)])[-1]
    hours = flights.rows["time_hour"].to_pylist()
    assert min(hours) == datetime(2013, 1, 2, 0)  # noqa: DTZ001
    assert max(hours) == datetime(2013, 1, 2, 23)  # noqa: DTZ001


def test_inserts_stay_under_the_parameter_limit(tables: dict[str, BaseTable]) -> None:
    (text, values), (same, _) = islice(tables["flights"].inserts(), 2)
    assert text == same
    assert text.count("?") == len(values) <= 2100
