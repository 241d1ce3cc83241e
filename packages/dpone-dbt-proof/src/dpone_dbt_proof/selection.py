"""Which nodes an exact dbt selection runs: the models of a workflow and their tests, never an ancestor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpone_dbt_proof.manifest import Manifest, Node

INDIRECT_SELECTION: Final = "empty"
_TEST_TYPES: Final = ("test", "unit_test")
_SELECTABLE_TYPES: Final = ("model", "seed", "snapshot", "test", "unit_test", "analysis", "operation")


@dataclass(frozen=True, slots=True)
class Selection:
    """Exact selectors of models and tests, and every node that dbt runs for them, each sorted.

    `node_ids` also holds what dbt would run *beside* the intended nodes, because a selector's fqn is a prefix
    of theirs or equals theirs: whether those are harmless is the mutation closure's to say.
    """

    model_selectors: tuple[str, ...]
    test_selectors: tuple[str, ...]
    node_ids: tuple[str, ...]
    model_ids: tuple[str, ...]
    test_ids: tuple[str, ...]

    @property
    def selectors(self) -> tuple[str, ...]:
        """All selectors, as dbt gets them."""
        return tuple(sorted({*self.model_selectors, *self.test_selectors}))


def select(
    manifest: Manifest, model_ids: Iterable[str], tested_ids: Iterable[str] | None = None
) -> Selection:
    """Select the models, and the tests that read tested models and no other.

    `tested_ids` are the models whose tests run; without it, those that are built.
    """
    models = tuple(sorted(set(model_ids)))
    tested = set(models if tested_ids is None else tested_ids)
    tests = tuple(
        node.unique_id
        for node in manifest.of_type(*_TEST_TYPES)
        if (read := tested_models(manifest, node)) and read <= tested
    )
    model_selectors = {selector(manifest.nodes[key]) for key in models}
    test_selectors = {selector(manifest.nodes[key]) for key in tests}
    wanted = {text.removeprefix("fqn:") for text in model_selectors | test_selectors}
    selected = [
        node.unique_id
        for node in manifest.of_type(*_SELECTABLE_TYPES)
        if not wanted.isdisjoint(_selected_by(node.fqn)) or not wanted.isdisjoint(_selected_by(node.fqn[1:]))
    ]
    return Selection(
        tuple(sorted(model_selectors)), tuple(sorted(test_selectors)), tuple(selected), models, tests
    )


def selector(node: Node) -> str:
    """Return the exact selector of a node, without graph operators."""
    return f"fqn:{'.'.join(node.fqn)}"


def tested_models(manifest: Manifest, test: Node) -> set[str]:
    """Return the models that a test reads directly."""
    return {
        key
        for key in test.depends_on
        if (parent := manifest.nodes.get(key)) and parent.resource_type in ("model", "seed", "snapshot")
    }


def tests_by_model(manifest: Manifest, test_ids: Iterable[str]) -> dict[str, list[Node]]:
    """Group tests by each node that they read directly."""
    found: dict[str, list[Node]] = {}
    for test in (manifest.nodes[key] for key in test_ids):
        for parent in dict.fromkeys(test.depends_on):
            found.setdefault(parent, []).append(test)
    return found


def _selected_by(fqn: tuple[str, ...]) -> Iterator[str]:
    """Yield every selector by which dbt's `fqn` method takes a node: its bare name, and each prefix.

    The method tries the fqn with the package and without it.
    """
    yield from fqn[-1:]
    flat = [part for element in fqn for part in element.split(".")]
    yield from (".".join(flat[:length]) for length in range(1, len(flat) + 1))
