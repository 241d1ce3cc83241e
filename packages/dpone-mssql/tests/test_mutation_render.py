from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_contracts.build_receipt import ModelBuildReceipt
from dpone_contracts.errors import CATALOGUE
from dpone_mssql.gates import FIRST, GATES, LAST
from dpone_mssql.mutation import render_mutation

if TYPE_CHECKING:
    from dpone_contracts.ports.refresh_state import AdmittedOperation
    from dpone_contracts.testing.plan_example import Example


def rendered(example: Example, admitted: dict[str, AdmittedOperation], model: str) -> str:
    name = f"model.example.{model}"
    plan = next(plan for plan in example.bundle.operation_plans if plan.model_unique_id == name)
    target = next(target for target in example.bundle.targets if target.model_unique_id == name)
    return render_mutation(plan, target, admitted[name], lock_timeout_ms=5000).sql


def test_every_gate_has_its_own_number_and_a_catalogue_line() -> None:
    numbers = [gate.number for gate in GATES.values()]
    assert len(set(numbers)) == len(numbers)
    assert all(FIRST <= number <= LAST for number in numbers)
    assert [gate.code for gate in GATES.values() if gate.code not in CATALOGUE] == []


def test_the_batch_throws_every_gate_and_no_other_number(
    example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    thrown = set(re.findall(r"THROW (\d+), N'(\w+)'", rendered(example, admitted, "flight")))
    assert thrown == {(str(gate.number), gate.code) for gate in GATES.values()}


def test_the_steps_stand_in_the_order_of_the_specification(
    example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    sql = rendered(example, admitted, "flight")
    marks = [
        "SET XACT_ABORT ON",
        "IF @@TRANCOUNT <> 1",
        "dpone:operation:",
        "dpone:ddl-freeze",
        "[ddl_epochs]",
        "[guards]",
        "[build_receipts]",
        "[attempt_fates] (",
        "INSERT INTO [dpone_images].[dpone_sr_before_",
        "INTO #dpone_scope",
        "DPONE_MUTATION_DUPLICATE_SOURCE",
        "UPDATE t SET",
        "INSERT INTO [mart].[flight]",
        "DPONE_MUTATION_DUPLICATE_RESULT",
        "INSERT INTO [dpone_images].[dpone_sr_after_",
        "INSERT INTO [dpone_control].[build_receipts]",
        "THROW 51009",
    ]
    found = [sql.find(mark) for mark in marks]
    assert -1 not in found
    assert found == sorted(found)


def test_the_batch_never_begins_commits_deletes_merges_or_raises(
    example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    text = re.sub(r"--[^\n]*", "", rendered(example, admitted, "flight"))
    assert not re.search(
        r"\b(BEGIN TRAN|COMMIT|ROLLBACK|DELETE|MERGE|RAISERROR|TRUNCATE)\b", text.replace("N'COMMITTED'", "")
    )


def test_literals_of_the_owner_are_quoted(example: Example, admitted: dict[str, AdmittedOperation]) -> None:
    assert "g.[owner_id] = N'worker/o''brien'" in rendered(example, admitted, "flight")


def test_a_model_of_keys_alone_updates_nothing(
    example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    sql = rendered(example, admitted, "seen")
    assert "UPDATE t SET" not in sql
    assert "SELECT @updated_rows = COUNT_BIG(*)" in sql


def test_the_receipt_pieces_name_every_member_in_canonical_order(
    example: Example, admitted: dict[str, AdmittedOperation]
) -> None:
    sql = rendered(example, admitted, "flight")
    pieces = sql[sql.index("SET @receipt_head") : sql.index("SET @receipt_sha256")]
    members = re.findall(r"^    \+ '\"(\w+)\":'", pieces, re.MULTILINE)
    wanted = {field.alias or name for name, field in ModelBuildReceipt.model_fields.items()}
    assert members == sorted(wanted - {"model_build_receipt_sha256"})
    head = sql[sql.index("SET @receipt_head") : sql.index("SET @receipt_tail")]
    assert "'\"inserted_row_count\":'" in head
    assert "'\"model_unique_id\":'" not in head


def test_rendering_twice_gives_equal_bytes(example: Example, admitted: dict[str, AdmittedOperation]) -> None:
    assert rendered(example, admitted, "weather") == rendered(example, admitted, "weather")
