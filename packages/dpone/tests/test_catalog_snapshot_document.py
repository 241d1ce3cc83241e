"""A live catalog reading becomes the snapshot document that the proofs load."""

from __future__ import annotations

from dpone.composition.catalog_snapshot import snapshot_document
from dpone_contracts.catalog import CatalogColumn, CatalogObject, CatalogSnapshot, ObjectKind
from dpone_contracts.relations import SqlRelation
from dpone_dbt_proof.catalog_snapshot import load_snapshot

TARGET = SqlRelation("shop", "mart", "event")


def test_index_names_and_computed_columns_reach_the_proofs() -> None:
    seen = CatalogSnapshot(
        database="shop",
        collation="Latin1_General_100_CS_AS",
        roots=((TARGET, 7),),
        objects=(
            CatalogObject(
                object_id=7,
                relation=TARGET,
                kind=ObjectKind.BASE_TABLE,
                definition=None,
                encrypted=False,
                schema_bound=False,
                columns=(CatalogColumn(1, "total", "int", nullable=True, computed=True, expression="[a]+1"),),
                indexes=("dbt_idx_a1", "pk_event"),
            ),
        ),
        edges=(),
        depth=0,
        exceeded=(),
        unreadable=(),
    )
    found = load_snapshot(snapshot_document(seen)).snapshot.find(TARGET)
    assert found is not None
    assert list(found.indexes) == ["dbt_idx_a1", "pk_event"]
    assert list(found.computed_columns) == ["total"]
