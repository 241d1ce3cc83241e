"""What SQL Server's catalog shows of an assurance's subject, as digested documents, and the pure rules over them.

A measurement says what was seen and what could not be seen. The rules name what speaks against the assurance first;
where nothing does and something was hidden, the answer is UNVERIFIED.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field

from dpone_contracts.canonical import digest_of
from dpone_contracts.closure import Many, Several, sorted_set
from dpone_contracts.document import Document, Fault, Part, without
from dpone_contracts.effects import Reason
from dpone_contracts.scalars import Count, Identifier, Positive, Sha256Text, Text, UtcMicros

RUN_FACTS: Final = (
    "measured_at",
    "measured_by",
    "server_utc_offset",
    "session_language",
    "session_date_format",
)
"""Fields that say who looked, when and under which settings: two measurements that differ in nothing else are equal in
what matters. A server's offset moves twice a year in many zones; no measured column depends on it."""


class MeasuredPrincipal(Part):
    """Somebody who can do what is measured: a database principal or a server login, and every way by which."""

    scope: Literal["database", "server"]
    principal: Identifier
    principal_type: Identifier
    ways: Several[Text]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.ways, "ways")


class IndirectWay(Part):
    """A mechanism that changes rows of the target, or could, without a permission of its caller on it."""

    kind: Literal["assembly", "cascade", "feature", "impersonating_module", "job", "module", "setting"]
    name: Text


class CoveredObject(Part):
    """An object that a DDL epoch covers; `state` says whether the name still stands for the covered object."""

    object_id: Positive
    schema_name: Identifier
    object_name: Identifier
    state: Literal["SAME", "GONE_OR_OTHER"]


class Measurement(Document):
    """A measurement of one target by one principal at one instant."""

    database: Identifier
    schema_name: Identifier
    object_name: Identifier
    object_id: Positive
    server_major_version: Positive
    measured_at: UtcMicros
    measured_by: Identifier
    unseen: Many[Text]

    def _rules(self) -> Iterator[Fault]:
        yield from sorted_set(self.unseen, "unseen")

    @property
    def substance_sha256(self) -> str:
        """Digest of what matters: all of it but who looked and when."""
        return digest_of(self.substance)

    @property
    def substance(self) -> dict[str, Any]:
        """What matters, as plain values."""
        return without(self.to_plain(), self.DIGEST_FIELD, *RUN_FACTS)


class WriterMeasurement(Measurement):
    """Who can write a target: by permission, role, ownership or server role, and what could write without any."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-writer-measurement.v1"
    DIGEST_FIELD: ClassVar[str] = "writer_measurement_sha256"

    schema_id: Literal["dpone.semantic-refresh-writer-measurement.v1"] = Field(alias="schema")
    writer_measurement_sha256: Sha256Text
    writers: Many[MeasuredPrincipal]
    indirect: Many[IndirectWay]
    jobs_seen: bool

    def _rules(self) -> Iterator[Fault]:
        yield from super()._rules()
        yield from sorted_set([(w.scope, w.principal) for w in self.writers], "writers")
        yield from sorted_set([(way.kind, way.name) for way in self.indirect], "indirect")


class DdlFreezeMeasurement(Measurement):
    """The DDL epoch of a target and of what it covers, the trigger that moves it, and who can stop the trigger."""

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-ddl-freeze-measurement.v1"
    DIGEST_FIELD: ClassVar[str] = "ddl_freeze_measurement_sha256"

    schema_id: Literal["dpone.semantic-refresh-ddl-freeze-measurement.v1"] = Field(alias="schema")
    ddl_freeze_measurement_sha256: Sha256Text
    ddl_epoch: Count
    covered: Many[CoveredObject]
    trigger_state: Literal["ENABLED", "DISABLED", "ABSENT"]
    trigger_text: Literal["AS_RELEASED", "OTHER", "UNSEEN"]
    controllers: Many[MeasuredPrincipal]

    def _rules(self) -> Iterator[Fault]:
        yield from super()._rules()
        yield from sorted_set([covered.object_id for covered in self.covered], "covered")
        yield from sorted_set([(c.scope, c.principal) for c in self.controllers], "controllers")


class UtcMeasurement(Measurement):
    """What the engine can show of an event-time column: its type, and whether a local clock could fill it.

    That the values are UTC is the issuer's word; the engine stores no zone with `date` and `datetime2`.
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-utc-measurement.v1"
    DIGEST_FIELD: ClassVar[str] = "utc_measurement_sha256"

    schema_id: Literal["dpone.semantic-refresh-utc-measurement.v1"] = Field(alias="schema")
    utc_measurement_sha256: Sha256Text
    column_name: Identifier
    type_name: Identifier
    is_computed: bool
    default_clock: Literal["NONE", "CONSTANT", "UTC", "OTHER"]
    server_utc_offset: Annotated[str, Field(pattern=r"^[+-]\d{2}:\d{2}$", min_length=6, max_length=6)]
    session_language: Identifier
    session_date_format: Identifier


class RuntimeAssurancePolicy(Document):
    """Who may write the targets of an environment, by name; nobody is allowed by default.

    `runtime_principals` and `installer_principals` are names in the database, `administrator_logins` logins of the
    server, `allowed_ways` the indirect ways by `kind:name`. `external_jobs` says whose word on jobs counts: the
    engine's (MEASURED: Agent jobs must be visible) or the organisation's inventory that the assurance names (ATTESTED).
    """

    SCHEMA: ClassVar[str] = "dpone.semantic-refresh-runtime-assurance-policy.v1"
    DIGEST_FIELD: ClassVar[str] = "runtime_assurance_policy_sha256"

    schema_id: Literal["dpone.semantic-refresh-runtime-assurance-policy.v1"] = Field(alias="schema")
    runtime_assurance_policy_sha256: Sha256Text
    environment: Identifier
    acl_policy_version: Identifier
    runtime_principals: Several[Identifier]
    installer_principals: Many[Identifier]
    administrator_logins: Many[Identifier]
    allowed_ways: Many[Text]
    external_jobs: Literal["MEASURED", "ATTESTED"]

    def _rules(self) -> Iterator[Fault]:
        for name in ("runtime_principals", "installer_principals", "administrator_logins", "allowed_ways"):
            yield from sorted_set(getattr(self, name), name)

    @property
    def allowlist_sha256(self) -> str:
        """Digest of who is allowed: an assurance names it as its platform allowlist."""
        names = ("administrator_logins", "allowed_ways", "installer_principals", "runtime_principals")
        return digest_of({name: list(getattr(self, name)) for name in names})


Findings: TypeAlias = tuple[Reason, ...]


def writer_findings(measured: WriterMeasurement, policy: RuntimeAssurancePolicy) -> Findings:
    """What speaks against writer exclusivity: writing is left to the runtime, named installers and administrators."""
    found = [
        Reason(
            "DPONE_WRITER_NOT_EXCLUSIVE",
            f"{writer.principal} can write {_name(measured)}: {'; '.join(writer.ways)}",
            {"principal": writer.principal, "scope": writer.scope, "principal_type": writer.principal_type},
        )
        for writer in _strangers(measured.writers, policy)
    ]
    found += [
        Reason(
            "DPONE_WRITER_INDIRECT", f"{way.kind} {way.name} may write {_name(measured)}", {"kind": way.kind}
        )
        for way in measured.indirect
        if f"{way.kind}:{way.name}" not in policy.allowed_ways
    ]
    writing = {writer.principal for writer in measured.writers if writer.scope == "database"}
    found += [
        Reason("DPONE_WRITER_RUNTIME_ABSENT", f"the runtime {name} cannot write {_name(measured)}")
        for name in policy.runtime_principals
        if name not in writing
    ]
    hidden = list(measured.unseen)
    if policy.external_jobs == "MEASURED" and not measured.jobs_seen:
        hidden.append("jobs of SQL Server Agent")
    return (*found, *_hidden("DPONE_WRITERS_UNVERIFIED", hidden))


def freeze_findings(
    measured: DdlFreezeMeasurement, policy: RuntimeAssurancePolicy, epoch: int, closure: Collection[int]
) -> Findings:
    """What speaks against a DDL freeze at an epoch: moved, uncovered, its trigger off, another, or in the runtime's hands.

    `closure` are the object ids that the model reads: they have to be covered beside the target.
    """
    found: list[Reason] = []
    if measured.ddl_epoch < 1 or measured.ddl_epoch != epoch:
        observed = f"the epoch of {_name(measured)} is {measured.ddl_epoch}, the assurance's is {epoch}"
        found.append(Reason("DPONE_DDL_EPOCH_MOVED", observed))
    for object_id in sorted(
        {measured.object_id, *closure} - {covered.object_id for covered in measured.covered}
    ):
        observed = f"the epoch of {_name(measured)} does not cover object {object_id}"
        found.append(Reason("DPONE_DDL_FREEZE_UNCOVERED", observed, {"object_id": str(object_id)}))
    found += [
        Reason("DPONE_DDL_FREEZE_UNCOVERED", f"{c.schema_name}.{c.object_name} is no more what was covered")
        for c in measured.covered
        if c.state != "SAME"
    ]
    if measured.trigger_state != "ENABLED":
        observed = f"the DDL trigger is {measured.trigger_state.lower()}"
        found.append(Reason("DPONE_DDL_TRIGGER_OFF", observed, {"state": measured.trigger_state}))
    elif measured.trigger_text == "OTHER":
        found.append(
            Reason("DPONE_DDL_TRIGGER_OTHER", "the DDL trigger is not the one that this release installs")
        )
    runtime = set(policy.runtime_principals)
    found += [
        Reason(
            "DPONE_DDL_TRIGGER_IN_REACH",
            f"the runtime {held.principal} can disable the DDL trigger: {'; '.join(held.ways)}",
            {"principal": held.principal},
        )
        for held in measured.controllers
        if held.scope == "database" and held.principal in runtime
    ]
    found += [
        Reason(
            "DPONE_DDL_TRIGGER_IN_REACH",
            f"{held.principal} can disable the DDL trigger: {'; '.join(held.ways)}",
            {"principal": held.principal},
        )
        for held in _strangers(measured.controllers, policy)
    ]
    hidden = list(measured.unseen)
    if measured.trigger_state == "ENABLED" and measured.trigger_text == "UNSEEN":
        hidden.append("the definition of the DDL trigger")
    return (*found, *_hidden("DPONE_DDL_FREEZE_UNVERIFIED", hidden))


UTC_TYPES: Final = ("date", "datetime2(6)")
"""Types of an event-time column that the effective key admits."""


def utc_findings(measured: UtcMeasurement) -> Findings:
    """What the engine shows against UTC semantics of a column."""
    column = f"{_name(measured)}.{measured.column_name}"
    found = []
    if measured.type_name not in UTC_TYPES:
        observed = f"{column} is {measured.type_name}, not one of {', '.join(UTC_TYPES)}"
        found.append(Reason("DPONE_UTC_COLUMN_TYPE", observed))
    if measured.is_computed:
        found.append(Reason("DPONE_UTC_LOCAL_CLOCK", f"{column} is computed"))
    if measured.default_clock == "OTHER":
        found.append(
            Reason("DPONE_UTC_LOCAL_CLOCK", f"the default of {column} is neither a constant nor a UTC clock")
        )
    return (*found, *_hidden("DPONE_UTC_UNVERIFIED", measured.unseen))


def changed(before: Measurement, now: Measurement) -> Reason | None:
    """Name the fields in which a measurement that was taken again differs in what matters; None when in none."""
    old, new = before.substance, now.substance
    fields = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    if not fields:
        return None
    return Reason(
        "DPONE_MEASUREMENT_CHANGED",
        f"{_name(now)} is no more as it was measured for the assurance: {', '.join(fields)}",
        {"certified": before.substance_sha256, "measured": now.substance_sha256},
    )


def _strangers(
    measured: Sequence[MeasuredPrincipal], policy: RuntimeAssurancePolicy
) -> Iterator[MeasuredPrincipal]:
    named = {
        "database": {*policy.runtime_principals, *policy.installer_principals},
        "server": set(policy.administrator_logins),
    }
    return (one for one in measured if one.principal not in named[one.scope])


def _hidden(code: str, what: Sequence[str]) -> Iterator[Reason]:
    if what:
        yield Reason(code, f"not visible: {'; '.join(sorted(what))}")


def _name(measured: Measurement) -> str:
    return f"{measured.database}.{measured.schema_name}.{measured.object_name}"
