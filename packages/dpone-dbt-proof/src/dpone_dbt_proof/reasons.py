"""Why a model is not proven: stable codes, each with its verdict and the change that helps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Status(StrEnum):
    """The three answers of every proof; only PROVEN executes."""

    PROVEN = "PROVEN"
    NONCONFORMANT = "NONCONFORMANT"
    UNVERIFIED = "UNVERIFIED"


class Code(Enum):
    """Every reason that a proof can give: the verdict that it forces and what to do about it."""

    # Selection and mutation closure.
    WORKFLOW_MIXED = Status.NONCONFORMANT, "Publish the workflow's models through one profile."
    PROFILE_UNKNOWN = Status.NONCONFORMANT, "Name a profile that the platform offers."
    PUBLISH_INVALID = Status.NONCONFORMANT, "Give meta.dpone.publish a profile and a workflow, both text."
    NOT_A_MODEL = Status.NONCONFORMANT, "Publish SQL models only."
    PYTHON_MODEL = Status.NONCONFORMANT, "Write the model in SQL."
    NOT_INCREMENTAL = Status.NONCONFORMANT, "Set materialized: incremental."
    CUSTOM_MATERIALIZATION = Status.NONCONFORMANT, "Use one of dbt's own materialisations."
    STRATEGY = Status.NONCONFORMANT, "Set incremental_strategy: dpone_scope_merge."
    CONTRACT = Status.NONCONFORMANT, "Set contract: {enforced: true} and declare every column with its type."
    ON_SCHEMA_CHANGE = Status.NONCONFORMANT, "Set on_schema_change: fail."
    FULL_REFRESH = Status.NONCONFORMANT, "Remove full_refresh: true; an existing table is required."
    MODEL_HOOK = Status.NONCONFORMANT, "Remove pre_hook and post_hook."
    PROJECT_HOOK = Status.NONCONFORMANT, "Remove on-run-start and on-run-end of the project."
    PACKAGE_HOOK = Status.NONCONFORMANT, "Use a version of the package without on-run-start and on-run-end."
    ADAPTER_HOOK = Status.NONCONFORMANT, "Install the certified adapter; it has no hooks."
    GRANTS = Status.NONCONFORMANT, "Remove grants; the platform owns permissions."
    PERSIST_DOCS = Status.NONCONFORMANT, "Remove persist_docs."
    STORE_FAILURES = Status.NONCONFORMANT, "Remove store_failures from the test."
    INDEXES = Status.NONCONFORMANT, "Remove indexes and as_columnstore; the platform owns indexes."
    STRAY_INDEX = Status.NONCONFORMANT, "Drop or rename the index: dbt would drop it."
    PREDICATES = Status.NONCONFORMANT, "Remove predicates and incremental_predicates."
    QUERY_OPTIONS = Status.NONCONFORMANT, "Remove sql_header and query options."
    BATCHES = Status.NONCONFORMANT, "Remove microbatch settings."
    EPHEMERAL = Status.NONCONFORMANT, "Inline the ephemeral model, or materialise it."
    SEED = Status.NONCONFORMANT, "Load the seed as a table of its own and declare it as a source."
    SNAPSHOT = Status.NONCONFORMANT, "Declare the snapshot's table as a source."
    OPERATION = Status.NONCONFORMANT, "Remove the operation."
    UNCLASSIFIED = Status.NONCONFORMANT, "Remove the resource from the selection."
    SELECTOR_NOT_EXACT = Status.NONCONFORMANT, "Rename the model: its selector also selects other resources."
    MANIFEST_STALE = Status.UNVERIFIED, "Run dbt parse again; the file has changed since."
    MISSING_NODE = Status.UNVERIFIED, "Run dbt parse again; the manifest is not whole."

    # Author's contract: key, event time, types.
    KEY_MISSING = Status.NONCONFORMANT, "Set unique_key to the columns that identify an event."
    KEY_COLUMN = Status.NONCONFORMANT, "Name declared columns in unique_key, each once."
    KEY_TYPE = (
        Status.NONCONFORMANT,
        "Use an admitted key type: bit, integers, uniqueidentifier, date, datetime2(6), decimal.",
    )
    KEY_NULLABLE = Status.NONCONFORMANT, "Give every key column a not_null constraint."
    EVENT_TIME = Status.NONCONFORMANT, "Set event_time to the key's date or datetime2(6) column."
    COLUMN_TYPE = Status.NONCONFORMANT, "Declare a SQL Server type that can be published exactly."

    # Jinja and macros.
    JINJA_SYNTAX = Status.UNVERIFIED, "Correct the template."
    JINJA_UNKNOWN = Status.UNVERIFIED, "Use names that dbt or an installed package defines."
    JINJA_THIS = Status.NONCONFORMANT, "Compute the whole result without reading {{ this }}."
    JINJA_IS_INCREMENTAL = Status.NONCONFORMANT, "Write one query for every run; the platform scopes it."
    JINJA_INTROSPECTION = Status.NONCONFORMANT, "Name columns and relations instead of asking the database."
    JINJA_RUN_QUERY = Status.NONCONFORMANT, "Join the table instead of querying it while compiling."
    JINJA_ADAPTER = Status.NONCONFORMANT, "Write the SQL that the adapter call would give."
    JINJA_ENVIRONMENT = Status.NONCONFORMANT, "Write the same SQL for every environment."
    JINJA_VAR_BRANCH = Status.NONCONFORMANT, "Use var only as a literal."
    JINJA_NONDETERMINISTIC = Status.NONCONFORMANT, "Remove clock, invocation id and random choice."
    JINJA_DYNAMIC = Status.NONCONFORMANT, "Call macros and relations by their literal names."
    JINJA_SIDE_EFFECT = Status.NONCONFORMANT, "Remove the side effect."
    MACRO_OVERRIDE = Status.NONCONFORMANT, "Rename the macro: dbt or the adapter has one of that name."
    DISPATCH_OVERRIDE = (
        Status.NONCONFORMANT,
        "Remove dispatch from the project; the platform resolves macros.",
    )
    ROOT_DIFFERENCE = (
        Status.NONCONFORMANT,
        "Move the setting into the model: only a root project may have it.",
    )
    COMPILE_FAILED = Status.UNVERIFIED, "Correct the model until dbt compiles it without a connection."
    COMPILE_REQUIRED = Status.UNVERIFIED, "Run dpone refresh compile: target independence needs compiled SQL."

    # T-SQL.
    SQL_LEXICAL = Status.UNVERIFIED, "Close the string, name or comment."
    SQL_SYNTAX = Status.UNVERIFIED, "Write it in T-SQL that can be read; see the position."
    SQL_NOT_A_QUERY = Status.NONCONFORMANT, "Leave one SELECT, with or without WITH."
    SQL_SEVERAL_STATEMENTS = Status.NONCONFORMANT, "Leave one SELECT."
    SQL_SEMICOLON = Status.NONCONFORMANT, "Remove the semicolon: the query stands inside a view."
    SQL_ORDER_BY = Status.NONCONFORMANT, "Remove ORDER BY: a view admits it with TOP or OFFSET only."
    SQL_OPTION = Status.NONCONFORMANT, "Remove OPTION: the query stands inside a view."
    SQL_NESTED_WITH = Status.NONCONFORMANT, "Move WITH to the start of the query."
    SQL_NOT_TSQL = Status.NONCONFORMANT, "SQL Server does not know this construct."
    SQL_CONSTRUCT = Status.NONCONFORMANT, "The construct is not on the platform's list."
    SQL_INTO = Status.NONCONFORMANT, "Remove INTO: a model only reads."
    SQL_MUTATION = Status.NONCONFORMANT, "A model only reads."
    SQL_VARIABLE = Status.NONCONFORMANT, "Write the value: a view has no variables."
    SQL_SEQUENCE = Status.NONCONFORMANT, "Remove NEXT VALUE FOR."
    SQL_TEMP_TABLE = Status.NONCONFORMANT, "Read a table of the database."
    SQL_REMOTE = Status.NONCONFORMANT, "Read a table of this server and database by its name."
    SQL_CROSS_DATABASE = Status.NONCONFORMANT, "Read a table of the model's own database."
    SQL_ONE_PART_NAME = Status.NONCONFORMANT, "Name the schema: schema.table."
    SQL_OMITTED_SCHEMA = Status.NONCONFORMANT, "Name the schema: database.schema.table."
    SQL_SYSTEM_CATALOG = Status.NONCONFORMANT, "Read business tables only."
    SQL_TARGET_READ = Status.NONCONFORMANT, "Compute the result without reading the target."
    SQL_TARGET_DEPENDENCY = Status.NONCONFORMANT, "Read a relation that is not derived from the target."
    SQL_USER_FUNCTION = Status.NONCONFORMANT, "Write the expression in the query."
    SQL_METHOD = Status.NONCONFORMANT, "Use T-SQL functions instead of CLR or XML methods."
    SQL_USER_TYPE = Status.NONCONFORMANT, "Use a type of SQL Server itself."
    SQL_FUNCTION = Status.NONCONFORMANT, "Use a function of the platform's list."
    SQL_CLOCK = Status.NONCONFORMANT, "Remove the clock; a scope must give the same rows again."
    SQL_RANDOM = Status.NONCONFORMANT, "Remove the random value."
    SQL_SESSION = (
        Status.NONCONFORMANT,
        "Remove what depends on the session, the login or the database's state.",
    )
    SQL_NONDETERMINISTIC = Status.NONCONFORMANT, "Order by columns that make the choice unique."
    SQL_KEY_NONDETERMINISTIC = Status.NONCONFORMANT, "Compute key and event time from the input alone."
    SQL_FULL_TEXT = Status.NONCONFORMANT, "Use LIKE: a full-text index is not part of the proof."
    SQL_TEMPORAL = Status.NONCONFORMANT, "Read the current table."
    SQL_DIRTY_READ = Status.NONCONFORMANT, "Remove NOLOCK, READUNCOMMITTED or READPAST."
    SQL_LOCK_HINT = Status.NONCONFORMANT, "Remove the locking hint."
    SQL_HINT = Status.NONCONFORMANT, "Remove the hint; join and index hints may stay."
    SQL_NO_RELATION = Status.NONCONFORMANT, "Read at least one table."
    SQL_CONVERSION = (
        Status.UNVERIFIED,
        "Give CONVERT a style of ISO 8601 (23, 112, 121, 126), or cast what is no date and no text.",
    )
    SQL_NAME_CASE = Status.UNVERIFIED, "Spell the name as the database stores it."
    SQL_TABLE_FUNCTION = (
        Status.UNVERIFIED,
        "Give a catalog snapshot: the function must be inline and schema-bound.",
    )

    # Catalog closure.
    CATALOG_REQUIRED = Status.UNVERIFIED, "Give a catalog snapshot of the model's database."
    CATALOG_INVISIBLE = Status.UNVERIFIED, "Grant VIEW DEFINITION to the reader of the catalog."
    CATALOG_UNRESOLVED = Status.UNVERIFIED, "Create the object, or correct its name."
    CATALOG_CYCLE = Status.NONCONFORMANT, "Break the cycle of views."
    CATALOG_ENCRYPTED = Status.NONCONFORMANT, "Create the module without ENCRYPTION."
    CATALOG_UNBOUND = Status.NONCONFORMANT, "Create the module WITH SCHEMABINDING."
    CATALOG_COMPUTED_COLUMN = Status.NONCONFORMANT, "Read a table without computed columns."
    CATALOG_CROSS_DATABASE = Status.NONCONFORMANT, "Read objects of the model's own database."
    CATALOG_KIND = Status.NONCONFORMANT, "Read tables, schema-bound views and schema-bound inline functions."
    CATALOG_TARGET = Status.NONCONFORMANT, "Read relations that are not derived from the target."
    CATALOG_CALLER_DEPENDENT = Status.NONCONFORMANT, "Name every object of the module with its schema."
    CATALOG_BUDGET = Status.NONCONFORMANT, "Read fewer or shallower modules, or ask for a larger budget."

    # Lifecycle policy.
    TUPLE_REQUIRED = Status.UNVERIFIED, "Give the certified tuple of server, driver and image."
    DBT_VERSION = Status.NONCONFORMANT, "Install the certified versions of dbt and its adapter."
    TRANSACTIONS_FLAG = (
        Status.NONCONFORMANT,
        "Set flags: {dbt_sqlserver_use_dbt_transactions: true} in the root.",
    )
    THREADS = Status.NONCONFORMANT, "Set threads: 1 in the worker's profile."
    RETRIES = Status.NONCONFORMANT, "Set retries: 0 in the worker's profile."
    QUERY_TIMEOUT = Status.NONCONFORMANT, "Set a positive query_timeout in the worker's profile."
    LIFECYCLE_SETTING = Status.NONCONFORMANT, "Restore the platform's setting."
    MATERIALIZATION_CLOSURE = (
        Status.NONCONFORMANT,
        "Install the certified adapter: its materialisation differs.",
    )

    @property
    def status(self) -> Status:
        """The verdict that one such reason forces."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What the author or the platform can change."""
        return self.value[1]

    def __str__(self) -> str:
        """Return the stable code as it stands in JSON."""
        return f"DPONE_PROOF_{self.name}"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason with its place: `path` relative to the project, `line` and `column` from 1, where known."""

    code: Code
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """An order that does not depend on how the reasons were found."""
        return (self.path or "", self.line or 0, self.column or 0, self.code.name, self.message)


def verdict(reasons: Iterable[Reason]) -> Status:
    """Return PROVEN without reasons; a nonconformity outweighs what is merely unverified."""
    statuses = {reason.code.status for reason in reasons}
    if Status.NONCONFORMANT in statuses:
        return Status.NONCONFORMANT
    return Status.UNVERIFIED if statuses else Status.PROVEN
