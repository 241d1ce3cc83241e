"""The effective key: the admitted pairs of types, their domains, and the digests of a key's mapping and template.

An admitted pair maps SQL Server equality to ClickHouse equality injectively (specification, *Effective key and event
time*). Everything else, text, floats, nullable, widened or rescaled types, has no pair.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from dpone_contracts.canonical import digest_checked
from dpone_contracts.document import Fault, Part, broken, lax, without
from dpone_contracts.scalars import Identifier, OnlyFalse, Sha256Text, WhenPresent

TEMPLATE_SCHEMA: Final = "dpone.semantic-refresh-effective-key-template.v1"
MAPPING_SCHEMA: Final = "dpone.semantic-refresh-effective-key-mapping.v1"

MappingLabel: TypeAlias = Literal[
    "bit_bool", "integer_width_preserving", "uuid_equality", "date", "datetime2_utc", "decimal_exact"
]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """One admitted pair: SQL Server type, ClickHouse type, mapping label and, for times, the inclusive domain."""

    source_type: str
    target_type: str
    mapping: str
    domain: tuple[str, str] | None = None

    @property
    def needs_utc_assurance(self) -> bool:
        """Only datetime2(6) says nothing of its time zone, so only it needs an attested one."""
        return self.mapping == "datetime2_utc"

    @property
    def is_event_time(self) -> bool:
        """Tell whether a column of this pair can bound a day."""
        return self.domain is not None


_PAIRS: Final[Mapping[str, KeyPair]] = {
    pair.source_type: pair
    for pair in (
        KeyPair("bit", "Bool", "bit_bool"),
        KeyPair("tinyint", "UInt8", "integer_width_preserving"),
        KeyPair("smallint", "Int16", "integer_width_preserving"),
        KeyPair("int", "Int32", "integer_width_preserving"),
        KeyPair("bigint", "Int64", "integer_width_preserving"),
        KeyPair("uniqueidentifier", "UUID", "uuid_equality"),
        KeyPair("date", "Date", "date", ("1970-01-01", "2149-06-06")),
        KeyPair(
            "datetime2(6)",
            "DateTime64(6,'UTC')",
            "datetime2_utc",
            ("1900-01-01T00:00:00.000000Z", "2299-12-31T23:59:59.999999Z"),
        ),
    )
}
_DECIMAL = re.compile(r"decimal\(([1-9]|[12]\d|3[0-8]),(0|[1-9]\d?)\)", re.ASCII)


def decimal_of(source_type: str) -> tuple[int, int] | None:
    """Read precision and scale of `decimal(p,s)`, spelled without blanks; None for anything else."""
    if (found := _DECIMAL.fullmatch(source_type)) is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    return (precision, scale) if scale <= precision else None


def key_pair(source_type: str) -> KeyPair | None:
    """Return the one pair that a SQL Server type is admitted with, None when it cannot be a key."""
    if (pair := _PAIRS.get(source_type)) is not None:
        return pair
    if decimal_of(source_type) is None:
        return None
    return KeyPair(source_type, "D" + source_type[1:], "decimal_exact")


class KeyColumn(Part):
    """One key column, in key order, without what a deployment holds for it."""

    name: Identifier
    source_type: str
    target_type: str
    mapping: MappingLabel
    nullable: OnlyFalse
    domain_min: Annotated[str | None, WhenPresent] = None
    domain_max: Annotated[str | None, WhenPresent] = None

    @property
    def pair(self) -> KeyPair:
        """The admitted pair of the column."""
        pair = key_pair(self.source_type)
        assert pair is not None
        return pair

    def _rules(self) -> Iterator[Fault]:
        pair = key_pair(self.source_type)
        if pair is None:
            yield broken("admitted-pair", "a type that cannot be an effective key", "source_type")
            return
        if self.target_type != pair.target_type:
            yield broken(
                "admitted-pair", f"{pair.source_type} is admitted as {pair.target_type} only", "target_type"
            )
        if self.mapping != pair.mapping:
            yield broken("admitted-pair", f"the mapping of {pair.source_type} is {pair.mapping}", "mapping")
        lowest, highest = pair.domain or (None, None)
        if self.domain_min != lowest:
            yield broken("key-domain", f"the domain of {pair.source_type} is part of its pair", "domain_min")
        if self.domain_max != highest:
            yield broken("key-domain", f"the domain of {pair.source_type} is part of its pair", "domain_max")
        yield from self._assurance_rules(needed=pair.needs_utc_assurance)

    @abstractmethod
    def _assurance_rules(self, *, needed: bool) -> Iterator[Fault]:
        """Yield what does not hold about the UTC assurance of the column."""


class EffectiveKeyColumn(KeyColumn):
    """One key column of a plan, with the UTC assurance that datetime2(6) needs."""

    utc_assurance_sha256: Annotated[Sha256Text | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            *(
                {
                    "properties": {
                        "source_type": {"const": pair.source_type},
                        "target_type": {"const": pair.target_type},
                        "mapping": {"const": pair.mapping},
                        **(
                            {"domain_min": {"const": pair.domain[0]}, "domain_max": {"const": pair.domain[1]}}
                            if pair.domain
                            else {"domain_min": False, "domain_max": False}
                        ),
                        **({} if pair.needs_utc_assurance else {"utc_assurance_sha256": False}),
                    },
                    "required": [
                        *(["domain_min", "domain_max"] if pair.domain else []),
                        *(["utc_assurance_sha256"] if pair.needs_utc_assurance else []),
                    ],
                }
                for pair in _PAIRS.values()
            ),
            {
                "properties": {
                    "source_type": {
                        "pattern": r"^decimal\((?:[1-9]|[12][0-9]|3[0-8]),(?:0|[1-9][0-9]?)\)(?![\s\S])"
                    },
                    "target_type": {
                        "pattern": r"^Decimal\((?:[1-9]|[12][0-9]|3[0-8]),(?:0|[1-9][0-9]?)\)(?![\s\S])"
                    },
                    "mapping": {"const": "decimal_exact"},
                    "domain_min": False,
                    "domain_max": False,
                    "utc_assurance_sha256": False,
                }
            },
        ]
    }

    def _assurance_rules(self, *, needed: bool) -> Iterator[Fault]:
        if needed != (self.utc_assurance_sha256 is not None):
            yield broken(
                "utc-assurance", "datetime2(6), and no other type, needs one", "utc_assurance_sha256"
            )


def key_column(name: str, source_type: str, *, utc_assurance_sha256: str | None = None) -> dict[str, Any]:
    """Describe a key column as a plan does; raises ValueError when the type cannot be a key."""
    if (pair := key_pair(source_type)) is None:
        raise ValueError(f"{source_type} cannot be an effective key")
    column: dict[str, Any] = {
        "name": name,
        "source_type": pair.source_type,
        "target_type": pair.target_type,
        "mapping": pair.mapping,
        "nullable": False,
    }
    if pair.domain is not None:
        column["domain_min"], column["domain_max"] = pair.domain
    if utc_assurance_sha256 is not None:
        column["utc_assurance_sha256"] = utc_assurance_sha256
    return column


def key_digests(columns: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the digests of mapping (the columns as they are) and template (without a deployment's receipts) of a key."""
    described = [
        {
            **without(column, "utc_assurance_sha256"),
            "utc_assurance_required": column["source_type"] == "datetime2(6)",
        }
        for column in columns
    ]
    return (
        digest_checked({"columns": columns, "schema": MAPPING_SCHEMA}),
        digest_checked({"columns": described, "schema": TEMPLATE_SCHEMA}),
    )


def known_key_digests(columns: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the digests of a validated key; they are computed once for all the days that have it.

    Only for validated columns: to the cache, `1` and `true` would be one value.
    """
    return _known_key_digests(tuple([tuple(column.items()) for column in columns]))


@lru_cache(maxsize=256)
def _known_key_digests(columns: tuple[tuple[tuple[str, Any], ...], ...]) -> tuple[str, str]:
    return key_digests([dict(column) for column in columns])


def key_rules(columns: Sequence[EffectiveKeyColumn], event_time_column: str) -> Iterator[Fault]:
    """Yield what does not hold of a key as a whole: distinct names, and event time among them."""
    names = [column.name for column in columns]
    if len({name.casefold() for name in names}) != len(names):
        fault = lax if len(set(names)) == len(names) else broken
        yield fault(
            "unique-names", "two key columns have one name (case does not count)", "effective_key_columns"
        )
    event_time = next((column for column in columns if column.name == event_time_column), None)
    if event_time is None:
        yield broken("event-time-is-key", "the event-time column is not a key column", "event_time_column")
    elif not event_time.pair.is_event_time:
        yield broken(
            "event-time-is-key", "the event-time column is neither date nor datetime2(6)", "event_time_column"
        )
