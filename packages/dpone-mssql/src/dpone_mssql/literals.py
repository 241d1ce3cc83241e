"""T-SQL literals and identifiers: the one place where a value or a name becomes SQL text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpone_contracts.relations import SqlRelation

MAX_IDENTIFIER = 128
BIN2 = "Latin1_General_100_BIN2"
UTF8 = "Latin1_General_100_BIN2_UTF8"


def quote_name(name: str) -> str:
    """Quote one part of a name in brackets; raises ValueError for what SQL Server can't hold as an identifier."""
    if not 1 <= len(name) <= MAX_IDENTIFIER or "\x00" in name:
        raise ValueError("an identifier has 1 to 128 characters and no NUL")
    return "[" + name.replace("]", "]]") + "]"


def quote_relation(relation: SqlRelation) -> str:
    """Quote a three-part name: `[database].[schema].[name]`."""
    return ".".join(quote_name(part) for part in (relation.database, relation.schema, relation.name))


def local_name(relation: SqlRelation) -> str:
    """Quote `[schema].[name]`, for statements that assert the current database."""
    return f"{quote_name(relation.schema)}.{quote_name(relation.name)}"


def text(value: str) -> str:
    """Write an nvarchar literal."""
    return "N'" + value.replace("'", "''") + "'"


def binary(digest: str) -> str:
    """Write a digest `sha256:…` as a binary literal."""
    return "0x" + digest_bytes(digest).hex().upper()


def digest_bytes(digest: str) -> bytes:
    """Turn `sha256:` and 64 hex digits into the 32 bytes that the store keeps."""
    prefix, _, digits = digest.partition(":")
    found = bytes.fromhex(digits)
    if prefix != "sha256" or len(found) != 32 or digits != digits.lower():
        raise ValueError("a digest is sha256: and 64 lower-case hex digits")
    return found


def digest_text(value: bytes) -> str:
    """Turn the 32 stored bytes back into `sha256:…`."""
    if len(value) != 32:
        raise ValueError("a stored digest has 32 bytes")
    return "sha256:" + bytes(value).hex()
