"""The gates of the scope mutation: each has its own error number, code and meaning; the batch throws both."""

from __future__ import annotations

from dataclasses import dataclass

FIRST, LAST = 51000, 51099
"""The range of numbers that belongs to the mutation; 51100 and 51101 are the control schema's triggers."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: the THROW number and the catalogue code that stands as the message."""

    number: int
    code: str

    @property
    def thrown(self) -> str:
        """The first two arguments of THROW."""
        return f"{self.number}, N'{self.code}'"


GATES = {
    "no_transaction": Gate(51000, "DPONE_MUTATION_NO_TRANSACTION"),
    "lock": Gate(51001, "DPONE_MUTATION_LOCK_NOT_GRANTED"),
    "epoch": Gate(51002, "DPONE_MUTATION_DDL_EPOCH_MOVED"),
    "fence": Gate(51003, "DPONE_MUTATION_FENCE_LOST"),
    "receipt": Gate(51004, "DPONE_MUTATION_RECEIPT_CONFLICT"),
    "image": Gate(51005, "DPONE_MUTATION_IMAGE_CONFLICT"),
    "type": Gate(51006, "DPONE_MUTATION_TYPE_DRIFT"),
    "session": Gate(51007, "DPONE_MUTATION_SESSION_UNFIT"),
    "fate": Gate(51008, "DPONE_MUTATION_ATTEMPT_ENDED"),
    "transaction_lost": Gate(51009, "DPONE_MUTATION_TRANSACTION_LOST"),
    "null_source": Gate(51010, "DPONE_MUTATION_NULL_SOURCE"),
    "duplicate_source": Gate(51011, "DPONE_MUTATION_DUPLICATE_SOURCE"),
    "domain_source": Gate(51012, "DPONE_MUTATION_DOMAIN_SOURCE"),
    "scope_source": Gate(51013, "DPONE_MUTATION_SCOPE_SOURCE"),
    "null_target": Gate(51020, "DPONE_MUTATION_NULL_TARGET"),
    "duplicate_target": Gate(51021, "DPONE_MUTATION_DUPLICATE_TARGET"),
    "domain_target": Gate(51022, "DPONE_MUTATION_DOMAIN_TARGET"),
    "scope_target": Gate(51023, "DPONE_MUTATION_SCOPE_TARGET"),
    "null_result": Gate(51030, "DPONE_MUTATION_NULL_RESULT"),
    "duplicate_result": Gate(51031, "DPONE_MUTATION_DUPLICATE_RESULT"),
    "domain_result": Gate(51032, "DPONE_MUTATION_DOMAIN_RESULT"),
    "scope_result": Gate(51033, "DPONE_MUTATION_SCOPE_RESULT"),
    "source_budget": Gate(51040, "DPONE_MUTATION_BUDGET_SOURCE"),
    "target_budget": Gate(51041, "DPONE_MUTATION_BUDGET_TARGET"),
    "image_budget": Gate(51042, "DPONE_MUTATION_BUDGET_IMAGE"),
    "temp_budget": Gate(51043, "DPONE_MUTATION_BUDGET_TEMP"),
    "log_budget": Gate(51044, "DPONE_MUTATION_BUDGET_LOG"),
    "count": Gate(51050, "DPONE_MUTATION_COUNT_MISMATCH"),
    "bytes": Gate(51051, "DPONE_MUTATION_BYTES_DIFFER"),
}
"""Every gate by the name that the templates use; state numbers inside a gate tell its places apart."""


def gate_of(number: int) -> Gate | None:
    """Find the gate that threw a number."""
    return next((gate for gate in GATES.values() if gate.number == number), None)
