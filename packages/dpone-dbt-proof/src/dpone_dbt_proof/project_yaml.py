"""Jinja in a project's YAML files: settings, names and sources may not follow the environment either."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dpone_dbt_proof.jinja_closure import refused_uses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpone_dbt_proof.manifest import Manifest, Node
    from dpone_dbt_proof.reasons import Reason

_SETTINGS: Final = "dbt_project.yml"
_OF_NO_MODEL: Final = re.compile(
    r"^(?:profile|target-path|log-path|packages-install-path|clean-targets|query-comment)\s*:.*$|^\s*#.*$",
    re.MULTILINE,
)
"""Settings that reach no model's text or name, and comments."""


class ProjectYaml:
    """Reads each YAML file of an author's project once."""

    def __init__(self, project: Path | None, manifest: Manifest) -> None:
        self._project = project
        self._manifest = manifest
        self._found: dict[str, tuple[Reason, ...]] = {}

    def reasons(self, node: Node) -> Iterator[Reason]:
        """Yield what is refused in the project's settings and in the files that describe a model and its sources."""
        files = {_SETTINGS}
        if node.patch_path is not None:
            files.add(node.patch_path.removeprefix(f"{node.package}://"))
        parents = (self._manifest.nodes.get(key) for key in node.depends_on)
        files |= {
            parent.path
            for parent in parents
            if parent is not None and parent.resource_type == "source" and parent.package == node.package
        }
        for file in sorted(files):
            yield from self._of(file)

    def _of(self, file: str) -> tuple[Reason, ...]:
        if file not in self._found:
            self._found[file] = tuple(refused_uses(self._text(file), file))
        return self._found[file]

    def _text(self, file: str) -> str:
        """Return the file with blanks where nothing is meant; nothing where it can't be read: dbt says why."""
        path = self._project / file if self._project is not None else None
        try:
            text = path.read_text(encoding="utf-8") if path is not None else ""
        except (OSError, UnicodeDecodeError):
            return ""
        return _OF_NO_MODEL.sub("", text)
