"""On a deployed lab: what changed in the engine since the assurances were issued stops the next activation."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pyodbc
import pytest

from dpone_contracts.document import admit_document
from dpone_contracts.errors import DponeError
from dpone_contracts.measurements import WriterMeasurement
from dpone_contracts.signatures import DocumentSignature
from dpone_lab.certification import lab_revocation_index
from dpone_lab.composition import lab_trust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import DeployedLab

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("deployed")]

OTHER_DAY = date(2013, 6, 13)


@contextmanager
def changed(deployed: DeployedLab, change: str, back: str) -> Iterator[None]:
    """Change the database and change it back."""
    with closing(pyodbc.connect(deployed.profile.mssql_dsn, autocommit=True)) as connection:
        connection.execute(change)
        try:
            yield
        finally:
            connection.execute(back)


def activations(deployed: DeployedLab) -> int:
    with closing(pyodbc.connect(deployed.profile.mssql_dsn, autocommit=True)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM dpone_control.activations").fetchone()[0])


def refused(deployed: DeployedLab) -> DponeError:
    before = activations(deployed)
    with pytest.raises(DponeError) as caught:
        deployed.deployment.activate(OTHER_DAY)
    assert activations(deployed) == before
    return caught.value


def documents(folder: Path) -> list[object]:
    return [admit_document(path.read_bytes()) for path in sorted(folder.glob("*.json"))]


def test_a_worker_is_no_administrator_and_the_only_writer_beside_them(deployed: DeployedLab) -> None:
    settings = deployed.deployment.settings
    worker = json.loads(settings.worker_login.read_text())[0]
    measured = [one for one in documents(settings.trust) if isinstance(one, WriterMeasurement)]
    assert len(measured) == len(deployed.deployment.authorities)
    for one in measured:
        assert {writer.principal for writer in one.writers} == {worker, settings.administrator}
        assert one.unseen == ()


def test_a_writer_that_appeared_after_the_issue_stops_the_activation(deployed: DeployedLab) -> None:
    make = "CREATE LOGIN mallory WITH PASSWORD = 'Mallory-0815'; CREATE USER mallory FOR LOGIN mallory; "
    drop = "DROP USER mallory; DROP LOGIN mallory;"
    with changed(deployed, make + "GRANT DELETE ON SCHEMA::mart TO mallory;", drop):
        error = refused(deployed)
    assert error.code == "DPONE_WRITER_NOT_EXCLUSIVE"
    assert "mallory" in error.observed


def test_a_disabled_trigger_stops_the_activation(deployed: DeployedLab) -> None:
    place = "TRIGGER dpone_ddl_epoch ON DATABASE;"
    with changed(deployed, f"DISABLE {place}", f"ENABLE {place}"):
        assert refused(deployed).code == "DPONE_DDL_TRIGGER_OFF"


def test_without_a_trust_policy_nothing_is_activated(
    deployed: DeployedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = lab_trust(deployed.deployment.settings)
    bare = replace(trust, evidence=replace(trust.evidence, policy=None))
    monkeypatch.setattr("dpone_lab.deployment.lab_trust", lambda _settings: bare)
    assert refused(deployed).code == "DPONE_TRUST_POLICY_MISSING"


def test_a_signature_of_another_document_stops_the_activation(
    deployed: DeployedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = lab_trust(deployed.deployment.settings)
    writer = next(iter(deployed.deployment.authorities.values())).writer_assurance
    wrong = next(
        signature
        for signature in documents(deployed.deployment.settings.trust)
        if isinstance(signature, DocumentSignature) and signature.signed_document_sha256 != writer.digest
    )
    signatures = {**trust.evidence.signatures, writer.digest: wrong}
    bare = replace(trust, evidence=replace(trust.evidence, signatures=signatures))
    monkeypatch.setattr("dpone_lab.deployment.lab_trust", lambda _settings: bare)
    assert refused(deployed).code == "DPONE_SIGNATURE_OF_OTHER_BYTES"


def test_an_index_that_was_never_signed_stops_the_activation(
    deployed: DeployedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = lab_trust(deployed.deployment.settings)
    unsigned = lab_revocation_index("2013-06-13T00:00:00Z")
    bare = replace(trust, evidence=replace(trust.evidence, index=unsigned))
    monkeypatch.setattr("dpone_lab.deployment.lab_trust", lambda _settings: bare)
    assert refused(deployed).code == "DPONE_SIGNATURE_MISSING"
