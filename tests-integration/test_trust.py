"""On a deployed lab: what changed in the engine since the assurances were issued stops the next activation."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pyodbc
import pytest

from dpone.application.trust import Trust
from dpone_contracts.errors import DponeError
from dpone_contracts.measurements import WriterMeasurement
from dpone_lab.certification import lab_revocation_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import DeployedLab

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("deployed")]

OTHER_DAY = date(2013, 6, 20)
"""A day that no other test plans: a plan that stands is shown again, and nothing is judged for it."""


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


def believed(deployed: DeployedLab) -> Trust:
    trust = deployed.deployment.activation.trust
    assert isinstance(trust, Trust)
    return trust


def refused(deployed: DeployedLab, **evidence: Any) -> DponeError:
    """The error of an activation, judged by other evidence where some is given."""
    before, trust = activations(deployed), believed(deployed)
    other = replace(trust, evidence=replace(trust.evidence, **evidence))
    deployment = replace(deployed.deployment, activation=replace(deployed.deployment.activation, trust=other))
    with pytest.raises(DponeError) as caught:
        deployment.activate(OTHER_DAY)
    assert activations(deployed) == before
    return caught.value


def test_a_worker_is_no_administrator_and_the_only_writer_beside_them(deployed: DeployedLab) -> None:
    settings = deployed.deployment.settings
    worker = json.loads(settings.worker_login.read_text())[0]
    measured = [
        one for one in believed(deployed).evidence.measurements.values() if isinstance(one, WriterMeasurement)
    ]
    assert len(measured) == len(deployed.deployment.inputs.models)
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


def test_without_a_trust_policy_nothing_is_activated(deployed: DeployedLab) -> None:
    assert refused(deployed, policy=None).code == "DPONE_TRUST_POLICY_MISSING"


def test_a_signature_of_another_document_stops_the_activation(deployed: DeployedLab) -> None:
    there = believed(deployed).evidence.signatures
    writer = next(iter(deployed.deployment.inputs.models.values())).writer_assurance
    wrong = next(signature for signed, signature in there.items() if signed != writer.digest)
    error = refused(deployed, signatures={**there, writer.digest: wrong})
    assert error.code == "DPONE_SIGNATURE_OF_OTHER_BYTES"


def test_an_index_that_was_never_signed_stops_the_activation(deployed: DeployedLab) -> None:
    error = refused(deployed, index=lab_revocation_index("2013-06-13T00:00:00Z"))
    assert error.code == "DPONE_SIGNATURE_MISSING"
