"""The error catalogue: code, meaning, what to look at, safe next command, exit class; exceptions carry a code."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpone_contracts.effects import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExitClass(IntEnum):
    """Exit codes of every command (architecture, command line)."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    UNKNOWN = 3
    UNVERIFIED = 4
    CORRUPTION = 5


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """What an operator may know of one code."""

    code: str
    exit_class: ExitClass
    meaning: str
    look_at: str
    next_command: str


# One line a code: CODE | exit class | meaning | what to look at | safe next command. Sorted by code.
_CATALOGUE = """
DPONE_ACTIVATION_NOT_FOUND | REFUSED | No activation is stored under this deployment and plan bundle | the two ids in the evidence, against the deployment index | dpone refresh status
DPONE_ARTIFACT_CHUNK_OVER_BUDGET | REFUSED | One block of 8,192 rows is larger than a chunk may be | the figure in the evidence and the seal policy's limit | dpone refresh status
DPONE_ARTIFACT_CONCURRENT_CREATE | REFUSED | The store refused a create because another was under way, and nothing is there | who else writes under the operation's prefix | dpone refresh status
DPONE_ARTIFACT_CONFLICT | CORRUPTION | Other bytes stand under a key that this operation must create | the object's key, version and digest in the evidence | dpone refresh status
DPONE_ARTIFACT_DIGEST_MISMATCH | CORRUPTION | Stored bytes do not have the digest that the manifest or the upload names | the object version named in the evidence | dpone refresh status
DPONE_ARTIFACT_KEY_REFUSED | REFUSED | An object key is outside the operation's prefix or is no exact key | the key in the evidence | dpone refresh status
DPONE_ARTIFACT_MISSING | CORRUPTION | An exact object version that evidence names is not in the store | key and version in the evidence, the store's audit log | dpone refresh status
DPONE_ARTIFACT_OUTCOME_UNKNOWN | UNKNOWN | A chunk or manifest was sent and the store did not answer, or cannot be read now | the key in the evidence, once the store answers | dpone refresh recover plan
DPONE_ARTIFACT_STORE_FULL | REFUSED | The object store has no room for the object, and nothing of it is there | free space of the store | dpone doctor
DPONE_ARTIFACT_STORE_REFUSED | REFUSED | The object store refused the request, and nothing is there | status and code in the evidence, permissions of the credentials | dpone doctor
DPONE_ARTIFACT_STORE_UNAVAILABLE | UNVERIFIED | The object store could not be reached or refused the credentials before anything was written | endpoint, bucket and credential reference | dpone doctor
DPONE_ARTIFACT_STORE_UNFIT | REFUSED | The store failed the start-up probe: a second create of a key must fail, and versions must be exact | conditional writes and versioning of the bucket | dpone doctor
DPONE_ATTEMPT_NOT_QUIESCENT | UNVERIFIED | Something of the earlier attempt still runs in an engine, or cannot be seen | sessions and queries of the attempt | dpone refresh status
DPONE_ATTEMPT_NOT_TERMINATED | UNVERIFIED | Nothing trusted proves that the earlier attempt has ended; a heartbeat is no proof | the pod or process of the attempt | dpone refresh status
DPONE_BUILD_NOT_COMMITTED | REFUSED | The model's mutation did not commit; nothing of it is left | dbt's log and the gate that stopped it | dpone refresh recover plan
DPONE_BUILD_TEST_GATE_FAILED | REFUSED | Every model committed, the workflow's tests did not all pass; nothing is sealed | dbt's log named in the evidence | dpone refresh recover plan
DPONE_CANCELLATION_TOO_LATE | REFUSED | A commit has begun; it must be reconciled to its end before anything else | the operation's journal | dpone refresh recover plan
DPONE_COMMIT_NOT_PREPARED | REFUSED | A model is not sealed and prepared; none commits before all are | the operation's journal and prepared receipt | dpone refresh status
DPONE_CONTINUATION_NOT_COMMITTED | REFUSED | The earlier attempt's mutation did not commit, so the same operation cannot go on | the operation's outcome; plan a replacement | dpone refresh recover plan
DPONE_CORRUPTION_MIXED_PUBLICATION | CORRUPTION | Heads, checkpoint and journal stand partly before and partly after one state publication | the rows named in the evidence | stop and call the platform's owner
DPONE_CORRUPTION_UUID_MAP | CORRUPTION | The names of target and shadow stand for neither the predecessor nor the successor map | the UUIDs in the evidence, system.tables and query_log | stop and call the platform's owner
DPONE_DOCUMENT_DIGEST | CORRUPTION | A document's digest, or one inside it, is not that of its content | the field path in the evidence and where the document comes from | dpone evidence verify DIR
DPONE_DOCUMENT_FIELD | REFUSED | A field is missing, unknown, or has a value of another kind | the field path in the evidence | dpone schemas export
DPONE_DOCUMENT_RULE | REFUSED | Fields of one document contradict a rule of the specification | the rule and the field path in the evidence | dpone schemas validate FILE
DPONE_DOCUMENT_SCHEMA | REFUSED | The schema id is missing, unknown or not the expected one | the document's schema field | dpone schemas list
DPONE_DOCUMENT_SPELLING | REFUSED | A value has a second spelling; only one is admitted | the field path in the evidence | dpone schemas validate FILE
DPONE_DOCUMENT_TEXT | REFUSED | The bytes are no canonical JSON object | encoding, duplicate keys and numbers of the text | dpone schemas validate FILE
DPONE_EXCHANGE_UNKNOWN | UNKNOWN | The EXCHANGE was sent and the UUID map cannot settle yet which generation stands | statements of the attempt in system.processes, then the UUID map | dpone refresh recover plan
DPONE_INTERNAL | CORRUPTION | A rule that the program itself guarantees does not hold | the log of this command, and report it | stop and call the platform's owner
DPONE_JOURNAL_CORRUPT | CORRUPTION | Stored journal entries do not follow the state graph | the entry named in the evidence | stop and call the platform's owner
DPONE_JOURNAL_EDGE_REFUSED | REFUSED | The state graph has no such edge from the operation's present state with this receipt | the operation's journal | dpone refresh status
DPONE_KEY_REFERENCE_UNRESOLVED | REFUSED | The encryption key that the seal policy refers to is absent or has the wrong size | the key reference (never the key) | dpone doctor
DPONE_LAB_DAY_NOT_A_DAY | USAGE | The day is not of the form YYYY-MM-DD | the --day argument | dpone lab demo --help
DPONE_LAB_DAY_WITHOUT_EVENTS | REFUSED | The sample data has no events on this day | first and last day in the evidence | dpone lab demo --help
DPONE_PREDECESSOR_CHANGED | CORRUPTION | The old generation received parts after the proof; a write may be lost | the predecessor's part list and its writers | stop and call the platform's owner
DPONE_PREPARE_MANIFEST_WITHOUT_CONTENT | REFUSED | The sealed manifest has no content record beside it | documents of the operation | dpone refresh status
DPONE_PUBLICATION_NOT_READY | REFUSED | The operation's journal is not where a publication starts | the operation's journal | dpone refresh status
DPONE_ROW_BATCH_UNEXPECTED | REFUSED | An image's batch lacks a column, has another type, or is not in row order | the column named in the evidence | dpone refresh status
DPONE_ROW_VALUE_REFUSED | REFUSED | A value is outside its column's type or cannot be carried exactly | the column and the rule, in SQL Server | dpone refresh status
DPONE_SEAL_CONTENT_MISMATCH | CORRUPTION | The rows that were exported are not the rows of the committed image | the image relation and its receipt | stop and call the platform's owner
DPONE_SEAL_NOT_AUTHORISED | REFUSED | Only a reconciled, committed image of an operation in PREPARING may be sealed | the operation's journal and receipts | dpone refresh status
DPONE_SEAL_POLICY_UNFIT | REFUSED | The seal policy asks for what this release does not write | the policy's field named in the evidence | dpone refresh status
DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED | REFUSED | A continuation may only go from try N to its immediate successor N+1 | the attempts of the operation | dpone refresh recover plan
DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE | REFUSED | Release 0.74 is a preview: it activates no production route and admits no run outside the disposable lab | the release notes | dpone lab demo
DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN | UNKNOWN | The commit of an admission was sent and its answer was lost | activation authority, guards, journals and admission closure, with scheduling frozen | dpone refresh status
DPONE_SHADOW_MISMATCH | REFUSED | The shadow is not the old target with the staged rows; nothing was published | the figures in the evidence | dpone refresh status
DPONE_SQL_OUTCOME_UNKNOWN | UNKNOWN | Nothing proves whether the mutation committed | receipt, fate row, images and sessions in the evidence | dpone refresh recover plan
DPONE_STAGING_MISMATCH | REFUSED | Staging is not exactly the sealed content; nothing was published | the figures in the evidence | dpone refresh status
DPONE_SUMMARY_INCOMPLETE | REFUSED | An operation is not COMPLETE, so there is no summary and no success | the operation's journal | dpone refresh status
DPONE_TARGET_AUTHORITY_DRIFT | CORRUPTION | The exchanged target is not of the certified physical design | the target's create statement and its followers | stop and call the platform's owner
DPONE_TARGET_DIVERGED | REFUSED | The target holds rows in a scope whose sealed image is empty | rows of the scope in ClickHouse | dpone refresh status
DPONE_TARGET_HEAD_MOVED | REFUSED | The plan's predecessor generation is not the target's published head | the head and the plan in the evidence | dpone refresh status
DPONE_TARGET_UUID_DRIFT | REFUSED | The table under the target's name is not the published generation | system.tables and the target's head | dpone refresh status
DPONE_USAGE | USAGE | The command was not understood | the command's --help | dpone --help
"""


def _parse(table: str) -> Mapping[str, CatalogueEntry]:
    entries: dict[str, CatalogueEntry] = {}
    for line in table.strip().splitlines():
        code, exit_class, meaning, look_at, next_command = (part.strip() for part in line.split(" | "))
        entries[code] = CatalogueEntry(code, ExitClass[exit_class], meaning, look_at, next_command)
    return MappingProxyType(entries)


CATALOGUE: Mapping[str, CatalogueEntry] = _parse(_CATALOGUE)


@dataclass(eq=False)
class DponeError(Exception):
    """An end with a catalogue code.

    `observed` says what was seen and `evidence` names it: names, digests, counts and states, never row values.
    An unknown code raises `KeyError`: add its line to the catalogue.
    """

    code: str
    observed: str
    evidence: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.code, self.observed)
        self.entry = CATALOGUE[self.code]

    def __str__(self) -> str:
        return f"{self.code}: {self.observed}"

    @property
    def exit_class(self) -> ExitClass:
        """The class that a command ends with."""
        return self.entry.exit_class

    @property
    def reason(self) -> Reason:
        """The same as the reason of an effect."""
        return Reason(self.code, self.observed, self.evidence)

    @classmethod
    def because(cls, reason: Reason) -> DponeError:
        """The error that a reason becomes where nobody can go on."""
        return cls(reason.code, reason.observed, reason.evidence)

    def diagnostics(self) -> dict[str, object]:
        """Everything an operator is told, for text and JSON output alike."""
        return {
            "code": self.code,
            "exit_class": self.exit_class.name,
            "observed": self.observed,
            "meaning": self.entry.meaning,
            "look_at": self.entry.look_at,
            "next_command": self.entry.next_command,
            "evidence": dict(sorted(self.evidence.items())),
        }
