"""A deployment's index and projections on the local disk: published create-only, read back only where everything agrees."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from zoneinfo import ZoneInfo

from dpone_contracts.canonical import sha256_text
from dpone_contracts.descriptors import DeploymentIndex, IndexedProjection
from dpone_contracts.document import Document, DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.projection import DagProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

INDEX_NAME: Final = "deployment-index-{}.json"
PROJECTION_NAME: Final = "projections/{}.json"
_DAG_FILE: Final = """from pathlib import Path

from dpone.airflow import load_dags

globals().update(load_dags(Path(__file__).parent / {index!r}, services={services!r}))
"""

D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class CurrentProjection:
    """What one DAG is made from: its current projection, and the plans of all its listed ones.

    `plan_bundles` holds the digests of the plan bundles that a run of this DAG may be bound to, current last: the
    index keeps every projection with an unfinished run.
    """

    projection: DagProjection
    plan_bundles: tuple[str, ...]


def read_index(index_file: Path) -> tuple[CurrentProjection, ...]:
    """Read an index under its content-addressed name and the current projection of each DAG, by DAG id.

    The name pins the index and the index pins the files: name, document digests, path, size, file digest, and
    that index and projection say the same. Raises `DponeError` DPONE_DEPLOYMENT_INDEX_REFUSED for anything else.
    Opens nothing but these files.
    """
    data = _read(index_file)
    index = _document(DeploymentIndex, data, index_file)
    if index_file.name != INDEX_NAME.format(_hex(index.digest)) or data != index.to_bytes():
        raise _refused(index_file, "the file is not the index that its name pins")
    found = []
    for dag_id, digest in sorted(index.current.items()):
        listed = [projection for projection in index.projections if projection.dag_id == dag_id]
        current = next(one for one in listed if one.dag_projection_sha256 == digest)
        others = [one.plan_bundle_sha256 for one in listed if one is not current]
        projection = _read_projection(index_file.parent, index, current)
        found.append(CurrentProjection(projection, (*others, current.plan_bundle_sha256)))
    return tuple(found)


def write_index(
    folder: Path, current: Sequence[DagProjection], unfinished: Sequence[DagProjection] = ()
) -> Path:
    """Publish projections and their index create-only, verify every byte, and return the index's path.

    `current` holds one projection a DAG, `unfinished` those with a run that is not terminal; all are of one
    deployment. The same files again are reused; raises `DponeError` DPONE_DEPLOYMENT_INDEX_CONFLICT where other
    bytes stand under a name, and `DocumentError` where the projections make no index.
    """
    by_digest = {projection.digest: projection for projection in (*unfinished, *current)}
    listed = []
    for projection in by_digest.values():
        data = projection.to_bytes()
        path = PROJECTION_NAME.format(_hex(projection.digest))
        create_only(folder / path, data)
        listed.append(_listing(projection, path, data))
    listed.sort(key=lambda one: (one.dag_id, one.scope_start, one.dag_projection_sha256))
    index = DeploymentIndex.build(
        release_id=current[0].release_id,
        deployment_id=current[0].deployment_id,
        projections=listed,
        current={projection.topology.dag_id: projection.digest for projection in current},
    )
    for one in index.projections:
        _read_projection(folder, index, one)
    path_of_index = folder / INDEX_NAME.format(_hex(index.digest))
    create_only(path_of_index, index.to_bytes())
    read_index(path_of_index)
    return path_of_index


def dag_file_text(index_file: Path, folder: Path, services: str) -> str:
    """The DAG file of a published index, for a file in `folder`: what promotes the index, written last.

    The index is named relative to the DAG file, so that both move together in a versioned bundle. `services` is the
    `module:function` that composes a worker's services.
    """
    return _DAG_FILE.format(index=os.path.relpath(index_file, folder), services=services)


def _listing(projection: DagProjection, path: str, data: bytes) -> IndexedProjection:
    """What an index must say of a projection that stands in a file."""
    workflow = projection.plan_bundle.workflow_plan
    return IndexedProjection(
        dag_id=projection.topology.dag_id,
        workflow_name=workflow.workflow_name,
        scope_start=workflow.scope_start,
        path=path,
        size_bytes=len(data),
        file_sha256=sha256_text(data),
        dag_projection_sha256=projection.digest,
        plan_bundle_sha256=projection.plan_bundle_sha256,
        workflow_plan_sha256=projection.workflow_plan_sha256,
    )


def _read_projection(folder: Path, index: DeploymentIndex, listed: IndexedProjection) -> DagProjection:
    path = folder / listed.path
    # A link could lead out of the folder that the deployment published.
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _refused(path, "the path leaves the index's folder")
    data = _read(path, listed.size_bytes)
    if sha256_text(data) != listed.file_sha256:
        raise _refused(path, "the file's digest is not the listed one")
    projection = _document(DagProjection, data, path)
    if _listing(projection, listed.path, data) != listed:
        raise _refused(path, "index and projection disagree")
    if (projection.release_id, projection.deployment_id) != (index.release_id, index.deployment_id):
        raise _refused(path, "the projection is of another deployment")
    _require_timezone(path, projection.topology.dag_policy.timezone)
    return projection


def _require_timezone(path: Path, name: str) -> None:
    """Refuse a policy whose time zone this machine does not know: the schedule would be another one."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise _refused(path, "the DAG policy's time zone is not known here") from None


def _read(path: Path, size: int | None = None) -> bytes:
    """The bytes of a regular file, of the listed size where one is listed; a larger one is never read whole."""
    try:
        if not path.is_file():
            raise _refused(path, "no such regular file")
        with path.open("rb") as file:
            data = file.read(-1 if size is None else size + 1)
    except OSError as error:
        raise _refused(path, f"the file cannot be read: {error.strerror}") from None
    if size is not None and len(data) != size:
        raise _refused(path, "the file's size is not the listed one")
    return data


def _document(kind: type[D], data: bytes, path: Path) -> D:
    try:
        return kind.from_bytes(data)
    except DocumentError as error:
        raise _refused(path, str(error)) from None


def create_only(path: Path, data: bytes) -> None:
    """Put a complete file under a name that has none; the same bytes there already are as good."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-") as fresh:
        fresh.write(data)
        fresh.flush()
        os.fsync(fresh.fileno())
        Path(fresh.name).chmod(0o644)
        try:
            os.link(fresh.name, path)
        except FileExistsError:
            if path.read_bytes() != data:
                raise DponeError(
                    "DPONE_DEPLOYMENT_INDEX_CONFLICT",
                    "other bytes stand under a create-only name",
                    {"file": str(path)},
                ) from None
    _make_durable(path.parent)


def _make_durable(folder: Path) -> None:
    """Make new names of a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _refused(path: Path, rule: str) -> DponeError:
    return DponeError("DPONE_DEPLOYMENT_INDEX_REFUSED", f"{path.name}: {rule}", {"file": str(path)})
