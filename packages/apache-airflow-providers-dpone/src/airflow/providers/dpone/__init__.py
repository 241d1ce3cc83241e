"""Airflow provider metadata of dpone."""
