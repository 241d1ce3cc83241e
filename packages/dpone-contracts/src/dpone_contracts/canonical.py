"""Canonical JSON: one text for one value, its SHA-256 digest, and decoding that refuses a second reading."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple, NoReturn, TypeAlias

Json: TypeAlias = "bool | int | str | Sequence[Json] | Mapping[str, Json] | None"
Path: TypeAlias = tuple[str | int, ...]

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
MAX_DEPTH = 64
"""Deepest nesting of arrays and objects that is read; documents need less than twenty levels."""

_MAX_DIGITS = 64
_PLAIN_DIGITS = 18
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_BOM = b"\xef\xbb\xbf"


class CanonicalError(ValueError):
    """A value or a text has no canonical form.

    `path` leads to the offending value, `rule` names what it breaks, `reason` says it in words.
    """

    def __init__(self, path: Path, rule: str, reason: str) -> None:
        super().__init__(f"{show_path(path)}: {reason} ({rule})")
        self.path = path
        self.rule = rule
        self.reason = reason


class Decoded(NamedTuple):
    """The object that a JSON text holds, its canonical text, and the paths of its integers beyond 64 bits."""

    value: dict[str, Json]
    text: str
    oversize: tuple[Path, ...] = ()


def show_path(path: Path) -> str:
    """Write a path as people read it: `$` for the root, else `relations[0].name`."""
    if not path:
        return "$"
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif step.isidentifier():
            shown += f".{step}" if shown else step
        else:
            shown += f"[{json.dumps(step)}]"
    return shown


def sha256_text(data: bytes) -> str:
    """Digest bytes: `sha256:` and 64 lower-case hex digits."""
    return "sha256:" + sha256(data).hexdigest()


def canonical_bytes(value: Json) -> bytes:
    """Encode a value: UTF-8 of compact JSON, keys sorted, every non-ASCII character escaped.

    Raises CanonicalError with the path of what has no canonical form: floats, integers beyond 64 bits, keys that
    are not text, lone surrogates, and Python types that only look like JSON (subclasses and enumeration members).
    """
    _check(value, ())
    return encode_checked(value).encode("ascii")


def digest_of(value: Json) -> str:
    """Digest the canonical form of a value; raises CanonicalError as `canonical_bytes` does."""
    return sha256_text(canonical_bytes(value))


def encode_checked(value: Json) -> str:
    """Return the canonical text of a value that is known to be JSON, for instance because it was just decoded."""
    return _ENCODER.encode(value)


def digest_checked(value: Json) -> str:
    """Digest a value that is known to be JSON."""
    return digest_text(_ENCODER.encode(value))


def digest_text(text: str) -> str:
    """Digest a canonical text."""
    return "sha256:" + sha256(text.encode("ascii")).hexdigest()


def text_without(text: str, name: str, item: Json) -> str:
    """Cut a field out of the canonical text of an object that has it; `item` is its value, `name` plain ASCII.

    Where the name stands twice, or last, the text is decoded: a second place would be inside of a nested object.
    """
    key = f'"{name}":'
    before, _, after = text.partition(key)
    end = len(_ENCODER.encode(item))
    if key not in after and after[end] == ",":
        return before + after[end + 1 :]
    return _ENCODER.encode({key: value for key, value in json.loads(text).items() if key != name})


def decode(data: bytes) -> Decoded:
    """Decode JSON bytes whose root is an object.

    Raises CanonicalError for a text that has no single reading: a byte order mark, bytes that are not UTF-8,
    duplicate keys, floats, NaN and infinities, a root that is not an object, absurd depth or digit counts.
    Integers beyond 64 bits are returned with their paths: the published preview wrote them.
    """
    if data.startswith(_BOM):
        raise CanonicalError((), "utf-8-json", "the text starts with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CanonicalError((), "utf-8-json", f"byte {error.start} is not UTF-8") from None
    try:
        value = _PLAIN_DECODER.decode(text)
        canonical = _ENCODER.encode(value)
    except (_OddError, ValueError, RecursionError):
        return _decode_carefully(text)
    if type(value) is dict and _is_flat(text) and _repeats_no_key(text, canonical):
        return Decoded(value, canonical)
    return _decode_carefully(text, canonical)


def _decode_carefully(text: str, canonical: str | None = None) -> Decoded:
    """Decode what is not canonical text, or odd, with hooks that see every pair and number.

    `canonical` is the encoding of the value, where it is known.
    """
    odd = _Odd()
    try:
        value = odd.decoder.decode(text)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno} column {error.colno} is not JSON: {error.msg}"
        raise CanonicalError((), "utf-8-json", reason) from None
    except RecursionError:
        raise CanonicalError((), "bounded-depth", _TOO_DEEP) from None
    if not _is_flat(text) and _deep(value):
        raise CanonicalError((), "bounded-depth", _TOO_DEEP)
    oversize = tuple(_find(value, ())) if odd.seen else ()
    if type(value) is not dict:
        raise CanonicalError((), "object-root", "the root is not an object")
    return Decoded(value, canonical or _ENCODER.encode(value), oversize)


def _repeats_no_key(text: str, canonical: str) -> bool:
    """Tell that no key was dropped in decoding; a False only means that a careful look is needed.

    Where no string holds a quote before a colon, and no blank stands between, each `":` ends one key.
    """
    if text == canonical:
        return True
    if '\\":' in canonical or '\\":' in text or _SPACED_COLON.search(text):
        return False
    return text.count('":') == canonical.count('":')


class _OddError(Exception):
    """The text holds a number that needs a careful look."""


def _odd_number(_: str) -> NoReturn:
    raise _OddError


def _small_integer(text: str) -> int:
    if len(text) > _PLAIN_DIGITS or text == "-0":
        raise _OddError
    return int(text)


def _is_flat(text: str) -> bool:
    """Tell from the number of brackets that a text cannot nest too deep."""
    return text.count("{") + text.count("[") <= MAX_DEPTH


class _Oversize(int):
    """An integer beyond 64 bits."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands in the decoded tree where the text has no single reading, until its path is found."""

    rule: str
    reason: str


class _Odd:
    """The hooks of one decoding; `seen` says whether anything odd was met, so that the tree need be walked."""

    def __init__(self) -> None:
        self.seen = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self.pairs,
            parse_float=self.number,
            parse_int=self.integer,
            parse_constant=self.constant,
        )

    def pairs(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            self.seen = True
            keys: set[str] = set()
            for key, _ in pairs:
                if key in keys:
                    found[key] = _Refused("unique-keys", "the key occurs twice in one object")
                keys.add(key)
        return found

    def number(self, _: str) -> _Refused:
        self.seen = True
        return _Refused("no-floats", "a number with a fraction or an exponent; numbers are integers")

    def integer(self, text: str) -> int | _Refused:
        if len(text) <= _PLAIN_DIGITS:
            if text == "-0":
                self.seen = True
                return _Refused("one-spelling", "minus zero is a second spelling of zero")
            return int(text)
        if len(text) > _MAX_DIGITS:
            self.seen = True
            return _Refused("int64", "an integer of absurd length")
        value = int(text)
        if INT64_MIN <= value <= INT64_MAX:
            return value
        self.seen = True
        return _Oversize(value)

    def constant(self, text: str) -> _Refused:
        self.seen = True
        return _Refused("no-floats", f"{text} is not JSON")


def _find(value: object, path: Path) -> list[Path]:
    """Walk to what the hooks marked: raise the first refusal, return the paths of oversize integers."""
    if len(path) > MAX_DEPTH:
        raise CanonicalError((), "bounded-depth", _TOO_DEEP)
    match value:
        case _Refused(rule, reason):
            raise CanonicalError(path, rule, reason)
        case _Oversize():
            return [path]
        case dict():
            return [found for key, item in value.items() for found in _find(item, (*path, key))]
        case list():
            return [found for index, item in enumerate(value) for found in _find(item, (*path, index))]
        case _:
            return []


def _deep(value: object) -> bool:
    """Tell whether nesting goes beyond the bound, level by level, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for item in level:
            if type(item) is dict:
                below.extend(item.values())
            elif type(item) is list:
                below.extend(item)
        level = [item for item in below if type(item) in (dict, list)]
        if not level:
            return False
    return True


def _check(value: object, path: Path) -> None:
    kind = type(value)
    if kind is str:
        assert isinstance(value, str)
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            _refuse(path, "no-surrogates", "half of a surrogate pair has no UTF-8 form")
    elif kind is bool or value is None:
        return
    elif kind is int:
        assert isinstance(value, int)
        if not INT64_MIN <= value <= INT64_MAX:
            _refuse(path, "int64", "an integer beyond 64 bits")
    elif kind is dict:
        assert isinstance(value, dict)
        if len(path) >= MAX_DEPTH:
            _refuse((), "bounded-depth", _TOO_DEEP)
        for key, item in value.items():
            if type(key) is not str:
                _refuse(path, "text-keys", "a key is not text")
            _check(key, path)
            _check(item, (*path, key))
    elif kind is list or kind is tuple:
        assert isinstance(value, (list, tuple))
        if len(path) >= MAX_DEPTH:
            _refuse((), "bounded-depth", _TOO_DEEP)
        for index, item in enumerate(value):
            _check(item, (*path, index))
    elif isinstance(value, float):
        _refuse(path, "no-floats", "a float; numbers are integers")
    else:
        _refuse(path, "plain-json", f"a {kind.__name__} is not plain JSON")


def _refuse(path: Path, rule: str, reason: str) -> NoReturn:
    raise CanonicalError(path, rule, reason)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)
_SPACED_COLON = re.compile(r'"\s+:')
_PLAIN_DECODER = json.JSONDecoder(
    parse_float=_odd_number, parse_constant=_odd_number, parse_int=_small_integer
)
