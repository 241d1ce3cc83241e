"""The platform's root project carries author and batches unchanged, and refuses what it can't carry."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpone_contracts.ports.model_build import RenderedBatch
from dpone_dbt_proof.dbt_process import DbtProcess
from dpone_dbt_proof.platform_project import (
    AuthorProject,
    PlatformProjectError,
    SqlServerConnection,
    materialise,
    offline_connection,
    platform_files,
)

MODEL = "model.shop.sale_event"
AWKWARD_SQL = "SET XACT_ABORT ON;\n\n-- it's {{ not }} {% jinja %} {# here #}\nSELECT N'\\', 'a''b';  IF 1=1 THROW 51000,N'Ü',1;"
PROJECT = "name: shop\nversion: '1.0'\nprofile: theirs\n"


def sha256(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def batch(sql: str) -> RenderedBatch:
    return RenderedBatch(
        model_unique_id=MODEL,
        sql=sql,
        sha256=sha256(sql),
        target="[shop].[mart].[sale_event]",
        temp="[shop].[mart].[sale_event__dbt_tmp]",
    )


@pytest.fixture
def author(tmp_path: Path) -> AuthorProject:
    root = tmp_path / "author"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text(PROJECT)
    (root / "models" / "sale_event.sql").write_text("select 1 as id\n")
    return AuthorProject.load(root)


def test_author_files_are_carried_with_their_digests(tmp_path: Path, author: AuthorProject) -> None:
    (author.root / "target").mkdir()
    (author.root / "target" / "manifest.json").write_text("{}")
    (author.root / "profiles.yml").write_text("secret: 1")
    project = materialise(tmp_path / "root", author)
    assert project.artifacts == {
        "dbt_packages/shop/dbt_project.yml": sha256(PROJECT),
        "dbt_packages/shop/models/sale_event.sql": sha256("select 1 as id\n"),
    }


def test_a_folder_named_target_inside_the_models_is_part_of_the_project(
    tmp_path: Path, author: AuthorProject
) -> None:
    (author.root / "models" / "target").mkdir()
    (author.root / "models" / "target" / "x.sql").write_text("select 1 as x")
    assert "dbt_packages/shop/models/target/x.sql" in materialise(tmp_path / "root", author).artifacts


def test_declared_packages_must_be_installed(tmp_path: Path, author: AuthorProject) -> None:
    (author.root / "packages.yml").write_text("packages: [{local: ../other}]")
    with pytest.raises(PlatformProjectError, match="run dbt deps"):
        materialise(tmp_path / "root", author)


@pytest.mark.parametrize("sql", ["{% endraw %}", "SELECT 1;\r\nSELECT 2", " SELECT 1", "SELECT 1\n"])
def test_a_batch_that_jinja_would_change_is_refused(tmp_path: Path, author: AuthorProject, sql: str) -> None:
    with pytest.raises(PlatformProjectError, match="verbatim"):
        materialise(tmp_path / "root", author, [batch(sql)])


def test_a_batch_without_its_digest_is_refused(tmp_path: Path, author: AuthorProject) -> None:
    altered = RenderedBatch(MODEL, "SELECT 2", batch("SELECT 1").sha256, "[a].[b].[c]", "[a].[b].[d]")
    with pytest.raises(PlatformProjectError, match="digest"):
        materialise(tmp_path / "root", author, [altered])


def test_the_password_is_in_the_environment_and_in_no_file() -> None:
    connection = SqlServerConnection("d", "s", 1433, "db", "mart", "u", True, False, 5)  # noqa: FBT003
    assert connection.environment("hunter2", 30)["DBT_ENV_SECRET_DPONE_PASSWORD"] == "hunter2"
    assert b"DBT_ENV_SECRET_DPONE_PASSWORD" in platform_files()["profiles.yml"]
    assert "hunter2" not in repr(connection)


@pytest.mark.engine
def test_dbt_reads_the_batch_byte_for_byte(tmp_path: Path, author: AuthorProject) -> None:
    project = materialise(tmp_path / "root", author, [batch(AWKWARD_SQL)])
    inline = f"{{{{ dpone_rendered_batches()['{MODEL}'] | tojson }}}}"
    ended = DbtProcess().run(
        [
            "compile",
            "--inline",
            inline,
            "--output",
            "json",
            "--no-populate-cache",
            "--no-introspect",
            "--quiet",
        ],
        project=project.directory,
        profiles=project.directory,
        output=tmp_path / "out",
        environment=offline_connection("shop", "mart").environment("", 1),
        timeout_seconds=120,
    )
    assert ended.exit_code == 0
    carried = json.loads(json.loads(ended.output)["compiled"])
    assert carried["sql"] == AWKWARD_SQL
    assert carried["md5"] == hashlib.md5(AWKWARD_SQL.encode()).hexdigest()  # noqa: S324
    assert carried["temp"] == "[shop].[mart].[sale_event__dbt_tmp]"


@pytest.mark.engine
def test_a_process_past_its_deadline_is_reaped_and_unfinished(tmp_path: Path, author: AuthorProject) -> None:
    project = materialise(tmp_path / "root", author)
    ended = DbtProcess().run(
        ["parse"],
        project=project.directory,
        profiles=project.directory,
        output=tmp_path / "out",
        environment=offline_connection("shop", "mart").environment("", 1),
        timeout_seconds=0.2,
    )
    assert (ended.finished, ended.exit_code, ended.results) == (False, None, ())


@pytest.mark.engine
def test_a_started_process_that_was_told_nothing_ends_with_its_starter() -> None:
    starter = "from dpone_dbt_proof.dbt_process import DbtProcess; import os; print(DbtProcess()._process.pid); os._exit(9)"
    pid = int(
        subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=False).stdout
    )
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline, "dbt outlived the process that started it"
        time.sleep(0.1)
