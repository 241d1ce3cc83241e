"""A template is put back as it was, whatever was written, removed or added since."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpone_lab.fault_matrix_lab import mirror

if TYPE_CHECKING:
    from pathlib import Path


def _contents(root: Path) -> dict[str, tuple[bytes | None, int, int]]:
    return {
        str(path.relative_to(root)): (
            path.read_bytes() if path.is_file() else None,
            path.stat().st_mode,
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in root.rglob("*")
    }


def test_a_mirror_is_the_template_again_and_untouched_files_stay_the_same_file(tmp_path: Path) -> None:
    template, target = tmp_path / "template", tmp_path / "target"
    (template / "base" / "1").mkdir(parents=True)
    for name in ("same", "rewritten", "removed", "became_a_directory"):
        (template / "base" / "1" / name).write_bytes(name.encode())
        os.utime(template / "base" / "1" / name, (1_000_000_000, 1_000_000_000))
    (template / "base" / "1" / "same").chmod(0o600)
    mirror(template, target)
    kept = _contents(template)
    assert _contents(target) == kept
    inode = (target / "base" / "1" / "same").stat().st_ino

    (target / "base" / "1" / "rewritten").write_bytes(b"REWRITTEN")
    (target / "base" / "1" / "removed").unlink()
    (target / "base" / "1" / "became_a_directory").unlink()
    (target / "base" / "1" / "became_a_directory" / "with").mkdir(parents=True)
    (target / "added").mkdir()
    (target / "added" / "file").write_bytes(b"x")
    mirror(template, target)
    assert _contents(target) == kept
    assert (target / "base" / "1" / "same").stat().st_ino == inode
