"""T-SQL's data types: parsing, printing, precedence, and their spelling on PostgreSQL.

Values travel on PostgreSQL in a base type (all character types as ``text``, binary ones as ``bytea``); stored
columns are typed by an exact twin or by a domain in schema ``sys`` whose name is the T-SQL type, so that the
catalog can tell ``nvarchar(50)`` from ``varchar(50)``. Lengths are in T-SQL's units: bytes for ``varchar``,
UTF-16 code units for ``nvarchar``; :data:`MAX` stands for ``(max)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import IntEnum

from dpone_lab.sqlserver.language.errors import LONGEST_STORED_IDENTIFIER, Number, SqlServerError, unsupported

MAX = -1
DATABASE_COLLATION = "Latin1_General_100_BIN2_UTF8"

PRECEDENCE = (
    "datetime2",
    "datetime",
    "date",
    "time",
    "float",
    "real",
    "decimal",
    "numeric",
    "bigint",
    "int",
    "smallint",
    "tinyint",
    "bit",
    "uniqueidentifier",
    "nvarchar",
    "nchar",
    "varchar",
    "char",
    "varbinary",
    "binary",
    "null",
)
"""T-SQL's type precedence, highest first, for the types the lab knows; ``null`` is the untyped NULL."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")
EXACT_NUMERICS = ("decimal", "numeric")
APPROXIMATE = ("float", "real")
UNICODE = ("nvarchar", "nchar")
CHARACTERS = ("nvarchar", "nchar", "varchar", "char")
BINARIES = ("varbinary", "binary")
TEMPORALS = ("datetime2", "datetime", "date", "time")


class CollationLabel(IntEnum):
    """Where a text's collation comes from; the higher one prevails ("Collation Precedence (Transact-SQL)")."""

    COERCIBLE = 0
    IMPLICIT = 1
    EXPLICIT = 2


@dataclass(frozen=True, slots=True)
class SqlType:
    """One T-SQL data type with its nullability.

    ``length`` is set for character and binary types, ``precision`` and ``scale`` for decimals, ``scale`` alone for
    ``time`` and ``datetime2``. ``collation`` is None for the database's own; ``label`` is no part of the type's identity.
    """

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    nullable: bool = True
    collation: str | None = None
    label: CollationLabel = field(default=CollationLabel.COERCIBLE, compare=False)

    def __str__(self) -> str:
        if self.length is not None:
            return f"{self.name}({'max' if self.length == MAX else self.length})"
        if self.precision is not None:
            return f"{self.name}({self.precision},{self.scale})"
        if self.scale is not None:
            return f"{self.name}({self.scale})"
        return self.name

    @property
    def is_character(self) -> bool:
        """Whether values are text."""
        return self.name in CHARACTERS

    @property
    def is_unicode(self) -> bool:
        """Whether values are text in UTF-16."""
        return self.name in UNICODE

    @property
    def is_binary(self) -> bool:
        """Whether values are bytes."""
        return self.name in BINARIES

    @property
    def is_integer(self) -> bool:
        """Whether it is one of the four integer types; bit is none."""
        return self.name in INTEGERS

    @property
    def is_decimal(self) -> bool:
        """Whether it has precision and scale: decimal or numeric."""
        return self.name in EXACT_NUMERICS

    @property
    def is_number(self) -> bool:
        """Whether one can calculate with it."""
        return self.name in INTEGERS or self.name in EXACT_NUMERICS or self.name in APPROXIMATE

    @property
    def is_temporal(self) -> bool:
        """Whether it holds dates or times."""
        return self.name in TEMPORALS

    @property
    def is_fixed(self) -> bool:
        """Whether values are padded to the length: ``char``, ``nchar``, ``binary``."""
        return self.name in ("char", "nchar", "binary")

    @property
    def max_length(self) -> int:
        """Bytes of storage as ``sys.columns.max_length`` gives them; -1 for (max)."""
        if self.length is not None:
            return self.length if self.length == MAX else self.length * (2 if self.is_unicode else 1)
        if self.is_decimal:
            precision = self.precision or 18
            return 5 if precision <= 9 else 9 if precision <= 19 else 13 if precision <= 28 else 17
        if self.name in ("datetime2", "time"):
            scale = 7 if self.scale is None else self.scale
            return (0 if scale <= 2 else 1 if scale <= 4 else 2) + (6 if self.name == "datetime2" else 3)
        return _FIXED_LENGTHS[self.name]

    def with_null(self, nullable: bool) -> SqlType:  # noqa: FBT001 - the flag is the value
        """Return the type with another nullability."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def same_type(self, other: SqlType) -> bool:
        """Tell whether both are the same data type, nullability and collation aside."""
        return str(self) == str(other)


_FIXED_LENGTHS = {
    "bit": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "bigint": 8,
    "float": 8,
    "real": 4,
    "date": 3,
    "datetime": 8,
    "uniqueidentifier": 16,
    "null": 4,
}

NULL = SqlType("null")
BIT = SqlType("bit")
TINYINT = SqlType("tinyint")
SMALLINT = SqlType("smallint")
INT = SqlType("int")
BIGINT = SqlType("bigint")
FLOAT = SqlType("float")
REAL = SqlType("real")
DATE = SqlType("date")
DATETIME = SqlType("datetime")
UNIQUEIDENTIFIER = SqlType("uniqueidentifier")
SYSNAME = SqlType("nvarchar", length=128)

_LIMITS = {"varchar": 8000, "char": 8000, "nvarchar": 4000, "nchar": 4000, "varbinary": 8000, "binary": 8000}
_SYNONYMS = {
    "integer": "int",
    "dec": "decimal",
    "character": "char",
    "character varying": "varchar",
    "char varying": "varchar",
    "national character varying": "nvarchar",
    "national char varying": "nvarchar",
    "national character": "nchar",
    "national char": "nchar",
    "binary varying": "varbinary",
    "double precision": "float",
}
_REFUSED = frozenset(
    """money smallmoney smalldatetime datetimeoffset text ntext image xml sql_variant timestamp rowversion
    hierarchyid geometry geography cursor json vector""".split()  # noqa: SIM905 - a table of words
)
LEGACY_TYPES = {
    "ntext": SqlType("nvarchar", length=MAX),
    "text": SqlType("varchar", length=MAX),
    "image": SqlType("varbinary", length=MAX),
}
"""What drivers still call their long parameters, and what such a parameter is."""
_PLAIN = frozenset("bit tinyint smallint int bigint real date datetime uniqueidentifier".split())  # noqa: SIM905 - a table of words

DEFAULT_LENGTH_IN_DDL = 1
DEFAULT_LENGTH_IN_CAST = 30


def make_type(
    name: str, arguments: tuple[str, ...] = (), *, default_length: int = DEFAULT_LENGTH_IN_DDL
) -> SqlType:
    """Return the type that a spelling names.

    ``default_length`` is the length of an unadorned character or binary type: 1 in declarations and column
    definitions, 30 in CAST and CONVERT. Raises 243 for an unknown name, 2716/1001-like argument faults as 102,
    and 40517 for SQL Server types outside the lab.
    """
    plain = " ".join(name.lower().split())
    plain = _SYNONYMS.get(plain, plain)
    if plain in _REFUSED:
        raise unsupported(f"type {plain}")
    if plain == "sysname":
        return SYSNAME.with_null(nullable=False)
    if plain in _LIMITS:
        return SqlType(plain, length=_length(plain, arguments, default_length))
    if plain in EXACT_NUMERICS:
        numbers = _numbers(plain, arguments, 2)
        precision = numbers[0] if numbers else 18
        scale = numbers[1] if len(numbers) > 1 else 0
        if not 1 <= precision <= 38:
            raise SqlServerError(
                2750,
                f"Column or parameter: specified column precision {precision} is greater than the maximum precision of 38.",
            )
        if scale > precision:
            raise SqlServerError(183, f"The scale ({scale}) must be within the range 0 to {precision}.")
        return SqlType(plain, precision=precision, scale=scale)
    if plain in ("datetime2", "time"):
        numbers = _numbers(plain, arguments, 1)
        scale = numbers[0] if numbers else 7
        if scale > 7:
            raise SqlServerError(1002, f"Specified scale {scale} is invalid.")
        return SqlType(plain, scale=scale)
    if plain == "float":
        numbers = _numbers(plain, arguments, 1)
        if numbers and not 1 <= numbers[0] <= 53:
            raise SqlServerError(
                2750, f"Specified column precision {numbers[0]} is greater than the maximum precision of 53."
            )
        return REAL if numbers and numbers[0] <= 24 else FLOAT
    if plain in _PLAIN:
        _numbers(plain, arguments, 0)
        return SqlType(plain)
    raise SqlServerError(Number.UNKNOWN_TYPE, f"Type {name} is not a defined system type.")


def _length(name: str, arguments: tuple[str, ...], default: int) -> int:
    if not arguments:
        return default
    if len(arguments) == 1 and arguments[0].lower() == "max" and name in ("varchar", "nvarchar", "varbinary"):
        return MAX
    (length, *_) = _numbers(name, arguments, 1)
    if length == 0:
        raise SqlServerError(1001, f"Length or precision specification {length} is invalid.")
    if length > _LIMITS[name]:
        raise SqlServerError(
            131,
            f"The size ({length}) given to the type '{name}' exceeds the maximum allowed ({_LIMITS[name]}).",
        )
    return length


def _numbers(name: str, arguments: tuple[str, ...], allowed: int) -> list[int]:
    if len(arguments) > allowed:
        raise SqlServerError(2716, f"Cannot specify a column width on data type {name}.")
    for argument in arguments:
        if not argument.isdecimal():
            raise SqlServerError(Number.SYNTAX, f"Incorrect syntax near '{argument}'.")
    return [int(argument) for argument in arguments]


_SPELLING = re.compile(r"^\s*([a-z0-9_ ]+?)\s*(?:\(\s*([a-z0-9]+)\s*(?:,\s*(\d+)\s*)?\))?\s*$", re.IGNORECASE)


def parse_type(text: str, *, default_length: int = DEFAULT_LENGTH_IN_DDL) -> SqlType:
    """Parse a spelling such as ``decimal(18, 4)`` or ``nvarchar(max)``; used for catalogs, RPC and tests."""
    match = _SPELLING.match(text)
    if match is None:
        raise SqlServerError(Number.UNKNOWN_TYPE, f"Type {text} is not a defined system type.")
    arguments = tuple(argument for argument in match.groups()[1:] if argument is not None)
    return make_type(match.group(1), arguments, default_length=default_length)


# --- PostgreSQL ---------------------------------------------------------------------------------------------------

_BASES = {
    "bit": "bool",
    "tinyint": "int2",
    "smallint": "int2",
    "int": "int4",
    "bigint": "int8",
    "float": "float8",
    "real": "float4",
    "date": "date",
    "datetime": "timestamp(3)",
    "uniqueidentifier": "uuid",
    "null": "text",
}
_TWINS = frozenset("bit smallint int bigint float real date uniqueidentifier decimal".split())  # noqa: SIM905 - a table of words


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of schema ``sys`` that stands for one T-SQL type: its bare name and its PostgreSQL base type."""

    name: str
    base: str

    @property
    def create_sql(self) -> str:
        """The idempotent statement that makes the domain; run it on a connection of its own, autocommitted."""
        quoted = self.name.replace('"', '""')
        literal = self.name.replace("'", "''")
        return (
            f"DO $$BEGIN IF NOT EXISTS (SELECT FROM pg_catalog.pg_type WHERE typname = '{literal}' "
            f"AND typnamespace = 'sys'::regnamespace) THEN "
            f'CREATE DOMAIN sys."{quoted}" AS {self.base}; END IF; '
            f"EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END$$"
        )


def base_type(sql_type: SqlType) -> str:
    """Return the PostgreSQL type in which values of the type travel, as used in casts of expressions."""
    if sql_type.is_character:
        return "text"
    if sql_type.is_binary:
        return "bytea"
    if sql_type.is_decimal:
        return f"numeric({sql_type.precision},{sql_type.scale})"
    if sql_type.name in ("datetime2", "time"):
        base = "timestamp" if sql_type.name == "datetime2" else "time"
        return f"{base}({min(6 if sql_type.scale is None else sql_type.scale, 6)})"
    return _BASES[sql_type.name]


def domain_of(sql_type: SqlType) -> Domain | None:
    """Return the domain that stores the type, or None where PostgreSQL has an exact twin."""
    if sql_type.name in _TWINS or (sql_type.name in ("datetime2", "time") and (sql_type.scale or 0) <= 6):
        return None
    name = str(sql_type)
    if sql_type.collation is not None:
        name = f"{name} collate {sql_type.collation}"
        if len(name) > LONGEST_STORED_IDENTIFIER:
            raise unsupported(f"COLLATE {sql_type.collation} for {sql_type}")
    return Domain(name, base_type(sql_type))


def column_type(sql_type: SqlType) -> str:
    """Return the PostgreSQL type of a stored column: the twin or ``sys."nvarchar(50)"``."""
    domain = domain_of(sql_type)
    return base_type(sql_type) if domain is None else f'sys."{domain.name}"'


_FROM_POSTGRES = {
    "bool": BIT,
    "int2": SMALLINT,
    "int4": INT,
    "int8": BIGINT,
    "float8": FLOAT,
    "float4": REAL,
    "date": DATE,
    "uuid": UNIQUEIDENTIFIER,
    "text": SqlType("nvarchar", length=MAX),
    "varchar": SqlType("nvarchar", length=MAX),
    "name": SYSNAME,
    "oid": INT,
    "bpchar": SqlType("nvarchar", length=MAX),
    "bytea": SqlType("varbinary", length=MAX),
    '"char"': SqlType("char", length=1),
}


def from_postgres(type_name: str, typmod: int, *, nullable: bool = True) -> SqlType:
    """Return the T-SQL type of a PostgreSQL column.

    ``type_name`` is ``pg_type.typname`` (a domain's name is its T-SQL spelling), ``typmod`` is ``atttypmod``.
    Raises KeyError for PostgreSQL types that no T-SQL type is stored in.
    """
    spelling, _, collation = type_name.partition(" collate ")
    if type_name == "numeric":
        precision, scale = (38, 10) if typmod < 0 else ((typmod - 4) >> 16 & 0xFFFF, (typmod - 4) & 0xFFFF)
        return SqlType("decimal", precision=precision, scale=scale, nullable=nullable)
    if type_name in ("timestamp", "time"):
        name = "datetime2" if type_name == "timestamp" else "time"
        return SqlType(name, scale=6 if typmod < 0 else typmod, nullable=nullable)
    if type_name in _FROM_POSTGRES:
        known = _FROM_POSTGRES[type_name]
        if type_name in ("varchar", "bpchar") and typmod >= 0:
            known = SqlType("nvarchar" if type_name == "varchar" else "nchar", length=typmod - 4)
        return known.with_null(nullable)
    return replace(parse_type(spelling), nullable=nullable, collation=collation or None)
