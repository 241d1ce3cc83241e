"""Bulk reading of a committed image as Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpone_contracts.effects import EffectKind, effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpone_contracts.plan_bundle import PlanTarget
    from dpone_contracts.plans import OperationPlan
    from dpone_contracts.relations import SqlRelation


@dataclass(frozen=True, slots=True)
class ImageBatch:
    """Rows of an image in row order: an Arrow record batch behind the Arrow C interface (`__arrow_c_array__`)."""

    first_row: int
    row_count: int
    data: Any


class ImageReader(Protocol):
    """Streams an image in the order of `dpone_row_v1` with bounded memory."""

    @effect(EffectKind.READ)
    def batches(
        self, plan: OperationPlan, target: PlanTarget, image: SqlRelation, rows_per_batch: int
    ) -> Iterator[ImageBatch]:
        """All rows, ordered by the plan's effective key; each batch but the last has `rows_per_batch` rows."""
        ...
