"""What every clock, guard, attestor, signer and observer must do. An adapter's tests subclass these and give the fixtures."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.scalars import instant
from dpone_contracts.testing.control_suite import WORKER, activated, admitted
from dpone_contracts.testing.memory_control import disposable_store
from dpone_contracts.testing.memory_ports import memory_ports
from dpone_contracts.testing.plan_example import ExampleModel, example_bundle, made_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone_contracts.bindings import AttemptBinding
    from dpone_contracts.ports.attempt_observer import AttemptObserver
    from dpone_contracts.ports.attestor import Attestor
    from dpone_contracts.ports.clock import Clock
    from dpone_contracts.ports.guard import ActivationGuard
    from dpone_contracts.ports.signatures import SignatureVerifier, Signer

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def example_attempt() -> AttemptBinding:
    """The attempt of a worker that was admitted in memory."""
    ports, model = (
        memory_ports(),
        ExampleModel("seen", (("at", "datetime2(6)", False), ("id", "int", False)), ("at", "id")),
    )
    example = example_bundle([model], database="memory")
    activated(ports.activations, example)
    return admitted(ports.state, example, WORKER).operations[0].attempt


class ClockSuite:
    """One spelling of an instant, and no step back."""

    def test_an_instant_has_six_digits_and_none_is_before_the_last(self, clock: Clock) -> None:
        told = [clock.now() for _ in range(100)]
        assert all(_INSTANT.fullmatch(each) for each in told)
        instants = [instant(each) for each in told]
        assert instants == sorted(instants)

    def test_a_wait_ends_no_earlier_than_it_was_asked_for(self, clock: Clock) -> None:
        before = instant(clock.now())
        clock.wait(20)
        assert instant(clock.now()) - before >= timedelta(milliseconds=20)


class GuardSuite:
    """No store without a disposable marker is ever allowed."""

    def test_a_store_without_a_marker_is_refused_by_the_release_s_code(self, guard: ActivationGuard) -> None:
        code = ""
        try:
            guard.require_allowed(replace(disposable_store(), disposable_marker=None))
        except DponeError as refused:
            code = refused.code
        assert code == "DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE"


class AttestorSuite:
    """A word is about one subject."""

    def test_a_word_is_of_one_authority_and_its_digests_are_digests(self, attestor: Attestor) -> None:
        word = attestor.attest(b'{"a":1}')
        assert word.authority
        assert _DIGEST.fullmatch(word.attestation_sha256)
        assert _DIGEST.fullmatch(word.signature_sha256)

    def test_the_same_subject_gets_the_same_word_and_another_another(self, attestor: Attestor) -> None:
        first, again, other = (attestor.attest(subject) for subject in (b"1", b"1", b"2"))
        assert first == again
        assert first.authority == other.authority
        assert first.attestation_sha256 != other.attestation_sha256
        assert first.signature_sha256 != other.signature_sha256


class SignatureSuite:
    """What was signed is genuine; other bytes, another key, another signature are not."""

    def test_a_signature_is_of_exactly_its_document_and_bytes(
        self, signer: Signer, verifier: SignatureVerifier, public_key: str
    ) -> None:
        document, data = example_attempt(), example_attempt().to_bytes()
        signed = signer.sign(data)
        assert signed.is_of(document, data)
        assert not signed.is_of(document, data + b" ")
        assert verifier.verify(public_key, signed.signature, data) is Verification.GENUINE

    def test_nothing_else_passes_for_it(
        self, signer: Signer, verifier: SignatureVerifier, public_key: str
    ) -> None:
        data = example_attempt().to_bytes()
        word = signer.sign(data).signature
        for key, signature, shown in (
            (public_key, word, data + b" "),
            (public_key, word[2:] + word[:2], data),
            ("00" * 32, word, data),
        ):
            assert verifier.verify(key, signature, shown) is not Verification.GENUINE


class AttemptObserverSuite:
    """An end is vouched for when it came, for the attempt that was asked for, and never before.

    The fixture `end` tells the platform that a pod has ended.
    """

    def test_a_live_attempt_has_no_receipt_and_an_ended_one_has_its_own(
        self, observer: AttemptObserver, end: Callable[[str], None]
    ) -> None:
        attempt, operations = example_attempt(), tuple(sorted((made_up("one"), made_up("other"))))
        assert observer.termination(attempt, operations) is None
        end(attempt.pod_uid)
        receipt = observer.termination(attempt, operations)
        assert receipt is not None
        assert (receipt.attempt_binding_sha256, receipt.pod_uid) == (attempt.digest, attempt.pod_uid)
        assert (receipt.run_id, receipt.try_number) == (attempt.dag_run_id, attempt.try_number)
        assert tuple(receipt.operation_ids) == operations
        assert receipt.verification_status == "VERIFIED"
