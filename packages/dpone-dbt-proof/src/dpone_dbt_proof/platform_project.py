"""Materialises the platform's dbt root project around an author's project.

Authors install nothing: the root holds flags, profile and strategy, the author's project and its packages lie
under `dbt_packages`, so that unique ids, fqn and checksums stay the author's. What is written is private to
one attempt; the directory is the caller's to create and to delete.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpone_contracts.ports.model_build import RenderedBatch

PLATFORM_PROJECT_NAME: Final = "dpone_platform"
_BATCHES_FILE: Final = "macros/dpone_rendered_batches.sql"
_ROOT_FILES: Final = ("dbt_project.yml", "profiles.yml", "macros/dpone_scope_merge.sql")
_NOT_PART_OF_A_PROJECT: Final = (
    *(".git", ".venv", "venv", "target", "logs", "dbt_packages", "profiles.yml"),
    ".user.yml",  # dbt's own id of a person, another one on every machine
)


class PlatformProjectError(DponeError):
    """The author's project can't be put under the platform's root; the message names the file or setting."""

    def __init__(self, observed: str) -> None:
        super().__init__("DPONE_DBT_PROJECT_UNFIT", observed)


@dataclass(frozen=True, slots=True)
class SqlServerConnection:
    """Where dbt connects to; the password is handed over in the environment and nowhere else."""

    driver: str
    server: str
    port: int
    database: str
    schema: str
    user: str
    encrypt: bool
    trust_certificate: bool
    login_timeout_seconds: int

    def environment(self, password: str, query_timeout_seconds: int) -> dict[str, str]:
        """Return the variables that the platform's `profiles.yml` reads."""
        return {
            "DPONE_DBT_DRIVER": self.driver,
            "DPONE_DBT_SERVER": self.server,
            "DPONE_DBT_PORT": str(self.port),
            "DPONE_DBT_DATABASE": self.database,
            "DPONE_DBT_SCHEMA": self.schema,
            "DPONE_DBT_USER": self.user,
            "DPONE_DBT_ENCRYPT": str(self.encrypt),
            "DPONE_DBT_TRUST_CERTIFICATE": str(self.trust_certificate),
            "DPONE_DBT_LOGIN_TIMEOUT": str(self.login_timeout_seconds),
            "DPONE_DBT_QUERY_TIMEOUT": str(query_timeout_seconds),
            "DBT_ENV_SECRET_DPONE_PASSWORD": password,
        }


OFFLINE_CONNECTION_USER: Final = "nobody"


def offline_connection(database: str, schema: str) -> SqlServerConnection:
    """Describe a connection that is never opened: parse and compile need the names alone."""
    return SqlServerConnection(
        driver="none",
        server="offline.invalid",
        port=1433,
        database=database,
        schema=schema,
        user=OFFLINE_CONNECTION_USER,
        encrypt=True,
        trust_certificate=False,
        login_timeout_seconds=1,
    )


@dataclass(frozen=True, slots=True)
class AuthorProject:
    """An author's dbt project on disk and its name."""

    root: Path
    name: str

    @classmethod
    def load(cls, root: Path) -> AuthorProject:
        """Read `dbt_project.yml`; raises `PlatformProjectError` where there is none or it has no name."""
        try:
            settings = yaml.safe_load((root / "dbt_project.yml").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise PlatformProjectError(f"{root} holds no dbt_project.yml") from None
        except (OSError, UnicodeDecodeError) as error:
            raise PlatformProjectError(f"dbt_project.yml of {root} can't be read: {error}") from None
        except yaml.YAMLError as error:
            raise PlatformProjectError(f"dbt_project.yml of {root} is not YAML") from error
        name = settings.get("name") if isinstance(settings, dict) else None
        if not isinstance(name, str) or not name.isidentifier():
            raise PlatformProjectError(f"dbt_project.yml of {root} has no valid name")
        return cls(root, name)


@dataclass(frozen=True, slots=True)
class PlatformProject:
    """The materialised root: run dbt with `directory` as project and profiles directory."""

    directory: Path
    author: AuthorProject
    artifacts: Mapping[str, str]
    """sha256 of every file of the author and the packages, by path relative to `directory`."""


def platform_files() -> dict[str, bytes]:
    """Return the fixed files of the root project by relative path: flags, profile and strategy macro."""
    root = files("dpone_dbt_proof") / "platform"
    return {name: root.joinpath(name).read_bytes() for name in _ROOT_FILES}


def materialise(
    directory: Path, author: AuthorProject, batches: Iterable[RenderedBatch] = ()
) -> PlatformProject:
    """Write the root project with the author's project as a package into the empty `directory`.

    Raises `PlatformProjectError` when the author's packages are not installed or a name collides, and
    when a batch does not have its digest or can't be carried.
    """
    for name, content in platform_files().items():
        _write(directory / name, content)
    _write(directory / _BATCHES_FILE, _batches_macro(tuple(batches)).encode())
    packages = directory / "dbt_packages"
    _copy_project(author.root, packages / author.name)
    for package in _installed_packages(author):
        if package.name in (author.name, PLATFORM_PROJECT_NAME):
            raise PlatformProjectError(f"package {package.name} has the name of a project")
        _copy_project(package, packages / package.name)
    return PlatformProject(directory, author, _digests(packages, directory))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy_project(source: Path, target: Path) -> None:
    ignored = shutil.ignore_patterns(*_NOT_PART_OF_A_PROJECT)
    shutil.copytree(source, target, ignore=lambda folder, names: _ignored(source, folder, names, ignored))


def _ignored(source: Path, folder: str, names: list[str], ignored: object) -> set[str]:
    """Leave out what lies at the top of a project without being part of it."""
    if Path(folder) != source:
        return set()
    return set(ignored(folder, names)) if callable(ignored) else set()


def _installed_packages(author: AuthorProject) -> list[Path]:
    folder = author.root / "dbt_packages"
    installed = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    wanted = _declared_packages(author.root)
    if wanted > len(installed):
        raise PlatformProjectError(
            f"{wanted} packages are declared and {len(installed)} installed: run dbt deps"
        )
    return installed


def _declared_packages(root: Path) -> int:
    for name in ("packages.yml", "dependencies.yml"):
        path = root / name
        if path.is_file():
            declared = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
            return len(declared.get("packages") or [])
    return 0


def _digests(folder: Path, root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _batches_macro(batches: tuple[RenderedBatch, ...]) -> str:
    """Write every batch verbatim in a raw block; dbt compares its MD5 once more when it inserts it."""
    lines = ["{% macro dpone_rendered_batches() %}", "{%- set batches = {} -%}"]
    for batch in batches:
        _check_batch(batch)
        checksum = hashlib.md5(batch.sql.encode(), usedforsecurity=False).hexdigest()
        lines += [
            "{%- set sql -%}{% raw %}" + batch.sql + "{% endraw %}{%- endset -%}",
            (
                "{%- do batches.update({"
                f"{_jinja(batch.model_unique_id)}: {{'sql': sql | string, 'md5': {_jinja(checksum)}, "
                f"'target': {_jinja(batch.target)}, 'temp': {_jinja(batch.temp)}}}"
                "}) -%}"
            ),
        ]
    lines += ["{{ return(batches) }}", "{% endmacro %}", ""]
    return "\n".join(lines)


def _check_batch(batch: RenderedBatch) -> None:
    if batch.sha256 != f"sha256:{hashlib.sha256(batch.sql.encode()).hexdigest()}":
        raise PlatformProjectError(f"the batch of {batch.model_unique_id} does not have its digest")
    # Jinja would end the raw block, or write another line ending, without a word.
    if "endraw" in batch.sql or "\r" in batch.sql or batch.sql != batch.sql.strip():
        raise PlatformProjectError(f"the batch of {batch.model_unique_id} can't be carried verbatim")


def _jinja(text: str) -> str:
    """Quote text as a Jinja string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
