"""Metadata that Airflow reads from the provider entry point."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The provider's metadata in Airflow's own shape (`airflow/provider_info.schema.json`).

    There is no hook and no connection type: workers compose their services themselves, Airflow holds no credentials.
    """
    return {
        "package-name": "apache-airflow-providers-dpone",
        "name": "dpone",
        "description": "Semantic refresh of dbt event facts from SQL Server to ClickHouse.",
        "integrations": [{"integration-name": "dpone", "tags": ["software"]}],
        "operators": [
            {"integration-name": "dpone", "python-modules": ["dpone_airflow_pack.operators"]},
        ],
    }
