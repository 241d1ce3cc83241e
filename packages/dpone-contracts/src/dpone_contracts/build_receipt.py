"""The model build receipt: what one committed scope mutation did, composed by SQL Server inside its transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from dpone_contracts.document import Document, Fault, broken
from dpone_contracts.scalars import Count, Epoch, Identifier, ModelId, Sha256Text, UtcDay, Uuid
from dpone_contracts.scope import scope_rules


class ModelBuildReceipt(Document):
    """States counts and both images of one committed mutation, and under which fence and epoch it ran.

    `before_image_sha256` and `after_image_sha256` are `dpone_row_v1` content digests of the images. A row of the
    source either updated a row or was inserted; nothing is deleted.
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-model-build-receipt.v1"
    DIGEST_FIELD: ClassVar[str] = "model_build_receipt_sha256"

    schema_id: Literal["dpone.semantic-refresh-model-build-receipt.v1"] = Field(alias="schema")
    model_build_receipt_sha256: Sha256Text
    after_image_relation_id: Identifier
    after_image_row_count: Count
    after_image_sha256: Sha256Text
    attempt_binding_sha256: Sha256Text
    before_image_relation_id: Identifier
    before_image_row_count: Count
    before_image_sha256: Sha256Text
    ddl_epoch: Epoch
    effective_key_mapping_sha256: Sha256Text
    fencing_epoch: Epoch
    inserted_row_count: Count
    model_unique_id: ModelId
    operation_id: Sha256Text
    operation_plan_sha256: Sha256Text
    recovery_fork: Uuid
    row_encoding: Literal["dpone_row_v1"]
    scope_end: UtcDay
    scope_start: UtcDay
    source_row_count: Count
    strategy_template_sha256: Sha256Text
    target_relation_id: Identifier
    updated_row_count: Count
    workflow_execution_binding_sha256: Sha256Text
    writable_schema_sha256: Sha256Text

    def _rules(self) -> Iterator[Fault]:
        yield from scope_rules(self.scope_start, self.scope_end)
        if self.updated_row_count + self.inserted_row_count != self.source_row_count:
            yield broken("source-is-written", "every source row was updated or inserted", "source_row_count")
        if self.before_image_row_count + self.inserted_row_count != self.after_image_row_count:
            yield broken("nothing-deleted", "the images differ by the inserted rows", "after_image_row_count")
        if self.updated_row_count > self.before_image_row_count:
            yield broken("updates-match", "more rows updated than there were", "updated_row_count")
        if self.before_image_relation_id == self.after_image_relation_id:
            yield broken("distinct-relations", "one relation as both images", "after_image_relation_id")
