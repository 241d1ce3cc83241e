"""Golden vectors of `dpone_row_v1` that every implementation is run against."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from dpone_contracts.row_encoding import RowValue

FIELD_VECTORS: tuple[tuple[str, RowValue, bytes], ...] = (
    ("bit", True, b"1"),
    ("bit", False, b"0"),
    ("bit", None, b"N"),
    ("tinyint", 0, b"0"),
    ("tinyint", 255, b"255"),
    ("smallint", -32768, b"-32768"),
    ("smallint", 32767, b"32767"),
    ("int", -2147483648, b"-2147483648"),
    ("bigint", -9223372036854775808, b"-9223372036854775808"),
    ("bigint", 9223372036854775807, b"9223372036854775807"),
    ("decimal(5,2)", Decimal("-0.5"), b"-0.50"),
    ("decimal(5,2)", Decimal("1.50"), b"1.50"),
    ("decimal(5,2)", Decimal("-0.00"), b"0.00"),
    ("decimal(5,0)", Decimal("1E+3"), b"1000"),
    ("decimal(38,0)", Decimal("-" + "9" * 38), b"-" + b"9" * 38),
    ("decimal(38,38)", Decimal("1E-38"), b"0." + b"0" * 37 + b"1"),
    ("decimal(18,7)", Decimal("0.0000001"), b"0.0000001"),
    ("date", dt.date(1970, 1, 1), b"1970-01-01"),
    ("date", dt.date(2149, 6, 6), b"2149-06-06"),
    ("datetime2(6)", dt.datetime(1900, 1, 1), b"1900-01-01 00:00:00.000000"),
    ("datetime2(6)", dt.datetime(2299, 12, 31, 23, 59, 59, 999999), b"2299-12-31 23:59:59.999999"),
    ("datetime2(3)", dt.datetime(1969, 12, 31, 23, 59, 59, 7000), b"1969-12-31 23:59:59.007000"),
    ("datetime2(0)", dt.datetime(2013, 1, 31, 5, 17), b"2013-01-31 05:17:00.000000"),
    (
        "uniqueidentifier",
        UUID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
        b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("nvarchar(50)", "", b"0:"),
    ("nvarchar(50)", "N", b"1:N"),
    ("nvarchar(50)", None, b"N"),
    ("nvarchar(max)", "a|b\n", b"4:a|b\n"),
    ("varchar(10)", " x ", b"3: x "),
    ("nvarchar(10)", "é", b"2:\xc3\xa9"),
    ("nvarchar(10)", "e\u0301", b"3:e\xcc\x81"),
    ("nvarchar(10)", "\U0001f6eb\u2028", b"7:\xf0\x9f\x9b\xab\xe2\x80\xa8"),
    ("nvarchar(10)", "\x00", b"1:\x00"),
    ("varbinary(8)", b"\x00|\xfe", b"007CFE"),
    ("varbinary(max)", b"", b""),
    ("varbinary(max)", None, b"N"),
)
"""(SQL Server type, value, text of the field without its end)."""

ROW_TYPES = ("datetime2(6)", "smallint", "int", "decimal(9,2)", "nvarchar(20)", "bit")
ROW: tuple[RowValue, ...] = (dt.datetime(2013, 1, 31, 5, 17), 7, -1, Decimal("12.5"), "JFK|x", None)
ROW_BYTES = b"2013-01-31 05:17:00.000000|7|-1|12.50|5:JFK|x|N|\n"
