"""Airflow 3.3 projection loader, tasks and run admission edge."""
