"""`RevocationLog` on the control schema: the append-only memory that refuses an index older than one that was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_mssql.batches import Statements
from dpone_mssql.connection import Refused, commit_serializable
from dpone_mssql.control_schema import require_store
from dpone_mssql.heads import require_one
from dpone_mssql.literals import digest_bytes

if TYPE_CHECKING:
    from dpone_contracts.effects import EffectResult
    from dpone_mssql.connection import SqlServerConfig, Transaction
    from dpone_mssql.control_schema import ControlNames


class MssqlRevocationLog:
    """Remembers verified indexes by trust domain in one create-only table."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._names = names
        self._sql = Statements("state/revocations.sql", control=names.schema)

    def remember(self, trust_domain: str, epoch: int, revocation_index_sha256: str) -> EffectResult[int]:
        """Keep a newer index; the newest one again is Applied, an older one or another of its epoch is refused."""
        own = digest_bytes(revocation_index_sha256)

        def keep(tx: Transaction) -> int:
            require_store(tx, self._names)
            newest = tx.one(self._sql["newest"], trust_domain)
            if newest is None or epoch > int(newest[0]):
                require_one(tx.write(self._sql["insert"], trust_domain, epoch, own), "revocation index")
                return epoch
            evidence = {"trust_domain": trust_domain, "seen": str(newest[0]), "given": str(epoch)}
            if epoch < int(newest[0]):
                observed = "a later revocation index was seen before"
                raise Refused(Reason("DPONE_REVOCATION_INDEX_ROLLED_BACK", observed, evidence))
            if bytes(newest[1]) != own:
                observed = "another revocation index of this epoch was seen before"
                raise Refused(Reason("DPONE_REVOCATION_INDEX_CONFLICT", observed, evidence))
            return epoch

        return commit_serializable(self._config, keep, unknown_code="DPONE_REVOCATION_INDEX_UNKNOWN")
