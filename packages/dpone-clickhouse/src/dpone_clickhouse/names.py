"""Names in ClickHouse: quoting, literals, and the exact scratch and statement names of an attempt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.names import hex_of, query_id_prefix
from dpone_contracts.relations import ClickHouseRelation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpone_contracts.ports.refresh_state import AdmittedOperation

STAGING_PREFIX = "dpone_staging_"
SHADOW_PREFIX = "dpone_shadow_"
OBSERVER_PREFIX = "dpone-observer-"
MAX_BURNS = 9
"""How often one attempt may move its own shadow to a fresh name before it needs a successor try."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SHORT = 16


def quoted(name: str) -> str:
    """Quote one identifier; every character stands for itself."""
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


def qualified(relation: ClickHouseRelation) -> str:
    """Quote a table's two-part name."""
    return f"{quoted(relation.database)}.{quoted(relation.name)}"


def literal(text: str) -> str:
    """Quote a text literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def column_list(names: Iterable[str]) -> str:
    """Quote and join column names."""
    return ", ".join(quoted(name) for name in names)


@dataclass(frozen=True, slots=True)
class AttemptNames:
    """Everything that is named after one attempt of one operation in one execution (each a `sha256:…` digest)."""

    operation_id: str
    attempt_binding_sha256: str
    execution_binding_sha256: str

    def __post_init__(self) -> None:
        for digest in (self.operation_id, self.attempt_binding_sha256, self.execution_binding_sha256):
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"not a digest: {digest!r}")

    @classmethod
    def of(cls, admitted: AdmittedOperation) -> AttemptNames:
        """The names of an admitted operation's attempt."""
        attempt = admitted.attempt
        return cls(
            admitted.operation_id, attempt.attempt_binding_sha256, attempt.workflow_execution_binding_sha256
        )

    @property
    def query_id_prefix(self) -> str:
        """What every query id and log comment of the attempt begins with: the operation's prefix, then the attempt."""
        prefix = query_id_prefix(self.execution_binding_sha256, self.operation_id)
        return f"{prefix}{hex_of(self.attempt_binding_sha256, _SHORT)}-"

    def staging(self, database: str) -> ClickHouseRelation:
        """The attempt's staging relation."""
        return ClickHouseRelation(database, f"{STAGING_PREFIX}{self._suffix}")

    def shadow(self, database: str, burns: int = 0) -> ClickHouseRelation:
        """The attempt's shadow relation; after `burns` burned names of its own, a numbered one."""
        number = f"_b{burns}" if burns else ""
        return ClickHouseRelation(database, f"{SHADOW_PREFIX}{self._suffix}{number}")

    def shadows(self, database: str) -> tuple[ClickHouseRelation, ...]:
        """Every name that the attempt may give a shadow, in the order of use."""
        return tuple(self.shadow(database, burns) for burns in range(MAX_BURNS + 1))

    @property
    def _suffix(self) -> str:
        return f"{hex_of(self.operation_id, _SHORT)}_{hex_of(self.attempt_binding_sha256, _SHORT)}"
