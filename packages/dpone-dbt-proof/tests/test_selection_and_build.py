"""What dbt is told to run: exact models and their tests; what it prints is a projection without values."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dpone_contracts.ports.model_build import BuildRequest, RenderedBatch
from dpone_dbt_proof import model_build
from dpone_dbt_proof.dbt_process import DbtExit, NodeResult, read_results, start_interpreter
from dpone_dbt_proof.model_build import BuildSelectionError, DbtModelBuild, build_arguments, build_exit
from dpone_dbt_proof.platform_project import AuthorProject, offline_connection
from dpone_dbt_proof.selection import select

if TYPE_CHECKING:
    from pathlib import Path

EVENT = "model.shop.sale_event"


def test_models_and_their_tests_are_selected_by_exact_fqn(shop: Any) -> None:
    other = shop.model("other_event", shop.SQL, depends_on=[])
    shop.test("compares", [EVENT, other])
    one = select(shop.load(), [EVENT])
    assert one.selectors == ("fqn:shop.marts.sale_event", "fqn:shop.sale_id_is_there")
    assert one.node_ids == (EVENT, "test.shop.sale_id_is_there")
    both = select(shop.load(), [EVENT, other])
    assert both.test_ids == ("test.shop.compares", "test.shop.sale_id_is_there")


def test_tests_of_models_that_are_not_built_again_still_run(shop: Any) -> None:
    selection = select(shop.load(), [], [EVENT])
    assert (selection.model_ids, selection.node_ids) == ((), ("test.shop.sale_id_is_there",))


def test_a_bare_name_selects_in_every_package_as_dbt_does(shop: Any) -> None:
    shop.document["nodes"][EVENT]["fqn"] = ["shop", "sale_event"]
    shop.model("helper", "select 1 as x", depends_on=[], meta={})
    shop.document["nodes"]["model.shop.helper"]["fqn"] = ["other", "shop", "sale_event"]
    assert "model.shop.helper" in select(shop.load(), [EVENT]).node_ids


def test_the_command_names_selectors_and_nothing_eager(shop: Any) -> None:
    assert build_arguments(select(shop.load(), [EVENT])) == [
        "build",
        *("--select", "fqn:shop.marts.sale_event", "fqn:shop.sale_id_is_there"),
        *("--indirect-selection", "empty"),
        *("--threads", "1"),
        "--no-partial-parse",
        "--no-fail-fast",
    ]


def test_tests_alone_are_no_build_which_would_leave_out_unit_tests(shop: Any) -> None:
    assert build_arguments(select(shop.load(), [], [EVENT]), "test")[:3] == [
        "test",
        *("--select", "fqn:shop.sale_id_is_there"),
    ]


def test_a_selection_that_holds_more_is_refused_before_dbt_starts(shop: Any, tmp_path: Path) -> None:
    shop.model("nested", "select 1 as x", depends_on=[], meta={})
    shop.document["nodes"]["model.shop.nested"]["fqn"] = ["shop", "marts", "sale_event", "nested"]
    build = DbtModelBuild(
        AuthorProject(tmp_path, "shop"),
        shop.load(),
        offline_connection("shop", "mart"),
        str,
        tmp_path / "work",
    )
    batch = RenderedBatch(EVENT, "SELECT 1", "sha256:x", "[a].[b].[c]", "[a].[b].[d]")
    with pytest.raises(BuildSelectionError, match=r"model\.shop\.nested"):
        build.build(BuildRequest("x", (batch,), (EVENT,), 60, 30))
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize(
    ("statuses", "passed"),
    [
        ({EVENT: "success", "test.shop.sale_id_is_there": "pass"}, True),
        ({EVENT: "success", "test.shop.sale_id_is_there": "warn"}, True),
        ({EVENT: "success", "test.shop.sale_id_is_there": "fail"}, False),
        ({EVENT: "error", "test.shop.sale_id_is_there": "skipped"}, False),
        ({EVENT: "success"}, None),
    ],
)
def test_tests_passed_only_when_each_ran_and_passed(
    shop: Any, tmp_path: Path, statuses: dict[str, str], passed: object
) -> None:
    results = tuple(NodeResult(key, status, None, None, None) for key, status in statuses.items())
    ended = DbtExit(finished=True, exit_code=0, results=results, log_path=tmp_path, output="", messages={})
    exit_ = build_exit(ended, select(shop.load(), [EVENT]))
    assert exit_.node_status == statuses
    assert exit_.tests_passed is passed


def test_results_carry_numbers_and_codes_of_a_message_but_no_value_of_it(tmp_path: Path) -> None:
    message = (
        "('23000', \"[23000] [Driver][SQL Server]Violation of UNIQUE KEY. The duplicate key value is (CANARY). "
        '(2627) (SQLExecDirectW)") DPONE_BATCH_ALTERED'
    )
    path = tmp_path / "run_results.json"
    path.write_text(json.dumps({"results": [{"unique_id": EVENT, "status": "error", "message": message}]}))
    (result,) = read_results(path)
    assert result == NodeResult(EVENT, "error", "23000", 2627, "DPONE_BATCH_ALTERED")
    assert "CANARY" not in repr(result)


def test_a_process_that_wrote_no_results_has_none(tmp_path: Path) -> None:
    assert read_results(tmp_path / "run_results.json") == ()
    (tmp_path / "run_results.json").write_text('{"results": [')
    assert read_results(tmp_path / "run_results.json") == ()


def test_dbt_is_never_imported_into_the_worker() -> None:
    assert not [name for name in sys.modules if name == "dbt" or name.startswith("dbt.")]


def test_a_build_that_was_expected_twice_has_one_process_and_uses_it_once(
    shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []

    class Started:
        def __init__(self, start: object) -> None:
            assert start is start_interpreter
            started.append(self)

    monkeypatch.setattr(model_build, "DbtProcess", Started)
    author = AuthorProject(tmp_path, "shop")
    build = DbtModelBuild(author, shop.load(), offline_connection("shop", "mart"), str, tmp_path)
    build.expect()
    build.expect()
    assert build._process() is started[0]
    assert build._process() is started[1]
