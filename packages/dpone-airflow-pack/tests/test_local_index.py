from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpone_airflow_pack.index import read_index, write_index
from dpone_contracts.canonical import sha256_text
from dpone_contracts.descriptors import DeploymentIndex
from dpone_contracts.errors import DponeError
from dpone_contracts.projection import DagProjection

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS = Path(__file__).parents[2] / "dpone-contracts" / "tests" / "vectors" / "published-0.74" / "valid"


@pytest.fixture(scope="module")
def plain_projection() -> dict[str, Any]:
    """The published projection of a normal day."""
    found: dict[str, Any] = json.loads((VECTORS / "v2-dag-projection.normal.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def projection(plain_projection: dict[str, Any]) -> DagProjection:
    return DagProjection.from_plain(plain_projection)


def listed_file(index_file: Path) -> Path:
    return next((index_file.parent / "projections").iterdir())


def rewritten(index_file: Path, **listed: object) -> Path:
    """Another valid index under its own name, whose one entry says something else."""
    plain = json.loads(index_file.read_bytes())
    entry = plain["projections"][0] | listed
    index = DeploymentIndex.build(
        release_id=plain["release_id"],
        deployment_id=plain["deployment_id"],
        projections=[entry],
        current={entry["dag_id"]: entry["dag_projection_sha256"]},
    )
    path = index_file.with_name(f"deployment-index-{index.digest.removeprefix('sha256:')}.json")
    path.write_bytes(index.to_bytes())
    return path


def with_timezone(plain: dict[str, Any], name: str) -> DagProjection:
    """The projection of a workflow whose policy names another time zone."""
    changed = copy.deepcopy(plain)
    template = changed["template_pack"]
    for topology in (changed["topology"], template["semantic_refresh"]["topology"]):
        topology["dag_policy"]["timezone"] = name
    fields = {name: changed[name] for name in ("plan_bundle", "topology", "template_pack")}
    del template["pack_fingerprint"]
    from dpone_contracts.template_pack import Topology

    topology = {k: v for k, v in fields["topology"].items() if k not in ("schema", "topology_sha256")}
    built = Topology.build(**topology)
    template["semantic_refresh"]["topology"] = built.to_plain()
    return DagProjection.build(**fields | {"topology": built})


def test_what_was_published_is_read_back(tmp_path: Path, projection: DagProjection) -> None:
    (found,) = read_index(write_index(tmp_path, [projection]))
    assert found.projection == projection
    assert found.plan_bundles == (projection.plan_bundle_sha256,)


def test_publishing_again_changes_nothing(tmp_path: Path, projection: DagProjection) -> None:
    first = write_index(tmp_path, [projection])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert write_index(tmp_path, [projection]) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_publishing_overwrites_nothing(tmp_path: Path, projection: DagProjection) -> None:
    index_file = write_index(tmp_path, [projection])
    listed_file(index_file).write_bytes(b"{}")
    with pytest.raises(DponeError, match="DPONE_DEPLOYMENT_INDEX_CONFLICT"):
        write_index(tmp_path, [projection])
    assert listed_file(index_file).read_bytes() == b"{}"


def test_a_projection_with_an_unfinished_run_stays_listed(
    tmp_path: Path, projection: DagProjection, plain_projection: dict[str, Any]
) -> None:
    newer = with_timezone(plain_projection, "Europe/Amsterdam")
    (found,) = read_index(write_index(tmp_path, [newer], unfinished=[projection]))
    assert found.projection == newer
    assert found.plan_bundles[-1] == newer.plan_bundle_sha256
    assert len(found.plan_bundles) == 2


def spoil_bytes(index_file: Path) -> Path:
    path = listed_file(index_file)
    path.write_bytes(path.read_bytes().replace(b'"owner":"pricing-data"', b'"owner":"pricing-dat4"'))
    return index_file


def spoil_length(index_file: Path) -> Path:
    path = listed_file(index_file)
    path.write_bytes(path.read_bytes() + b"\n")
    return index_file


def spoil_link(index_file: Path) -> Path:
    path = listed_file(index_file)
    elsewhere = index_file.parents[1] / "elsewhere.json"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    return index_file


def spoil_absence(index_file: Path) -> Path:
    listed_file(index_file).unlink()
    return index_file


def spoil_index_name(index_file: Path) -> Path:
    return index_file.rename(index_file.with_name("deployment-index-latest.json"))


def spoil_index_bytes(index_file: Path) -> Path:
    index_file.write_bytes(index_file.read_bytes() + b" ")
    return index_file


def spoil_policy(index_file: Path) -> Path:
    """A projection without its DAG policy, listed with the right size and file digest."""
    path = listed_file(index_file)
    plain = json.loads(path.read_bytes())
    del plain["topology"]["dag_policy"]
    data = json.dumps(plain).encode()
    path.write_bytes(data)
    return rewritten(index_file, size_bytes=len(data), file_sha256=sha256_text(data))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (spoil_bytes, "the file's digest is not the listed one"),
        (spoil_length, "the file's size is not the listed one"),
        (spoil_link, "the path leaves the index's folder"),
        (spoil_absence, "no such regular file"),
        (spoil_index_name, "not the index that its name pins"),
        (spoil_index_bytes, "not the index that its name pins"),
        (spoil_policy, "dag_policy"),
        (lambda file: rewritten(file, scope_start="2026-08-07T00:00:00Z"), "index and projection disagree"),
        (lambda file: rewritten(file, plan_bundle_sha256=sha256_text(b"x")), "index and projection disagree"),
        (
            lambda file: rewritten(file, dag_projection_sha256=sha256_text(b"x")),
            "index and projection disagree",
        ),
        (lambda file: rewritten(file, dag_id="another"), "index and projection disagree"),
        (lambda file: file.with_name("none.json"), "no such regular file"),
    ],
)
def test_anything_else_is_refused(
    tmp_path: Path, projection: DagProjection, spoil: Callable[[Path], Path], reason: str
) -> None:
    index_file = spoil(write_index(tmp_path / "index", [projection]))
    with pytest.raises(DponeError, match=reason) as refused:
        read_index(index_file)
    assert refused.value.code == "DPONE_DEPLOYMENT_INDEX_REFUSED"


def test_an_index_of_another_deployment_does_not_list_this_projection(
    tmp_path: Path, projection: DagProjection
) -> None:
    plain = json.loads(write_index(tmp_path, [projection]).read_bytes())
    index = DeploymentIndex.build(
        release_id=plain["release_id"],
        deployment_id=sha256_text(b"another"),
        projections=plain["projections"],
        current=plain["current"],
    )
    path = tmp_path / f"deployment-index-{index.digest.removeprefix('sha256:')}.json"
    path.write_bytes(index.to_bytes())
    with pytest.raises(DponeError, match="the projection is of another deployment"):
        read_index(path)


def test_an_unknown_time_zone_is_not_published(tmp_path: Path, plain_projection: dict[str, Any]) -> None:
    with pytest.raises(DponeError, match="time zone is not known"):
        write_index(tmp_path, [with_timezone(plain_projection, "Europe/Atlantis")])


def test_reading_an_index_imports_no_airflow() -> None:
    code = (
        "import sys, dpone_airflow_pack.dag, dpone_airflow_pack.index, dpone_airflow_pack.release;"
        "sys.exit(any(name.split('.')[0] in ('airflow', 'pyodbc', 'sqlalchemy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
