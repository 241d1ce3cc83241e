"""The versions that a live session accepts are those that the documentation names."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/how-to/put-a-real-engine-in-place.md"


def test_the_supported_versions_are_named_in_the_documentation(request: pytest.FixtureRequest) -> None:
    if not PAGE.exists():
        pytest.skip("the documentation is not part of the wheel")
    supported = next(
        plugin.SUPPORTED
        for plugin in request.config.pluginmanager.get_plugins()
        if hasattr(plugin, "SUPPORTED")
    )
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    named = " and ".join(f"**{version}**" for version in supported)
    assert f"The ClickHouse versions that are supported are {named}" in text
