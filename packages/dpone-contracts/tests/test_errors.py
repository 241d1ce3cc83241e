"""The catalogue is complete and its exceptions say everything an operator needs."""

from __future__ import annotations

import pytest

from dpone_contracts.effects import Reason, Unknown, tells_doubt
from dpone_contracts.errors import CATALOGUE, CatalogueEntry, DponeError, ExitClass

SPECIFIED = {
    "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE": ExitClass.REFUSED,
    "DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED": ExitClass.REFUSED,
    "DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN": ExitClass.UNKNOWN,
}


@pytest.mark.parametrize("code", sorted(SPECIFIED))
def test_codes_of_the_specification_stand_under_their_names(code: str) -> None:
    assert CATALOGUE[code].exit_class is SPECIFIED[code]


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_an_entry_has_all_its_parts(entry: CatalogueEntry) -> None:
    assert entry.code.startswith("DPONE_")
    assert all((entry.meaning, entry.look_at, entry.next_command))
    assert not entry.meaning.endswith(".")
    assert entry.next_command.startswith(("dpone ", "stop and call"))


def test_unknown_codes_have_unknown_in_their_exit_class() -> None:
    named = {code for code in CATALOGUE if tells_doubt(code)}
    assert named == {code for code, entry in CATALOGUE.items() if entry.exit_class is ExitClass.UNKNOWN}


def test_an_error_tells_code_observation_and_next_command() -> None:
    error = DponeError("DPONE_TARGET_DIVERGED", "3 rows in the scope", {"target": "db.flights"})
    assert str(error) == "DPONE_TARGET_DIVERGED: 3 rows in the scope"
    assert error.exit_class is ExitClass.REFUSED
    assert error.diagnostics()["evidence"] == {"target": "db.flights"}
    assert DponeError.because(error.reason).reason == error.reason


def test_a_code_outside_the_catalogue_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        DponeError("DPONE_INVENTED", "anything")


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=list(CATALOGUE))
def test_an_unknown_ends_in_the_class_unknown_whatever_code_it_was_made_with(entry: CatalogueEntry) -> None:
    made_with = Reason(entry.code, "killed", {"number": "394"})
    told = DponeError.because(Unknown(made_with).reason)
    assert (told.exit_class, told.observed, told.evidence["number"]) == (ExitClass.UNKNOWN, "killed", "394")
    kept = entry.exit_class is ExitClass.UNKNOWN
    assert (told.code, told.evidence.get("code")) == (
        (entry.code, None) if kept else ("DPONE_OUTCOME_UNKNOWN", entry.code)
    )
