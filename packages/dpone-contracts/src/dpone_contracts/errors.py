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
DPONE_ACTIVATION_COMMIT_UNKNOWN | UNKNOWN | The commit of a baseline or activation was sent and its answer was lost | the activation under its exact key; the same bytes may be sent again | dpone refresh status
DPONE_ACTIVATION_CONFLICT | REFUSED | Another activation is stored under this deployment and plan bundle | the plan bundle in the evidence and its stored bytes | dpone refresh status
DPONE_ACTIVATION_NOT_FOUND | REFUSED | No activation is stored under this deployment and plan bundle | the two ids in the evidence, against the deployment index | dpone refresh status
DPONE_ADMISSION_ABSENT | REFUSED | The operation was never admitted in this store | the operation id and the store's identity | dpone refresh status
DPONE_ADMISSION_EXISTS | REFUSED | The execution has been admitted before; nothing is acquired twice | the attempts of the execution | dpone refresh status
DPONE_ADVANCE_BLOCKED | REFUSED | The next day can't be planned: an earlier plan failed, or the models are covered to different days | the days and plans in the evidence | dpone refresh status
DPONE_ARTIFACT_CHUNK_OVER_BUDGET | REFUSED | One block of 8,192 rows is larger than a chunk may be | the figure in the evidence and the seal policy's limit | dpone refresh status
DPONE_ARTIFACT_CONCURRENT_CREATE | REFUSED | The store refused a create because another was under way, and nothing is there | who else writes under the operation's prefix | dpone refresh status
DPONE_ARTIFACT_CONFLICT | CORRUPTION | Other bytes stand under a key that this operation must create | the object's key, version and digest in the evidence | dpone refresh status
DPONE_ARTIFACT_DIGEST_MISMATCH | CORRUPTION | Stored bytes do not have the digest that the manifest or the upload names | the object version named in the evidence | dpone refresh status
DPONE_ARTIFACT_KEY_REFUSED | REFUSED | An object key is outside the operation's prefix or is no exact key | the key in the evidence | dpone refresh status
DPONE_ARTIFACT_MISSING | CORRUPTION | An exact object version that evidence names is not in the store | key and version in the evidence, the store's audit log | dpone refresh status
DPONE_ARTIFACT_OUTCOME_UNKNOWN | UNKNOWN | A chunk or manifest was sent and the store did not answer, or cannot be read now | the key in the evidence, once the store answers | dpone refresh status
DPONE_ARTIFACT_STORE_FULL | REFUSED | The object store has no room for the object, and nothing of it is there | free space of the store | dpone refresh status
DPONE_ARTIFACT_STORE_REFUSED | REFUSED | The object store refused the request, and nothing is there | status and code in the evidence, permissions of the credentials | dpone refresh status
DPONE_ARTIFACT_STORE_UNAVAILABLE | UNVERIFIED | The object store could not be reached, or did not answer, before anything was written | endpoint, bucket and network | dpone refresh status
DPONE_ARTIFACT_STORE_UNFIT | REFUSED | The store failed the start-up probe: a second create of a key must fail, and versions must be exact | conditional writes and versioning of the bucket | dpone refresh status
DPONE_ASSURANCE_EVIDENCE_DIFFERS | REFUSED | An assurance does not bind the measurement, policy or allowlist that was handed over with it | the digests in the evidence | dpone certify verify
DPONE_ASSURANCE_NOT_ISSUABLE | REFUSED | The documents that were handed over permit no certificate: they are of other releases, targets or environments, or the route did not pass | the rule in the evidence | dpone certify issue --help
DPONE_ATTEMPT_ALREADY_INVOKED | REFUSED | The attempt has been launched before or its fate is settled; SQL is never tried again | the attempt's intent and fate rows | dpone refresh status
DPONE_ATTEMPT_NOT_QUIESCENT | UNVERIFIED | Something of the earlier attempt still runs in an engine, or cannot be seen | sessions and queries of the attempt | dpone refresh status
DPONE_ATTEMPT_NOT_TERMINATED | UNVERIFIED | Nothing trusted proves that the earlier attempt has ended; a heartbeat is no proof | the pod or process of the attempt | dpone refresh status
DPONE_BASELINE_CHANGED | REFUSED | The relation is no longer what the frozen adoption receipt says, and that receipt was never stored | writers of the relation since; the frozen receipt in the deployment's folder | dpone refresh status
DPONE_BASELINE_NOT_ADOPTED | REFUSED | A model of the deployment has no baseline that is adopted in this store | the model in the evidence, the store's identity | dpone refresh adopt-baseline
DPONE_BASELINE_NOT_CONFORMANT | REFUSED | The relation cannot be adopted: a key stands more than once, or the table has no identity | the relation named in the message | dpone refresh status
DPONE_BUDGET_EXCEEDED | REFUSED | A resource budget of the policy doesn't hold before the next side effect | the figure and the limit in the message | dpone refresh status
DPONE_BUILD_NOT_COMMITTED | REFUSED | The model's mutation did not commit; nothing of it is left | dbt's log and the gate that stopped it | dpone refresh status
DPONE_BUILD_SELECTION | REFUSED | dbt would run something beside the requested models and their tests; it was not started | the resources named, against the proven selection | dpone refresh compile
DPONE_BUILD_TEST_GATE_FAILED | REFUSED | Every model committed, the workflow's tests did not all pass; nothing is sealed | dbt's log named in the evidence | dpone refresh status
DPONE_CANCELLATION_TOO_LATE | REFUSED | A commit has begun; it must be reconciled to its end before anything else | the operation's journal | dpone refresh status
DPONE_CERTIFICATE_NOT_CURRENT | REFUSED | A route certification or assurance is not in its validity window, or is itself a revocation | the window in the message | dpone certify verify
DPONE_CERTIFICATE_REVOKED | REFUSED | The revocation index withdraws the document | the index's entry | dpone certify verify
DPONE_CLEANUP_REQUIRED | REFUSED | A failed operation of this target has not been cleaned up and acknowledged | the failed operation in the evidence | dpone refresh status
DPONE_CLICKHOUSE_ALIAS | REFUSED | An Alias table stands for the target and would write to or follow it by name | the table named in the evidence | dpone refresh status
DPONE_CLICKHOUSE_ASYNC_INSERTS | REFUSED | The asynchronous insert queue holds rows for the target | system.asynchronous_inserts and the writer that fills it | dpone refresh status
DPONE_CLICKHOUSE_AUTHORITY_CHANGED | REFUSED | The target's physical design changed after its generation was prepared | who altered the target or added a follower | dpone refresh status
DPONE_CLICKHOUSE_BUDGET | REFUSED | The next step would break a budget of bytes, rows or disk | the figure named, and the resource policy | dpone refresh status
DPONE_CLICKHOUSE_BUFFER | REFUSED | A Buffer table flushes into the target by name, also into the next generation | the table named in the evidence | dpone refresh status
DPONE_CLICKHOUSE_COLUMNS_DIFFER | REFUSED | The target's columns or their types are not the planned ones | the column named, and the plan's writable columns | dpone refresh status
DPONE_CLICKHOUSE_COLUMN_EXPRESSION | REFUSED | A column of the target computes or defaults its values | the column named | dpone refresh status
DPONE_CLICKHOUSE_DATABASE_NOT_ATOMIC | REFUSED | EXCHANGE TABLES needs a database of the Atomic engine; there is no other way to publish | the database named | dpone refresh status
DPONE_CLICKHOUSE_DEPENDANT | REFUSED | Another object depends on the target or follows it by name | the object named | dpone refresh status
DPONE_CLICKHOUSE_DICTIONARY | REFUSED | A dictionary reads the target by name | the dictionary named | dpone refresh status
DPONE_CLICKHOUSE_DISTRIBUTED | REFUSED | A Distributed table writes to or reads the target by name | the table named | dpone refresh status
DPONE_CLICKHOUSE_ENGINE_REFUSED | REFUSED | The target is not a plain MergeTree table | the engine named | dpone refresh status
DPONE_CLICKHOUSE_LIGHTWEIGHT_DELETE | REFUSED | Parts of the target hold rows that are deleted but present | the part named; OPTIMIZE or APPLY DELETED MASK settles it | dpone refresh status
DPONE_CLICKHOUSE_MATERIALIZED_VIEW | REFUSED | A materialised view writes to the target or is fed by it | the view named | dpone refresh status
DPONE_CLICKHOUSE_MERGE_TABLE | REFUSED | A Merge table covers the target by pattern | the table named | dpone refresh status
DPONE_CLICKHOUSE_METADATA_UNVERIFIED | UNVERIFIED | The principal may not see every table, so that nothing writes to the target or follows it is not proven | grant SHOW ON *.* | dpone refresh status
DPONE_CLICKHOUSE_MUTATION_PENDING | REFUSED | A mutation of the target is not done | system.mutations, the mutation named | dpone refresh status
DPONE_CLICKHOUSE_OUTCOME_UNKNOWN | UNKNOWN | A statement was sent to ClickHouse and no answer came | the query id in system.processes and query_log | dpone refresh status
DPONE_CLICKHOUSE_PART_LACKS_COLUMN | REFUSED | A part of the target lacks a column, so its rows read as that column's default | the part named | dpone refresh status
DPONE_CLICKHOUSE_PATCH_PART | REFUSED | Lightweight updates of the target are not applied yet | the part named; APPLY PATCHES settles it | dpone refresh status
DPONE_CLICKHOUSE_PROJECTION | REFUSED | The target has a projection, which attached partitions need not carry | the projection named | dpone refresh status
DPONE_CLICKHOUSE_QUEUE_ENGINE | REFUSED | A queue table names the target | the table named | dpone refresh status
DPONE_CLICKHOUSE_REFRESHABLE_VIEW | REFUSED | A refreshable view writes to the target, and may exchange it itself | the view named | dpone refresh status
DPONE_CLICKHOUSE_ROW_POLICY | REFUSED | A row policy filters the target or a scratch name | the policy named | dpone refresh status
DPONE_CLICKHOUSE_ROW_POLICY_UNVERIFIED | UNVERIFIED | The principal may not list row policies, so their absence is not proven | grant SHOW ROW POLICIES | dpone refresh status
DPONE_CLICKHOUSE_SCRATCH_CONFLICT | REFUSED | A scratch name is taken by another table, holds rows already, or is no scratch name | the table and UUIDs named | dpone refresh status
DPONE_CLICKHOUSE_SCRATCH_DIFFERS | REFUSED | Staging or shadow is not of the target's design | the create queries of both | dpone refresh status
DPONE_CLICKHOUSE_SETTING_REFUSED | REFUSED | A setting that changes what statements mean is not as it is pinned | the setting named, in the user's profile | dpone refresh status
DPONE_CLICKHOUSE_STATEMENT_REFUSED | REFUSED | ClickHouse answered a statement with an error | the error code, and the query id in query_log | dpone refresh status
DPONE_CLICKHOUSE_TARGET_ABSENT | REFUSED | No table has the target's name; this release creates none | the name in the plan | dpone refresh status
DPONE_CLICKHOUSE_TARGET_CHANGED | REFUSED | The target or its shadow was written during or after the proof | writers of the target in query_log | dpone refresh status
DPONE_CLICKHOUSE_TTL | REFUSED | The target has a TTL, which removes or moves rows by itself | the create query | dpone refresh status
DPONE_CLICKHOUSE_UNAVAILABLE | UNVERIFIED | ClickHouse could not be reached, or a read got no answer | endpoint, credentials and network | dpone refresh status
DPONE_CLICKHOUSE_UNREADABLE | UNVERIFIED | ClickHouse refused a read that the decision needs | the error code, and grants on system tables | dpone refresh status
DPONE_CLICKHOUSE_WINDOW_VIEW | REFUSED | A window view writes to the target or reads it | the view named | dpone refresh status
DPONE_CLICKHOUSE_WRITER_ACTIVE | REFUSED | A statement that may write the target is running | the query named, in system.processes | dpone refresh status
DPONE_COMMIT_NOT_PREPARED | REFUSED | A model is not sealed and prepared; none commits before all are | the operation's journal and prepared receipt | dpone refresh status
DPONE_COMPILE_FAILED | UNVERIFIED | dbt can't read the project as a whole without a connection, so nothing of it is proven | dbt's own message | dpone refresh compile
DPONE_CONTINUATION_MISMATCH | REFUSED | A continuation or termination receipt speaks of another attempt than the stored one | the attempt in the evidence | dpone refresh status
DPONE_CONTINUATION_NOT_COMMITTED | REFUSED | The earlier attempt's mutation did not commit, so the same operation cannot go on | the operation's outcome; plan a replacement | dpone refresh status
DPONE_CONTINUATION_TOO_LARGE | REFUSED | The scope is larger than a continuation may compare | the figures in the evidence | dpone refresh status
DPONE_CONTROL_SCHEMA_ABSENT | REFUSED | The database holds no control schema | the database that the connection names | dpone refresh control-schema
DPONE_CONTROL_SCHEMA_COMMIT_UNKNOWN | UNKNOWN | The commit of an installation was sent and its answer was lost | whether the schema is there; installing again is safe | dpone refresh control-schema
DPONE_CONTROL_SCHEMA_VERSION | REFUSED | The control schema is of an older or newer version than this release reads | the versions in the evidence | dpone refresh control-schema
DPONE_CORRUPTION_MIXED_PUBLICATION | CORRUPTION | Heads, checkpoint and journal stand partly before and partly after one state publication | the rows named in the evidence | stop and call the platform's owner
DPONE_CORRUPTION_UUID_MAP | CORRUPTION | The names of target and shadow stand for neither the predecessor nor the successor map | the UUIDs in the evidence, system.tables and query_log | stop and call the platform's owner
DPONE_DATABASE_DIFFERS | REFUSED | Connection, target and control state are not in one database, or in other schemas than planned | the names in the message | dpone refresh status
DPONE_DAY_NOT_CLOSED | REFUSED | The day is not over, or its lag has not passed; only a closed UTC day is planned | closed_day_lag_days of the platform policy, and the clock | dpone refresh status
DPONE_DBT_PROJECT_UNFIT | USAGE | The dbt project can't be put under the platform's root | the file or setting in the message; `dbt deps` installs packages | dpone refresh compile
DPONE_DDL_EPOCH_MOVED | REFUSED | The target or an object that its model reads was changed since it was certified | DDL on the covered objects | dpone refresh status
DPONE_DDL_FREEZE_COMMIT_UNKNOWN | UNKNOWN | The commit that covers a target with a DDL epoch was sent and its answer was lost | the epoch that the same command says; covering again changes nothing where it is covered | dpone certify freeze
DPONE_DDL_FREEZE_UNCOVERED | REFUSED | No DDL epoch covers the target, or a covered name stands for another object now | coverage and epochs of the control schema | dpone certify freeze
DPONE_DDL_FREEZE_UNVERIFIED | UNVERIFIED | Part of what a DDL freeze stands on is hidden from the measuring principal | what the message names; VIEW DEFINITION, VIEW ANY DEFINITION | dpone certify measure
DPONE_DDL_TRIGGER_IN_REACH | REFUSED | Somebody who is not a named installer or administrator can disable the trigger that counts DDL | the principal and the ways in the message | dpone certify measure
DPONE_DDL_TRIGGER_OFF | REFUSED | The database trigger that counts DDL is disabled or absent | sys.triggers, and who disabled it | dpone certify measure
DPONE_DDL_TRIGGER_OTHER | REFUSED | The database trigger that counts DDL has another text than this release installs | the trigger's definition | dpone refresh control-schema
DPONE_DEADLINE_PASSED | REFUSED | A deadline of the policy has passed, so the next side effect was not begun; nothing under way was judged by it | stage and limit in the evidence; the next try has an overall deadline of its own | dpone refresh status
DPONE_DEPLOYMENT_CONFLICT | REFUSED | The deployment belongs to another release or store | the deployment and release in the evidence | dpone refresh status
DPONE_DEPLOYMENT_DOCUMENTS | REFUSED | A document of the deployment is absent, there twice, no valid document, or not the one that another names | the file, schema or digest in the evidence | dpone schemas validate
DPONE_DEPLOYMENT_FOLDER_UNWRITABLE | REFUSED | A file of the deployment's folders can't be written; what was written whole stays, and the same command goes on from there | the path and the system's reason in the message: free space, permissions | dpone refresh status
DPONE_DEPLOYMENT_INDEX_CONFLICT | CORRUPTION | Other bytes stand under a name that the deployment publishes create-only | the file in the evidence, and who else writes to the folder | stop and call the platform's owner
DPONE_DEPLOYMENT_INDEX_REFUSED | REFUSED | The local deployment index, or a projection that it lists, is not exactly what the deployment published | the file and the rule in the message; publish the folder anew | dpone refresh status
DPONE_DOCUMENT_COMMIT_UNKNOWN | UNKNOWN | The commit of a document was sent and its answer was lost | the document under its digest; the same bytes may be sent again | dpone refresh status
DPONE_DOCUMENT_CONFLICT | CORRUPTION | Other bytes are stored under this schema and digest | the document in the evidence | stop and call the platform's owner
DPONE_DOCUMENT_CORRUPT | CORRUPTION | Stored bytes are not those of the digest that they are stored under | the document in the evidence | stop and call the platform's owner
DPONE_DOCUMENT_DIGEST | CORRUPTION | A document's digest, or one inside it, is not that of its content | the field path in the evidence and where the document comes from | dpone evidence verify DIR
DPONE_DOCUMENT_FIELD | REFUSED | A field is missing, unknown, or has a value of another kind | the field path in the evidence | dpone schemas export
DPONE_DOCUMENT_NOT_HAND_WRITTEN | REFUSED | Only a command or a run makes a document of this kind, from what it saw; none is sealed from a file | the schema in the evidence, and the command that makes it | dpone schemas list
DPONE_DOCUMENT_RULE | REFUSED | Fields of one document contradict a rule of the specification | the rule and the field path in the evidence | dpone schemas validate FILE
DPONE_DOCUMENT_SCHEMA | REFUSED | The schema id is missing, unknown or not the expected one | the document's schema field | dpone schemas list
DPONE_DOCUMENT_SPELLING | REFUSED | A value has a second spelling; only one is admitted | the field path in the evidence | dpone schemas validate FILE
DPONE_DOCUMENT_TEXT | REFUSED | The bytes are no canonical JSON object | encoding, duplicate keys and numbers of the text | dpone schemas validate FILE
DPONE_DSN_ABSENT | USAGE | The variable that says how to reach an engine is not set; there is no default | DPONE_MSSQL_DSN, DPONE_CLICKHOUSE_DSN, DPONE_OBJECT_STORE | dpone refresh --help
DPONE_EXCHANGE_UNKNOWN | UNKNOWN | The EXCHANGE was sent and the UUID map cannot settle yet which generation stands | statements of the attempt in system.processes, then the UUID map | dpone refresh status
DPONE_EXECUTION_NOT_BOUND | REFUSED | The plan is not bound to this DagRun | the binding of the plan | dpone refresh status
DPONE_FENCE_LOST | REFUSED | The guard is not held by this attempt under this fencing epoch | the guard's holder | dpone refresh status
DPONE_GUARD_HELD | REFUSED | Another run holds a guard that this one needs | the holders in the evidence | dpone refresh status
DPONE_IMAGE_CONFLICT | REFUSED | The registered image relations of the attempt are not the ones that stand there now | the attempt's images | dpone refresh status
DPONE_INDEX_NOT_PROMOTABLE | REFUSED | A plan of the DAG before this one is not terminal; its projection stays the current one | the plan in the evidence | dpone refresh status
DPONE_INTERNAL | CORRUPTION | A rule that the program itself guarantees does not hold | the log of this command, and report it | stop and call the platform's owner
DPONE_JOURNAL_CORRUPT | CORRUPTION | Stored journal entries do not follow the state graph | the entry named in the evidence | stop and call the platform's owner
DPONE_JOURNAL_EDGE_REFUSED | REFUSED | The state graph has no such edge from the operation's present state with this receipt | the operation's journal | dpone refresh status
DPONE_KEY_REFERENCE_UNRESOLVED | REFUSED | The key that a reference names is absent or is no key of its kind | the key reference (never the key) | dpone refresh status
DPONE_LAB_CANNOT_CONNECT | REFUSED | A database of the lab, or the one put in its place, refused the connection | the driver's text in the message, and the DPONE_MSSQL_DSN variable | dpone lab up --help
DPONE_LAB_DAY_NOT_A_DAY | USAGE | The day is not a date of the form YYYY-MM-DD | the --day option | dpone lab demo --help
DPONE_LAB_DAY_WITHOUT_EVENTS | REFUSED | The real data of the lab has no events on that day | the first and last day in the evidence | dpone lab demo
DPONE_LAB_DIRECTORY_TAKEN | REFUSED | The lab's directory holds something already; nothing of it was touched | the directory in the message | dpone lab down
DPONE_LAB_DRIVER_MISSING | REFUSED | The ODBC driver manager or a driver for SQL Server is not installed | the package in the message; `tooling/bootstrap.py env` installs it on Debian | dpone lab up
DPONE_LAB_ENGINE_FAILED | REFUSED | An engine of the lab did not start; what had started was stopped again | the engine's last words in the message | dpone lab up
DPONE_LAB_EVIDENCE_NOT_EMPTY | REFUSED | The folder for evidence must be new or empty: two runs' documents are two stories | the folder in the message | dpone lab demo --help
DPONE_LAB_NOT_HERE | REFUSED | There is no lab in that directory; nothing was touched | the directory in the message | dpone lab up
DPONE_LAB_NO_SPACE | REFUSED | The disk has no room for the lab; nothing was left on it | free space below the directory in the message | dpone lab up --directory DIR
DPONE_LAB_PORT_TAKEN | REFUSED | Another process listens on the port that was asked for | the port in the message | dpone lab up
DPONE_MEASUREMENT_CHANGED | REFUSED | The engine shows something else than when the assurance was issued | the fields in the message; issue a new assurance | dpone certify measure
DPONE_MEASUREMENT_UNREADABLE | UNVERIFIED | The catalog holds a name that no document may hold, so that what was seen can't be told | the name of the principal, module or job at the path in the evidence | dpone certify measure
DPONE_MSSQL_ALREADY_THERE | REFUSED | A row with this key is already there; nothing was written | the constraint named in the evidence | dpone refresh status
DPONE_MSSQL_CREATE_ONLY | REFUSED | A create-only table was to be changed; the database refused | who sent the statement | stop and call the platform's owner
DPONE_MSSQL_DDL_FROZEN | REFUSED | DDL on a covered object while a mutation runs; the database refused it | the running operation | dpone refresh status
DPONE_MSSQL_DEADLOCK | REFUSED | The server chose the transaction as deadlock victim; nothing was written | other sessions on the control schema | dpone refresh status
DPONE_MSSQL_DRIVER_SETTING | REFUSED | The ODBC driver does not keep autocommit or the statement timeout | driver and version | dpone refresh status
DPONE_MSSQL_LOCK_TIMEOUT | UNVERIFIED | A lock was not granted within the policy's time; nothing was written | who holds locks on the objects | dpone refresh status
DPONE_MSSQL_LOGIN_FAILED | REFUSED | SQL Server refused the login; nothing was read or written | login, password reference and database of the connection (never their values) | dpone refresh status
DPONE_MSSQL_ONE_ROW_EXPECTED | CORRUPTION | A key of the control schema names more than one row | the control schema's constraints | stop and call the platform's owner
DPONE_MSSQL_READ_FAILED | UNVERIFIED | A relation could not be read | connection, permissions and the server's log | dpone refresh status
DPONE_MSSQL_RECOVERY_FORK_UNSEEN | UNVERIFIED | The recovery fork of the database can't be read | permissions of the principal on the database's metadata | dpone refresh status
DPONE_MSSQL_STATEMENT_FAILED | REFUSED | The server refused a statement before the commit; nothing was written | the error number in the evidence | dpone refresh status
DPONE_MSSQL_TRANSACTION_LOST | REFUSED | The server ended the transaction before its commit was sent; nothing was written | the server's log | dpone refresh status
DPONE_MSSQL_UNREACHABLE | UNVERIFIED | SQL Server can't be reached or refused the credentials; nothing was sent | server, port and credential reference | dpone refresh status
DPONE_MUTATION_ATTEMPT_ENDED | REFUSED | The attempt's fate is settled; a late mutation stops before it writes | the fate row of the attempt | dpone refresh status
DPONE_MUTATION_BUDGET_IMAGE | REFUSED | An image would exceed its budget of rows or bytes | max_before_image, max_after_image and max_scope_image_total of the policy | dpone refresh status
DPONE_MUTATION_BUDGET_LOG | REFUSED | The mutation has logged more than its budget | max_transaction_log_bytes of the policy | dpone refresh status
DPONE_MUTATION_BUDGET_SOURCE | REFUSED | The model's rows of the scope exceed their budget | max_source_scope_rows of the policy | dpone refresh status
DPONE_MUTATION_BUDGET_TARGET | REFUSED | The target's rows of the scope exceed their budget | max_target_scope_rows of the policy | dpone refresh status
DPONE_MUTATION_BUDGET_TEMP | REFUSED | The model's whole result exceeds its budget of rows or bytes | max_dbt_temp of the policy; the model's SQL may filter its source | dpone refresh status
DPONE_MUTATION_BYTES_DIFFER | REFUSED | A source row does not stand in the target byte for byte after the mutation | columns, collations and triggers of the target | dpone refresh status
DPONE_MUTATION_COUNT_MISMATCH | REFUSED | Updated and inserted rows don't add up to the source or to the target's rows | triggers and indexes of the target | dpone refresh status
DPONE_MUTATION_DDL_EPOCH_MOVED | REFUSED | The DDL epoch is not the certified one | DDL on the target and on what its model reads | dpone refresh status
DPONE_MUTATION_DOMAIN_RESULT | REFUSED | The target holds a value after the mutation that ClickHouse can't hold exactly | date ranges and lone surrogates in the scope | dpone refresh status
DPONE_MUTATION_DOMAIN_SOURCE | REFUSED | The model gives a value that ClickHouse can't hold exactly | date ranges and lone surrogates in the model's result | dpone refresh status
DPONE_MUTATION_DOMAIN_TARGET | REFUSED | The target holds a value in the scope that ClickHouse can't hold exactly | date ranges and lone surrogates in the scope | dpone refresh status
DPONE_MUTATION_DUPLICATE_RESULT | REFUSED | The target holds an effective key twice after the mutation | keys of the scope | dpone refresh status
DPONE_MUTATION_DUPLICATE_SOURCE | REFUSED | The model gives an effective key twice | the model's grain | dpone refresh status
DPONE_MUTATION_DUPLICATE_TARGET | REFUSED | The target holds an effective key of the scope twice | keys of the scope | dpone refresh status
DPONE_MUTATION_FENCE_LOST | REFUSED | The guard is not held by this attempt under this fencing epoch | the guard's holder | dpone refresh status
DPONE_MUTATION_IMAGE_CONFLICT | REFUSED | An image relation is absent, not empty, or not what the receipt says | the attempt's images | dpone refresh status
DPONE_MUTATION_LOCK_NOT_GRANTED | REFUSED | The operation's lock or the DDL freeze was not granted | other sessions of the operation, running DDL | dpone refresh status
DPONE_MUTATION_NO_TRANSACTION | REFUSED | The strategy is not inside dbt's one open transaction | the transactions flag of the platform project | dpone refresh status
DPONE_MUTATION_NULL_RESULT | REFUSED | The target holds NULL where the plan has none, after the mutation | nullability of the target's columns | dpone refresh status
DPONE_MUTATION_NULL_SOURCE | REFUSED | The model gives NULL where the plan has none | key and required columns of the model | dpone refresh status
DPONE_MUTATION_NULL_TARGET | REFUSED | The target holds NULL in the scope where the plan has none | nullability of the target's columns | dpone refresh status
DPONE_MUTATION_RECEIPT_CONFLICT | CORRUPTION | A receipt of the operation is there that this attempt did not write, or one can't be composed | the stored receipt | stop and call the platform's owner
DPONE_MUTATION_SCOPE_RESULT | REFUSED | The after image holds a row outside the scope | the event time of the model | dpone refresh status
DPONE_MUTATION_SCOPE_SOURCE | REFUSED | A row outside the scope was taken from the model's result | the event time of the model | dpone refresh status
DPONE_MUTATION_SCOPE_TARGET | REFUSED | The before image holds a row outside the scope | the event time of the target | dpone refresh status
DPONE_MUTATION_SESSION_UNFIT | REFUSED | Database, session options or isolation level are not those that the mutation is written for | profile and database settings | dpone refresh status
DPONE_MUTATION_TRANSACTION_LOST | REFUSED | The transaction was ended inside the mutation | the server's log | dpone refresh status
DPONE_MUTATION_TYPE_DRIFT | REFUSED | The model's temp relation or the target has other columns or types than planned | types of the model's columns, cast exactly | dpone refresh status
DPONE_ODBC_MISSING | REFUSED | The ODBC driver manager is not installed; no server was contacted | Debian's libodbc2 and tdsodbc (or Microsoft's msodbcsql18); `tooling/bootstrap.py env` installs them | dpone refresh status
DPONE_OPERATION_NOT_FOUND | REFUSED | The store knows no such operation, scope or workflow | the id, against the deployment's plans | dpone refresh status
DPONE_OUTCOME_UNKNOWN | UNKNOWN | Something was sent and failed in a way that does not tell whether it took effect | the code and the engine's error in the evidence, then the operation's rows and relations | dpone refresh status
DPONE_PLAN_BOUND_TO_OTHER_RUN | REFUSED | The plan is bound to another DagRun; one plan binds one DagRun for ever | the DagRun in the evidence | dpone refresh status
DPONE_PREDECESSOR_CHANGED | CORRUPTION | The old generation received parts after the proof; a write may be lost | the predecessor's part list and its writers | stop and call the platform's owner
DPONE_PREFLIGHT_UNVERIFIED | UNVERIFIED | Something that must be known before dbt starts could not be read | permissions and locks named in the message | dpone refresh status
DPONE_PREPARE_MANIFEST_WITHOUT_CONTENT | REFUSED | The sealed manifest has no content record beside it | documents of the operation | dpone refresh status
DPONE_PROOF_INCOMPLETE | REFUSED | A model or workflow is not proven, so it cannot be released | the reason in the message; `dpone dbt check` gives all of them | dpone dbt check
DPONE_PUBLICATION_NOT_READY | REFUSED | The operation's journal is not where a publication starts | the operation's journal | dpone refresh status
DPONE_PUBLICATION_ROWS_MOVED | REFUSED | Heads, checkpoint or journal are not what the publication starts from | the rows named in the evidence | dpone refresh status
DPONE_RELEASE_SKEW | REFUSED | The installed members of dpone are not all there in one version | the versions in the evidence; install dpone[semantic-refresh-airflow] of one release | dpone refresh status
DPONE_REPLACEMENT_UNSUPPORTED | REFUSED | This release admits no failed-precommit replacement: it restores no before image | the failed workflow's summary | dpone refresh status
DPONE_REVOCATION_INDEX_CONFLICT | CORRUPTION | Another revocation index of the same epoch was seen before | both indexes, and who issues them | stop and call the platform's owner
DPONE_REVOCATION_INDEX_FOREIGN | REFUSED | The revocation index is of another trust domain | the domains of index and trust policy | dpone certify verify
DPONE_REVOCATION_INDEX_FUTURE | REFUSED | The revocation index was issued at a later instant than now | the clocks of issuer and deployment | dpone certify verify
DPONE_REVOCATION_INDEX_MISSING | UNVERIFIED | No revocation index was given, so nothing proves that a document still counts | where the trust domain publishes its index | dpone certify verify
DPONE_REVOCATION_INDEX_ROLLED_BACK | REFUSED | A later revocation index was seen before, or the policy asks for a later one | who hands over old indexes | dpone certify verify
DPONE_REVOCATION_INDEX_STALE | UNVERIFIED | The revocation index is older than the trust policy admits | where the trust domain publishes its index | dpone certify verify
DPONE_REVOCATION_INDEX_UNKNOWN | UNKNOWN | The commit that remembers a revocation index was sent and its answer was lost | sending the same index again is safe | dpone refresh status
DPONE_ROW_BATCH_UNEXPECTED | REFUSED | An image's batch lacks a column, has another type, or is not in row order | the column named in the evidence | dpone refresh status
DPONE_ROW_VALUE_REFUSED | REFUSED | A value is outside its column's type or cannot be carried exactly | the column and the rule, in SQL Server | dpone refresh status
DPONE_SCOPE_DIVERGED | REFUSED | The SQL Server scope is no longer what the committed mutation left; somebody wrote to it | writers of the target since the receipt | dpone refresh status
DPONE_SCOPE_HEAD_MOVED | REFUSED | The scope is not at the planned revision | the scope's head | dpone refresh status
DPONE_SCOPE_PLANNED | REFUSED | The day has another plan in this deployment that is not terminal | the plan in the evidence | dpone refresh status
DPONE_SCRATCH_CONFLICT | REFUSED | An object stands under a scratch name of dbt, which dbt would drop | the object in the message; nothing is dropped for you | dpone refresh status
DPONE_SEAL_CONTENT_MISMATCH | CORRUPTION | The rows that were exported are not the rows of the committed image | the image relation and its receipt | stop and call the platform's owner
DPONE_SEAL_NOT_AUTHORISED | REFUSED | Only a reconciled, committed image of an operation in PREPARING may be sealed | the operation's journal and receipts | dpone refresh status
DPONE_SEAL_POLICY_UNFIT | REFUSED | The seal policy asks for what this release does not write | the policy's field named in the evidence | dpone refresh status
DPONE_SEMANTIC_REFRESH_CONTINUATION_CHAIN_UNSUPPORTED | REFUSED | A continuation may only go from try N to its immediate successor N+1 | the attempts of the operation | dpone refresh status
DPONE_SEMANTIC_REFRESH_PRODUCTION_ACTIVATION_UNAVAILABLE | REFUSED | Release 0.74 is a preview: it activates no production route and admits no run outside the disposable lab | the release notes | dpone lab demo
DPONE_SEMANTIC_REFRESH_WORKER_ADMISSION_COMMIT_UNKNOWN | UNKNOWN | The commit of an admission was sent and its answer was lost | activation authority, guards, journals and admission closure, with scheduling frozen | dpone refresh status
DPONE_SHADOW_MISMATCH | REFUSED | The shadow is not the old target with the staged rows; nothing was published | the figures in the evidence | dpone refresh status
DPONE_SIGNATURE_FORGED | REFUSED | The signature is not of these bytes by the key that it names | where document and signature come from | dpone certify verify
DPONE_SIGNATURE_ISSUER_DIFFERS | REFUSED | Document, signature and key do not name one issuer | the issuer of the key in the trust policy | dpone certify verify
DPONE_SIGNATURE_MISSING | REFUSED | A document that has to be signed has no signature beside it | the document in the evidence | dpone certify sign
DPONE_SIGNATURE_OF_OTHER_BYTES | REFUSED | The signature was made for another document or for other bytes | the digests of document and signature | dpone certify sign
DPONE_SIGNATURE_UNVERIFIED | UNVERIFIED | Nothing verified the signature | whether the extra `semantic-refresh` is installed | dpone refresh status
DPONE_SIGNING_KEY_EXISTS | REFUSED | A file is there already; a key is never written over another | the path in the evidence | dpone certify keygen
DPONE_SIGNING_KEY_EXPOSED | REFUSED | The private key's file can be read by others than its owner | the file's mode; replace the key if it was read | dpone certify keygen
DPONE_SIGNING_KEY_NOT_CURRENT | REFUSED | The signing key is not in its validity window | the window in the trust policy | dpone certify verify
DPONE_SIGNING_KEY_NOT_GRANTED | REFUSED | The trust policy lets the key not issue this kind of document here | the key's grants in the trust policy | dpone certify verify
DPONE_SIGNING_KEY_REVOKED | REFUSED | The revocation index withdraws the key, and with it all that it signed | the index's entry | dpone certify verify
DPONE_SIGNING_KEY_UNTRUSTED | REFUSED | The trust policy does not know the key | the key id, against the trust policy | dpone certify verify
DPONE_SQL_OUTCOME_UNKNOWN | UNKNOWN | Nothing proves whether the mutation committed | receipt, fate row, images and sessions in the evidence | dpone refresh status
DPONE_STAGE_REFUSED | REFUSED | The deployment's documents do not permit a plan bundle | the rule in the evidence | dpone schemas validate
DPONE_STAGING_MISMATCH | REFUSED | Staging is not exactly the sealed content; nothing was published | the figures in the evidence | dpone refresh status
DPONE_STATE_COMMIT_UNKNOWN | UNKNOWN | The commit of a state change was sent and its answer was lost | the rows of the operation, read again | dpone refresh status
DPONE_STATE_ROW_MOVED | REFUSED | A compare-and-set found another row than expected; nothing was written | the row named in the message | dpone refresh status
DPONE_SUMMARY_CONFLICT | CORRUPTION | The execution has another summary | the stored summary | stop and call the platform's owner
DPONE_SUMMARY_INCOMPLETE | REFUSED | An operation is not COMPLETE, so there is no summary and no success | the operation's journal | dpone refresh status
DPONE_TARGET_ABSENT | REFUSED | The SQL Server target is no existing physical table, or is not visible | the target's name and permissions | dpone refresh status
DPONE_TARGET_AUTHORITY_DRIFT | CORRUPTION | The exchanged target is not of the certified physical design | the target's create statement and its followers | stop and call the platform's owner
DPONE_TARGET_DIVERGED | REFUSED | The target holds rows in a scope whose sealed image is empty | rows of the scope in ClickHouse | dpone refresh status
DPONE_TARGET_HEAD_MOVED | REFUSED | The plan's predecessor generation is not the target's published head | the head and the plan in the evidence | dpone refresh status
DPONE_TARGET_NAME_UNSUPPORTED | REFUSED | The target's id does not read as database.schema.name | names with dots, brackets or blanks | dpone refresh status
DPONE_TARGET_OWNED | REFUSED | The ClickHouse target is owned by another deployment, model or baseline | the owner in the evidence | dpone refresh status
DPONE_TARGET_SCHEMA_DRIFT | REFUSED | The target's columns, types or nullability are not the planned ones | the column in the message | dpone refresh status
DPONE_TARGET_UNFIT | REFUSED | The target has a feature under which the mutation could not be exact | the feature in the message | dpone refresh status
DPONE_TARGET_UUID_DRIFT | REFUSED | The table under the target's name is not the published generation | system.tables and the target's head | dpone refresh status
DPONE_TRUST_POLICY_MISSING | REFUSED | No trust policy was given, so no signature counts | the deployment's trust policy | dpone certify verify
DPONE_TRUST_POLICY_NOT_CURRENT | REFUSED | The trust policy is not in its validity window | the window in the message | dpone certify verify
DPONE_USAGE | USAGE | The command was not understood | the command's --help | dpone --help
DPONE_UTC_COLUMN_TYPE | REFUSED | The event-time column has a type that is no exact UTC time | the type in the message | dpone certify measure
DPONE_UTC_LOCAL_CLOCK | REFUSED | The event-time column is computed, or its default may read a local clock | the column in the message | dpone certify measure
DPONE_UTC_UNVERIFIED | UNVERIFIED | Part of what UTC semantics stands on is hidden from the measuring principal | what the message names; VIEW DEFINITION | dpone certify measure
DPONE_WORKER_IDENTITY_ABSENT | REFUSED | The worker can't say which pod it is, so no attempt can be bound to it | DPONE_POD_UID in the pod template, a fieldRef to metadata.uid | dpone refresh status
DPONE_WRITERS_UNVERIFIED | UNVERIFIED | Part of who can write the target is hidden from the measuring principal | what the message names; VIEW DEFINITION, VIEW ANY DEFINITION, msdb | dpone certify measure
DPONE_WRITER_INDIRECT | REFUSED | Something can change the target without a permission of its caller on it, and no policy names it | the module, job or feature in the message | dpone certify measure
DPONE_WRITER_NOT_EXCLUSIVE | REFUSED | Somebody else than the runtime, named installers and administrators can write the target | the principal and the ways in the message | dpone certify measure
DPONE_WRITER_RUNTIME_ABSENT | REFUSED | The runtime principal that the policy names cannot write the target | grants of the runtime principal | dpone certify measure
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
