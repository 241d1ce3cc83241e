"""The functions that T-SQL text may call in the lab: their arity and their kind; anything else is error 195."""

from __future__ import annotations

from dpone_lab.sqlserver.language.translation import SESSION_VALUES

SCALARS: dict[str, tuple[int, int]] = {
    # character strings
    "ascii": (1, 1),
    "char": (1, 1),
    "charindex": (2, 3),
    "concat": (2, 254),
    "concat_ws": (3, 254),
    "datalength": (1, 1),
    "left": (2, 2),
    "len": (1, 1),
    "lower": (1, 1),
    "ltrim": (1, 1),
    "nchar": (1, 1),
    "parsename": (2, 2),
    "quotename": (1, 2),
    "replace": (3, 3),
    "replicate": (2, 2),
    "reverse": (1, 1),
    "right": (2, 2),
    "rtrim": (1, 1),
    "space": (1, 1),
    "stuff": (4, 4),
    "substring": (3, 3),
    "trim": (1, 2),
    "unicode": (1, 1),
    "upper": (1, 1),
    "hashbytes": (2, 2),
    # NULLs and choice
    "coalesce": (1, 254),
    "isnull": (2, 2),
    "nullif": (2, 2),
    # numbers
    "abs": (1, 1),
    "ceiling": (1, 1),
    "floor": (1, 1),
    "power": (2, 2),
    "round": (2, 3),
    "sign": (1, 1),
    "sqrt": (1, 1),
    # dates
    "dateadd": (3, 3),
    "datediff": (3, 3),
    "datediff_big": (3, 3),
    "datefromparts": (3, 3),
    "datename": (2, 2),
    "datepart": (2, 2),
    "datetime2fromparts": (8, 8),
    "day": (1, 1),
    "eomonth": (1, 2),
    "getdate": (0, 0),
    "getutcdate": (0, 0),
    "month": (1, 1),
    "sysdatetime": (0, 0),
    "sysutcdatetime": (0, 0),
    "year": (1, 1),
    # identity and metadata
    "col_length": (2, 2),
    "col_name": (2, 2),
    "columnproperty": (3, 3),
    "databasepropertyex": (2, 2),
    "db_id": (0, 1),
    "db_name": (0, 1),
    "has_perms_by_name": (3, 5),
    "indexproperty": (3, 3),
    "is_member": (1, 1),
    "is_rolemember": (1, 2),
    "is_srvrolemember": (1, 2),
    "newid": (0, 0),
    "object_definition": (1, 1),
    "object_id": (1, 2),
    "object_name": (1, 2),
    "object_schema_name": (1, 2),
    "objectproperty": (2, 2),
    "objectpropertyex": (2, 2),
    "schema_id": (0, 1),
    "schema_name": (0, 1),
    "serverproperty": (1, 1),
    "suser_id": (0, 1),
    "suser_name": (0, 1),
    "suser_sname": (0, 1),
    "type_id": (1, 1),
    "type_name": (1, 1),
    "typeproperty": (2, 2),
    "user_id": (0, 1),
    "user_name": (0, 1),
    "applock_mode": (3, 3),
    "scope_identity": (0, 0),
    "sessionproperty": (1, 1),
}
AGGREGATES: dict[str, tuple[int, int]] = {
    "avg": (1, 1),
    "count": (1, 1),
    "count_big": (1, 1),
    "max": (1, 1),
    "min": (1, 1),
    "string_agg": (2, 2),
    "sum": (1, 1),
}
RANKINGS: dict[str, tuple[int, int]] = {
    "dense_rank": (0, 0),
    "first_value": (1, 1),
    "lag": (1, 3),
    "last_value": (1, 1),
    "lead": (1, 3),
    "ntile": (1, 1),
    "rank": (0, 0),
    "row_number": (0, 0),
}
NILADIC_WORDS = frozenset({"CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER"})
RESERVED_FUNCTION_WORDS = frozenset({"LEFT", "RIGHT", "COALESCE", "NULLIF", "CONVERT", "TRY_CONVERT"})
SESSION_FUNCTIONS = frozenset(name.removesuffix("()") for name in SESSION_VALUES if name.endswith("()"))
"""Functions without arguments whose value the session supplies as a parameter."""

DATE_PARTS: dict[str, str] = {
    **dict.fromkeys(("year", "yy", "yyyy"), "year"),
    **dict.fromkeys(("quarter", "qq", "q"), "quarter"),
    **dict.fromkeys(("month", "mm", "m"), "month"),
    **dict.fromkeys(("dayofyear", "dy", "y"), "dayofyear"),
    **dict.fromkeys(("day", "dd", "d"), "day"),
    **dict.fromkeys(("week", "wk", "ww"), "week"),
    **dict.fromkeys(("hour", "hh"), "hour"),
    **dict.fromkeys(("minute", "mi", "n"), "minute"),
    **dict.fromkeys(("second", "ss", "s"), "second"),
    **dict.fromkeys(("millisecond", "ms"), "millisecond"),
    **dict.fromkeys(("microsecond", "mcs"), "microsecond"),
    **dict.fromkeys(("nanosecond", "ns"), "nanosecond"),
}
DATE_PART_FUNCTIONS = frozenset({"dateadd", "datediff", "datediff_big", "datepart", "datename"})
EVENT_FIELDS = frozenset(
    name.removeprefix("eventdata:") for name in SESSION_VALUES if name.startswith("eventdata:")
)


def arity(name: str) -> tuple[int, int] | None:
    """Return the least and greatest number of arguments of a known function."""
    return SCALARS.get(name) or AGGREGATES.get(name) or RANKINGS.get(name)
