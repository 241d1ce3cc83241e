"""`EngineMeasurer`: SQL Server's part of the three assurances, read from its own catalog and never asserted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpone_contracts.document import DocumentError
from dpone_contracts.errors import DponeError
from dpone_contracts.measurements import (
    CoveredObject,
    DdlFreezeMeasurement,
    UtcMeasurement,
    WriterMeasurement,
)
from dpone_mssql.access import read_access
from dpone_mssql.batches import Statements, render, split
from dpone_mssql.catalog import spelled_type
from dpone_mssql.connection import SqlServerError, before_commit, read_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpone_contracts.relations import SqlRelation
    from dpone_mssql.access import Access
    from dpone_mssql.connection import Row, Session, SqlServerConfig
    from dpone_mssql.control_schema import ControlNames

T = TypeVar("T")

DDL_TRIGGER: Final = "dpone_ddl_epoch"
"""The database trigger that moves DDL epochs."""

_NO_PERMISSION: Final = 229
_NO_JOBS: Final = frozenset({208, 229, 297, 300, 911, 916})
"""No such object, no permission, no such database, not a user there: jobs are not visible, whatever there are."""
_NO_ROW_WRITES: Final = frozenset({"V", "FN", "IF", "TF"})
"""Modules that change no rows themselves; views are counted by the permissions on them."""
_UTC_CLOCK: Final = re.compile(r"\(*(?:getutcdate|sysutcdatetime)\s*\(\s*\)\)*", re.IGNORECASE)
_CONSTANT: Final = re.compile(r"\(*(?:N?'[^']*'|[-+]?[0-9.]+|NULL)\)*", re.IGNORECASE)
_FEATURES: Final = (
    "transactional replication",
    "merge replication",
    "updatable subscription",
    "change data capture",
    "temporal",
    "memory-optimized",
    "external table",
    "FileTable",
)


class MssqlMeasurer:
    """`EngineMeasurer` of one database; what it may not see stands in `unseen`."""

    def __init__(self, config: SqlServerConfig, names: ControlNames) -> None:
        self._config = config
        self._sql = Statements("catalog/measure.sql", control=names.schema)
        self._trigger_text = _trigger_text(names)

    def writers(self, target: SqlRelation, at: str) -> WriterMeasurement:
        """Who can write the target, and how."""
        return self._read(lambda session: self._writers(session, target, at))

    def ddl_freeze(self, target: SqlRelation, at: str) -> DdlFreezeMeasurement:
        """Epoch, coverage, trigger, and who can stop the trigger."""
        return self._read(lambda session: self._ddl_freeze(session, target, at))

    def utc_semantics(self, target: SqlRelation, column: str, at: str) -> UtcMeasurement:
        """Type and sources of the event-time column, time settings of server and session."""
        return self._read(lambda session: self._utc_semantics(session, target, column, at))

    def _read(self, work: Callable[[Session], T]) -> T:
        try:
            return read_committed(self._config, work)
        except SqlServerError as error:
            raise DponeError.because(before_commit(error)) from None
        except DocumentError as error:
            observed = f"the catalog holds a name that no document may hold: {error.reason}"
            raise DponeError("DPONE_MEASUREMENT_UNREADABLE", observed, {"path": error.path}) from None

    def _writers(self, session: Session, target: SqlRelation, at: str) -> WriterMeasurement:
        access = read_access(session, self._sql, target)
        modules = session.rows(self._sql["modules"])
        views = {int(row[0]): row for row in modules if str(row[1]).strip() == "V"}
        surface = self._surface(session, access, target, views)
        owned = [(int(row[0]), f"{row[2]}.{row[3]}") for row in modules if int(row[4]) == access.owner_id]
        ways = {*self._modules(access, target, modules), *self._mechanisms(session, access)}
        ways |= set(self._triggers(session, access, target))
        jobs = self._jobs(session, target)
        writers = access.writers(target, surface, owned)
        return WriterMeasurement.build(
            **_about(access, target, at),
            writers=writers,
            indirect=[{"kind": kind, "name": name} for kind, name in sorted(ways | set(jobs or ()))],
            jobs_seen=jobs is not None,
            unseen=access.all_unseen,
        )

    def _surface(
        self, session: Session, access: Access, target: SqlRelation, views: dict[int, Row]
    ) -> list[tuple[int, int, str]]:
        """Views over the target, over those, and so on, and synonyms of any of them."""
        by_name = {name: number for number, (name, _) in access.schemas.items()}
        found: dict[int, tuple[int, int, str]] = {}
        waiting, spelled = [access.object_id], {access.object_id: (target.schema, target.name)}
        while waiting:
            for (dependant,) in self._dependants(session, access, waiting.pop()):
                number = int(dependant)
                if number in views and number not in found:
                    schema, name = str(views[number][2]), str(views[number][3])
                    found[number] = (number, by_name.get(schema, 0), f"view {schema}.{name}")
                    spelled[number] = (schema, name)
                    waiting.append(number)
        ends = {name.casefold() for _, name in spelled.values()}
        for number, schema, name, base in session.rows(self._sql["synonyms"]):
            last = str(base).rsplit(".", 1)[-1].strip('[]"').replace("]]", "]").casefold()
            if last in ends:
                found[int(number)] = (int(number), by_name.get(str(schema), 0), f"synonym {schema}.{name}")
        return list(found.values())

    def _dependants(self, session: Session, access: Access, object_id: int) -> list[Row]:
        """Needs SELECT on the view, which only db_owner has unless it was granted."""
        try:
            return session.rows(self._sql["dependants"], object_id)
        except SqlServerError as error:
            if error.number != _NO_PERMISSION:
                raise
            access.unseen.append("dependencies (SELECT on sys.sql_expression_dependencies)")
            return []

    def _modules(self, access: Access, target: SqlRelation, modules: list[Row]) -> Iterator[tuple[str, str]]:
        """Procedures and triggers that name the target, or that run dynamic SQL as somebody else."""
        for _, kind, schema, name, _, definition, runs_as in modules:
            if str(kind).strip() in _NO_ROW_WRITES:
                continue
            full = f"{schema}.{name}"
            if definition is None:
                access.unseen.append(f"the definition of {full}")
            elif _mentions(str(definition), target.name):
                yield "module", full
            elif runs_as is not None:
                yield "impersonating_module", full

    def _triggers(self, session: Session, access: Access, target: SqlRelation) -> Iterator[tuple[str, str]]:
        """DDL triggers run whatever they hold as whoever fires them; ours is known by its text."""
        for _, name, _, definition, runs_as in session.rows(self._sql["database_triggers"]):
            if definition is None:
                access.unseen.append(f"the definition of database trigger {name}")
            elif str(name) == DDL_TRIGGER and _same_text(str(definition), self._trigger_text):
                continue
            elif _mentions(str(definition), target.name):
                yield "module", f"database trigger {name}"
            elif runs_as is not None:
                yield "impersonating_module", f"database trigger {name}"
        for (name,) in session.rows(self._sql["server_triggers"]):
            yield "module", f"server trigger {name}"

    def _mechanisms(self, session: Session, access: Access) -> Iterator[tuple[str, str]]:
        """What changes rows without a caller's permission: cascades, assemblies, replication and its kin, chaining."""
        for (name,) in session.rows(self._sql["cascades"], access.object_id):
            yield "cascade", str(name)
        for (name,) in session.rows(self._sql["assemblies"]):
            yield "assembly", str(name)
        flags = session.rows(self._sql["features"], access.object_id)
        for on, name in zip(flags[0], _FEATURES, strict=True):
            if on:
                yield "feature", name
        if access.major_version >= 16 and session.rows(self._sql["ledger"], access.object_id) != [(0,)]:
            yield "feature", "ledger"
        for name in access.cross_database:
            yield "setting", name

    def _jobs(self, session: Session, target: SqlRelation) -> set[tuple[str, str]] | None:
        """Steps of SQL Server Agent that name the target or run outside of T-SQL; None where they can't be read."""
        try:
            steps = session.rows(self._sql["jobs"])
        except SqlServerError as error:
            if error.number in _NO_JOBS:
                return None
            raise
        return {
            ("job", f"{name}/{step}")
            for name, step, subsystem, command in steps
            if str(subsystem).upper() != "TSQL" or _mentions(str(command or ""), target.name)
        }

    def _ddl_freeze(self, session: Session, target: SqlRelation, at: str) -> DdlFreezeMeasurement:
        access = read_access(session, self._sql, target)
        triggers = [row for row in session.rows(self._sql["database_triggers"]) if str(row[1]) == DDL_TRIGGER]
        state, text = "ABSENT", "UNSEEN"
        if triggers:
            _, _, is_disabled, definition, _ = triggers[0]
            state = "DISABLED" if is_disabled else "ENABLED"
            if definition is not None:
                text = "AS_RELEASED" if _same_text(str(definition), self._trigger_text) else "OTHER"
        epoch = session.rows(self._sql["epoch"], access.object_id)
        covered = [
            CoveredObject(
                object_id=int(number),
                schema_name=str(schema),
                object_name=str(name),
                state="SAME" if same else "GONE_OR_OTHER",
            )
            for number, schema, name, same in sorted(session.rows(self._sql["coverage"], access.object_id))
        ]
        controllers = access.controllers()
        return DdlFreezeMeasurement.build(
            **_about(access, target, at),
            ddl_epoch=int(epoch[0][0]) if epoch else 0,
            covered=covered,
            trigger_state=state,
            trigger_text=text,
            controllers=controllers,
            unseen=access.all_unseen,
        )

    def _utc_semantics(self, session: Session, target: SqlRelation, column: str, at: str) -> UtcMeasurement:
        access = read_access(session, self._sql, target)
        found = session.rows(self._sql["column"], access.object_id, column)
        if len(found) != 1:
            raise DponeError("DPONE_TARGET_SCHEMA_DRIFT", f"{target} has no column {column}")
        kind, length, precision, scale, computed, default_id, user_type = found[0]
        type_name = spelled_type(str(kind), int(length), int(precision), int(scale))
        clock, hidden = self._default_clock(session, int(default_id))
        language, date_format, minutes = session.rows(self._sql["session"])[0]
        return UtcMeasurement.build(
            **_about(access, target, at),
            column_name=column,
            type_name=f"user type {kind}" if user_type else type_name,
            is_computed=bool(computed),
            default_clock=clock,
            server_utc_offset=_offset(int(minutes)),
            session_language=str(language),
            session_date_format=str(date_format),
            unseen=sorted({*access.unseen, *hidden}),
        )

    def _default_clock(self, session: Session, default_id: int) -> tuple[str, tuple[str, ...]]:
        if default_id == 0:
            return "NONE", ()
        found = session.rows(self._sql["default"], default_id)
        if not found:  # a default object of the old kind, bound with sp_bindefault
            return "OTHER", ()
        if found[0][0] is None:
            return "OTHER", ("the default of the column",)
        return default_clock(str(found[0][0])), ()


def default_clock(definition: str) -> str:
    """Classify a default's text: a constant, one of the two UTC clocks, or anything else."""
    if _CONSTANT.fullmatch(definition.strip()):
        return "CONSTANT"
    return "UTC" if _UTC_CLOCK.fullmatch(definition.strip()) else "OTHER"


def _about(access: Access, target: SqlRelation, at: str) -> dict[str, Any]:
    return {
        "database": access.database,
        "schema_name": target.schema,
        "object_name": target.name,
        "object_id": access.object_id,
        "server_major_version": access.major_version,
        "measured_at": at,
        "measured_by": access.reader,
    }


def _mentions(text: str, name: str) -> bool:
    """Whether a text holds the name as a word, comments and strings included."""
    return re.search(rf"(?<![\w@#$]){re.escape(name)}(?![\w@#$])", text, re.IGNORECASE) is not None


def _trigger_text(names: ControlNames) -> str:
    script = render("control/80_ddl_epoch.sql", control=names.schema)
    return next(batch for batch in split(script) if f"CREATE TRIGGER [{DDL_TRIGGER}]" in batch)


def _same_text(stored: str, released: str) -> bool:
    """Whether two definitions are one from CREATE on, whatever stood before it and however its lines end."""
    return _from_create(stored) == _from_create(released)


def _from_create(text: str) -> str:
    begins = text.upper().find("CREATE TRIGGER")
    return text[max(begins, 0) :].replace("\r\n", "\n").strip()


def _offset(minutes: int) -> str:
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
