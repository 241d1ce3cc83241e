from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpone_contracts.canonical import digest_of
from dpone_contracts.chain import replacement_faults
from dpone_contracts.document import DocumentError
from dpone_contracts.identity import (
    Lineage,
    Replaced,
    StageError,
    commit_order,
    compile_plan_bundle,
    compile_projection,
    compile_release,
    compile_replacement_plan,
)
from dpone_contracts.names import (
    artifact_prefix,
    image_name,
    image_relation_id,
    query_id_prefix,
    shadow_name,
    staging_name,
)
from dpone_contracts.summaries import FailedWorkflowSummary
from dpone_contracts.worker_stage import TaskTry, bind_attempt, bind_execution, compile_authority_bundle

sys.path.insert(0, str(Path(__file__).parent))
import identity_story as story

# Golden identities of the story: they change when a rule of identity changes, and only then.
GOLDEN = {
    "profile": "sha256:1d6bf403eb272ee529bf35a81666feb8e2b961a87df0d263d3a22a7554f08cc5",
    "platform": "sha256:079ea13a5cb1388a32e19d61d5c93af458c6ceb11679e2737f5d4c13a5c11668",
    "proof bundle": "sha256:b3bfe018d1183b3ef7e28eeaab1e68cb7d1556deb1a776e79923a526721ca18e",
    "release": "sha256:bd8760facc97e1aff1bec8ee1de9123f19c1c0d9e750d5627162839765629e72",
    "deployment": "sha256:95f7b665d73e3b0d41cc8d7e9635a3af6f27ba458047be0e643a27950a251bfc",
    "price operation": "sha256:d47f7de4cde5de9df637974bb4f11dd1013a47426f0132e5ff0cd3872b5f152f",
    "stock operation": "sha256:45323994bc6683a4cbf82c71c43573e02b4f7b108a6a3c9c88d12cb0fc449a22",
    "workflow plan": "sha256:08ba756b15184147d438080c7d92ab7d2caeb7aa809862bb8b9f7494e69143fa",
    "plan bundle": "sha256:4b45500009e18baccd0cb6c553d10e7546c60863f1429d59b8caa35b52b02103",
    "projection": "sha256:7ecd3b216c019a70f95607e1cf9cb33f60cb7ca1798358352cd9b30853fdc309",
    "execution": "sha256:1473b0baa73309d972ab52c4e4644b3091f7d52b29b222b5eea21b64663558f2",
    "attempt": "sha256:2bd1ff152f43e1a5a6bba7202e14787a1b9f18e7cd467845fa019f8e7abc1dfe",
    "authority bundle": "sha256:c9eac3420f1d4e58d4333a3d454557ee98c0eae126fd39228d963884f6a37b2b",
}
RUN = "scheduled__2026-08-09T04:30:00+00:00"
TRY = TaskTry(
    "semantic_refresh__dbt_build_test", 1, "f47af0ad-0c1c-4830-8837-c45c3b64d168", "semref-worker/pricing"
)


def test_the_identities_of_the_story_are_golden() -> None:
    bundle = compile_plan_bundle(story.stage())
    execution = bind_execution(bundle, RUN)
    assert {
        "profile": story.profile().digest,
        "platform": story.platform().digest,
        "proof bundle": story.proofs().digest,
        "release": story.release().digest,
        "deployment": story.deployment().digest,
        "price operation": bundle.operation_plans[0].operation_id,
        "stock operation": bundle.operation_plans[1].operation_id,
        "workflow plan": bundle.workflow_plan.digest,
        "plan bundle": bundle.digest,
        "projection": compile_projection(bundle, story.proofs()).digest,
        "execution": execution.digest,
        "attempt": bind_attempt(execution, bundle.operation_plans[0], TRY, 501).digest,
        "authority bundle": compile_authority_bundle(bundle, execution, story.deployment()).digest,
    } == GOLDEN


def test_compiling_twice_gives_equal_bytes() -> None:
    first, second = (compile_plan_bundle(story.stage()) for _ in range(2))
    assert first.to_bytes() == second.to_bytes()
    assert (
        compile_projection(first, story.proofs()).to_bytes()
        == compile_projection(second, story.proofs()).to_bytes()
    )


def test_a_run_changes_no_identity_before_it() -> None:
    bundle = compile_plan_bundle(story.stage())
    one, other = bind_execution(bundle, RUN), bind_execution(bundle, "manual__2026-08-09T09:12:44+00:00")
    assert one.digest != other.digest
    assert one.workflow_plan_sha256 == other.workflow_plan_sha256
    later = bind_attempt(one, bundle.operation_plans[0], replace(TRY, try_number=2), 502)
    assert later.operation_id == bundle.operation_plans[0].operation_id


def test_another_day_is_another_operation_of_the_same_family() -> None:
    today, tomorrow = (
        compile_plan_bundle(story.stage(scope=scope)) for scope in (story.SCOPE, story.SCOPE.next())
    )
    for before, after in zip(today.operation_plans, tomorrow.operation_plans, strict=True):
        assert before.operation_id != after.operation_id
        assert before.scope_family_id == after.scope_family_id


def test_a_projection_agrees_with_the_published_one_on_its_tasks() -> None:
    projection = compile_projection(compile_plan_bundle(story.stage()), story.proofs())
    ours, published = projection.task_projection, story.published_projection().task_projection
    assert [task.task_id for task in ours.commit_tasks] == [task.task_id for task in published.commit_tasks]
    assert ours.asset_uris == published.asset_uris
    assert ours.summary_task == published.summary_task


def failed() -> Replaced:
    bundle = compile_plan_bundle(story.stage())
    execution = bind_execution(bundle, RUN)
    outcomes = dict(
        zip(
            sorted(p.operation_id for p in bundle.operation_plans),
            ("ROLLED_BACK", "COMMITTED_WITH_IMAGES"),
            strict=True,
        )
    )
    summary = FailedWorkflowSummary.build(
        status="FAILED_PRE_COMMIT",
        workflow_id=RUN,
        workflow_plan_sha256=bundle.workflow_plan.digest,
        workflow_execution_binding_sha256=execution.digest,
        expected_operation_ids=sorted(outcomes),
        models=[
            {
                "operation_id": operation,
                "attempt_binding_sha256": digest_of({"attempt": operation}),
                "mssql_outcome": outcome,
                "mssql_evidence_sha256": digest_of({"evidence": operation}),
            }
            for operation, outcome in sorted(outcomes.items())
        ],
    )
    return Replaced(bundle, execution, summary)


def test_a_replacement_names_what_it_replaces_and_follows_its_outcomes() -> None:
    replaced = failed()
    ids = {plan.model_unique_id: plan.operation_id for plan in replaced.bundle.operation_plans}
    models = {
        model: replace(held, lineage=Lineage(failed_operation_id=ids[model], replacement_ordinal=1))
        for model, held in story.stage().models.items()
    }
    bundle = compile_plan_bundle(
        story.stage(workflow_mode="failed_precommit_replacement", models=models, replaced=replaced)
    )
    plan = bundle.workflow_replacement_plan
    assert plan is not None
    by_operation = {operation: model for model, operation in ids.items()}
    assert list(replacement_faults(plan, replaced.summary, by_operation)) == []
    assert {a.action for a in plan.replacement_actions} == {"BUILD_FRESH", "RESTORE_THEN_REBUILD"}
    execution = bind_execution(bundle, "manual__2026-08-09T09:12:44.518223+00:00")
    assert execution.recovery_plan_digest == plan.recovery_plan_digest
    assert (
        compile_authority_bundle(bundle, execution, story.deployment()).workflow_replacement_plan_sha256
        == plan.digest
    )


def test_a_replay_is_the_next_revision_of_its_predecessor() -> None:
    models = {
        model: replace(held, lineage=Lineage(revision=2, scope_predecessor_operation_id=story.sha("a")))
        for model, held in story.stage().models.items()
    }
    bundle = compile_plan_bundle(story.stage(workflow_mode="complete_scope_replay", models=models))
    assert {plan.scope_revision for plan in bundle.operation_plans} == {2}
    with pytest.raises(DocumentError, match="scope-revision"):
        compile_plan_bundle(
            story.stage(
                workflow_mode="complete_scope_replay",
                models={
                    model: replace(held, lineage=Lineage(scope_predecessor_operation_id=story.sha("a")))
                    for model, held in models.items()
                },
            )
        )


def test_a_replacement_follows_one_failed_workflow_of_the_same_day() -> None:
    replaced = failed()
    tomorrow = compile_plan_bundle(story.stage(scope=story.SCOPE.next()))
    other_run = bind_execution(replaced.bundle, "manual__2026-08-10T00:00:00+00:00")
    for changed, workflow, rule in (
        (replaced, tomorrow.workflow_plan, "same-scope"),
        (replace(replaced, bundle=tomorrow), replaced.bundle.workflow_plan, "replaces-summary"),
        (replace(replaced, execution=other_run), replaced.bundle.workflow_plan, "replaces-summary"),
    ):
        with pytest.raises(StageError) as caught:
            compile_replacement_plan(workflow, changed)
        assert caught.value.rule == rule


def unproven() -> Any:
    bundle = story.proofs()
    closure = story.with_fields(bundle.mutation_closure, status="UNVERIFIED")
    return story.with_fields(bundle, mutation_closure=closure, status="UNVERIFIED")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"proofs": unproven()}, "proven-only"),
        ({"platform": story.with_fields(story.platform(), closed_day_lag_days=2)}, "one-release"),
        ({"release": story.with_fields(story.release(), product_version="0.74.1")}, "one-release"),
        ({"models": {story.PRICE: story.authorities(story.PRICE)}}, "authorities-cover-models"),
        ({"workflow_mode": "failed_precommit_replacement"}, "recovery-by-mode"),
        ({"replaced": failed()}, "recovery-by-mode"),
    ],
)
def test_a_stage_whose_parts_do_not_belong_together_is_refused_by_name(
    changes: dict[str, object], rule: str
) -> None:
    with pytest.raises(StageError) as caught:
        compile_plan_bundle(story.stage(**changes))
    assert caught.value.rule == rule


def test_only_a_passed_route_and_a_needed_assurance_give_plans() -> None:
    models = story.stage().models
    stock = models[story.STOCK]
    without_utc = {**models, story.STOCK: replace(stock, utc_assurance=None)}
    failed_route = {
        **models,
        story.STOCK: replace(stock, route=story.read("route-live-certification-receipt.fail")),
    }
    swapped = {**models, story.STOCK: replace(stock, writer_assurance=stock.ddl_assurance)}
    revoked = story.read("runtime-assurance-receipt.revoked-utc-semantics")
    withdrawn = {**models, story.STOCK: replace(stock, utc_assurance=revoked)}
    for changed, rule in (
        (without_utc, "utc-assurance"),
        (failed_route, "route-passed"),
        (swapped, "assurance-kind"),
        (withdrawn, "assurance-kind"),
    ):
        with pytest.raises(StageError) as caught:
            compile_plan_bundle(story.stage(models=changed))
        assert caught.value.rule == rule


def test_unproven_work_is_not_released() -> None:
    with pytest.raises(StageError, match="UNVERIFIED"):
        compile_release(
            unproven(), story.platform(), product_version="0.74.0", toolchain_sha256=story.sha("4")
        )


def test_commit_order_respects_dependencies_and_names() -> None:
    assert commit_order({"c": [], "b": ["c"], "a": ["b"], "d": []}) == ["c", "b", "a", "d"]
    assert commit_order({"b": [], "a": []}) == ["a", "b"]


def test_names_follow_from_identities_as_the_published_ones_do() -> None:
    receipt = story.read("attempt-continuation-receipt.day1-competitor-price-event")
    scratch = story.read("clickhouse-failed-scratch-cleanup-receipt.known-uuids")
    seal = story.read("seal-authorization-receipt.normal-day2-date")
    manifest = story.read("sealed-artifact-manifest.normal-day2-competitor-price-event")
    prefix = query_id_prefix(receipt.workflow_execution_binding_sha256, receipt.operation_id)
    assert receipt.clickhouse_query_id_prefix == prefix
    names = (
        shadow_name("competitor_price_event", scratch.operation_id),
        staging_name("competitor_price_event", scratch.operation_id),
    )
    assert names == (scratch.relations[0].name, scratch.relations[1].name)
    image = image_name("after", seal.operation_id, seal.attempt_binding_sha256)
    assert seal.after_image_relation_id == image_relation_id("PricingControl", "dpone_images", image)
    assert manifest.artifact_prefix == artifact_prefix(
        "sealed/competitive_pricing/competitor_price_event", manifest.operation_id
    )
