"""The create-only document store, and storing a document inside a larger transaction."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from dpone_contracts.document import Inadmissible, Valid, document_class, load_document
from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused, commit_serializable, read_consistently
from dpone_mssql.literals import digest_bytes, digest_text

if TYPE_CHECKING:
    from dpone_contracts.document import Document
    from dpone_contracts.effects import EffectResult
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames


class StoredDocuments:
    """Documents by (schema, digest) as parts of a transaction."""

    def __init__(self, names: ControlNames) -> None:
        self._sql = Statements("state/documents.sql", control=names.schema)

    def put(self, tx: Transaction, document: Document, *, operation_id: str | None = None) -> None:
        """Store a document and link it to an operation; refuses other bytes under its key."""
        self.put_bytes(tx, document.SCHEMA, document.digest, document.to_bytes())
        if operation_id is not None:
            self.link(tx, operation_id, document)

    def put_bytes(self, tx: Transaction, schema: str, digest: str, data: bytes) -> None:
        """Store the exact bytes of a document under its own digest, or find them there."""
        there = tx.one(self._sql["find_for_write"], schema, digest_bytes(digest))
        if there is None:
            tx.write(self._sql["insert"], schema, digest_bytes(digest), data, sha256(data).digest())
        elif bytes(there[0]) != data:
            raise Refused(
                Reason(
                    "DPONE_DOCUMENT_CONFLICT",
                    "other bytes are stored under this schema and digest",
                    {"schema": schema, "digest": digest},
                )
            )

    def link(self, tx: Transaction, operation_id: str, document: Document) -> None:
        """Note that a stored document belongs to an operation; once is enough."""
        key = (digest_bytes(operation_id), document.SCHEMA, digest_bytes(document.digest))
        if tx.one(self._sql["linked"], *key) is None:
            tx.write(self._sql["link"], *key, digest_bytes(operation_id))

    def get(self, tx: Transaction, schema: str, digest: str) -> bytes | None:
        """Read the stored bytes, every digest of them verified."""
        found = tx.one(self._sql["find"], schema, digest_bytes(digest))
        return None if found is None else verified(schema, digest, bytes(found[0]), bytes(found[1]))

    def of_operation(self, tx: Transaction, operation_id: str) -> tuple[tuple[str, str], ...]:
        """List what is linked to an operation in the order of storing."""
        rows = tx.rows(self._sql["list"], digest_bytes(operation_id))
        return tuple((str(schema), digest_text(digest)) for schema, digest in rows)


def verified(schema: str, digest: str, data: bytes, stored_sha256: bytes) -> bytes:
    """Return stored bytes whose SHA-256 and own digest hold; raises DponeError DPONE_DOCUMENT_CORRUPT otherwise."""
    if sha256(data).digest() != stored_sha256 or _own_digest(schema, data) not in (None, digest):
        raise DponeError(
            "DPONE_DOCUMENT_CORRUPT",
            "stored bytes are not those of the digest that they are stored under",
            {"schema": schema, "digest": digest},
        )
    return data


def _own_digest(schema: str, data: bytes) -> str | None:
    """Compute what a document says of itself: None for a schema that this release doesn't know."""
    if document_class(schema) is None:
        return None
    match load_document(data):
        case Valid(document):
            return document.digest
        case Inadmissible(digest=found):
            return found
        case _:
            return ""


class MssqlDocumentStore:
    """`DocumentStore` on the control schema."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._documents = StoredDocuments(names)

    def persist(self, operation_id: str | None, document: Document) -> EffectResult[str]:
        """Store one document in a transaction of its own."""

        def store(tx: Transaction) -> str:
            self._documents.put(tx, document, operation_id=operation_id)
            return document.digest

        return commit_serializable(self._config, store, unknown_code="DPONE_DOCUMENT_COMMIT_UNKNOWN")

    def read(self, schema: str, digest: str) -> bytes | None:
        """Read stored bytes, digest verified."""
        return read_consistently(self._config, lambda tx: self._documents.get(tx, schema, digest))

    def list_for(self, operation_id: str) -> tuple[tuple[str, str], ...]:
        """List (schema, digest) of an operation's documents in the order of storing."""
        return read_consistently(self._config, lambda tx: self._documents.of_operation(tx, operation_id))
