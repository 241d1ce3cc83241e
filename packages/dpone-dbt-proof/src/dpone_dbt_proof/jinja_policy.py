"""Which names of dbt's Jinja context a publishable model may use, and why the others are refused."""

from __future__ import annotations

from typing import Final

from dpone_dbt_proof.reasons import Code

REFUSED_NAMES: Final[dict[str, Code]] = {
    "this": Code.JINJA_THIS,
    "is_incremental": Code.JINJA_IS_INCREMENTAL,
    "should_full_refresh": Code.JINJA_IS_INCREMENTAL,
    **dict.fromkeys(
        ("run_query", "statement", "load_result", "noop_statement", "run_query_statement"),
        Code.JINJA_RUN_QUERY,
    ),
    **dict.fromkeys(
        (
            "graph",
            "load_cached_relation",
            "load_relation",
            "get_relations_by_pattern",
            "get_relations_by_prefix",
            "get_columns_in_relation",
            "get_columns_in_query",
            "get_catalog",
            "list_relations_without_caching",
            "check_relation_type",
        ),
        Code.JINJA_INTROSPECTION,
    ),
    **dict.fromkeys(("adapter", "api"), Code.JINJA_ADAPTER),
    **dict.fromkeys(
        (
            "connection_name",
            "database",
            "dbt_version",
            "defer_relation",
            "env_var",
            "execute",
            "flags",
            "invocation_args_dict",
            "model",
            "node",
            "project_name",
            "schema",
            "selected_resources",
            "target",
            "thread_id",
        ),
        Code.JINJA_ENVIRONMENT,
    ),
    **dict.fromkeys(
        ("dbt_metadata_envs", "invocation_id", "random", "run_started_at"), Code.JINJA_NONDETERMINISTIC
    ),
    **dict.fromkeys(
        ("builtins", "context", "load_agate_table", "post_hooks", "pre_hooks", "render", "self", "sql"),
        Code.JINJA_DYNAMIC,
    ),
    **dict.fromkeys(
        ("debug", "run_hooks", "store_raw_result", "store_result", "submit_python_job", "write"),
        Code.JINJA_SIDE_EFFECT,
    ),
}
"""Names that are refused wherever they stand: behind an alias, as an argument, in a call block."""

ADMITTED_CHAINS: Final = (
    ("adapter", "dispatch"),
    ("adapter", "quote"),
    ("api", "Column", "numeric_type"),
    ("api", "Column", "string_type"),
    ("api", "Column", "translate_type"),
    ("builtins", "config"),
    ("builtins", "ref"),
    ("builtins", "source"),
    ("builtins", "var"),
)
"""Pure members of names that are refused otherwise."""

ADMITTED_NAMES: Final = frozenset(
    {
        # dbt's own, resolved from the project alone.
        "config",
        "doc",
        "exceptions",
        "fromjson",
        "fromyaml",
        "local_md5",
        "log",
        "print",
        "ref",
        "return",
        "set",
        "set_strict",
        "source",
        "tojson",
        "toyaml",
        "try_or_compiler_error",
        "var",
        "zip",
        "zip_strict",
        "diff_of_two_dicts",
        "modules",
        # Jinja's own.
        "cycler",
        "dict",
        "joiner",
        "namespace",
        "range",
        # What an author writes for null.
        "null",
        "undefined",
    }
)

HANDED_ON: Final = ADMITTED_NAMES - {"exceptions", "modules", "null", "undefined"}
"""Admitted functions: as values they can't be followed, and as texts they differ in every process."""

ADMITTED_MEMBERS: Final = {"config": frozenset({"get", "require"})}
"""Members of admitted names that have others which say more than the project does."""

CLOCK_ATTRIBUTES: Final = ("now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp", "time")
"""Members of `modules.datetime` that read the clock."""

CLOCK_MEMBERS: Final = frozenset(
    {"astimezone", "fromtimestamp", "now", "today", "utcfromtimestamp", "utcnow"}
)
"""Members by which any value that comes from `modules.datetime` reads the clock or the machine's time zone."""

DBT_FILTERS: Final = frozenset({"as_bool", "as_native", "as_number", "as_text"})
CHOOSING_FILTERS: Final = frozenset({"reject", "rejectattr", "select", "selectattr"})
FILTERS_BY_NAME: Final = frozenset({"map", "reject", "select"})
"""Filters whose first argument names another filter or test."""

AUTHOR_MAY_OVERRIDE: Final = frozenset(
    {
        "generate_alias_name",
        "generate_database_name",
        "generate_schema_name",
        "sqlserver__generate_schema_name",
    }
)
"""Name macros: an override is judged by the names that it gives under both roots."""
