"""Cover a target and what its model reads with a DDL epoch: from then on every DDL on them is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone.application.release import proofs_of
from dpone.application.services import require
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from dpone_contracts.descriptors import ProofBundle
    from dpone_contracts.ports.activation_store import ActivationStore
    from dpone_contracts.ports.catalog import DdlFreeze
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.relations import SqlRelation


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeServices:
    """The ports of a freeze."""

    guard: ActivationGuard
    activations: ActivationStore
    ddl_freeze: DdlFreeze


def freeze_target(
    services: FreezeServices, target: SqlRelation, proofs: ProofBundle, model_unique_id: str
) -> int:
    """The epoch of the target once it and the proven read closure are covered; covering again changes nothing.

    The epoch is what an assurance binds, and covering more than before moves it under assurances that are out: the
    guard stands before it like before every write of the control schema. Raises `DponeError`: the guard's; a target
    in another database than the control schema's or the proofs'; DPONE_DDL_FREEZE_COMMIT_UNKNOWN where the answer to
    the commit was lost.
    """
    store = services.activations.identity()
    services.guard.require_allowed(store)
    closure = proofs_of(proofs, model_unique_id).read_dependencies.closure_object_ids
    proven = proofs.execution_pack.profile.database
    if {store.database, proven} != {target.database}:
        raise DponeError(
            "DPONE_DATABASE_DIFFERS",
            f"{target} is not in the one database of control schema and proofs",
            {"control_database": store.database, "proven_database": proven},
        )
    return require(services.ddl_freeze.cover(target, closure))
