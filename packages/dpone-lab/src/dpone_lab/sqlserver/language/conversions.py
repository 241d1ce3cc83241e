"""Conversion of values between T-SQL types: CAST, CONVERT with its styles, TRY_CAST, and storing into a column.

Rules of "CAST and CONVERT (Transact-SQL)": numbers to integers truncate, to decimals round; text is cut to the target's
length, fixed-length text and binary are padded; styles decide how temporal and binary values look as text. Storing
into a column differs in one thing: text or binary that is too long is error 2628 instead of being cut.
"""

from __future__ import annotations

from dataclasses import replace

from dpone_lab.sqlserver.language.errors import Number, SqlServerError, unsupported
from dpone_lab.sqlserver.language.inference import require_convertible
from dpone_lab.sqlserver.language.types import MAX, SqlType, base_type
from dpone_lab.sqlserver.language.values import Value, cast, text_literal

_RANGES = {
    "tinyint": (0, 255),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
_DATE_STYLES = {
    23: "YYYY-MM-DD",
    112: "YYYYMMDD",
    120: "YYYY-MM-DD",
    121: "YYYY-MM-DD",
    126: "YYYY-MM-DD",
    127: "YYYY-MM-DD",
}
_SAME_STYLE = {0: 121, 21: 121, 25: 121, 20: 120}
_TEXT_TO_TEMPORAL_STYLES = frozenset({0, 23, 112, 120, 121, 126, 127})


def convert(
    value: Value, target: SqlType, *, style: int | None = None, is_try: bool = False, explicit: bool = False
) -> Value:
    """Return the value converted to ``target``; ``is_try`` gives NULL instead of a conversion error."""
    require_convertible(value.type, target, explicit=explicit)
    nullable = value.type.nullable or is_try
    if value.is_null:
        return Value(f"CAST(NULL AS {base_type(target)})", target.with_null(nullable=True), value.literal)
    if style is None and value.type.same_type(target):
        # A converted constant is no constant any more: its digits no longer count in arithmetic.
        kept = None if explicit else value.literal
        return replace(value, type=replace(target, nullable=nullable), literal=kept)
    # A conversion that changes the type may fail, and is recorded as nullable by SELECT INTO.
    result = target.with_null(nullable=True)
    if target.is_character:
        return Value(_to_text(value, target, style), result)
    if target.is_binary:
        return Value(_to_binary(value, target, style, is_try=is_try), result)
    if target.is_temporal:
        return Value(_to_temporal(value, target, style, is_try=is_try), result)
    if target.name == "uniqueidentifier":
        return Value(_to_guid(value, is_try=is_try), result)
    return Value(_to_number(value, target, is_try=is_try), result)


def store(value: Value, target: SqlType, column: str) -> Value:
    """Return the value as it is stored in a column; 2628 when text or binary doesn't fit."""
    if (target.is_character and value.type.is_character) or (target.is_binary and value.type.is_binary):
        fits = _fits(value.type, target)
        sql = (
            value.sql
            if fits
            else f"sys.fit({value.sql}, {target.length}, {_unit(target)}, {text_literal(column)})"
        )
        return Value(_padded(sql, target), target)
    return convert(value, target)


def _unit(target: SqlType) -> str:
    """Return the unit in which a length counts: bytes, or UTF-16 code units."""
    return "'unit'" if target.is_unicode else "'byte'"


def _fits(source: SqlType, target: SqlType) -> bool:
    """Tell whether every value of the source is short enough, from the types alone."""
    if target.length == MAX:
        return True
    if source.length is None or source.length == MAX or target.length is None:
        return False
    # A UTF-16 code unit takes up to three bytes of UTF-8; a byte of UTF-8 never becomes more than one unit.
    widest = (
        source.length * 3
        if source.is_unicode and not target.is_unicode and target.is_character
        else source.length
    )
    return widest <= target.length


def _padded(sql: str, target: SqlType) -> str:
    if not target.is_fixed:
        return sql
    return f"sys.pad({sql}, {target.length}{'' if target.is_binary else f', {_unit(target)}'})"


# --- to text ------------------------------------------------------------------------------------------------------


def _to_text(value: Value, target: SqlType, style: int | None) -> str:
    source = value.type
    if source.is_character:
        sql = (
            value.sql if _fits(source, target) else f"sys.cut({value.sql}, {target.length}, {_unit(target)})"
        )
        return _padded(sql, target)
    sql, longest = _as_text(value, target, style)
    if target.length != MAX and target.length is not None and longest > target.length:
        if source.is_integer or source.name == "bit":
            sql = f"sys.cut_number({sql}, {target.length}, {str(target.is_unicode).lower()})"
        elif source.is_decimal or source.name == "uniqueidentifier":
            sql = f"sys.cut_strictly({sql}, {target.length})"
        else:
            sql = f"sys.cut({sql}, {target.length}, {_unit(target)})"
    return _padded(sql, target)


def _as_text(value: Value, target: SqlType, style: int | None) -> tuple[str, int]:
    """Return the text of a value that isn't text, and the longest it can be."""
    source = value.type
    if source.name == "bit":
        return f"CASE {value.sql} WHEN true THEN '1'::text WHEN false THEN '0'::text END", 1
    if source.is_integer:
        return f"CAST({value.sql} AS text)", {"tinyint": 3, "smallint": 6, "int": 11, "bigint": 20}[
            source.name
        ]
    if source.is_decimal:
        return f"CAST({cast(value.sql, source)} AS text)", (source.precision or 0) + 2
    if source.name == "uniqueidentifier":
        return f"upper(CAST({value.sql} AS text))", 36
    if source.is_temporal:
        return _temporal_text(value, style)
    if source.is_binary:
        return _binary_text(value, target, style), 8000
    raise unsupported(f"conversion of {source.name} to {target.name}")


def _temporal_text(value: Value, style: int | None) -> tuple[str, int]:
    source = value.type
    if source.name == "datetime" and style in (None, 0):
        raise unsupported("conversion of datetime to text without a style")
    number = _SAME_STYLE.get(style or 0, style or 0)
    if source.name == "date":
        if number not in _DATE_STYLES:
            raise _invalid_style(number)
        return f"to_char({value.sql}, '{_DATE_STYLES[number]}')", 10
    scale = 3 if source.name == "datetime" else 7 if source.scale is None else source.scale
    fraction = _fraction(scale)
    if source.name == "time":
        if number not in (120, 121, 126, 127, 108, 114):
            raise _invalid_style(number)
        seconds = "HH24:MI:SS" if number in (108, 120) else f"HH24:MI:SS{fraction}"
        return f"to_char(timestamp '2000-01-01' + {value.sql}, '{seconds}')", 16
    match number:
        case 23 | 112:
            return f"to_char({value.sql}, '{_DATE_STYLES[number]}')", 10
        case 120:
            return f"to_char({value.sql}, 'YYYY-MM-DD HH24:MI:SS')", 19
        case 121:
            return f"to_char({value.sql}, 'YYYY-MM-DD HH24:MI:SS{fraction}')", 27
        case 126 | 127:
            # The fraction is left out where it is zero.
            whole = """'YYYY-MM-DD"T"HH24:MI:SS'"""
            full = f"""'YYYY-MM-DD"T"HH24:MI:SS{fraction}'"""
            zero = f"{value.sql} = date_trunc('second', {value.sql})"
            return f"to_char({value.sql}, CASE WHEN {zero} THEN {whole} ELSE {full} END)", 27
        case _:
            raise _invalid_style(number)


def _fraction(scale: int) -> str:
    if scale == 0:
        return ""
    # PostgreSQL keeps six digits; the seventh of datetime2(7) is always 0 in the lab.
    return f".FF{min(scale, 6)}{'0' if scale == 7 else ''}"


def _invalid_style(style: int | None) -> SqlServerError:
    return SqlServerError(
        Number.INVALID_STYLE, f"{style} is not a valid style number when converting to a character string."
    )


def _binary_text(value: Value, target: SqlType, style: int | None) -> str:
    if style in (1, 2):
        digits = f"upper(encode({value.sql}, 'hex'))"
        return digits if style == 2 else f"('0x' || {digits})"
    if style not in (None, 0):
        raise _invalid_style(style)
    return f"sys.text_of({value.sql}, {str(target.is_unicode).lower()})"


# --- to binary ----------------------------------------------------------------------------------------------------


def _to_binary(value: Value, target: SqlType, style: int | None, *, is_try: bool) -> str:
    source = value.type
    if source.is_binary:
        sql = value.sql if _fits(source, target) else f"sys.cut({value.sql}, {target.length})"
        return _padded(sql, target)
    if source.is_character:
        if style in (1, 2):
            sql = f"sys.bytes_of_hex({value.sql}, {style}, {str(is_try).lower()})"
        elif style in (None, 0):
            sql = utf16(value.sql) if source.is_unicode else utf8(value.sql)
        else:
            raise _invalid_style(style)
        cut = sql if target.length == MAX else f"sys.cut({sql}, {target.length})"
        return _padded(cut, target)
    if source.is_integer or source.name == "bit":
        sql = value.sql if source.is_integer else f"CAST({value.sql} AS int4)"
        width = source.max_length
        length = (
            width
            if not target.is_fixed and (target.length == MAX or (target.length or 0) >= width)
            else target.length
        )
        return f"sys.bytes_of_number(CAST({sql} AS int8), {length})"
    raise unsupported(f"conversion of {source.name} to {target.name}")


def utf8(sql: str) -> str:
    """Return the bytes of varchar text under a UTF-8 collation."""
    return f"convert_to({sql}, 'UTF8')"


def utf16(sql: str) -> str:
    """Return the bytes of nvarchar text: UTF-16, little endian."""
    return f"sys.utf16le({sql})"


# --- to temporal values -------------------------------------------------------------------------------------------


def _to_temporal(value: Value, target: SqlType, style: int | None, *, is_try: bool) -> str:
    source = value.type
    attempt = str(is_try).lower()
    if source.is_character:
        if style is not None and style not in _TEXT_TO_TEMPORAL_STYLES:
            raise _invalid_style(style)
        if target.name == "time":
            return cast(f"sys.time_of({value.sql}, {attempt})", target)
        sql = f"sys.timestamp_of({value.sql}, {attempt})"
        return f"CAST({sql} AS date)" if target.name == "date" else _timestamp(sql, target)
    if source.is_number:
        # Only datetime takes numbers: days since 1900-01-01.
        return f"(timestamp '1900-01-01' + CAST({value.sql} AS float8) * interval '1 day')"
    if target.name == "date":
        return f"CAST({value.sql} AS date)"
    if target.name == "time":
        return cast(value.sql, target)
    if source.name == "time":
        return _timestamp(f"(timestamp '1900-01-01' + {value.sql})", target)
    return _timestamp(f"CAST({value.sql} AS timestamp)", target)


def _timestamp(sql: str, target: SqlType) -> str:
    if target.name == "datetime":
        return f"sys.datetime_of({sql})"
    return cast(sql, target)


def _to_guid(value: Value, *, is_try: bool) -> str:
    if value.type.is_character:
        return f"sys.guid_of({value.sql}, {str(is_try).lower()})"
    raise unsupported(f"conversion of {value.type.name} to uniqueidentifier")


# --- to numbers ---------------------------------------------------------------------------------------------------


def _to_number(value: Value, target: SqlType, *, is_try: bool) -> str:
    source = value.type
    if source.is_character:
        return _number_of_text(value.sql, target, is_try=is_try)
    if source.name == "bit":
        return cast(f"CAST({value.sql} AS int4)", target) if target.name != "bit" else value.sql
    if source.is_binary:
        if not (target.is_integer or target.name == "bit"):
            raise unsupported(f"conversion of {source.name} to {target.name}")
        number = f"sys.number_of_bytes({value.sql}, {8 if target.name == 'bit' else target.max_length})"
        return f"({number} <> 0)" if target.name == "bit" else cast(number, target)
    if target.name == "bit":
        return f"({value.sql} <> 0)"
    if target.is_integer:
        whole = (
            value.sql
            if source.is_integer
            else f"trunc({value.sql}{'::numeric' if source.name in ('float', 'real') else ''})"
        )
        if is_try:
            low, high = _RANGES[target.name]
            return f"CASE WHEN {whole} BETWEEN {low} AND {high} THEN {cast(whole, target)} END"
        return f"sys.tinyint_of({whole})" if target.name == "tinyint" else cast(whole, target)
    if target.is_decimal:
        sql = f"CAST({value.sql} AS numeric)" if source.name in ("float", "real") else value.sql
        if is_try:
            limit = f"1{'0' * ((target.precision or 0) - (target.scale or 0))}"
            return f"CASE WHEN abs(round({sql}, {target.scale})) < {limit} THEN {cast(sql, target)} END"
        return cast(sql, target)
    return cast(value.sql, target)


def _number_of_text(sql: str, target: SqlType, *, is_try: bool) -> str:
    attempt = str(is_try).lower()
    if target.name == "bit":
        return f"sys.bit_of({sql}, {attempt})"
    if target.is_integer:
        low, high = _RANGES[target.name]
        return cast(f"sys.integer_of({sql}, {low}, {high}, {attempt}, '{target.name}')", target)
    if target.is_decimal:
        return cast(f"sys.decimal_of({sql}, {target.precision}, {target.scale}, {attempt})", target)
    return cast(f"sys.float_of({sql}, {attempt})", target)
