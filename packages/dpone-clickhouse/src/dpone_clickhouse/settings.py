"""The settings that every statement carries, and the proof that no other setting changes what statements mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_THROWING = (
    "read_overflow_mode",
    "read_overflow_mode_leaf",
    "group_by_overflow_mode",
    "sort_overflow_mode",
    "result_overflow_mode",
    "timeout_overflow_mode",
    "timeout_overflow_mode_leaf",
    "set_overflow_mode",
    "join_overflow_mode",
    "transfer_overflow_mode",
    "distinct_overflow_mode",
)

CODE = "DPONE_CLICKHOUSE_SETTING_REFUSED"

PINNED: dict[str, str] = {
    # Reads see every row, once, unfiltered.
    "limit": "0",
    "offset": "0",
    "additional_table_filters": "{}",
    "additional_result_filter": "",
    "final": "0",
    "apply_deleted_mask": "1",
    "apply_patch_parts": "1",
    "allow_experimental_parallel_reading_from_replicas": "0",
    "use_query_cache": "0",
    "use_query_condition_cache": "0",
    # Values mean what they say.
    "session_timezone": "",
    "join_use_nulls": "0",
    "transform_null_in": "0",
    "group_by_use_nulls": "0",
    "aggregate_functions_null_for_empty": "0",
    "empty_result_for_aggregation_by_empty_set": "0",
    "decimal_check_overflow": "1",
    "date_time_overflow_behavior": "throw",
    "extremes": "0",
    "data_type_default_nullable": "0",
    "show_table_uuid_in_table_create_query_if_not_nil": "0",
    # A limit that is reached is an error, never fewer rows.
    **dict.fromkeys(_THROWING, "throw"),
    # Writes are done when they are acknowledged, and done once.
    "async_insert": "0",
    "insert_deduplicate": "0",
    "insert_null_as_default": "0",
    "materialized_views_ignore_errors": "0",
    "max_partitions_per_insert_block": "0",
    "mutations_sync": "2",
    "alter_sync": "2",
    # Parquet is taken as it is or refused.
    "input_format_null_as_default": "0",
    "input_format_skip_unknown_fields": "0",
    "input_format_parquet_allow_missing_columns": "0",
    "input_format_parquet_case_insensitive_column_matching": "0",
    "input_format_allow_errors_num": "0",
    "input_format_allow_errors_ratio": "0",
}

# Settings that a profile, the client or an embedded engine may change: none of them changes a result.
_HARMLESS = frozenset(
    {
        "allow_introspection_functions", "cast_string_to_dynamic_use_inference", "cancel_http_readonly_queries_on_client_close", "connect_timeout",
        "connections_with_failover_max_tries", "database", "date_time_input_format", "default_database_engine",
        "enable_http_compression", "http_headers_progress_interval_ms", "http_receive_timeout", "http_send_timeout",
        "http_zlib_compression_level", "implicit_select", "load_balancing", "log_comment", "log_queries",
        "log_query_threads", "max_bytes_before_external_group_by", "max_bytes_before_external_sort",
        "max_bytes_ratio_before_external_group_by", "max_bytes_ratio_before_external_sort",
        "max_concurrent_queries_for_user", "max_execution_time", "max_insert_threads", "max_memory_usage",
        "max_memory_usage_for_user", "max_result_bytes", "max_result_rows", "max_threads",
        "output_format_arrow_use_native_writer", "priority", "queue_max_wait_ms", "receive_timeout", "send_logs_level",
        "send_progress_in_http_headers", "send_timeout", "serialize_query_plan", "storage_file_read_method",
        "tcp_keep_alive_timeout", "use_uncompressed_cache", "wait_end_of_query",
    }
)  # fmt: skip

OBSERVE_SQL = (
    "SELECT name, value, changed FROM system.settings"
    f" WHERE alias_for = '' AND (changed OR name IN ({', '.join(repr(name) for name in PINNED)})) ORDER BY name"
)


def findings(observed: Iterable[tuple[str, str, int]]) -> tuple[tuple[str, str], ...]:
    """(code, what was seen) of every pinned setting with another value, and of every other change that isn't harmless.

    `observed` is what `OBSERVE_SQL` gave for a statement that carried the pinned settings.
    """
    seen = {name: (value, bool(changed)) for name, value, changed in observed}
    found = []
    for name, pinned in sorted(PINNED.items()):
        if name not in seen:
            found.append(f"{name} is unknown to the server")
        elif not _same(seen[name][0], pinned):
            found.append(f"{name} has another value than the pinned one")
    found.extend(
        f"{name} is changed and not on the allowlist"
        for name, (_, changed) in sorted(seen.items())
        if changed and name not in PINNED and name not in _HARMLESS
    )
    return tuple((CODE, what) for what in found)


def _same(value: str, pinned: str) -> bool:
    """Compare as the server prints: booleans may come back as words."""
    words = {"true": "1", "false": "0"}
    return words.get(value, value) == pinned
