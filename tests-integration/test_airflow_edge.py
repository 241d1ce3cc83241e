"""The Airflow edge over the installed members: one release, and nothing heavy at parse time."""

from __future__ import annotations

import subprocess
import sys

from dpone_airflow_pack.release import installed_members, require_one_release


def test_the_installed_members_are_of_one_release() -> None:
    require_one_release(installed_members())


def test_the_edge_imports_neither_airflow_nor_a_database_client() -> None:
    code = (
        "import sys, dpone.airflow;"
        "sys.exit(any(name.split('.')[0] in ('airflow', 'pyodbc', 'sqlalchemy') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
