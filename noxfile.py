"""Longer sessions than the default test run; each says UNVERIFIED where what it needs is not there."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import nox

PYTHON = "3.11"
PYTHONS = ["3.11", "3.12", "3.13"]

nox.options.default_venv_backend = "uv"
nox.options.sessions = ["lint", "types", "imports", f"tests-{PYTHON}"]

ROOT = Path(__file__).parent
MEMBERS = sorted(path.parent.name for path in ROOT.glob("packages/*/pyproject.toml"))
BUILT: list[Path] = []


def workspace(session: nox.Session) -> None:
    """The pinned workspace environment inside the session."""
    session.run_install(
        "uv", "sync", "-q", "--active", external=True, env={"VIRTUAL_ENV": session.virtualenv.location}
    )


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Everything that CI's test step runs, on every Python that is supported and here."""
    workspace(session)
    session.run("pytest", "-q", "-n", "2", "--dist", "loadgroup", *session.posargs)


@nox.session(python=PYTHON)
def lint(session: nox.Session) -> None:
    """ruff, as configured at the root."""
    workspace(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python=PYTHON)
def types(session: nox.Session) -> None:
    """mypy strict over every member, its tests and the tools."""
    workspace(session)
    session.run("python", "tooling/typecheck.py")


@nox.session(python=PYTHON)
def imports(session: nox.Session) -> None:
    """The architecture's import contracts and each member's declared dependencies."""
    workspace(session)
    session.run("lint-imports")
    session.run("python", "tooling/dependencies.py")


@nox.session(python=PYTHON)
def schemas(session: nox.Session) -> None:
    """Committed schemas and generated pages against the code."""
    workspace(session)
    session.run("python", "tooling/export_schemas.py", "--check")
    session.run("python", "tooling/standalone_tables.py", "--check")
    session.run("python", "tooling/error_catalogue.py", "--check")
    session.run("python", "tooling/proof_reasons.py", "--check")
    session.run("python", "tooling/state_graph.py", "--check")


@nox.session(python=PYTHON)
def interop(session: nox.Session) -> None:
    """Documents of ours load in the published preview, in an environment of its own.

    Give a folder of evidence, for instance the demo's, to load that instead of the identity story's documents.
    """
    script = str(ROOT / "tooling" / "preview_interop.py")
    folder = session.posargs[0] if session.posargs else str(Path(session.create_tmp()) / "documents")
    if not session.posargs:
        session.run("uv", "run", "--no-project", "--with", str(ROOT / "packages/dpone-contracts"), "python", script,
                    "write", folder, external=True)  # fmt: skip
    session.install("--no-config", "dpone==0.74.0")  # the workspace pins are not the preview's
    session.run("python", "-I", script, "load", folder)


@nox.session(python=PYTHON)
@nox.parametrize("member", MEMBERS)
def wheels(session: nox.Session, member: str) -> None:
    """Build every wheel, install one alone from the built files, run its tests there.

    Our own names come from the built files only, whatever the public index serves under them.
    """
    built = ROOT / "dist" / "wheels"
    if built not in BUILT:
        # Once a run: wheels of an earlier one are of other sources.
        shutil.rmtree(built, ignore_errors=True)
        session.run("uv", "build", "-q", "--all-packages", "--wheel", "-o", str(built), external=True)
        BUILT.append(built)
    own = {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in built.glob("*.whl")}
    pins = Path(session.create_tmp()) / "own.txt"
    # An override replaces a requirement whole, its extras too.
    extras = {"dpone": "[semantic-refresh]"}
    lines = (f"{name}{extras.get(name, '')} @ {wheel.as_uri()}\n" for name, wheel in sorted(own.items()))
    pins.write_text("".join(lines))
    session.install(
        f"{member}{extras.get(member, '')} @ {own[member].as_uri()}", "pytest", "pytest-timeout", "hypothesis", "jsonschema", "cryptography",
        "pydantic-sarif", "sqlfluff", "--override", str(pins),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as empty:
        packages = Path(empty) / "packages"
        here = packages / member / "tests"
        shutil.copytree(ROOT / "packages" / member / "tests", here)
        # The golden documents and the pages are data that tests read.
        vectors = Path("dpone-contracts") / "tests" / "vectors"
        shutil.copytree(ROOT / "packages" / vectors, packages / vectors, dirs_exist_ok=True)
        shutil.copytree(ROOT / "docs", Path(empty) / "docs")
        shutil.copy(ROOT / "conftest.py", Path(empty) / "conftest.py")
        session.chdir(empty)
        session.run(
            "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-m", "not engine",
            "-o", "markers=engine: real engine\nslow: longer matrix", str(here), success_codes=[0, 5],
        )  # fmt: skip


@nox.session(python=PYTHON)
def corpus(session: nox.Session) -> None:
    """Count both kinds of mistake over the T-SQL corpus: wrongly proven (none may be), wrongly refused (listed)."""
    workspace(session)
    session.run("python", "tooling/sql_corpus.py")


@nox.session(python=PYTHON)
def sarif(session: nox.Session) -> None:
    """SARIF of a manifest of ours, or of the one given, against the schema that an npm package ships."""
    workspace(session)
    manifest = Path(session.create_tmp()) / "manifest.json"
    if not session.posargs:
        session.run(
            "python", "tooling/bench_dbt_check.py", "--write-manifest", str(manifest), "--models", "20"
        )
    session.run("python", "tooling/sarif_schema.py", *(session.posargs or [str(manifest)]))


@nox.session(python=PYTHON)
def bench(session: nox.Session) -> None:
    """Ratios of one run against the straightforward form of the same step."""
    workspace(session)
    for script in sorted((ROOT / "tooling").glob("bench_*.py")):
        session.run("python", str(script), *session.posargs)


@nox.session(python=PYTHON)
def lab_drivers(session: nox.Session) -> None:
    """The lab's endpoint under both ODBC drivers; Microsoft's comes from PyPI under its own licence, at your choice."""
    workspace(session)
    session.run_install("uv", "pip", "install", "-q", "mssql-python-odbc", external=True)
    session.run("pytest", "-q", "-n", "2", "packages/dpone-lab/tests")


@nox.session(python=PYTHON)
def docs(session: nox.Session) -> None:
    """The documentation, built strictly."""
    session.install("--no-config", "mkdocs-material")
    session.run("mkdocs", "build", "--strict", "-q", "-d", session.create_tmp())


@nox.session(python=PYTHON)
def faults(session: nox.Session) -> None:
    """Every boundary of a refresh broken in every way on the lab's engines; about twenty minutes on two cores."""
    workspace(session)
    session.run("dpone", "lab", "faults", *session.posargs)


@nox.session(python=PYTHON)
def live_mssql(session: nox.Session) -> None:
    """Everything of SQL Server that needs no lab, against a real server; UNVERIFIED without one.

    DPONE_MSSQL_DSN is the installer's connection string and DPONE_MSSQL_RUNTIME_DSN the runtime's, both to one empty
    disposable database: control schema, admission, mutation and outcome, then the conformance of the engine itself.
    """
    missing = [name for name in ("DPONE_MSSQL_DSN", "DPONE_MSSQL_RUNTIME_DSN") if not os.environ.get(name)]
    if missing:
        session.error(f"UNVERIFIED: no real SQL Server was looked at, {' and '.join(missing)} not set")
    workspace(session)
    session.run("pytest", "-q", "-n", "0", "packages/dpone-mssql/tests", *session.posargs)
    session.run("pytest", "-q", "-n", "0", "packages/dpone-lab/tests/conformance", *session.posargs)
    session.run("python", "tooling/bench_mutation.py")


@nox.session(python=PYTHON)
def live_clickhouse(session: nox.Session) -> None:
    """The ClickHouse suite against a real server; UNVERIFIED without one."""
    if not os.environ.get("DPONE_CLICKHOUSE_DSN"):
        session.error("UNVERIFIED: DPONE_CLICKHOUSE_DSN names no ClickHouse")
    workspace(session)
    session.run("pytest", "-q", "packages/dpone-clickhouse/tests")
