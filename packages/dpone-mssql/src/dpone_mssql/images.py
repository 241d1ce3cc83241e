"""The two image relations of an attempt: created empty, registered, observed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason
from dpone_contracts.ports.scope_mutation import ImageObservation
from dpone_contracts.row_encoding import FieldKind
from dpone_mssql.batches import render
from dpone_mssql.columns import column_list
from dpone_mssql.connection import Refused
from dpone_mssql.heads import require_one
from dpone_mssql.literals import digest_bytes, digest_text, local_name, quote_name, text
from dpone_mssql.rowtext import content_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpone_contracts.relations import SqlRelation
    from dpone_mssql.batches import Statements
    from dpone_mssql.columns import Column
    from dpone_mssql.connection import Transaction


def image_definition(
    image: SqlRelation, columns: Sequence[Column], key: Sequence[Column], collations: Mapping[str, str]
) -> str:
    """Write CREATE TABLE of an image: the target's types, collations and nullability, clustered by the effective key."""
    written = []
    for column in columns:
        collate = (
            f" COLLATE {_collation(collations[column.name])}" if column.field.kind is FieldKind.TEXT else ""
        )
        written.append(
            f"{column.quoted} {column.source_type}{collate} {'NULL' if column.nullable else 'NOT NULL'}"
        )
    return render(
        "mutation/create_image.sql",
        relation=local_name(image),
        columns=",\n    ".join(written),
        constraint=quote_name(f"pk_{image.name}"),
        key=column_list(key),
    )


def _collation(name: str) -> str:
    """Return a collation's name, which can't be quoted; raises ValueError for what is no name."""
    if re.fullmatch(r"\w+", name, re.ASCII) is None:
        raise ValueError("a collation's name has letters, digits and underscores")
    return name


def create_images(
    tx: Transaction,
    sql: Statements,
    attempt_binding_sha256: str,
    images: Mapping[str, tuple[SqlRelation, str]],
) -> None:
    """Create and register both images by kind, or find them registered and still there."""
    own = digest_bytes(attempt_binding_sha256)
    there = {str(kind): (registered, now) for kind, _, registered, now in tx.rows(sql["images"], own)}
    if there:
        if set(there) != set(images) or any(registered != now for registered, now in there.values()):
            raise Refused(
                Reason(
                    "DPONE_IMAGE_CONFLICT",
                    "the attempt's registered images are not the relations that stand there now",
                    {"attempt_binding_sha256": attempt_binding_sha256},
                )
            )
        return
    for kind, (relation, definition) in images.items():
        tx.rows(definition)
        changed = tx.write(sql["insert_image"], own, kind, relation.name, local_name(relation))
        require_one(changed, f"{kind} image")


def observe_image(
    tx: Transaction, image: SqlRelation, columns: Sequence[Column], key: Sequence[Column]
) -> ImageObservation:
    """Count and digest an image, or find it absent."""
    name = local_name(image)
    if tx.rows(f"SELECT OBJECT_ID({text(name)}, N'U');")[0][0] is None:
        return ImageObservation(image, exists=False, row_count=None, content_sha256=None)
    rows, digest = content_of(tx, name, columns, key)
    return ImageObservation(image, exists=True, row_count=rows, content_sha256=digest)


def content_of(
    tx: Transaction, relation: str, columns: Sequence[Column], key: Sequence[Column]
) -> tuple[int, str]:
    """Return (rows, content digest) of a relation, its quoted name given."""
    batch = render(
        "mutation/content.sql",
        relation=relation,
        digest=content_digest(columns, key, relation, "@content_sha256"),
    )
    rows, digest = tx.rows(batch)[-1]
    return int(rows), digest_text(bytes(digest))
