"""Keys and signatures: RFC 8032 vectors, key files, and a private key that shows nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dpone.cli import certify
from dpone.composition.ed25519 import Ed25519Signer, Ed25519Verifier, SigningKey
from dpone_contracts.canonical import sha256_text
from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.ports.signatures import Verification
from dpone_contracts.signatures import DocumentSignature, key_id_of
from dpone_contracts.trust import RevocationIndex

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

# RFC 8032, 7.1, test 2.
PUBLIC = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
SIGNATURE = (
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
INDEX = RevocationIndex.build(
    trust_domain="test", index_epoch=1, issued_at="2026-08-09T00:00:00Z", documents=[], keys=[]
)


def test_the_vector_of_the_rfc_verifies_and_its_neighbours_do_not() -> None:
    verifier = Ed25519Verifier()
    assert verifier.verify(PUBLIC, SIGNATURE, b"\x72") is Verification.GENUINE
    assert verifier.verify(PUBLIC, SIGNATURE, b"\x73") is Verification.FORGED
    assert verifier.verify(PUBLIC, "00" * 64, b"\x72") is Verification.FORGED
    assert verifier.verify("ff" * 32, SIGNATURE, b"\x72") is Verification.FORGED


def test_a_key_is_written_for_its_owner_alone_and_never_over_another(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    SigningKey.generate(path)
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(DponeError) as refused:
        SigningKey.generate(path)
    assert refused.value.code == "DPONE_SIGNING_KEY_EXISTS"
    assert path.read_bytes() == before


def test_a_key_that_others_may_read_signs_nothing(tmp_path: Path) -> None:
    key = SigningKey.generate(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o640)
    with pytest.raises(DponeError) as refused:
        key.signature(b"anything")
    assert refused.value.code == "DPONE_SIGNING_KEY_EXPOSED"


@pytest.mark.parametrize(
    "text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_refused_by_reference(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.pem"
    path.touch(mode=0o600)
    path.write_text(text)
    for reference in (f"file:{path}", f"file:{tmp_path}/absent", f"env:{path}"):
        with pytest.raises(DponeError) as refused:
            SigningKey(reference).signature(b"anything")
        assert refused.value.code == "DPONE_KEY_REFERENCE_UNRESOLVED"
        assert refused.value.evidence == {"key_reference": reference}


def test_a_signature_says_which_key_signed_which_bytes(tmp_path: Path) -> None:
    key = SigningKey.generate(tmp_path / "key.pem")
    data = INDEX.to_bytes()
    signed = Ed25519Signer("platform/certifier", key).sign(data)
    assert DocumentSignature.from_bytes(signed.to_bytes()) == signed
    assert (signed.key_id, signed.signed_bytes_sha256) == (key_id_of(key.public_key), sha256_text(data))
    assert signed.is_of(INDEX, data)
    assert not signed.is_of(INDEX, data + b"\n")
    assert Ed25519Verifier().verify(key.public_key, signed.signature, data) is Verification.GENUINE


def test_bytes_that_are_no_document_are_not_signed(tmp_path: Path) -> None:
    signer = Ed25519Signer("platform/certifier", SigningKey.generate(tmp_path / "key.pem"))
    with pytest.raises(DocumentError):
        signer.sign(b'{"schema": "dpone.semantic-refresh-revocation-index.v1"}')


def run(*arguments: str) -> Result:
    return CliRunner().invoke(certify.app, list(arguments))


def test_the_private_key_shows_in_no_output_error_or_document(tmp_path: Path) -> None:
    path, document, out = tmp_path / "key.pem", tmp_path / "index.json", tmp_path / "index.sig.json"
    document.write_bytes(INDEX.to_bytes())
    made = run("keygen", "--key", str(path), "--format", "json")
    assert made.exit_code == 0
    secret = "".join(line for line in path.read_text().splitlines() if not line.startswith("-"))
    sign = (
        "sign",
        str(document),
        "--key",
        f"file:{path}",
        "--issuer",
        "platform/certifier",
        "--out",
        str(out),
    )
    signed = run(*sign, "--format", "json")
    assert signed.exit_code == 0
    kept = out.read_bytes()
    assert run(*sign).exit_code == 0
    assert out.read_bytes() == kept
    taken = tmp_path / "taken.json"
    taken.write_bytes(b"other")
    again = run(*sign[:-1], str(taken))
    assert (again.exit_code, taken.read_bytes()) == (2, b"other")
    path.chmod(0o644)
    exposed = run(*sign[:-1], str(tmp_path / "other.json"))
    assert exposed.exit_code == 1
    assert "DPONE_SIGNING_KEY_EXPOSED" in exposed.output
    told = [
        made.output,
        signed.output,
        again.output,
        exposed.output,
        out.read_text(),
        repr(SigningKey(f"file:{path}")),
    ]
    for text in told:
        assert secret not in text
        assert secret[:24] not in text
