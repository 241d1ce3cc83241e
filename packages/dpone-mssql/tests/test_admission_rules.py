from __future__ import annotations

import pytest

from dpone_contracts.cleanup import allocation_id
from dpone_contracts.testing.plan_example import made_up
from dpone_mssql.admission import require_admissible_mode, reservation_id
from dpone_mssql.connection import Refused


def test_a_replacement_is_refused_by_name_and_other_modes_pass() -> None:
    require_admissible_mode("normal")
    require_admissible_mode("complete_scope_replay")
    with pytest.raises(Refused) as refused:
        require_admissible_mode("failed_precommit_replacement")
    assert refused.value.reason.code == "DPONE_REPLACEMENT_UNSUPPORTED"


def test_an_allocation_is_identified_as_published_acknowledgements_have_it() -> None:
    published = allocation_id(
        "sha256:f75adcff42f7b376444564202f39935d10449d768541daeaf47c7b4d8093dc28",
        "reservation-2026-08-08-competitive-pricing",
        "clickhouse_staging_bytes",
    )
    assert published == "sha256:b54c9ce0722c5d810dc908cb19b587191a490c617f825814e33cbe8a8e457839"


def test_each_operation_of_an_execution_has_its_own_reservation() -> None:
    names = {reservation_id(made_up("run"), made_up(name)) for name in ("a", "b")}
    assert len(names) == 2
    assert all(len(name) <= 128 for name in names)
