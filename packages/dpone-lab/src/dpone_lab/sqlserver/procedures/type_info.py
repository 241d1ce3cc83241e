"""sp_datatype_info_100: what ODBC's SQLGetTypeInfo reads at each connect; wrong answers lose microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.translation import ResultColumn
from dpone_lab.sqlserver.language.types import INT, SMALLINT, SYSNAME, SqlType
from dpone_lab.sqlserver.procedure_call import ProcedureOutcome, ProcedureResult
from dpone_lab.sqlserver.procedures.binding import bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone_lab.sqlserver.procedure_call import ProcedureArgument, ProcedureSession

_WORD = SqlType("varchar", length=32)
_COLUMNS = tuple(
    ResultColumn(name, kind)
    for name, kind in (
        ("TYPE_NAME", SYSNAME),
        ("DATA_TYPE", SMALLINT),
        ("PRECISION", INT),
        ("LITERAL_PREFIX", _WORD),
        ("LITERAL_SUFFIX", _WORD),
        ("CREATE_PARAMS", _WORD),
        ("NULLABLE", SMALLINT),
        ("CASE_SENSITIVE", SMALLINT),
        ("SEARCHABLE", SMALLINT),
        ("UNSIGNED_ATTRIBUTE", SMALLINT),
        ("MONEY", SMALLINT),
        ("AUTO_INCREMENT", SMALLINT),
        ("LOCAL_TYPE_NAME", SYSNAME),
        ("MINIMUM_SCALE", SMALLINT),
        ("MAXIMUM_SCALE", SMALLINT),
        ("SQL_DATA_TYPE", SMALLINT),
        ("SQL_DATETIME_SUB", SMALLINT),
        ("NUM_PREC_RADIX", INT),
        ("INTERVAL_PRECISION", SMALLINT),
        ("USERTYPE", SMALLINT),
    )
)

_ALL_TYPES = 0
_ODBC_3 = 3
_ODBC_2_DATES = {91: 9, 93: 11}
"""ODBC 2's codes of date and timestamp."""


@dataclass(frozen=True, slots=True)
class _TypeInfo:
    """One row of the answer; the fields that follow from others are filled in by :meth:`row`."""

    name: str
    code: int
    precision: int
    usertype: int
    prefix: str | None = None
    suffix: str | None = None
    create: str | None = None
    searchable: int = 2
    unsigned: int | None = None
    increments: int | None = None
    scales: tuple[int | None, int | None] = (None, None)
    verbose: int | None = None
    sub: int | None = None
    radix: int | None = None

    def row(self, code: int) -> tuple[object, ...]:
        """Return the 20 values, with the code as the asking ODBC version has it."""
        return (
            self.name,
            code,
            self.precision,
            self.prefix,
            self.suffix,
            self.create,
            1,
            int(self.searchable == _LIKE and self.sub is None),
            self.searchable,
            self.unsigned,
            0,
            self.increments,
            self.name,
            *self.scales,
            self.code if self.verbose is None else self.verbose,
            self.sub,
            self.radix,
            None,
            self.usertype,
        )


_LIKE = 3
"""SQL_SEARCHABLE: usable with LIKE too."""


def _text(name: str, code: int, length: int, usertype: int, create: str | None) -> _TypeInfo:
    prefix = "N'" if name.startswith(("n", "s")) else "'"
    return _TypeInfo(name, code, length, usertype, prefix, "'", create, _LIKE)


def _bytes(name: str, code: int, usertype: int, create: str) -> _TypeInfo:
    return _TypeInfo(name, code, 8000, usertype, "0x", None, create)


def _integer(name: str, code: int, precision: int, usertype: int) -> _TypeInfo:
    unsigned = int(name == "tinyint")
    return _TypeInfo(
        name, code, precision, usertype, unsigned=unsigned, increments=0, scales=(0, 0), radix=10
    )


def _decimal(name: str, code: int, usertype: int) -> _TypeInfo:
    create = "precision,scale"
    return _TypeInfo(
        name, code, 38, usertype, create=create, unsigned=0, increments=0, scales=(0, 38), radix=10
    )


def _float(name: str, code: int, precision: int, usertype: int) -> _TypeInfo:
    return _TypeInfo(name, code, precision, usertype, unsigned=0, increments=0, radix=2)


def _moment(
    name: str, code: int, precision: int, scales: tuple[int | None, int | None], sub: int
) -> _TypeInfo:
    create = "scale" if scales == (0, 7) else None
    verbose = code if name == "time" else 9
    usertype = 12 if name == "datetime" else 0
    return _TypeInfo(
        name, code, precision, usertype, "'", "'", create, _LIKE, scales=scales, verbose=verbose, sub=sub
    )


_LENGTH = "max length"
_TYPES = (
    _moment("time", -154, 16, (0, 7), 0),
    _TypeInfo("uniqueidentifier", -11, 36, 0, "'", "'"),
    _text("nvarchar", -9, 4000, 0, _LENGTH),
    _text("sysname", -9, 128, 18, None),
    _text("nchar", -8, 4000, 0, "length"),
    _TypeInfo("bit", -7, 1, 16, scales=(0, 0)),
    _integer("tinyint", -6, 3, 5),
    _integer("bigint", -5, 19, 0),
    _bytes("varbinary", -3, 4, _LENGTH),
    _bytes("binary", -2, 3, "length"),
    _text("char", 1, 8000, 1, "length"),
    _decimal("numeric", 2, 10),
    _decimal("decimal", 3, 24),
    _integer("int", 4, 10, 7),
    _integer("smallint", 5, 5, 6),
    _float("float", 6, 53, 8),
    _float("real", 7, 24, 23),
    _text("varchar", 12, 8000, 2, _LENGTH),
    _moment("date", 91, 10, (None, 0), 1),
    _moment("datetime2", 93, 27, (0, 7), 3),
    _moment("datetime", 93, 23, (3, 3), 3),
)


def sp_datatype_info(_session: ProcedureSession, arguments: Sequence[ProcedureArgument]) -> ProcedureOutcome:
    """List the types of one ODBC code, or of all (0), as SQL Server orders them: by code, the default first."""
    bound = bind("sp_datatype_info_100", arguments, {"data_type": 0, "odbcver": 2})
    wanted = bound.number("data_type") or _ALL_TYPES
    old = (bound.number("odbcver") or 2) < _ODBC_3
    rows = []
    for kind in _TYPES:
        told = _ODBC_2_DATES.get(kind.code, kind.code) if old else kind.code
        if wanted in (_ALL_TYPES, told):
            rows.append(kind.row(told))
    return ProcedureOutcome(results=(ProcedureResult(_COLUMNS, rows),))
