"""A release by its command: the same bytes again, only what is proven, under the platform's own limits, create-only."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dpone.cli.refresh import app as product
from dpone.cli.release import read_policy_sha256
from dpone_contracts.canonical import canonical_bytes, digest_of
from dpone_contracts.descriptors import ProofBundle, ReleaseDescriptor
from dpone_contracts.hand_written import ReleaseSettings

sys.path.insert(0, str(Path(__file__).parent))
from deployment_in_memory import story

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.document import Document

PROOFS, PLATFORM = story.proofs(), story.platform()
SETTINGS = ReleaseSettings.build(
    asset_uris=dict(PROOFS.topology.logical_output_asset_uris),
    connection_ref="mssql",
    database="Dwh",
    model_schema="mart",
    login_timeout_seconds=15,
    query_timeout_seconds=60,
    timeout_seconds=600,
)


def compiled() -> dict[str, Any]:
    """What `dpone refresh compile` writes of the story's workflow, all of it proven."""
    models = [
        {
            "unique_id": model.model_unique_id,
            "status": "PROVEN",
            "reasons": [],
            "effective_key": [column.name for column in model.key_template.columns],
            "event_time_column": model.event_time_column,
            "columns": [
                {name: getattr(column, name) for name in ("name", "nullable", "source_type", "target_type")}
                for column in model.writable_columns
            ],
            "model_definition_proof": model.definition.to_plain(),
            "read_dependency_proof": model.read_dependencies.to_plain(),
        }
        for model in PROOFS.models
    ]
    workflow = {
        "name": PROOFS.workflow_name,
        "models": models,
        "dependencies": {name: list(above) for name, above in PROOFS.topology.dependencies.items()},
        "mutation_closure": PROOFS.mutation_closure.to_plain(),
        "sqlserver_lifecycle_policy": PROOFS.lifecycle_policy.to_plain(),
    }
    policies = {"read_dependency_policy_sha256": read_policy_sha256(PLATFORM.read_limits)}
    return {"schema": "dpone.refresh-proof-bundle.v1", "policies": policies, "workflows": [workflow]}


@dataclass
class Bench:
    """The files of one release."""

    folder: Path
    bundle: dict[str, Any]
    settings: Document = SETTINGS
    platform: Document = PLATFORM

    def release(self, out: str = "release") -> tuple[int, dict[str, Any]]:
        files = {"profile": story.profile(), "platform": self.platform, "settings": self.settings}
        for name, document in files.items():
            (self.folder / f"{name}.json").write_bytes(document.to_bytes())
        sealed = {"bundle_sha256": digest_of(self.bundle), **self.bundle}
        (self.folder / "bundle.json").write_bytes(canonical_bytes(sealed))
        options = [f"--{name}={self.folder / name}.json" for name in files]
        command = ["release", str(self.folder / "bundle.json"), *options, f"--out={self.folder / out}"]
        done = CliRunner().invoke(product, [*command, "--format=json"])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, json.loads(done.stdout)

    def files(self, out: str = "release") -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.folder / out).glob("*")}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, compiled())


def test_a_release_is_the_same_bytes_again_and_names_what_it_is_made_of(bench: Bench) -> None:
    code, told = bench.release()
    assert code == 0, told
    first = bench.files()
    proofs = ProofBundle.from_bytes(first["proof-bundle.json"])
    release = ReleaseDescriptor.from_bytes(first["release-descriptor.json"])
    assert (told["release_id"], told["pre_release_bundle_sha256"]) == (release.release_id, proofs.digest)
    assert release.pre_release_bundle_sha256 == proofs.digest
    assert release.platform_policy_digest == story.platform().digest
    assert proofs.execution_pack.profile.database == "Dwh"
    assert bench.release() == (0, told)
    assert bench.release("elsewhere")[0] == 0
    assert bench.files() == bench.files("elsewhere") == first


def test_another_release_is_not_written_over_it(bench: Bench) -> None:
    bench.release()
    first = bench.files()
    bench.settings = story.with_fields(SETTINGS, connection_ref="other")
    code, told = bench.release()
    assert (code, told["code"]) == (2, "DPONE_USAGE")
    assert bench.files() == first


def not_proven(bench: Bench) -> None:
    bench.bundle["workflows"][0]["models"][0] |= {
        "status": "UNVERIFIED",
        "reasons": [{"code": "CATALOG_ABSENT", "message": "no snapshot"}],
    }


def without_a_proof(bench: Bench) -> None:
    del bench.bundle["workflows"][0]["models"][0]["read_dependency_proof"]


def another_workflow(bench: Bench) -> None:
    bench.bundle["workflows"][0]["name"] = "another"


def another_budget(bench: Bench) -> None:
    bench.bundle["policies"]["read_dependency_policy_sha256"] = "sha256:" + "0" * 64


def no_budget(bench: Bench) -> None:
    bench.bundle["policies"] = {}


def one_model_at_most(bench: Bench) -> None:
    bench.platform = story.with_fields(story.platform(), max_models_per_workflow=1)


def an_asset_missing(bench: Bench) -> None:
    first, *_ = SETTINGS.asset_uris
    bench.settings = story.with_fields(SETTINGS, asset_uris={first: "clickhouse://c/mart/x"})


def changed_after_the_compile(bench: Bench) -> None:
    bench.bundle["bundle_sha256"] = "sha256:" + "0" * 64


def of_another_schema(bench: Bench) -> None:
    bench.bundle["schema"] = "dpone.refresh-proof-bundle.v2"


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (not_proven, "DPONE_PROOF_INCOMPLETE"),
        (without_a_proof, "DPONE_PROOF_INCOMPLETE"),
        (another_workflow, "DPONE_PROOF_INCOMPLETE"),
        (another_budget, "DPONE_PROOF_INCOMPLETE"),
        (no_budget, "DPONE_PROOF_INCOMPLETE"),
        (one_model_at_most, "DPONE_BUDGET_EXCEEDED"),
        (an_asset_missing, "DPONE_DOCUMENT_RULE"),
        (changed_after_the_compile, "DPONE_DOCUMENT_DIGEST"),
        (of_another_schema, "DPONE_DOCUMENT_SCHEMA"),
    ],
)
def test_what_is_not_proven_within_the_platforms_limits_is_not_released(
    bench: Bench, happens: Callable[[Bench], None], code: str
) -> None:
    happens(bench)
    exit_code, told = bench.release()
    assert told["code"] == code
    assert exit_code in (1, 5)
    assert bench.files() == {}
