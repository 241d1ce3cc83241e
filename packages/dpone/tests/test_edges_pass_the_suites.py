"""The product's clock, guard, signer and verifier pass the suites of their ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Attestor, Ed25519Signer, Ed25519Verifier, SigningKey
from dpone.composition.guard import ProductionGuard
from dpone_contracts.testing.edge_suite import AttestorSuite, ClockSuite, GuardSuite, SignatureSuite

if TYPE_CHECKING:
    from pathlib import Path


class TestSystemClock(ClockSuite):
    @pytest.fixture
    def clock(self) -> SystemClock:
        return SystemClock()


class TestProductionGuard(GuardSuite):
    @pytest.fixture
    def guard(self) -> ProductionGuard:
        return ProductionGuard()


class TestEd25519(SignatureSuite):
    @pytest.fixture
    def signer(self, tmp_path: Path) -> Ed25519Signer:
        return Ed25519Signer("platform/certifier", SigningKey.generate(tmp_path / "key.pem"))

    @pytest.fixture
    def verifier(self) -> Ed25519Verifier:
        return Ed25519Verifier()

    @pytest.fixture
    def public_key(self, signer: Ed25519Signer) -> str:
        return signer.key.public_key


class TestEd25519Attestor(AttestorSuite):
    @pytest.fixture
    def attestor(self, tmp_path: Path) -> Ed25519Attestor:
        return Ed25519Attestor("platform/certifier", SigningKey.generate(tmp_path / "key.pem"))
