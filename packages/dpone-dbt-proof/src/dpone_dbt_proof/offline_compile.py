"""Compiles an author's project without a connection, under its own root and under the platform's.

A model that dbt cannot even parse stops dbt for all of them; it is set aside and the others are read without it, so
that one bad model never hides the verdicts of the rest.
"""

from __future__ import annotations

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import yaml
from jinja2 import TemplateError
from jinja2.sandbox import SandboxedEnvironment

from dpone_contracts.errors import DponeError
from dpone_dbt_proof.dbt_process import DbtProcess
from dpone_dbt_proof.jinja_closure import ASKS_A_DATABASE, MacroIndex, model_closure
from dpone_dbt_proof.jinja_names import tag_column
from dpone_dbt_proof.manifest import Manifest, ManifestError, load_manifest
from dpone_dbt_proof.platform_project import (
    AuthorProject,
    PlatformProjectError,
    materialise,
    offline_connection,
    platform_files,
)
from dpone_dbt_proof.selection import selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dpone_dbt_proof.manifest import Node

COMPILE_ARGUMENTS: Final = (
    "compile",
    "--no-populate-cache",
    "--no-introspect",
    "--no-partial-parse",
    "--threads",
    "1",
)
"""dbt's offline compile: introspection fails instead of connecting."""

_BAD_MODEL: Final = re.compile(r"in (?:model|test|macro|snapshot|analysis) (\S+) \(([^)\s]+\.(?:sql|py))\)")
_BAD_TEST: Final = re.compile(r"in test (\S+) \([^)\s]+\.ya?ml\)")
_MISSING: Final = re.compile(
    r"Model '[^']*\.([^'.]+)' \(([^)\s]+\.sql)\) depends on a (?:node|source) named '([^']+)'[^\n]*"
)
_LINE: Final = re.compile(r"\bline (\d+)\b")
_CLOCK: Final = re.compile(r"^\d{2}:\d{2}:\d{2}\s*", re.MULTILINE)
_NEEDS_CONNECTION: Final = "dbt can't compile the model without a connection"
_MOST_BAD_MODELS: Final = 50


class CompileError(DponeError):
    """dbt can't read the project at all; the message is dbt's own, without paths of this machine."""

    def __init__(self, observed: str) -> None:
        super().__init__("DPONE_COMPILE_FAILED", observed)


@dataclass(frozen=True, slots=True)
class ModelDatabase:
    """Database and default schema of the models: what a profile would say."""

    database: str
    schema: str


@dataclass(frozen=True, slots=True)
class BadModel:
    """A model that dbt can't parse: where (its first Jinja tag in that line), and what dbt says."""

    name: str
    path: str
    line: int | None
    column: int | None
    message: str
    missing: str | None = None
    """The model or source that it names and that does not exist."""


@dataclass(frozen=True, slots=True)
class CompiledProject:
    """Both manifests, dbt's messages for nodes that did not compile, and the files that went in."""

    author: AuthorProject
    platform: Manifest
    own: Manifest
    failures: Mapping[str, str]
    bad_models: tuple[BadModel, ...]
    artifacts: Mapping[str, str]
    settings: Mapping[str, Any]


def compile_offline(
    author: AuthorProject, where: ModelDatabase, work: Path, timeout_seconds: float
) -> CompiledProject:
    """Compile under both roots inside the empty directory `work`; raises `CompileError` or `PlatformProjectError`."""
    source = AuthorProject(work / "author", author.name)
    shutil.copytree(
        author.root, source.root, ignore=shutil.ignore_patterns("target", "logs", ".git", ".venv")
    )
    settings = yaml.safe_load((source.root / "dbt_project.yml").read_text(encoding="utf-8"))
    profiles = work / "profiles"
    _write_profile(profiles, str(settings.get("profile") or "default"))
    project = materialise(work / "root", source)
    root = project.directory
    with ThreadPoolExecutor(max_workers=2) as both:
        under_own = both.submit(
            _compile_around, source, source.root, profiles, work / "own", where, timeout_seconds
        )
        platform = _compile_around(source, root, root, work / "platform", where, timeout_seconds)
        own = under_own.result()
    bad = {model.path: model for model in (*own.bad_models, *platform.bad_models)}
    failures = {
        key: text.replace(str(work), "") for key, text in {**own.failures, **platform.failures}.items()
    }
    return CompiledProject(
        author,
        platform.manifest,
        own.manifest,
        failures,
        tuple(bad[path] for path in sorted(bad)),
        project.artifacts,
        settings,
    )


def platform_manifest(work: Path) -> Path:
    """Where the manifest of a compile under the platform's root is: what workers build from."""
    return work / "platform" / "target" / "manifest.json"


@dataclass(frozen=True, slots=True)
class _Compiled:
    manifest: Manifest
    failures: Mapping[str, str]
    bad_models: tuple[BadModel, ...]


def database_of(author: AuthorProject, profiles: Path | None = None) -> ModelDatabase | None:
    """Read database and schema from the author's `profiles.yml`, its variables from the environment; None without."""
    path = (profiles or author.root) / "profiles.yml"
    if not path.is_file():
        return None
    settings = yaml.safe_load((author.root / "dbt_project.yml").read_text(encoding="utf-8")) or {}
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        profile = document.get(settings.get("profile")) or {}
        outputs = profile.get("outputs") or {}
        output = outputs.get(_rendered(profile.get("target") or "default")) or {}
        if "database" not in output or "schema" not in output:
            return None
        return ModelDatabase(_rendered(output["database"]), _rendered(output["schema"]))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TemplateError, AttributeError):
        raise PlatformProjectError(f"{path} can't be read as dbt's profiles") from None


def _rendered(value: Any) -> str:
    environment = SandboxedEnvironment(autoescape=False)  # no markup is made
    environment.globals["env_var"] = lambda name, default="": os.environ.get(name, default)
    return environment.from_string(str(value)).render()


def _write_profile(directory: Path, name: str) -> None:
    """Write the platform's profile under the author's name for it, so that both roots resolve names alike."""
    profile = yaml.safe_load(platform_files()["profiles.yml"])["dpone_platform"]
    directory.mkdir(parents=True)
    (directory / "profiles.yml").write_text(yaml.safe_dump({name: profile}), encoding="utf-8")


def _compile_around(
    source: AuthorProject,
    project: Path,
    profiles: Path,
    output: Path,
    where: ModelDatabase,
    timeout_seconds: float,
) -> _Compiled:
    """Compile; each time dbt stops at a model, leave it out (or set its file aside) and start again."""
    bad: list[BadModel] = []
    stopped: dict[str, str] = {}
    excluded: set[str] = set()
    manifest_path = output / "target" / "manifest.json"
    while True:
        manifest_path.unlink(missing_ok=True)
        ended = DbtProcess().run(
            [*COMPILE_ARGUMENTS, *(("--exclude", *sorted(excluded)) if excluded else ())],
            project=project,
            profiles=profiles,
            output=output,
            environment=offline_connection(where.database, where.schema).environment("", 1),
            timeout_seconds=timeout_seconds,
        )
        said = _CLOCK.sub("", ended.output).replace(str(output.parent), "")
        if not ended.finished:
            raise CompileError(f"dbt did not finish within {timeout_seconds:.0f} seconds")
        manifest = _manifest(manifest_path)
        if ended.exit_code in (0, 1) and manifest is not None:
            return _Compiled(manifest, {**ended.messages, **stopped}, tuple(bad))
        test = _bad_test(manifest, said)
        if manifest is not None and test is not None and selector(test) not in excluded:
            excluded |= {selector(test), *_refused_while_compiling(manifest)}
            continue
        found = _bad_model(said)
        if found is None or len(bad) + len(stopped) == _MOST_BAD_MODELS:
            raise CompileError(_error_text(said))
        node = _node_at(manifest, source.name, found.path)
        if manifest is not None and node is not None and selector(node) not in excluded:
            # dbt's words about the connection name a thread, which is another one in every run.
            undefined = " is undefined" in found.message
            stopped[node.unique_id] = found.message if undefined else _NEEDS_CONNECTION
            excluded |= {selector(node), *_refused_while_compiling(manifest)}
        else:
            text = _set_aside(project, source.name, found, said)
            bad.append(_placed(found, text))


def _manifest(path: Path) -> Manifest | None:
    """Read what dbt wrote; it writes the parsed manifest before it compiles."""
    try:
        return load_manifest(path)
    except ManifestError:
        return None


def _node_at(manifest: Manifest | None, package: str, path: str) -> Node | None:
    nodes = manifest.nodes.values() if manifest is not None else ()
    return next((node for node in nodes if (node.package, node.path) == (package, path)), None)


def _bad_test(manifest: Manifest | None, said: str) -> Node | None:
    """Find the test of a YAML file at which dbt stopped; the proof of its model judges its text."""
    named = _BAD_TEST.search(said)
    tests = manifest.of_type("test") if manifest is not None and named is not None else ()
    return next((test for test in tests if named is not None and test.name == named[1]), None)


def _refused_while_compiling(manifest: Manifest) -> Iterator[str]:
    """Yield selectors of all that would ask a database: dbt without a connection stops at each of them."""
    index = MacroIndex(manifest)
    for node in manifest.of_type("model", "test"):
        reasons = model_closure(manifest, index, node).reasons
        if any(reason.code in ASKS_A_DATABASE for reason in reasons):
            yield selector(node)


def _placed(found: BadModel, text: str) -> BadModel:
    """Find the place in the model's text: the broken tag, or the name that does not exist."""
    if found.line is not None:
        return replace(found, column=tag_column(text, found.line))
    name = re.search(rf"['\"]{re.escape((found.missing or '').rpartition('.')[2])}['\"]", text)
    if found.missing is None or name is None:
        return found
    start = name.start()
    return replace(found, line=text.count("\n", 0, start) + 1, column=start - text.rfind("\n", 0, start))


def _set_aside(project: Path, package: str, found: BadModel, said: str) -> str:
    """Remove the model's file from the copy and return its text."""
    for folder in (project, project / "dbt_packages" / package):
        file = folder / found.path
        if file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            file.unlink()
            return text
    raise CompileError(_error_text(said))


def _bad_model(said: str) -> BadModel | None:
    missing = _MISSING.search(said)
    if missing is not None:
        message = missing[0].partition(") ")[2]
        return BadModel(missing[1], missing[2], None, None, " ".join(message.split()), missing[3])
    found = _BAD_MODEL.search(said)
    if found is None:
        return None
    rest = said[found.end() :]
    line = _LINE.search(rest)
    message = " ".join(rest.split("\n\n")[0].split()) or "dbt can't parse the model"
    return BadModel(found[1], found[2], int(line[1]) if line else None, None, message)


def _error_text(said: str) -> str:
    _, _, text = said.partition("Encountered an error:")
    return " ".join((text or said).split())[:2000]
