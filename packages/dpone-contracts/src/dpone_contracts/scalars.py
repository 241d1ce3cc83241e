"""The scalars of the documents: each value has one spelling, everything else is refused by name.

A check that the published preview did not make (control characters, other spellings of an instant) is *readable*:
retained evidence that breaks it stays legible but authorises nothing. `READING` as validation context lets it pass.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any, Final, NoReturn, TypeAlias, cast

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from dpone_contracts.canonical import INT64_MAX

READING: Final = "reading"
"""Validation context under which readable faults pass."""

LOADING: Final = "loading"
"""Validation context of the loader, which verifies digests over what was received."""

END: Final = r"(?![\s\S])"
"""End of text in every regular expression dialect (`$` lets a line feed pass in some)."""

ONE_DAY: Final = timedelta(days=1)

_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Invisible characters that Unicode classes neither as controls nor as formats, and noncharacters.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)
# What a schema can say of the same: ranges of the basic plane only, no composed form.
_SCHEMA_HIDDEN = (
    r"\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680"
    r"\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\udfff\ufdd0-\ufdef"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
)
_TEXT_PATTERN = f"^(?! )[^{_SCHEMA_HIDDEN}]+(?<! ){END}"


def refuse(rule: str, reason: str, *, path: tuple[str | int, ...] = (), readable: bool = False) -> NoReturn:
    """Refuse the value under validation by the rule's name; `path` leads on from the value's own place."""
    raise PydanticCustomError(
        "rule", "{reason}", {"rule": rule, "reason": reason, "path": path, "readable": readable}
    )


def _is_plain(value: str) -> bool:
    """Tell, the quick way, that a text holds printable ASCII and no blank around it."""
    return value.isascii() and value.isprintable() and value[0] != " " != value[-1]


def text_fault(value: str) -> str | None:
    """Say why a text has a twin that looks the same, or no visible form at all; None when it has neither."""
    if value and _is_plain(value):
        return None
    for char in value:
        category = unicodedata.category(char)
        if category == "Cs":
            return "half of a surrogate pair has no UTF-8 form"
        if category in _HIDDEN_CATEGORIES or (category == "Zs" and char != " "):
            return f"the character U+{ord(char):04X} is a control, format or unusual blank character"
    if hidden := _HIDDEN.search(value):
        return f"the character U+{ord(hidden.group()):04X} is invisible"
    if not unicodedata.is_normalized("NFC", value):
        return "the text is not in composed form (NFC)"
    return None


@lru_cache(maxsize=1024)
def instant(text: str) -> datetime:
    """Read an instant: any spelling that the published preview took, digits beyond microseconds cut off.

    Raises ValueError for anything else. The strict spelling is the validator's matter; rules compare through this.
    """
    if not text.endswith("Z"):
        raise ValueError("an instant ends in Z")
    moment = datetime.fromisoformat(text[:-1] + "+00:00")  # noqa: FURB162 - only this way lower-case z is refused
    if moment.tzinfo is None:  # A date alone: the offset was taken for its time.
        raise ValueError("an instant has a time")
    return moment


def is_day(moment: datetime) -> bool:
    """Tell whether an instant is the start of a UTC day."""
    return not (moment.hour or moment.minute or moment.second or moment.microsecond)


Check: TypeAlias = Callable[[Any, ValidationInfo], str]


@dataclass(frozen=True, slots=True, eq=False)
class Spelled:
    """Annotates `str` with the one check that sees the raw value, and with what a schema can say of it."""

    check: Check
    json_schema: dict[str, Any]

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by the check alone: it also reads what has no UTF-8 form."""
        return core_schema.with_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the spelling."""
        return dict(self.json_schema)


def _unpadded(value: Any, *, padding_passes: bool = False, padding_readable: bool = False) -> str:
    """Refuse what the preview refused of any text: other types, blank text, blanks around it."""
    if type(value) is not str:
        refuse("no-null", "null; an absent field is left out") if value is None else refuse(
            "text", "not text"
        )
    assert isinstance(value, str)
    stripped = value.strip()
    if not stripped:
        refuse("text-present", "empty or blank text")
    if stripped != value and not padding_passes:
        refuse("no-outer-blanks", "text with blanks around it", readable=padding_readable)
    return value


def _text(limit: int, *, padding_readable: bool = False, also: str | None = None) -> Spelled:
    """Visible text of bounded length; `also` is a pattern that a schema adds for a rule of the documents."""

    def check(value: Any, info: ValidationInfo) -> str:
        if type(value) is str and 0 < len(value) <= limit and _is_plain(value):
            return value
        reading = info.context is READING
        text = _unpadded(
            value, padding_passes=reading and padding_readable, padding_readable=padding_readable
        )
        if not reading and len(text) > limit:
            refuse("bounded-text", f"longer than {limit} characters", readable=True)
        if not reading and (reason := text_fault(text)) is not None:
            refuse("visible-text", reason, readable=True)
        return text

    schema = {"type": "string", "minLength": 1, "maxLength": limit, "pattern": _TEXT_PATTERN}
    return Spelled(check, schema if also is None else {**schema, "allOf": [{"pattern": also}]})


def _pattern(rule: str, wanted: str, pattern: str, limit: int = 512) -> Spelled:
    """Text that has to match where the preview took any text."""
    matches = re.compile(pattern, re.ASCII).fullmatch

    def check(value: Any, info: ValidationInfo) -> str:
        if type(value) is str and len(value) <= limit and matches(value):
            return value
        text = _unpadded(value)
        if info.context is not READING:
            refuse(rule, f"not {wanted}", readable=True)
        return text

    return Spelled(check, {"type": "string", "maxLength": limit, "pattern": f"^{pattern}{END}"})


def _instant(rule: str, form: str, pattern: str, *, day: bool = False) -> Spelled:
    """Text that spells an instant in one form; other forms of an instant are readable, other text is not."""
    matches = re.compile(pattern, re.ASCII).fullmatch

    def check(value: Any, info: ValidationInfo) -> str:
        text = _unpadded(value)
        try:
            moment = instant(text)
        except ValueError:
            refuse(rule, f"not an instant spelled {form}")
        if day and not is_day(moment):
            refuse("utc-day", "not the start of a UTC day")
        if not matches(text) and info.context is not READING:
            refuse(rule, f"not spelled {form}", readable=True)
        return text

    return Spelled(check, {"type": "string", "maxLength": 27, "pattern": f"^{pattern}{END}"})


def _exactly(*, wanted: bool) -> AfterValidator:
    def check(value: bool) -> bool:  # noqa: FBT001 - a validator takes what it validates
        if value is not wanted:
            refuse("admitted-value", f"only {str(wanted).lower()} is admitted")
        return value

    return AfterValidator(check)


def _integer(least: int) -> tuple[Any, WithJsonSchema]:
    return Field(ge=least), WithJsonSchema({"type": "integer", "minimum": least, "maximum": INT64_MAX})


class WhenPresent:
    """Marker in `Annotated[X | None, WhenPresent] = None`: the field may be absent; null is refused."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate a present value as X alone."""
        schema = handler(source)
        assert schema["type"] == "nullable"
        return cast("CoreSchema", schema["schema"])


_DAY_FORM = "YYYY-MM-DDT00:00:00Z"
_SECONDS_FORM = "YYYY-MM-DDThh:mm:ssZ"
_MICROS_FORM = "YYYY-MM-DDThh:mm:ss.ffffffZ"
_AT_LEAST_ZERO, _AT_LEAST_ONE = _integer(0), _integer(1)

Sha256Text: TypeAlias = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$", min_length=71, max_length=71)]
Uuid: TypeAlias = Annotated[str, Field(pattern=f"^{_UUID}$", min_length=36, max_length=36)]
Identifier: TypeAlias = Annotated[str, _text(512)]
CleanupIdentifier: TypeAlias = Annotated[str, _text(512, padding_readable=True)]
"""An identifier in the cleanup documents, where the preview let blanks around it pass."""
Text: TypeAlias = Annotated[str, _text(4096)]
ObjectKey: TypeAlias = Annotated[str, _text(1024, also=rf"^(?!(?:[\s\S]*/)?\.{{0,2}}(?:/|{END}))[^\\]+{END}")]
"""An object key or prefix; that its steps are plain is a rule of its documents."""
ObjectVersion: TypeAlias = Annotated[str, _text(1024)]
ModelId: TypeAlias = Annotated[
    str,
    _pattern(
        "model-id", "a dbt model id `model.package.name`", r"model\.[A-Za-z_]\w*\.[\w\-]+(?:\.v[\w\-]+)?"
    ),
]
NodeId: TypeAlias = Annotated[
    str,
    _pattern("node-id", "a dbt node id `type.package.name`", r"[a-z_]+\.[A-Za-z_]\w*\.[\w\-]+(?:\.[\w\-]+)*"),
]
ExactSelector: TypeAlias = Annotated[
    str, _pattern("exact-selector", "an exact selector `fqn:path.name`", r"fqn:[\w\-]+(?:\.[\w\-]+)+")
]
Producer: TypeAlias = Annotated[str, _pattern("admitted-value", "the one producer", r"dpone dbt compile")]
"""A template's producer, which its fingerprint leaves out and the preview took as it came."""
PodUid: TypeAlias = Annotated[str, _pattern("uuid", "a UUID in lower case", _UUID, 36)]
"""A pod's uid in an attempt, where the preview took any text."""
UtcDay: TypeAlias = Annotated[str, _instant("utc-day", _DAY_FORM, rf"{_DATE}T00:00:00Z", day=True)]
CoverageDay: TypeAlias = Annotated[str, _instant("utc-day", _DAY_FORM, rf"{_DATE}T00:00:00Z")]
"""A bound of a baseline's coverage: a day, where the preview took any instant."""
UtcSeconds: TypeAlias = Annotated[str, _instant("utc-seconds", _SECONDS_FORM, rf"{_DATE}T{_TIME}Z")]
UtcMicros: TypeAlias = Annotated[
    str, _instant("utc-microseconds", _MICROS_FORM, rf"{_DATE}T{_TIME}\.\d{{6}}Z")
]
UtcInstant: TypeAlias = Annotated[
    str,
    _instant(
        "utc-instant",
        f"{_SECONDS_FORM}, with six digits of a fraction when it is not zero",
        rf"{_DATE}T{_TIME}(?:\.(?!000000)\d{{6}})?Z",
    ),
]
Count: TypeAlias = Annotated[int, *_AT_LEAST_ZERO]
Positive: TypeAlias = Annotated[int, *_AT_LEAST_ONE]
Epoch: TypeAlias = Annotated[int, *_AT_LEAST_ONE]
"""A fencing, DDL or owner epoch: positive, only ever growing."""
OnlyTrue: TypeAlias = Annotated[bool, _exactly(wanted=True), WithJsonSchema({"const": True})]
OnlyFalse: TypeAlias = Annotated[bool, _exactly(wanted=False), WithJsonSchema({"const": False})]
