"""What every revocation log must do. An adapter's tests subclass this and give the fixture `revocations`."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from dpone_contracts.testing.plan_example import made_up
from dpone_contracts.testing.results import applied, not_applied

if TYPE_CHECKING:
    from dpone_contracts.ports.revocation_log import RevocationLog


class RevocationLogSuite:
    """An index that is older than one that was seen is never believed again."""

    def test_only_the_newest_index_is_believed(self, revocations: RevocationLog) -> None:
        domain, first, second = f"domain-{token_hex(4)}", made_up("first"), made_up("second")
        assert applied(revocations.remember(domain, 3, first)) == 3
        assert applied(revocations.remember(domain, 3, first)) == 3
        not_applied(revocations.remember(domain, 3, second), "DPONE_REVOCATION_INDEX_CONFLICT")
        not_applied(revocations.remember(domain, 2, second), "DPONE_REVOCATION_INDEX_ROLLED_BACK")
        assert applied(revocations.remember(domain, 4, second)) == 4
        not_applied(revocations.remember(domain, 3, first), "DPONE_REVOCATION_INDEX_ROLLED_BACK")

    def test_trust_domains_do_not_know_each_other(self, revocations: RevocationLog) -> None:
        one, other = f"domain-{token_hex(4)}", f"domain-{token_hex(4)}"
        assert applied(revocations.remember(one, 7, made_up("index"))) == 7
        assert applied(revocations.remember(other, 1, made_up("index"))) == 1
