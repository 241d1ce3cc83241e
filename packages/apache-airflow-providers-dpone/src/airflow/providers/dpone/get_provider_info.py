"""Metadata that Airflow reads from the provider entry point."""

from __future__ import annotations


def get_provider_info() -> dict[str, object]:
    """The provider's metadata in Airflow's own shape."""
    return {
        "package-name": "apache-airflow-providers-dpone",
        "name": "dpone",
        "description": "Semantic refresh of dbt event facts from SQL Server to ClickHouse.",
    }
