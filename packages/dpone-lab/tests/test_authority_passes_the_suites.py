"""The lab's guard, attestor and observer pass the suites of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpone_contracts.testing.edge_suite import AttemptObserverSuite, AttestorSuite, GuardSuite
from dpone_lab.authority import LabAttestor, LabGuard
from dpone_lab.platform import LabObserver, PodRecord, PodRegistry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class TestLabGuard(GuardSuite):
    @pytest.fixture
    def guard(self) -> LabGuard:
        return LabGuard("5626c4dc-9424-4069-b76e-6eb12e3dfbe2")


class TestLabAttestor(AttestorSuite):
    @pytest.fixture
    def attestor(self, tmp_path: Path) -> LabAttestor:
        return LabAttestor(tmp_path / "attestations")


class TestLabObserver(AttemptObserverSuite):
    @pytest.fixture
    def registry(self, tmp_path: Path) -> PodRegistry:
        return PodRegistry(tmp_path / "pods")

    @pytest.fixture
    def observer(self, registry: PodRegistry, tmp_path: Path) -> LabObserver:
        return LabObserver(registry, LabAttestor(tmp_path / "attestations"))

    @pytest.fixture
    def end(self, registry: PodRegistry) -> Callable[[str], None]:
        at = "2026-08-09T01:00:00.000001Z"

        def end(pod_uid: str) -> None:
            registry.write(PodRecord(pod_uid, 4711, "task", 1, at, 137, at))

        return end
