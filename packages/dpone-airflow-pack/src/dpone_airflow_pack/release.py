"""Compares the installed members of dpone: scheduler and worker run one release or nothing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMBERS: Final = (
    "apache-airflow-providers-dpone",
    "dpone",
    "dpone-airflow-pack",
    "dpone-clickhouse",
    "dpone-contracts",
    "dpone-dbt-proof",
    "dpone-mssql",
    "dpone-seal",
)
"""The distributions of `dpone[semantic-refresh-airflow]` that are released together."""


def installed_members() -> dict[str, str | None]:
    """The installed version of every member, None for an absent one; reads local metadata only."""
    return {member: _installed(member) for member in MEMBERS}


def require_one_release(versions: Mapping[str, str | None]) -> None:
    """Raise `DponeError` DPONE_RELEASE_SKEW unless every member is there in the same version."""
    if None in versions.values() or len(set(versions.values())) != 1:
        evidence = {member: found or "not installed" for member, found in versions.items()}
        raise DponeError("DPONE_RELEASE_SKEW", "the members of dpone are not of one release", evidence)


def _installed(member: str) -> str | None:
    try:
        return version(member)
    except PackageNotFoundError:
        return None
