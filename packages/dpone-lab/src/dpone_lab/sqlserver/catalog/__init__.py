"""The endpoint's catalog: `sys` views over PostgreSQL, principals and permissions, and what DDL leaves behind."""

from __future__ import annotations

from dpone_lab.sqlserver.catalog.install import install, mark_started
from dpone_lab.sqlserver.catalog.lookup import Generation, PostgresCatalog
from dpone_lab.sqlserver.catalog.needs import check_permission
from dpone_lab.sqlserver.catalog.permissions import Principal
from dpone_lab.sqlserver.catalog.principals import authenticate, set_password
from dpone_lab.sqlserver.catalog.recording import define, defined
from dpone_lab.sqlserver.catalog.triggers import DatabaseTrigger, database_triggers
from dpone_lab.sqlserver.procedures import run_procedure

__all__ = [
    "DatabaseTrigger",
    "Generation",
    "PostgresCatalog",
    "Principal",
    "authenticate",
    "check_permission",
    "database_triggers",
    "define",
    "defined",
    "install",
    "mark_started",
    "run_procedure",
    "set_password",
]
