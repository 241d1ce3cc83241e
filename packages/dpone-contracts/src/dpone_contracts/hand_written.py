"""Documents that people write: what a release adds, what an organisation vouches for, what a live test of a route found.

`HAND_WRITTEN` is the closed list of all kinds that may be sealed from a file. Receipts, measurements, plans, proofs and
everything else that states what happened is made by the command or the run that saw it, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from dpone_contracts.canonical import CanonicalError, decode, digest_checked, encode_checked
from dpone_contracts.document import (
    Document,
    Fault,
    admit_document,
    broken,
    document_class,
)
from dpone_contracts.errors import DponeError
from dpone_contracts.receipts import (
    ROUTE_EVIDENCE,
    RouteCoordinates,
    exact_fields,
    schema_case,
    window_rules,
)
from dpone_contracts.scalars import (
    Identifier,
    ModelId,
    Positive,
    Sha256Text,
    UtcInstant,
    WhenPresent,
    instant,
)

HAND_WRITTEN: Final = frozenset(
    {
        "dpone.dbt-semantic-refresh-resource-policy.v1",
        "dpone.semantic-refresh-attested-controls.v1",
        "dpone.semantic-refresh-deadline-policy.v1",
        "dpone.semantic-refresh-deployment-descriptor.v1",
        "dpone.semantic-refresh-model-deployment.v1",
        "dpone.semantic-refresh-platform-policy.v1",
        "dpone.semantic-refresh-release-settings.v1",
        "dpone.semantic-refresh-revocation-index.v1",
        "dpone.semantic-refresh-route-result.v1",
        "dpone.semantic-refresh-runtime-assurance-policy.v1",
        "dpone.semantic-refresh-seal-policy.v1",
        "dpone.semantic-refresh-trust-policy.v1",
        "dpone.semantic-refresh-workflow-profile.v1",
        "dpone.semantic-refresh-workflow-resource-policy.v1",
    }
)
"""The kinds of document that a person may write; every other kind is refused."""


class ReleaseSettings(Document):
    """What the platform adds to a workflow's proofs: Asset URIs, connection reference, place and limits in seconds."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-release-settings.v1"
    DIGEST_FIELD: ClassVar[str] = "release_settings_sha256"

    schema_id: Literal["dpone.semantic-refresh-release-settings.v1"] = Field(alias="schema")
    release_settings_sha256: Sha256Text
    asset_uris: dict[ModelId, Identifier]
    connection_ref: Identifier
    database: Identifier
    model_schema: Identifier
    login_timeout_seconds: Positive
    query_timeout_seconds: Positive
    timeout_seconds: Positive

    def _rules(self) -> Iterator[Fault]:
        if len(set(self.asset_uris.values())) != len(self.asset_uris):
            yield broken("one-asset-a-model", "two models publish the same asset", "asset_uris")
        if self.query_timeout_seconds > self.timeout_seconds:
            yield broken("deadlines-nest", "a query outlives the build", "query_timeout_seconds")


class AttestedControls(Document):
    """What no engine can show and an organisation vouches for in one environment, and for how long assurances count."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-attested-controls.v1"
    DIGEST_FIELD: ClassVar[str] = "attested_controls_sha256"

    schema_id: Literal["dpone.semantic-refresh-attested-controls.v1"] = Field(alias="schema")
    attested_controls_sha256: Sha256Text
    environment: Identifier
    external_job_inventory_sha256: Sha256Text
    organizational_control_sha256: Sha256Text
    effective_from: UtcInstant
    expires_at: UtcInstant
    producer_version: Identifier

    def _rules(self) -> Iterator[Fault]:
        yield from window_rules(self.effective_from, self.expires_at)


class RouteResult(Document):
    """What the live test of one exact route found: a route certification without its issuer."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-route-result.v1"
    DIGEST_FIELD: ClassVar[str] = "route_result_sha256"

    schema_id: Literal["dpone.semantic-refresh-route-result.v1"] = Field(alias="schema")
    route_result_sha256: Sha256Text
    status: Literal["PASS", "FAIL", "UNVERIFIED"]
    coordinates: RouteCoordinates
    certification_policy_sha256: Sha256Text
    tested_at: UtcInstant
    effective_from: UtcInstant
    expires_at: UtcInstant
    failure_matrix_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    live_environment_sha256: Annotated[Sha256Text | None, WhenPresent] = None
    live_evidence_sha256: Annotated[Sha256Text | None, WhenPresent] = None

    SCHEMA_RULES: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            schema_case({"status": {"enum": ["PASS", "FAIL"]}}, ROUTE_EVIDENCE, ROUTE_EVIDENCE),
            schema_case({"status": {"const": "UNVERIFIED"}}, ROUTE_EVIDENCE, ()),
        ]
    }

    def _rules(self) -> Iterator[Fault]:
        if self.status == "UNVERIFIED":
            yield from exact_fields(self, ROUTE_EVIDENCE, (), "an unverified route")
        else:
            yield from exact_fields(self, ROUTE_EVIDENCE, ROUTE_EVIDENCE, "a live result")
        yield from window_rules(self.effective_from, self.expires_at)
        if instant(self.tested_at) > instant(self.effective_from):
            yield broken("tested-before-effective", "effective before it was tested", "tested_at")


def sealed_bytes(data: bytes) -> bytes:
    """Canonical bytes of a hand-written document, its own digest computed where it is absent.

    `data` is JSON with `schema` and the content. Raises `DocumentError` exactly where validating the sealed document
    does (a digest that is there and wrong included), and `DponeError` DPONE_DOCUMENT_NOT_HAND_WRITTEN for a kind that
    only a command or a run makes.
    """
    try:
        plain = decode(data).value
    except CanonicalError:
        return admit_document(data).to_bytes()
    kind = document_class(plain.get("schema"))
    if kind is None:
        return admit_document(data).to_bytes()
    if kind.SCHEMA not in HAND_WRITTEN:
        raise DponeError(
            "DPONE_DOCUMENT_NOT_HAND_WRITTEN",
            f"{kind.SCHEMA} is made by the command or the run that saw what it states",
            {"schema": kind.SCHEMA},
        )
    plain.setdefault(kind.DIGEST_FIELD, digest_checked(plain))
    return admit_document(encode_checked(plain).encode("ascii")).to_bytes()
