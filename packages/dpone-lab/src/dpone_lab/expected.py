"""What the sample models must hold, computed from the base tables in plain Python.

The second opinion of the lab's independent check: it shares nothing with the product, with dbt or with the SQL
of the sample project. Rows are tuples in the order of `Mart.columns`; instants are naive and UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

Row: TypeAlias = tuple[Any, ...]
BaseRows: TypeAlias = Mapping[str, list[dict[str, Any]]]

MART_SCHEMA: Final = "mart"
"""Schema of the sample models' tables on SQL Server."""
KM_PER_MILE = Decimal("1.609344")


@dataclass(frozen=True)
class Mart:
    """A sample event fact: its table, its columns as (name, T-SQL type, ClickHouse type), its key, its rule."""

    name: str
    columns: tuple[tuple[str, str, str], ...]
    key: tuple[str, ...]
    event_time: str
    rows: Callable[[BaseRows, datetime, datetime], list[Row]]

    def key_of(self, row: Row) -> Row:
        """The effective key of a row."""
        names = [name for name, _, _ in self.columns]
        return tuple(row[names.index(name)] for name in self.key)


def _numbers(rows: Iterable[dict[str, Any]], code: str, number: str) -> dict[str, int]:
    return {row[code]: row[number] for row in rows}


def _flight_departures(base: BaseRows, start: datetime, end: datetime) -> list[Row]:
    carriers = _numbers(base["carriers"], "carrier", "carrier_id")
    airports = _numbers(base["airports"], "faa", "airport_id")
    return [
        (
            flight["time_hour"],
            carriers[flight["carrier"]],
            flight["flight"],
            airports[flight["origin"]],
            airports[flight["dest"]],
            flight["tailnum"],
            flight["sched_dep_time"],
            flight["dep_delay"],
            flight["arr_delay"],
            flight["air_time"],
            (flight["distance"] * KM_PER_MILE).quantize(Decimal("0.001"), ROUND_HALF_UP),
            flight["dep_time"] is None,
        )
        for flight in base["flights"]
        if start <= flight["time_hour"] < end
    ]


def _airport_hours(base: BaseRows, start: datetime, end: datetime) -> list[Row]:
    airports = _numbers(base["airports"], "faa", "airport_id")
    scheduled: Counter[tuple[str, datetime]] = Counter()
    cancelled: Counter[tuple[str, datetime]] = Counter()
    for flight in base["flights"]:
        hour = (flight["origin"], flight["time_hour"])
        scheduled[hour] += 1
        cancelled[hour] += flight["dep_time"] is None
    return [
        (
            hour["time_hour"],
            airports[hour["origin"]],
            hour["temperature_f"],
            hour["wind_speed_mph"],
            hour["precipitation_inches"],
            hour["pressure_mbar"],
            hour["visibility_miles"],
            scheduled[hour["origin"], hour["time_hour"]],
            cancelled[hour["origin"], hour["time_hour"]],
        )
        for hour in base["weather"]
        if start <= hour["time_hour"] < end
    ]


MARTS: tuple[Mart, ...] = (
    Mart(
        "airport_hour_event",
        (
            ("time_hour", "datetime2(6) NOT NULL", "DateTime64(6, 'UTC')"),
            ("airport_id", "smallint NOT NULL", "Int16"),
            ("temperature_f", "decimal(6, 2) NULL", "Nullable(Decimal(6, 2))"),
            ("wind_speed_mph", "decimal(9, 5) NULL", "Nullable(Decimal(9, 5))"),
            ("precipitation_inches", "decimal(4, 2) NOT NULL", "Decimal(4, 2)"),
            ("pressure_mbar", "decimal(6, 1) NULL", "Nullable(Decimal(6, 1))"),
            ("visibility_miles", "decimal(4, 2) NOT NULL", "Decimal(4, 2)"),
            ("scheduled_departures", "int NOT NULL", "Int32"),
            ("cancelled_departures", "int NOT NULL", "Int32"),
        ),
        ("time_hour", "airport_id"),
        "time_hour",
        _airport_hours,
    ),
    Mart(
        "flight_departure_event",
        (
            ("time_hour", "datetime2(6) NOT NULL", "DateTime64(6, 'UTC')"),
            ("carrier_id", "smallint NOT NULL", "Int16"),
            ("flight", "int NOT NULL", "Int32"),
            ("origin_id", "smallint NOT NULL", "Int16"),
            ("destination_id", "smallint NOT NULL", "Int16"),
            ("tail_number", "nvarchar(10) NULL", "Nullable(String)"),
            ("scheduled_departure_local", "smallint NOT NULL", "Int16"),
            ("departure_delay_minutes", "smallint NULL", "Nullable(Int16)"),
            ("arrival_delay_minutes", "smallint NULL", "Nullable(Int16)"),
            ("air_time_minutes", "smallint NULL", "Nullable(Int16)"),
            ("distance_km", "decimal(9, 3) NOT NULL", "Decimal(9, 3)"),
            ("is_cancelled", "bit NOT NULL", "Bool"),
        ),
        ("time_hour", "carrier_id", "flight"),
        "time_hour",
        _flight_departures,
    ),
)
