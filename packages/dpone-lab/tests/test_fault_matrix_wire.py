"""The fault matrix on the lab's engines: one entry of each part, as `dpone lab faults` runs it alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dpone_lab.fault_matrix_build import WireCase, WireMatrix, cases_of
from dpone_lab.fault_matrix_wire import Kind, Message, WireFault


def faults(*arguments: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "dpone", "lab", "faults", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=580)
    return done.returncode, json.loads(done.stdout)


def test_an_entry_of_the_wire_reads_back_from_its_name() -> None:
    case = WireCase(Message(21, Kind.COMMIT), WireFault.ZOMBIE)
    assert case.name == "dbt/21/commit:zombie"
    assert WireCase.parse(case.name) == case


def test_every_message_is_cut_before_and_after_and_a_commit_meets_every_fault() -> None:
    messages = [Message(1, Kind.OTHER), Message(2, Kind.COMMIT)]
    assert [case.fault for case in cases_of(messages)] == [
        *(WireFault.CUT_BEFORE, WireFault.CUT_AFTER),
        *WireFault,
    ]
    assert WireMatrix(messages, []).left_out == ["wire~dbt/1/other", "wire~dbt/2/commit"]


@pytest.mark.parametrize("entry", ["memory~nothing", "memory~SEAL/a/b.c/1:never"])
def test_an_entry_that_is_none_is_refused(entry: str) -> None:
    code, told = faults("--only", "publish", "--entry", entry)
    assert (code, told["code"]) == (2, "DPONE_USAGE")


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_a_late_exchange_fails_on_the_engines_and_the_run_completes() -> None:
    entry = "engines~COMMIT/airport_hour_event/publisher.exchange/1:late@10"
    code, report = faults("--only", "publish", "--entry", entry)
    assert (code, report["wrong"], report["boundaries"]) == (0, [], 1)


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_a_commit_whose_acknowledgement_is_lost_is_classified_from_the_tables() -> None:
    code, report = faults("--only", "build", "--entry", "wire~dbt/21/commit:cut_after")
    assert (code, report["wrong"], report["boundaries"]) == (0, [], 1)
