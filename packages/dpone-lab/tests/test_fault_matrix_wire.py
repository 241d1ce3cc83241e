"""The fault matrix on the lab's engines: one entry of each part, as `dpone lab faults` runs it alone."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone_contracts.errors import DponeError
from dpone_dbt_proof.dbt_process import start_interpreter
from dpone_lab.demo import Timeline
from dpone_lab.fault_matrix_build import WireCase, WireMatrix, build_world, cases_of
from dpone_lab.fault_matrix_lab import fault_lab
from dpone_lab.fault_matrix_wire import Kind, Message, WireFault
from dpone_lab.fault_matrix_worlds import Pace, side_by_side
from dpone_lab.faults_command import DAY
from dpone_lab.prepared_dbt import PreparedDbt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpone_dbt_proof.dbt_process import WaitingProcess


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


def test_a_real_engine_is_never_put_in_the_matrix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPONE_CLICKHOUSE_DSN", "http://user:secret@clickhouse.example:8123/")
    with (
        pytest.raises(DponeError, match="unset DPONE_CLICKHOUSE_DSN"),
        fault_lab(tmp_path, DAY, Timeline(print).step),
    ):
        raise AssertionError("started")


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


@pytest.mark.engine
@pytest.mark.timeout(900)
def test_a_forked_dbt_sends_what_a_started_one_sends() -> None:
    with tempfile.TemporaryDirectory(prefix="dpone-lab-") as parent:
        Path(parent).chmod(0o711)
        with build_world(Path(parent) / "lab", DAY, print) as world:
            forked, with_fork = world.golden()
            world.lab.dbt = Started()
            started, without = world.golden()
    assert (with_fork.wrong, without.wrong) == ([], [])
    assert forked == started
    assert {message.kind for message in forked} == set(Kind)


class Started(PreparedDbt):
    """dbt in an interpreter of its own, as the product starts it."""

    def __init__(self) -> None:
        """Nothing is prepared."""

    def start(self, environment: Mapping[str, str]) -> WaitingProcess:
        return start_interpreter(environment)


def test_the_pace_tells_how_long_the_rest_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    now = iter([0.0, 100.0, 120.0, 400.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    pace = Pace(told.append, every_seconds=50)
    for played in (1, 3, 4, 10):
        pace.done(played, 10)
    assert told == ["3 of 10 cases, about 6 min left", "10 of 10 cases, about 0 min left"]


PLAYED = """
import os
from dpone_contracts.errors import DponeError

def die_in_the_second(number, folder, tell, give):
    if number == 1:
        os._exit(9)

def refuse(number, folder, tell, give):
    raise DponeError("DPONE_USAGE", "refused in a world")

def give_two(number, folder, tell, give):
    give((number, 0))
    give((number, 1))
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What worlds play, importable by their processes."""
    (tmp_path / "played_in_worlds.py").write_text(PLAYED)
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("played_in_worlds")


def test_a_world_that_dies_fails_the_whole_and_is_named(tmp_path: Path, played: Any) -> None:
    with pytest.raises(DponeError, match="world 2 ended without a word"):
        list(side_by_side(played.die_in_the_second, tmp_path, 2, print))


def test_an_error_of_a_world_is_that_of_the_whole(tmp_path: Path, played: Any) -> None:
    with pytest.raises(DponeError) as told:
        list(side_by_side(played.refuse, tmp_path, 1, print))
    assert (told.value.code, told.value.observed) == ("DPONE_USAGE", "refused in a world")


def test_what_worlds_give_arrives_whole(tmp_path: Path, played: Any) -> None:
    given = list(side_by_side(played.give_two, tmp_path, 2, print))
    assert sorted(given) == [(0, 0), (0, 1), (1, 0), (1, 1)]
