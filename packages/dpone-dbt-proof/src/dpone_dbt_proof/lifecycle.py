"""The SQL Server lifecycle policy: the certified tuple, and every setting that keeps one adapter branch reachable.

Pure checks over manifest, root project and profile. What a live server alone can show (stray indexes, the server's
own version) comes with the tuple that was certified for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import ValidationError

from dpone_contracts.canonical import CanonicalError, Json, decode, digest_of, sha256_text
from dpone_contracts.document import Part
from dpone_contracts.proofs import SqlServerLifecyclePolicy
from dpone_contracts.scalars import Identifier, Positive, Sha256Text  # noqa: TC001  # pydantic reads the annotations
from dpone_dbt_proof.dbt_process import INHERITED_VARIABLES
from dpone_dbt_proof.jinja_closure import MacroIndex, closure_texts, reachable_macros
from dpone_dbt_proof.platform_project import platform_files
from dpone_dbt_proof.reasons import Code, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dpone_dbt_proof.manifest import Manifest

DBT_CORE_VERSION: Final = "1.10.13"
DBT_SQLSERVER_VERSION: Final = "1.10.1"
MATERIALIZATION: Final = "materialization_incremental_sqlserver"
STRATEGY_MACRO: Final = "get_incremental_dpone_scope_merge_sql"
CERTIFIED_MATERIALIZATION_SHA256: Final = (
    "sha256:f1ec86683071218469562167bd1900c2ae0323b7498c4777222824be8f8b53a2"
)
"""Digest of what the certified adapter's incremental materialisation reaches, without the platform's own macros."""

_PINNED_FLAGS: Final = {
    "dbt_sqlserver_use_dbt_transactions": True,
    "dbt_sqlserver_use_default_schema_concat": False,
    "dbt_sqlserver_use_native_string_types": False,
    "dbt_sqlserver_enable_safe_type_expansion": False,
    "send_anonymous_usage_stats": False,
    "partial_parse": False,
}
_PINNED_PROFILE: Final = {"type": "sqlserver", "threads": 1, "retries": 0}
_OPEN_PROFILE: Final = frozenset(
    [
        "driver",
        "server",
        "port",
        "database",
        "schema",
        "user",
        "password",
        "encrypt",
        "trust_cert",
        "login_timeout",
        "query_timeout",
    ]
)
_ROOT_ONLY: Final = ("dispatch", "query-comment", "on-run-start", "on-run-end", "quoting")


class CertifiedTuple(Part):
    """The exact server, driver and image that a route was certified with; an input with a digest of its own."""

    python_version: Identifier
    pyodbc_version: Identifier
    odbc_driver: Identifier
    sqlserver_version: Identifier
    compatibility_level: Positive
    runtime_image_digest: Sha256Text
    driver_digest: Sha256Text


class TupleError(Exception):
    """The bytes are no certified tuple; the message names the field."""


@dataclass(frozen=True, slots=True)
class LifecycleClosures:
    """Macros that a run of the workflow can reach, by what leads to them."""

    macro_ids: tuple[str, ...]
    materialization_ids: tuple[str, ...]
    dispatch_ids: tuple[str, ...]


def load_tuple(data: bytes) -> CertifiedTuple:
    """Read a certified tuple; raises `TupleError`."""
    try:
        return CertifiedTuple.model_validate(decode(data).value)
    except CanonicalError as error:
        raise TupleError(str(error)) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise TupleError(f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}") from None


def toolchain_reasons(manifest: Manifest) -> Iterator[Reason]:
    """Check that the manifest comes from the certified dbt with the SQL Server adapter."""
    if manifest.dbt_version != DBT_CORE_VERSION:
        yield Reason(
            Code.DBT_VERSION, f"the manifest is of dbt {manifest.dbt_version}, not {DBT_CORE_VERSION}"
        )
    if manifest.adapter_type != "sqlserver":
        yield Reason(Code.DBT_VERSION, f"the adapter is {manifest.adapter_type}, not sqlserver")


def materialization_reasons(manifest: Manifest, index: MacroIndex) -> Iterator[Reason]:
    """Check that the installed adapter's materialisation is the certified text, by digest."""
    if certified_closure_sha256(manifest, index) != CERTIFIED_MATERIALIZATION_SHA256:
        yield Reason(
            Code.MATERIALIZATION_CLOSURE, "what the incremental materialisation reaches is not certified"
        )


def certified_closure_sha256(manifest: Manifest, index: MacroIndex) -> str:
    """Digest the internal macros that the incremental materialisation reaches."""
    reached = reachable_macros(manifest, index, (MATERIALIZATION,), package="dbt")
    internal = [key for key in reached if manifest.macros[key].package in ("dbt", "dbt_sqlserver")]
    return texts_sha256(manifest, internal)


def project_reasons(settings: Mapping[str, Any]) -> Iterator[Reason]:
    """Check the settings of the root project under which dbt will run."""
    flags = settings.get("flags")
    flags = flags if isinstance(flags, Mapping) else {}
    for name, wanted in _PINNED_FLAGS.items():
        if flags.get(name) is not wanted:
            transactions = name == "dbt_sqlserver_use_dbt_transactions"
            code = Code.TRANSACTIONS_FLAG if transactions else Code.LIFECYCLE_SETTING
            yield Reason(code, f"flag {name} is {flags.get(name)}, not {wanted}", "dbt_project.yml")
    for name in sorted(set(flags) - set(_PINNED_FLAGS) - {"use_colors", "indirect_selection", _EXPLICIT}):
        yield Reason(Code.LIFECYCLE_SETTING, f"flag {name} is not the platform's", "dbt_project.yml")
    for name in _ROOT_ONLY:
        if settings.get(name):
            yield Reason(Code.LIFECYCLE_SETTING, f"{name} is set", "dbt_project.yml")


_EXPLICIT: Final = "require_explicit_package_overrides_for_builtin_materializations"


def profile_reasons(output: Mapping[str, Any]) -> Iterator[Reason]:
    """Check the profile's output: one thread, no retries, a timeout, nothing that opens another branch."""
    codes = {"threads": Code.THREADS, "retries": Code.RETRIES}
    for name, wanted in _PINNED_PROFILE.items():
        if output.get(name) != wanted:
            message = f"{name} is {output.get(name)}, not {wanted}"
            yield Reason(codes.get(name, Code.LIFECYCLE_SETTING), message, "profiles.yml")
    timeout = output.get("query_timeout")
    if timeout is None or (isinstance(timeout, int) and timeout <= 0):
        yield Reason(Code.QUERY_TIMEOUT, f"query_timeout is {timeout}", "profiles.yml")
    for name in sorted(set(output) - set(_PINNED_PROFILE) - _OPEN_PROFILE):
        yield Reason(Code.LIFECYCLE_SETTING, f"{name} is not the platform's", "profiles.yml")


def platform_reasons(manifest: Manifest, index: MacroIndex) -> list[Reason]:
    """Run every check on the platform's own root and the manifest that was compiled under it."""
    files = platform_files()
    project = yaml.safe_load(files["dbt_project.yml"])
    profile = yaml.safe_load(files["profiles.yml"])["dpone_platform"]["outputs"]["refresh"]
    return [
        *toolchain_reasons(manifest),
        *materialization_reasons(manifest, index),
        *project_reasons(project),
        *profile_reasons(profile),
    ]


def project_settings(project: Path) -> dict[str, Any]:
    """Read an author's `dbt_project.yml`; empty where there is none that can be read."""
    try:
        settings = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return settings if isinstance(settings, dict) else {}


def root_only_settings(settings: Mapping[str, Any]) -> list[str]:
    """Return the settings of an author's project that only a root project may have, sorted."""
    flags = settings.get("flags")
    named = [name for name in _ROOT_ONLY if settings.get(name) and not name.startswith("on-run")]
    named += [f"flags.{name}" for name in (flags if isinstance(flags, Mapping) else {})]
    return sorted(named)


def lifecycle_closures(
    manifest: Manifest, index: MacroIndex, model_macros: Iterable[str], package: str
) -> LifecycleClosures:
    """Join what the models reach with what the materialisation, the strategy and the tests reach."""
    entries = (MATERIALIZATION, "materialization_test_default", "materialization_unit_default")
    run = reachable_macros(manifest, index, (*entries, STRATEGY_MACRO), package)
    materialization = reachable_macros(manifest, index, (MATERIALIZATION, STRATEGY_MACRO), package)
    every = tuple(sorted({*run, *model_macros} - {_BATCHES}))
    dispatched = tuple(
        key for key in every if key.rpartition(".")[2].startswith(("sqlserver__", "default__"))
    )
    return LifecycleClosures(every, tuple(key for key in materialization if key != _BATCHES), dispatched)


_BATCHES: Final = "macro.dpone_platform.dpone_rendered_batches"
"""The one macro whose text belongs to an attempt."""


def texts_sha256(manifest: Manifest, macro_ids: Iterable[str]) -> str:
    """Digest macros by unique id and text."""
    texts: list[Json] = [
        [key, sha256_text(text.encode())] for key, text in closure_texts(manifest, macro_ids)
    ]
    return digest_of({"schema": "dpone.macro-closure.v1", "macros": texts})


def lifecycle_document(
    manifest: Manifest,
    closures: LifecycleClosures,
    certified: CertifiedTuple,
    package_artifacts: Mapping[str, str],
    invocation: Iterable[str],
) -> SqlServerLifecyclePolicy:
    """State the one certified lifecycle as the published document."""
    files = platform_files()
    return SqlServerLifecyclePolicy.build(
        dbt_core_version=DBT_CORE_VERSION,
        dbt_sqlserver_version=DBT_SQLSERVER_VERSION,
        **certified.to_plain(),
        materialization="incremental",
        incremental_strategy="dpone_scope_merge",
        on_schema_change="fail",
        contract_enforced=True,
        existing_table_required=True,
        full_refresh_allowed=False,
        hooks_allowed=False,
        schema_mutation_allowed=False,
        package_artifacts_digest=digest_of({"files": dict(sorted(package_artifacts.items()))}),
        macro_closure_sha256=texts_sha256(manifest, closures.macro_ids),
        materialization_closure_digest=texts_sha256(manifest, closures.materialization_ids),
        dispatch_closure_digest=texts_sha256(manifest, closures.dispatch_ids),
        adapter_policy_digest=digest_of(
            {
                "certified_materialization_sha256": CERTIFIED_MATERIALIZATION_SHA256,
                "flags": dict(_PINNED_FLAGS),
            }
        ),
        project_policy_digest=sha256_text(files["dbt_project.yml"]),
        profile_policy_digest=sha256_text(files["profiles.yml"]),
        invocation_policy_digest=digest_of(
            {"arguments": [*invocation], "inherited_variables": [*INHERITED_VARIABLES]}
        ),
    )
