"""A place in compiled SQL leads back to the author's own line, or to the nearest one, never to a wrong column."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from dpone_dbt_proof.project_proof import ProofScope, prove_project
from dpone_dbt_proof.reasons import Code, Reason
from dpone_dbt_proof.source_places import from_compiled, in_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("raw", "compiled", "place", "expected"),
    [
        ("select a\nfrom x.t", "select a\nfrom x.t", (2, 6), (2, 6)),
        ("select a\nfrom {{ r }} as t", 'select a\nfrom "d"."s"."t" as t', (2, 21), (2, 17)),
        ("select a\nfrom {{ r }} t", 'select a\nfrom "d"."s"."t" t', (2, 8), (2, None)),
        ("{% set a = 1 %}\nselect x\nfrom t.u", "select x\nfrom t.u", (2, 6), (3, 6)),
        (
            "select\n{% for c in l %}{{ c }},\n{% endfor %}\nx from t.u",
            "select\na,\nb,\n\nx from t.u",
            (3, 1),
            (1, None),
        ),
    ],
)
def test_compiled_places_lead_to_raw_lines(
    shop: Any, raw: str, compiled: str, place: tuple[int, int], expected: tuple[int, int | None]
) -> None:
    shop.node.update(raw_code=raw, compiled_code=compiled)
    node = shop.load().nodes[shop.MODEL]
    (reason,) = from_compiled(node, [Reason(Code.SQL_SYNTAX, "x", line=place[0], column=place[1])])
    assert (reason.path, reason.line, reason.column) == ("models/sale_event.sql", *expected)


def test_what_dbt_cut_off_before_the_text_is_added_again(shop: Any, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sale_event.sql").write_text(f"\n\n  {shop.SQL}\n")
    node = shop.load().nodes[shop.MODEL]
    (reason,) = in_file(tmp_path, node, [Reason(Code.SQL_SYNTAX, "x", node.path, 1, 8)])
    assert (reason.line, reason.column) == (3, 10)


def test_a_file_that_changed_since_the_manifest_is_not_proven(shop: Any, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    file = tmp_path / "models" / "sale_event.sql"
    shop.node["checksum"] = {"name": "sha256", "checksum": hashlib.sha256(shop.SQL.encode()).hexdigest()}
    file.write_text(f"\n{shop.SQL}\n")
    (model,) = prove_project(shop.load(), scope=ProofScope.DEFINITION, project=tmp_path).models
    assert model.status.value == "PROVEN"
    file.write_text(f"{shop.SQL} where s.amount > 0\n")
    (model,) = prove_project(shop.load(), scope=ProofScope.DEFINITION, project=tmp_path).models
    assert [reason.code.name for reason in model.reasons] == ["MANIFEST_STALE"]
