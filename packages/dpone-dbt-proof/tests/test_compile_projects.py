"""Whole projects through real dbt, offline, under both roots."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpone_dbt_proof.compile_proofs import CompiledProofs, compile_proofs
from dpone_dbt_proof.offline_compile import ModelDatabase, database_of
from dpone_dbt_proof.platform_project import AuthorProject
from dpone_dbt_proof.project_proof import ProofInputs, ProofScope

pytestmark = pytest.mark.engine
PROJECTS = Path(__file__).parent / "projects"


def compiled(name: str, work: Path) -> CompiledProofs:
    author = AuthorProject.load(PROJECTS / name)
    where = database_of(author)
    assert where is not None
    return compile_proofs(author, where, ProofInputs(), work, scope=ProofScope.DEFINITION)


@pytest.fixture(scope="module")
def pricing(tmp_path_factory: pytest.TempPathFactory) -> CompiledProofs:
    return compiled("competitive_pricing", tmp_path_factory.mktemp("pricing"))


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> CompiledProofs:
    return compiled("everything_refused", tmp_path_factory.mktemp("refused"))


def test_a_teams_project_is_proven_with_exact_reads(pricing: CompiledProofs) -> None:
    assert {
        model.unique_id.rpartition(".")[2]: (model.status.value, model.reads)
        for model in pricing.proof.models
    } == {
        "catalogue_day_event": ("PROVEN", ("PricingMart.master.products",)),
        "competitor_price_event": (
            "PROVEN",
            ("PricingMart.crawl.offers", "PricingMart.master.exchange_rates"),
        ),
        "competitor_rating_event": ("PROVEN", ("PricingMart.crawl.ratings",)),
        "competitor_stock_event": (
            "PROVEN",
            ("PricingMart.crawl.stock", "PricingMart.staging.known_competitors"),
        ),
        "page_read_event": ("PROVEN", ("PricingMart.crawl.pages seen",)),
        "price_index_event": ("PROVEN", ("PricingMart.crawl.offers", "PricingMart.master.products")),
        "promotion_event": ("PROVEN", ("PricingMart.crawl.offers",)),
        "undercut_event": ("PROVEN", ("PricingMart.crawl.offers", "PricingMart.master.products")),
    }


def test_the_bundle_holds_nothing_of_machine_or_clock(pricing: CompiledProofs) -> None:
    text = pricing.bundle.decode("ascii")
    for unwanted in (str(PROJECTS), "/tmp", "generated_at", "created_at", "invocation", "release", "run_id"):  # noqa: S108
        assert unwanted not in text


OWN_REASONS = {
    "appends_columns": {"FULL_REFRESH", "ON_SCHEMA_CHANGE", "PREDICATES"},
    "branches_on_target": {"JINJA_ENVIRONMENT"},
    "branches_on_var": {"JINJA_VAR_BRANCH"},
    "changes_its_schema": {"ROOT_DIFFERENCE"},
    "does_not_parse": {"SQL_SYNTAX"},
    "has_a_clock": {"SQL_CLOCK"},
    "has_grants_and_indexes": {"GRANTS", "INDEXES", "PERSIST_DOCS"},
    "has_hooks": {"MODEL_HOOK"},
    "has_no_contract": {"CONTRACT"},
    "is_dirty": {"SQL_DIRTY_READ"},
    "is_good": set(),
    "is_incremental": {"JINJA_IS_INCREMENTAL"},
    "queries_in_macro": {"JINJA_RUN_QUERY"},
    "reads_a_seed": {"SEED"},
    "reads_an_ephemeral": {"EPHEMERAL"},
    "reads_itself": {"JINJA_THIS", "SQL_TARGET_READ"},
    "reads_itself_by_name": {"SQL_TARGET_READ"},
    "written_in_python": {"NOT_INCREMENTAL", "PYTHON_MODEL"},
}
SHARED_REASONS = {"PROJECT_HOOK", "DISPATCH_OVERRIDE"}


def test_each_fault_has_its_reason_beside_those_of_the_project(refused: CompiledProofs) -> None:
    found = {
        model.unique_id.rpartition(".")[2]: {reason.code.name for reason in model.reasons}
        for model in refused.proof.models
    }
    assert found == {name: codes | SHARED_REASONS for name, codes in OWN_REASONS.items()}


def test_a_model_that_dbt_cant_parse_is_named_and_hides_no_other(refused: CompiledProofs) -> None:
    assert [(bad.name, bad.path, bad.line, bad.column, bad.missing) for bad in refused.bad_models] == [
        ("is_not_jinja", "models/is_not_jinja.sql", 3, 1, None),
        ("reads_what_is_not_there", "models/reads_what_is_not_there.sql", 2, 13, "nowhere"),
    ]


def test_two_compiles_of_one_project_give_equal_bytes(tmp_path: Path) -> None:
    root = tmp_path / "author"
    (root / "models").mkdir(parents=True)
    (root / "dbt_project.yml").write_text(
        "name: shop\nprofile: p\nmodels: {shop: {+materialized: incremental}}\n"
    )
    (root / "models" / "other_event.sql").write_text(
        "{{ config(incremental_strategy='dpone_scope_merge', meta={'dpone': {'publish': "
        "{'enabled': true, 'profile': 'p', 'workflow': 'w'}}}) }}\n"
        "select s.at, '{{ run_started_at }} {{ env_var(\"HOME\") }}' as stamp from raw.sales s\n"
    )
    (root / "models" / "sale_event.sql").write_text(
        "\n\n{{ config(incremental_strategy='dpone_scope_merge', meta={'dpone': {'publish': "
        "{'enabled': true, 'profile': 'p', 'workflow': 'w'}}}) }}\nselect s.at from raw.sales s with (nolock)\n"
    )
    bundles = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        where = ModelDatabase("shop", "mart")
        result = compile_proofs(AuthorProject.load(root), where, ProofInputs(), tmp_path / name)
        bundles.append(result.bundle)
        other, model = result.proof.models
        assert other.status.value == "NONCONFORMANT"
        places = {(r.code.name, r.line, r.column) for r in model.reasons if r.code.name == "SQL_DIRTY_READ"}
        assert places == {("SQL_DIRTY_READ", 4, 36)}
    assert bundles[0] == bundles[1]


ON_ONE_MACHINE = """
import json, sys
from pathlib import Path
from dpone_dbt_proof.catalog_snapshot import load_snapshot
from dpone_dbt_proof.compile_proofs import compile_proofs
from dpone_dbt_proof.lifecycle import load_tuple
from dpone_dbt_proof.mutation_closure import PlatformProfiles
from dpone_dbt_proof.offline_compile import database_of
from dpone_dbt_proof.platform_project import AuthorProject
from dpone_dbt_proof.project_proof import ProofInputs
from dpone_dbt_proof.read_dependencies import ReadBudget

root, work, out, inputs = map(Path, sys.argv[1:])
given = ProofInputs(
    load_snapshot((inputs / "catalog.json").read_bytes()),
    ReadBudget(4, 64, 64, 10_000),
    load_tuple((inputs / "tuple.json").read_bytes()),
    PlatformProfiles({"mssql_to_clickhouse_mart": "v2"}),
)
author = AuthorProject.load(root)
out.write_bytes(compile_proofs(author, database_of(author), given, work).bundle)
"""

TABLES = (
    *(f"crawl.{name}" for name in ("offers", "ratings", "stock", "pages seen")),
    *("master.products", "master.exchange_rates", "staging.known_competitors"),
    *(
        f"mart.{name}_event"
        for name in ("catalogue_day", "competitor_price", "competitor_rating", "page_read")
    ),
    *(f"mart.{name}_event" for name in ("competitor_stock", "price_index", "promotion", "undercut")),
)


def write_inputs(folder: Path) -> None:
    """A catalog of plain tables and a tuple: with them every proof can be PROVEN."""
    names = [name.split(".") for name in TABLES]
    objects = [
        {"object_id": number, "schema_name": schema, "name": name, "type": "U"}
        for number, (schema, name) in enumerate(names, start=1)
    ]
    catalog = {
        "schema": "dpone.catalog-snapshot.v1",
        "database": "PricingMart",
        "collation": "Latin1_General_100_CI_AS",
        "view_definition": True,
        "objects": objects,
        "dependencies": [],
    }
    (folder / "catalog.json").write_text(json.dumps(catalog))
    (folder / "tuple.json").write_text(json.dumps(TUPLE))


TUPLE = {
    "python_version": "3.11.9",
    "pyodbc_version": "5.2.0",
    "odbc_driver": "ODBC Driver 18 for SQL Server",
    "sqlserver_version": "16.0.4135.4",
    "compatibility_level": 160,
    "runtime_image_digest": f"sha256:{'1' * 64}",
    "driver_digest": f"sha256:{'2' * 64}",
}


def machine(folder: Path, inputs: Path, *, other: bool) -> subprocess.Popen[bytes]:
    """Compile the sample project as on one of two machines that have nothing in common but the inputs."""
    root = folder / ("Users/Ada L\u00f6w/PRICING" if other else "home/ada/pricing")
    files = sorted(path for path in (PROJECTS / "competitive_pricing").rglob("*") if path.is_file())
    for number, path in enumerate(reversed(files) if other else files):
        copy = root / path.relative_to(PROJECTS / "competitive_pricing")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o755 if other else 0o644)
        os.utime(copy, (number, 1_600_000_000 - number if other else 1_500_000_000 + number))
    work, home, scratch = folder / "work", folder / "home_of", folder / ("TMP" if other else "tmp")
    for made in (work, home, scratch):
        made.mkdir(exist_ok=True)
    if other:
        (home / ".dbt").mkdir()
        (home / ".dbt" / "profiles.yml").write_text("not: [a profile]")
        (root / ".user.yml").write_text("id: 7b1c")
        (root / ".git").mkdir()
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main")
    variables = {
        "PATH": "/nowhere" if other else os.environ["PATH"],
        "HOME": str(home),
        "USER": "root" if other else "ada",
        "LOGNAME": "root" if other else "ada",
        "HOSTNAME": "build-7" if other else "laptop",
        "TZ": "Pacific/Kiritimati" if other else "America/Los_Angeles",
        "LANG": "C" if other else "de_DE.UTF-8",
        "LC_ALL": "C" if other else "tr_TR.UTF-8",
        "PYTHONHASHSEED": "1" if other else "4242",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "TMPDIR": str(scratch),
        "DBT_TARGET": "prod" if other else "dev",
        "DBT_VARS": "{first_day: 1999-01-01}" if other else "{}",
        "CI": "true" if other else "",
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
    }

    def settle() -> None:
        os.umask(0o077 if other else 0o022)
        if other and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    return subprocess.Popen(
        [sys.executable, "-c", ON_ONE_MACHINE, str(root), str(work), str(folder / "bundle"), str(inputs)],
        env=variables,
        cwd=home if other else root,
        preexec_fn=settle,  # noqa: PLW1509  # one thread here
    )


@pytest.mark.timeout(600)
def test_two_machines_give_equal_bytes(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    running = [machine(folder, tmp_path, other=folder.name == "b") for folder in folders]
    assert [process.wait() for process in running] == [0, 0]
    one, other = ((folder / "bundle").read_bytes() for folder in folders)
    assert json.loads(one)["verdict"] == "PROVEN", one[:2000]
    assert one == other
