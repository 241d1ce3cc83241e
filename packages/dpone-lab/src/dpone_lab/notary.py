"""The lab's notary: the worker's login, whom the lab trusts, and signatures over what was measured and issued."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from dpone.composition.clock import SystemClock
from dpone.composition.ed25519 import Ed25519Signer
from dpone_contracts.document import Document
from dpone_contracts.trust import RevocationIndex
from dpone_lab.authority import AUTHORITY, LabAttestor
from dpone_lab.certification import lab_assurance_policy, lab_revocation_index, lab_trust_policy
from dpone_lab.expected import MART_SCHEMA
from dpone_lab.flights import RAW_SCHEMA
from dpone_mssql.connection import Session
from dpone_mssql.literals import quote_name, text

if TYPE_CHECKING:
    from pathlib import Path

    from dpone_contracts.measurements import RuntimeAssurancePolicy
    from dpone_lab.composition import LabSettings
    from dpone_mssql.control_schema import ControlNames

D = TypeVar("D", bound=Document)


def make_worker(settings: LabSettings, names: ControlNames) -> None:
    """Create the login that workers run as: a member of the runtime role who may fill the models' schema."""
    login, password = f"dpone_worker_{secrets.token_hex(4)}", f"Lab-1{secrets.token_hex(16)}"
    user, runtime = quote_name(login), quote_name(names.runtime_role)
    with Session(settings.installer().sql_server) as session:
        for statement in (
            f"CREATE LOGIN {user} WITH PASSWORD = {text(password)};",
            f"CREATE USER {user} FOR LOGIN {user};",
            f"ALTER ROLE {runtime} ADD MEMBER {user};",
            f"GRANT SELECT ON SCHEMA::{quote_name(RAW_SCHEMA)} TO {user};",
            f"GRANT SELECT, INSERT, UPDATE, ALTER ON SCHEMA::{quote_name(MART_SCHEMA)} TO {user};",
            f"GRANT CREATE VIEW TO {user};",
            f"GRANT VIEW SERVER STATE TO {user};",
        ):
            session.rows(statement)
    handle = os.open(settings.worker_login, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump([login, password], file)


@dataclass(frozen=True)
class LabNotary:
    """Signs with the lab's key and collects what belongs beside the certificates."""

    signer: Ed25519Signer
    policy: RuntimeAssurancePolicy
    documents: list[Document] = field(default_factory=list)

    @classmethod
    def open(cls, settings: LabSettings) -> Self:
        """Trust policy, assurance policy and the lab's one signed revocation index, for the lab's own key.

        A second deployment on a lab has the same index: two of one epoch are corruption.
        """
        key = LabAttestor(settings.attestations).key
        login, _ = json.loads(settings.worker_login.read_text())
        policy = lab_assurance_policy(login, (settings.administrator,))
        notary = cls(Ed25519Signer(AUTHORITY, key), policy)
        notary.note(lab_trust_policy(key.public_key))
        notary.note(policy)
        notary.keep(_the_index(settings.attestations / "revocation-index.json"))
        return notary

    def note(self, document: D) -> D:
        """Collect a document that needs no signature."""
        self.documents.append(document)
        return document

    def keep(self, document: D) -> D:
        """Collect a document and the signature over its bytes."""
        self.note(self.signer.sign(document.to_bytes()))
        return self.note(document)


def _the_index(path: Path) -> RevocationIndex:
    """The index that the lab issued when it was first asked for one."""
    if not path.exists():
        path.write_bytes(lab_revocation_index(SystemClock().now().replace(".000000Z", "Z")).to_bytes())
    return RevocationIndex.from_bytes(path.read_bytes())
