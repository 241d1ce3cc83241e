"""Entry point of the `dpone` command: attaches the group that was asked for, or all of them for help."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

GROUPS: Final = {
    "certify": "dpone.cli.certify",
    "dbt": "dpone.cli.dbt",
    "evidence": "dpone.cli.evidence",
    "refresh": "dpone.cli.refresh",
    "schemas": "dpone.cli.schemas",
}
_WITHOUT_WORKER: Final = ("evidence", "schemas")
"""Groups that do not need the extra `semantic-refresh`."""


@app.callback()
def _root() -> None:
    """One UTC day of a dbt event fact, from SQL Server to ClickHouse, as one durable operation."""


def run() -> None:
    """Attach what was asked for and run; a group's modules are imported only when it is the one."""
    has_worker = find_spec("dpone_dbt_proof") is not None
    groups = {name: module for name, module in GROUPS.items() if has_worker or name in _WITHOUT_WORKER}
    plugins = {plugin.name: plugin for plugin in entry_points(group="dpone.cli")}
    asked = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    known = asked in groups or asked in plugins
    for name, module in sorted(groups.items()):
        if name == asked or not known:
            app.add_typer(import_module(module).app, name=name)
    for name, plugin in sorted(plugins.items()):
        if name == asked or not known:
            app.add_typer(plugin.load(), name=name)
    app()
