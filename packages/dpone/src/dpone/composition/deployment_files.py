"""The folder of a deployment: its documents, its frozen receipts, and the index that schedulers read."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpone_airflow_pack.index import create_only, dag_file_text, write_index
from dpone_contracts.document import DocumentError
from dpone_contracts.effects import Applied, EffectResult, NotApplied, Reason
from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpone.composition.operator import Promotion
    from dpone_contracts.projection import DagProjection


@dataclass(frozen=True, slots=True)
class FolderFrozenBytes:
    """`FrozenBytes` as files of one folder."""

    folder: Path

    def freeze(self, name: str, data: bytes) -> EffectResult[bytes]:
        """Create the file, or find the one that was first."""
        path = self._path(name)
        try:
            create_only(path, data)
        except DponeError as error:
            if error.code != "DPONE_DEPLOYMENT_INDEX_CONFLICT":
                raise
        except OSError as fault:
            return _unwritable(fault, path)
        return Applied(path.read_bytes())

    def frozen(self, name: str) -> bytes | None:
        """The file's bytes."""
        path = self._path(name)
        return path.read_bytes() if path.exists() else None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


@dataclass(frozen=True, slots=True)
class FolderIndex:
    """`ProjectionIndex` as the pack writes it."""

    promotion: Promotion

    def publish(
        self, current: Sequence[DagProjection], unfinished: Sequence[DagProjection]
    ) -> EffectResult[str]:
        """Write projections and index, every byte read back."""
        try:
            return Applied(str(write_index(self.promotion.index, current, unfinished)))
        except DponeError as error:
            return NotApplied(error.reason)
        except DocumentError as error:
            return NotApplied(Reason("DPONE_DEPLOYMENT_INDEX_REFUSED", str(error)))
        except OSError as fault:
            # The index is written last: without it nothing of this publication is read.
            return _unwritable(fault, self.promotion.index)

    def promote(self, index: str) -> EffectResult[None]:
        """Replace the DAG file whole by one that names this index."""
        dag_file, services = self.promotion.dag_file, self.promotion.worker_services
        if dag_file is None or services is None:
            return Applied(None)
        text = dag_file_text(Path(index).absolute(), dag_file.parent.absolute(), services)
        try:
            if not dag_file.exists() or dag_file.read_text(encoding="utf-8") != text:
                _replace(dag_file, text)
        except OSError as fault:
            return _unwritable(fault, dag_file)
        return Applied(None)


def _replace(path: Path, text: str) -> None:
    """Put a file in place of another, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".dag-", delete=False
    ) as file:
        fresh = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            fresh.chmod(0o644)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise


def _unwritable(fault: OSError, path: Path) -> NotApplied:
    why = fault.strerror or type(fault).__name__
    return NotApplied(Reason("DPONE_DEPLOYMENT_FOLDER_UNWRITABLE", f"{fault.filename or path}: {why}"))
