"""The versioned control schema: printed, installed, recognised, and refused by name when it is another version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError
from dpone_contracts.ports.guard import StoreIdentity
from dpone_mssql.batches import places, render, split
from dpone_mssql.connection import Transaction, commit_serializable
from dpone_mssql.literals import quote_name, text

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_mssql.connection import Session, SqlServerConfig

SCHEMA_VERSION = 1

CREATE_ONLY = (
    "documents",
    "operation_documents",
    "deployments",
    "activations",
    "activation_documents",
    "target_owners",
    "executions",
    "attempts",
    "reservations",
    "journal",
    "continuations",
    "replacement_successors",
    "summaries",
    "cleanup_acknowledgements",
    "invocation_intents",
    "attempt_fates",
    "build_receipts",
    "images",
    "revocation_indexes",
)
"""Tables that the runtime may only insert into; the row `store` is the installer's alone."""

COMPARE_AND_SET = (
    "target_heads",
    "scope_heads",
    "checkpoints",
    "fence_counter",
    "guards",
    "allocations",
)
"""Tables whose rows change, each change naming the row as it was."""

FREEZE = (
    "ddl_epochs",
    "ddl_coverage",
)
"""Tables that the runtime only reads: who certifies covers a target, and the DDL trigger counts as dbo."""

MARKER = "dpone.lab.marker"
"""The extended property of the database that only a disposable lab writes; its value is a random UUID."""

_TABLES = (
    "00_schemas",
    "10_store",
    "20_documents",
    "30_activation",
    "40_heads",
    "50_admission",
    "60_journal",
    "70_build",
    "80_ddl_epoch",
    "85_revocations",
    "90_pins",
)


@dataclass(frozen=True, slots=True)
class ControlNames:
    """The schemas and the database role of one store."""

    control: str = "dpone_control"
    images: str = "dpone_images"
    runtime_role: str = "dpone_runtime"

    @property
    def schema(self) -> str:
        """The control schema in brackets."""
        return quote_name(self.control)


def control_script(names: ControlNames) -> str:
    """Write the whole schema as one script of GO-separated batches, for people to read and run."""
    filled = {
        "control": names.schema,
        "images": quote_name(names.images),
        "runtime": quote_name(names.runtime_role),
        "schema_version": str(SCHEMA_VERSION),
    }
    parts = [_part(name, filled) for name in _TABLES]
    parts += [
        _part("create_only", filled, table=quote_name(table), trigger=quote_name(f"create_only_{table}"))
        for table in ("store", *CREATE_ONLY)
    ]
    parts += [_part("grant_create_only", filled, table=quote_name(table)) for table in CREATE_ONLY]
    parts += [_part("grant_compare_and_set", filled, table=quote_name(table)) for table in COMPARE_AND_SET]
    parts += [_part("grant_read", filled, table=quote_name(table)) for table in FREEZE]
    parts.append(_part("grant_schemas", filled))
    return "\n".join(parts)


def install(config: SqlServerConfig, names: ControlNames) -> EffectResult[StoreIdentity]:
    """Install the schema in one transaction as the installer principal; a store of this version is left as it is."""

    def create(tx: Transaction) -> StoreIdentity:
        if not _installed(tx, names):
            tx.script(split(control_script(names)))
        return identity(tx, names)

    return commit_serializable(config, create, unknown_code="DPONE_CONTROL_SCHEMA_COMMIT_UNKNOWN")


def identity(tx: Session | Transaction, names: ControlNames) -> StoreIdentity:
    """Read who the store is; raises DponeError where there is none, or one of an older or newer version."""
    store_id = require_store(tx, names)
    server, database = tx.rows("SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')), DB_NAME();")[0]
    return StoreIdentity(
        store_id=store_id,
        schema_version=SCHEMA_VERSION,
        server=str(server),
        database=str(database),
        recovery_fork=recovery_fork(tx),
        disposable_marker=_marker(tx),
    )


def require_store(tx: Session | Transaction, names: ControlNames) -> str:
    """Return the id of a store of this version; raises DponeError for none, an older or a newer one."""
    absent = DponeError("DPONE_CONTROL_SCHEMA_ABSENT", f"schema {names.control} has no store here", {})
    if not _installed(tx, names):
        raise absent
    found = tx.rows(
        f"SELECT s.[store_id], s.[schema_version] FROM {names.schema}.[store] AS s WHERE s.[id] = 1;"
    )
    if len(found) != 1:
        raise absent
    store_id, version = found[0]
    if version != SCHEMA_VERSION:
        age = "older" if version < SCHEMA_VERSION else "newer"
        raise DponeError(
            "DPONE_CONTROL_SCHEMA_VERSION",
            f"the store is of {age} version {version}, this release reads version {SCHEMA_VERSION}",
            {"store_id": str(store_id), "schema_version": str(version)},
        )
    return str(store_id)


def recovery_fork(tx: Session | Transaction) -> str:
    """Read the recovery fork of the current database, lower-case; a restore changes it."""
    found = tx.rows(
        "SELECT LOWER(CONVERT(nvarchar(36), r.[recovery_fork_guid])) FROM sys.database_recovery_status AS r "
        "WHERE r.[database_id] = DB_ID();"
    )
    if len(found) != 1 or not found[0][0]:
        raise DponeError("DPONE_MSSQL_RECOVERY_FORK_UNSEEN", "the database's recovery fork can't be read", {})
    return str(found[0][0])


def _installed(tx: Session | Transaction, names: ControlNames) -> bool:
    found = tx.rows(f"SELECT OBJECT_ID({text(f'{names.schema}.[store]')}, N'U');")
    return found[0][0] is not None


def _marker(tx: Session | Transaction) -> str | None:
    found = tx.rows(
        "SELECT CONVERT(nvarchar(64), p.[value]) FROM sys.extended_properties AS p "
        f"WHERE p.[class] = 0 AND p.[name] = {text(MARKER)};"
    )
    return str(found[0][0]) if found and found[0][0] is not None else None


def _part(name: str, given: dict[str, str], **more: str) -> str:
    path = f"control/{name}.sql"
    wanted = places(path)
    return render(path, **{place: value for place, value in {**given, **more}.items() if place in wanted})
