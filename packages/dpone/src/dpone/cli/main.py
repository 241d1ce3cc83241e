"""Entry point of the `dpone` command: attaches the group that was asked for, or all of them for help."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Final

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

_ALWAYS: Final = {"evidence": "dpone.cli.evidence", "schemas": "dpone.cli.schemas"}
_WITH_WORKER: Final = {
    "certify": "dpone.cli.certify",
    "dbt": "dpone.cli.dbt",
    "refresh": "dpone.cli.refresh",
}
"""Groups that need the extra `semantic-refresh`."""


@app.callback()
def _root() -> None:
    """One UTC day of a dbt event fact, from SQL Server to ClickHouse, as one durable operation."""


def run() -> None:
    """Attach what was asked for and run; a group's modules are imported only when it is the one."""
    groups = dict(_ALWAYS)
    if find_spec("dpone_dbt_proof") is not None:
        groups |= _WITH_WORKER
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
