"""What every document is: a frozen closed model that knows its schema id and its own digest, and how one is loaded.

A stored document has three answers: `Valid` (may authorise), `Inadmissible` (the published preview accepted it and its
digests hold: legible, never acted on) and `Refused`. The bytes received are what is verified; nothing is re-serialised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, ClassVar, Self, TypeAlias, assert_never, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails

from dpone_contracts.canonical import (
    CanonicalError,
    Decoded,
    Json,
    Path,
    canonical_bytes,
    decode,
    digest_checked,
    digest_text,
    encode_checked,
    show_path,
    text_without,
)
from dpone_contracts.registry import DOCUMENTS
from dpone_contracts.scalars import LOADING, READING, refuse, text_fault

_LONGEST_NAME = 128


class DocumentCode(StrEnum):
    """The error codes of documents; the catalogue explains each."""

    TEXT = "DPONE_DOCUMENT_TEXT"
    """The bytes are not JSON with one reading."""
    SCHEMA = "DPONE_DOCUMENT_SCHEMA"
    """The schema id is missing, unknown, or not the expected one."""
    FIELD = "DPONE_DOCUMENT_FIELD"
    """A field is missing, unknown, of another type, or outside its values."""
    SPELLING = "DPONE_DOCUMENT_SPELLING"
    """A value is spelled in a way that gives one fact two identities."""
    RULE = "DPONE_DOCUMENT_RULE"
    """A rule between fields does not hold."""
    DIGEST = "DPONE_DOCUMENT_DIGEST"
    """A digest is not that of its subject."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document: where, which rule, why; `readable` if the preview let it pass."""

    path: Path
    rule: str
    reason: str
    code: DocumentCode = DocumentCode.RULE
    readable: bool = False


class DocumentError(ValueError):
    """A document is not admissible. Carries the first fault's `code`, `path`, `rule` and `reason`, and all `faults`.

    The text never holds a value of the document.
    """

    def __init__(self, schema: str | None, faults: tuple[Fault, ...]) -> None:
        first = faults[0]
        self.schema = schema
        self.faults = faults
        self.code = first.code.value
        self.path = show_path(first.path)
        self.rule = first.rule
        self.reason = first.reason
        super().__init__(f"{self.code} {schema or 'document'} at {self.path}: {self.reason} ({self.rule})")


def broken(rule: str, reason: str, *path: str | int) -> Fault:
    """Report a rule that the preview also held."""
    return Fault(path, rule, reason)


def lax(rule: str, reason: str, *path: str | int) -> Fault:
    """Report a rule that the preview let pass."""
    return Fault(path, rule, reason, readable=True)


class Part(BaseModel):
    """A closed piece of a document; `_rules` yields what does not hold between its fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, protected_namespaces=()
    )

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {}
    """What a JSON Schema can say of the rules between fields: merged into the generated schema."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Add what a schema can say of the rules."""
        described = handler(schema)
        handler.resolve_ref_schema(described).update(cls.SCHEMA_RULES)
        return described

    def _rules(self) -> Iterator[Fault]:
        yield from ()

    @model_validator(mode="after")
    def _hold_rules(self, info: ValidationInfo) -> Self:
        for fault in self._rules():
            if not (fault.readable and info.context is READING):
                refuse(fault.rule, fault.reason, path=fault.path, readable=fault.readable)
        if info.context is None:
            self._hold_digests()
        return self

    def _hold_digests(self) -> None:
        """Verify digests when somebody validates a document without loading it."""

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON value: published names, absent optionals left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Document(Part):
    """A document with a schema id and a digest over its canonical form without its own digest field."""

    SCHEMA: ClassVar[str]
    DIGEST_FIELD: ClassVar[str]
    PREVIEW_OPEN: ClassVar[tuple[str, ...]] = ()
    """Fields within which the published preview let unknown fields pass."""

    @classmethod
    def build(cls, **fields: Any) -> Self:
        """Make a document from its fields; digests that follow from other fields, its own included, are computed.

        Nested documents and parts may be passed as models or as plain values. Raises DocumentError like loading does.
        """
        plain = cast("dict[str, Any]", _plain({"schema": cls.SCHEMA, **fields}))
        try:
            canonical_bytes(plain)
            cls.derive(plain)
        except CanonicalError as error:
            raise DocumentError(cls.SCHEMA, (_text_fault(error),)) from None
        except (KeyError, TypeError, IndexError, AttributeError):
            pass  # A subject's field is missing: validation names it.
        plain.setdefault(cls.DIGEST_FIELD, digest_checked(plain))
        return cls.from_plain(plain)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Load a stored document of this kind; raises DocumentError unless it is valid."""
        return cast("Self", _admit(load_document(data, expected=cls)))

    @classmethod
    def from_plain(cls, plain: dict[str, Json]) -> Self:
        """Take a decoded document of this kind; raises DocumentError unless it is valid."""
        text = encode_checked(plain)
        return cast("Self", _admit(_judge(cls, Decoded(plain, text), text.encode("ascii"))))

    def _hold_digests(self) -> None:
        plain = self.to_plain()
        try:
            text = canonical_bytes(plain).decode("ascii")
        except CanonicalError as error:
            refuse(error.rule, error.reason, path=error.path)
        for fault in _wrong_digests(type(self), plain, text):
            refuse(fault.rule, fault.reason, path=fault.path)

    @classmethod
    def derive(cls, plain: dict[str, Any]) -> None:
        """Fill in digests that follow from other fields and are absent from `plain`."""

    @classmethod
    def derived(cls, plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
        """Yield where a digest stands that follows from other fields, and what it must be.

        `text` is the canonical text of `plain` without its own digest.
        """
        yield from ()

    @property
    def digest(self) -> str:
        """The document's own digest."""
        return cast("str", getattr(self, self.DIGEST_FIELD))

    def to_bytes(self) -> bytes:
        """Return the canonical bytes of the whole document, own digest included."""
        return encode_checked(self.to_plain()).encode("ascii")


@dataclass(frozen=True, slots=True)
class Valid:
    """A document that may authorise, with the bytes that it was read from."""

    document: Document
    received: bytes


@dataclass(frozen=True, slots=True)
class Inadmissible:
    """Retained evidence that is too lax to act on: digests hold, `faults` say what the strict contract refuses."""

    schema: str
    digest: str
    faults: tuple[Fault, ...]
    view: Mapping[str, Json]
    received: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """Bytes that are no document of ours."""

    schema: str | None
    faults: tuple[Fault, ...]
    received: bytes


Loaded: TypeAlias = Valid | Inadmissible | Refused


def load_document(data: bytes, *, expected: type[Document] | None = None) -> Loaded:
    """Verify received bytes against the schema that they name, or against the expected one."""
    try:
        decoded = decode(data)
    except CanonicalError as error:
        return Refused(_named_schema(data), (_text_fault(error),), data)
    name = decoded.value.get("schema")
    if expected is not None and name != expected.SCHEMA:
        fault = Fault(("schema",), "schema-id", f"the schema is not {expected.SCHEMA}", DocumentCode.SCHEMA)
        return Refused(_shown_name(name), (fault,), data)
    kind = expected or document_class(name)
    if kind is None:
        fault = Fault(("schema",), "schema-id", "missing or unknown schema id", DocumentCode.SCHEMA)
        return Refused(_shown_name(name), (fault,), data)
    return _judge(kind, decoded, data)


def admit_document(data: bytes) -> Document:
    """Load a document of any kind; raises DocumentError unless it is valid."""
    return _admit(load_document(data))


def document_class(schema: object) -> type[Document] | None:
    """Find the model of a schema id; None for an unknown one. Modules are imported when first asked for."""
    if type(schema) is not str or schema not in DOCUMENTS:
        return None
    module, name = DOCUMENTS[schema].split(":")
    return cast("type[Document]", getattr(import_module(f"dpone_contracts.{module}"), name))


def nested(kind: type[Document], plain: Mapping[str, Any], *at: str | int) -> Iterator[tuple[Path, str]]:
    """Yield the digests of a document that stands inside another at path `at`."""
    for path, wanted in _digests(kind, plain, encode_checked(plain)):
        yield (*at, *path), wanted


def without(plain: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Copy an object without some of its fields: the usual subject of a digest."""
    return {name: value for name, value in plain.items() if name not in names}


def at_path(plain: Any, path: Path) -> Any:
    """Return what stands at a path of a decoded document."""
    for step in path:
        plain = plain[step]
    return plain


def _digests(kind: type[Document], plain: Mapping[str, Any], text: str) -> Iterator[tuple[Path, str]]:
    subject = text_without(text, kind.DIGEST_FIELD, plain[kind.DIGEST_FIELD])
    yield from kind.derived(plain, subject)
    yield (kind.DIGEST_FIELD,), digest_text(subject)


def _shown_name(name: object) -> str | None:
    """Return the name of another schema where a report can show it."""
    if type(name) is not str or not 0 < len(name) <= _LONGEST_NAME or text_fault(name) is not None:
        return None
    return name


def _named_schema(data: bytes) -> str | None:
    """Return the known schema that a text names although it has no single reading; for reports only."""
    try:
        name = json.loads(data)["schema"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if type(name) is str and name in DOCUMENTS else None


def _judge(kind: type[Document], decoded: Decoded, received: bytes) -> Loaded:
    plain = decoded.value
    faults = [
        Fault(path, "int64", "an integer beyond 64 bits", DocumentCode.SPELLING, readable=True)
        for path in decoded.oversize
    ]
    document: Document | None = None
    try:
        document = kind.model_validate(plain, context=LOADING)
    except ValidationError as error:
        faults += _faults(kind, error)
    if document is None and all(fault.readable for fault in faults):
        unknown = [fault.path for fault in faults if fault.rule == "closed-document"]
        try:
            kind.model_validate(_stripped(plain, unknown), context=READING)
        except ValidationError as error:
            faults = _faults(kind, error) + faults
    unreadable = [fault for fault in faults if not fault.readable]
    if not unreadable:
        unreadable = _wrong_digests(kind, plain, decoded.text)
    if unreadable:
        return Refused(kind.SCHEMA, (*unreadable, *(fault for fault in faults if fault.readable)), received)
    if faults:
        return Inadmissible(
            kind.SCHEMA, cast("str", plain[kind.DIGEST_FIELD]), tuple(faults), plain, received
        )
    assert document is not None
    return Valid(document, received)


def _wrong_digests(kind: type[Document], plain: Mapping[str, Any], text: str) -> list[Fault]:
    reason = "not the digest of its subject"
    return [
        Fault(
            path,
            "own-digest" if path[-1] == kind.DIGEST_FIELD else "derived-digest",
            reason,
            DocumentCode.DIGEST,
        )
        for path, wanted in _digests(kind, plain, text)
        if at_path(plain, path) != wanted
    ]


def _admit(loaded: Loaded) -> Document:
    match loaded:
        case Valid(document):
            return document
        case Inadmissible(schema, _, faults) | Refused(schema, faults):
            raise DocumentError(schema, faults)
        case _:
            assert_never(loaded)


def _plain(value: Any) -> Any:
    """Turn models inside of build arguments into plain values; leave the rest to the canonical form's check."""
    if isinstance(value, Part):
        return value.to_plain()
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_plain(item) for item in value]
    return value


def _text_fault(error: CanonicalError) -> Fault:
    return Fault(error.path, error.rule, error.reason, DocumentCode.TEXT)


_RULE_CODES: Mapping[str, DocumentCode] = {
    **dict.fromkeys(("text", "no-null", "text-present", "admitted-value"), DocumentCode.FIELD),
    **dict.fromkeys(
        (
            "no-outer-blanks",
            "bounded-text",
            "visible-text",
            "utc-day",
            "utc-seconds",
            "utc-microseconds",
            "utc-instant",
            "uuid",
            "model-id",
            "node-id",
            "exact-selector",
        ),
        DocumentCode.SPELLING,
    ),
}
_FIELD_RULES: Mapping[str, tuple[str, str]] = {
    "missing": ("required-field", "the field is missing"),
    "literal_error": ("admitted-value", "outside the admitted values"),
    "string_pattern_mismatch": ("form", "not in the form that the field requires"),
    "greater_than_equal": ("bounds", "less than the least admitted number"),
    "less_than_equal": ("bounds", "more than the greatest admitted number"),
    "too_short": ("bounds", "fewer items than required"),
    "too_long": ("bounds", "more items than admitted"),
    "string_too_short": ("form", "shorter than the field requires"),
    "string_too_long": ("form", "longer than the field admits"),
    "string_unicode": ("no-surrogates", "half of a surrogate pair has no UTF-8 form"),
}


def _faults(kind: type[Document], error: ValidationError) -> list[Fault]:
    """Turn a validation error into faults, without the values that caused them."""
    faults = [_fault(kind, detail) for detail in error.errors(include_url=False)]
    # An array whose items are all refused is also called too short: that is no fault of its own.
    deeper = {fault.path[:end] for fault in faults for end in range(len(fault.path))}
    return [fault for fault in faults if not (fault.rule == "bounds" and fault.path in deeper)]


def _fault(kind: type[Document], detail: ErrorDetails) -> Fault:
    path: Path = detail["loc"]
    if detail["type"] == "rule":
        context = detail["ctx"]
        rule: str = context["rule"]
        code = _RULE_CODES.get(rule, DocumentCode.RULE)
        return Fault((*path, *context["path"]), rule, context["reason"], code, context["readable"])
    if detail["type"] == "extra_forbidden":
        readable = len(path) > 1 and path[0] in kind.PREVIEW_OPEN
        reason = "a field that the closed document does not have"
        return Fault(path, "closed-document", reason, DocumentCode.FIELD, readable)
    if detail["type"] != "missing" and detail["input"] is None:
        return Fault(path, "no-null", "null; an absent field is left out", DocumentCode.FIELD)
    rule, reason = _FIELD_RULES.get(detail["type"], ("type", "not of the field's type"))
    return Fault(path, rule, reason, DocumentCode.FIELD)


def _stripped(plain: Any, unknown: list[Path]) -> Any:
    """Copy a decoded document without its unknown fields."""
    if not unknown:
        return plain
    here = {path[0] for path in unknown if len(path) == 1}
    below = {
        step: [path[1:] for path in unknown if path[0] == step and len(path) > 1]
        for step in {p[0] for p in unknown}
    }
    if type(plain) is dict:
        return {key: _stripped(item, below.get(key, [])) for key, item in plain.items() if key not in here}
    return [_stripped(item, below.get(index, [])) for index, item in enumerate(plain)]
