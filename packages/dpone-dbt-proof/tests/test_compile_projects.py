"""Whole projects through real dbt, offline, under both roots."""

from __future__ import annotations

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
