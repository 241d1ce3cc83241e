"""Unknown is a result: no adapter gives it a refusal's code, and no command or view rounds it to yes or no."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import typer
from typer.testing import CliRunner

import dpone.cli.activation
import dpone.cli.run
import dpone.cli.status
import dpone.composition.operator
import dpone_mssql.control_schema
from dpone.application.freeze import FreezeServices
from dpone.application.run import run_workflow
from dpone.application.services import EvidenceServices, Services
from dpone.application.tasks import TaskStages
from dpone.cli.freeze import freeze_command
from dpone.cli.refresh import add_operator_commands
from dpone.cli.run import run_command
from dpone_airflow_pack.worker import TaskKind, TaskWork
from dpone_contracts.effects import EffectKind, Reason, Unknown, effect_of, tells_doubt
from dpone_contracts.errors import DponeError, ExitClass
from dpone_contracts.journal import OperationState
from dpone_contracts.testing.memory_catalog import MemoryDdlFreeze
from dpone_contracts.testing.memory_control import MemoryActivationStore, MemoryControl, disposable_store
from dpone_contracts.testing.memory_edges import DisposableStoresOnly
from dpone_lab.faults import port_protocols

sys.path.insert(0, str(Path(__file__).parent))
from deployment_in_memory import story
from deployment_in_memory import world as deployment
from test_run_in_memory import FIRST, SECOND, KilledError, world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deployment_in_memory import World as Deployment
    from test_run_in_memory import World

PACKAGES = Path(__file__).parents[1] / "packages"
KILLED = Reason("DPONE_CLICKHOUSE_STATEMENT_REFUSED", "the statement was killed", {"clickhouse_code": "394"})
"""What an adapter must not say of an effect in doubt: as an Unknown's it would end in `refused`."""

# --- the code of the adapters -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spoken:
    """A code that stands in the source: what it is given to, and where."""

    given_to: str
    code: str
    place: str


def spoken() -> Iterator[Spoken]:
    """Every code that is written into an Unknown, a NotApplied, a Refused or an `unknown_code`."""
    for path in sorted(PACKAGES.glob("*/src/**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

        def code_of(node: ast.expr, known: dict[str, Any] = constants) -> str | None:
            value = node.value if isinstance(node, ast.Constant) else None
            found = known.get(node.id) if isinstance(node, ast.Name) else value
            return found if isinstance(found, str) else None

        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            given = [(name, argument) for argument in _reasons(call)] if name in _ANSWERS else []
            given += [(each.arg, each.value) for each in call.keywords if each.arg == "unknown_code"]
            for given_to, node in given:
                code = code_of(node)
                if code is not None:
                    yield Spoken(given_to, code, f"{path.name}:{call.lineno}")


_ANSWERS = {"Unknown", "NotApplied", "Refused", "RefusedError"}


def _reasons(call: ast.Call) -> list[ast.expr]:
    """The code of a reason that is made where it is given, or given bare."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "Reason":
        return first.args[:1]
    return [] if first is None else [first]


def test_no_adapter_gives_an_unknown_a_code_of_another_class_or_a_refusal_one_of_doubt() -> None:
    found = list(spoken())
    assert {each.given_to for each in found} >= {"Unknown", "NotApplied", "Refused", "unknown_code"}
    doubt = {"Unknown", "unknown_code"}
    assert [each for each in found if tells_doubt(each.code) is not (each.given_to in doubt)] == []


# --- the commands, over ports in memory -------------------------------------------------------------------------------


@dataclass
class Losing:
    """A port whose named method gives an Unknown the first time; where it lands, it took effect before."""

    port: Any
    method: str
    lands: bool = False
    lost: bool = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.port, name)
        if name != self.method or self.lost:
            return real

        def lose(*arguments: object) -> Unknown:
            self.lost = True
            if self.lands:
                real(*arguments)
            return Unknown(KILLED)

        return lose


def with_losing(services: Any, losing: dict[str, Losing]) -> Any:
    """The services with these ports in the place of their own."""
    return replace(services, **losing)


def services_of(day: World, kind: type) -> Any:
    return kind(**{each.name: getattr(day.ports, each.name) for each in fields(kind)})


class Composed:
    """What the commands compose: the ports of a day to run, or of a deployment to activate."""

    def __init__(self, day: World | None, one: Deployment | None, losing: dict[str, Losing]) -> None:
        self.day, self.one, self.losing = day, one, losing
        self.engines = SimpleNamespace(sql_server=lambda *_: None)

    def run(self, *_: object) -> Any:
        assert self.day is not None
        return with_losing(services_of(self.day, Services), self.losing)

    def evidence(self, *_: object) -> Any:
        assert self.day is not None
        return services_of(self.day, EvidenceServices)

    def baseline(self, *_: object) -> Any:
        assert self.one is not None
        return with_losing(self.one.baseline, self.losing)

    def activation(self, *_: object) -> Any:
        assert self.one is not None
        return with_losing(self.one.activation, self.losing)

    def freeze(self, *_: object) -> FreezeServices:
        control = MemoryControl(disposable_store(DATABASE))
        services = FreezeServices(
            guard=DisposableStoresOnly(),
            activations=MemoryActivationStore(control),
            ddl_freeze=MemoryDdlFreeze(),
        )
        return cast("FreezeServices", with_losing(services, self.losing))


DATABASE = story.proofs().execution_pack.profile.database


def command(composed: Composed, *line: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of one command."""
    app, compose = typer.Typer(), cast("Any", lambda: composed)
    add_operator_commands(app, compose)
    app.command("run")(run_command(compose))
    app.command("freeze")(freeze_command(compose))
    done = CliRunner().invoke(app, [*line, "--format=json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def read_as(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the commands find these inputs in whatever folder they are given."""

    def give(inputs: Any) -> None:
        for module in (dpone.cli.run, dpone.cli.status, dpone.cli.activation):
            monkeypatch.setattr(module, "read_folder", lambda _: inputs)

    return give


def answering(protocol: type) -> list[str]:
    """The methods of a port that have three answers."""
    return [
        name
        for name, method in vars(protocol).items()
        if effect_of(method) not in {None, EffectKind.READ}
        and "EffectResult" in str(getattr(method, "__annotations__", {}).get("return"))
    ]


NOT_IN_A_RUN = {
    # A deployment's, a continuation's, and a doubtful build's.
    ("activations", "adopt_baseline"),
    ("activations", "activate"),
    ("state", "continue_attempt"),
    ("mutation", "abandon"),
    ("publisher", "drop_scratch"),
}
SETTLED_BY_READING = {("publisher", "exchange"), ("publisher", "burn_shadow_name"), ("state", "publish")}
"""Whose doubt the run may settle itself: by the UUID map behind a burned name, and by all rows of a publication."""
BOUNDARIES = [
    (port, method)
    for port, protocol in port_protocols().items()
    for method in answering(protocol)
    if (port, method) not in NOT_IN_A_RUN
]


def run_once(day: World, folder: Path, **losing: Losing) -> tuple[int, dict[str, Any]]:
    manifest = folder / "manifest.json"
    manifest.write_text("{}")
    return command(
        Composed(day, None, losing),
        "run",
        f"--deployment={folder}",
        f"--plan={day.example.bundle.digest}",
        f"--dag-run-id={FIRST.dag_run_id}",
        f"--task-id={FIRST.task_id}",
        "--try-number=1",
        f"--pod-uid={FIRST.pod_uid}",
        f"--owner-id={FIRST.owner_id}",
        f"--project={folder}",
        f"--manifest={manifest}",
        f"--work={folder}",
    )


def status(day: World, folder: Path) -> tuple[int, dict[str, Any]]:
    return command(Composed(day, None, {}), "status", f"--deployment={folder}", "--scope=2026-08-08")


def inputs_of(day: World) -> Any:
    deployment_id = day.example.bundle.release_deployment_authority.deployment_id
    return SimpleNamespace(descriptor=SimpleNamespace(deployment_id=deployment_id))


@pytest.mark.parametrize("lands", [True, False], ids=["landed", "lost"])
@pytest.mark.parametrize(("port", "method"), BOUNDARIES)
def test_an_unknown_of_a_port_ends_the_run_in_3_and_is_neither_failed_nor_complete_in_status(
    tmp_path: Path, read_as: Any, port: str, method: str, *, lands: bool
) -> None:
    day = world()
    read_as(inputs_of(day))
    losing = Losing(getattr(day.ports, port), method, lands)
    code, told = run_once(day, tmp_path, **{port: losing})
    assert losing.lost, "the run did not come there"
    if code == 0:
        assert (port, method) in SETTLED_BY_READING
        assert told["status"] == "FULLY_COMPLETE"
        return
    assert (code, told["exit_class"]) == (3, "UNKNOWN"), told
    _, seen = status(day, tmp_path)
    (plan,) = seen["plans"]
    complete = (port, method) == ("state", "persist_summary") and lands
    assert plan["standing"] in ({"COMPLETE"} if complete else {"PLANNED", "BOUND"})


@pytest.mark.parametrize("ended", [False, True], ids=["attempt may live", "attempt ended"])
def test_an_exchange_in_doubt_is_unknown_in_the_run_and_in_status_whoever_lives(
    tmp_path: Path, read_as: Any, *, ended: bool
) -> None:
    day = world()
    read_as(inputs_of(day))

    class NeitherSettles(Losing):
        """The burn that would settle the exchange is in doubt as well."""

        def __getattr__(self, name: str) -> Any:
            if name == "burn_shadow_name":
                return lambda *_: Unknown(KILLED)
            return super().__getattr__(name)

    code, told = run_once(day, tmp_path, publisher=NeitherSettles(day.ports.publisher, "exchange"))
    assert (code, told["code"]) == (3, "DPONE_EXCHANGE_UNKNOWN")
    if ended:
        day.ports.observer.pods.add(FIRST.pod_uid)
    code, seen = status(day, tmp_path)
    (plan,) = seen["plans"]
    assert (code, seen["verdict"], plan["verdict"]) == (3, "UNKNOWN", "UNKNOWN")
    assert "COMMIT_UNKNOWN" in {each["state"] for each in plan["operations"]}


@pytest.mark.parametrize("read", ["uuid_map", "active_queries"])
def test_an_exchange_whose_map_cannot_be_read_is_unknown_and_no_failed_read(
    tmp_path: Path, read_as: Any, read: str
) -> None:
    day = world()
    read_as(inputs_of(day))

    class GoesDown(Losing):
        """Behind its EXCHANGE the server answers no such read."""

        def __getattr__(self, name: str) -> Any:
            if name == read and self.lost:
                raise DponeError("DPONE_CLICKHOUSE_UNAVAILABLE", "no answer")
            return super().__getattr__(name)

    code, told = run_once(day, tmp_path, publisher=GoesDown(day.ports.publisher, "exchange", lands=True))
    assert (code, told["code"]) == (3, "DPONE_EXCHANGE_UNKNOWN")
    assert told["evidence"]["not_read"] == "DPONE_CLICKHOUSE_UNAVAILABLE"


def test_a_publication_whose_rows_cannot_be_read_is_unknown_and_no_failed_read(
    tmp_path: Path, read_as: Any
) -> None:
    day = world()
    read_as(inputs_of(day))

    class GoesDown(Losing):
        """Behind its publication the server answers no read of the rows."""

        def __getattr__(self, name: str) -> Any:
            if name == "publication_rows" and self.lost:
                raise DponeError("DPONE_MSSQL_UNREACHABLE", "no answer")
            return super().__getattr__(name)

    code, told = run_once(day, tmp_path, state=GoesDown(day.ports.state, "publish", lands=True))
    assert (code, told["exit_class"], told["evidence"]["not_read"]) == (
        3,
        "UNKNOWN",
        "DPONE_MSSQL_UNREACHABLE",
    )


def test_a_run_that_dies_behind_its_burn_is_unknown_in_status_and_no_corruption(
    tmp_path: Path, read_as: Any
) -> None:
    day = world()
    read_as(inputs_of(day))
    burn = day.ports.publisher.burn_shadow_name

    class DiesBehindItsBurn(Losing):
        """The burn took effect, and nothing after it came about."""

        def __getattr__(self, name: str) -> Any:
            def die(*arguments: Any) -> None:
                burn(*arguments)
                raise KilledError

            return die if name == "burn_shadow_name" else super().__getattr__(name)

    dying: dict[str, Losing] = {"publisher": DiesBehindItsBurn(day.ports.publisher, "")}
    services = with_losing(services_of(day, Services), dying)
    with pytest.raises(KilledError):
        run_workflow(services, inputs_of(day).descriptor.deployment_id, day.example.bundle.digest, FIRST)
    day.ports.observer.pods.add(FIRST.pod_uid)
    code, seen = status(day, tmp_path)
    assert (code, seen["verdict"]) == (3, "UNKNOWN")
    day.run(SECOND)
    assert day.states() == [OperationState.COMPLETE] * 2


@pytest.mark.parametrize(
    ("kind", "port", "method"),
    [
        ("DBT_BUILD_TEST_GATE", "state", "admit"),
        ("CLICKHOUSE_PREPARE", "publisher", "build_shadow"),
        ("CLICKHOUSE_COMMIT", "state", "append"),
        ("DURABLE_WORKFLOW_SUMMARY", "state", "persist_summary"),
    ],
)
def test_a_task_in_airflow_ends_unknown_where_its_port_says_so(
    kind: TaskKind, port: str, method: str
) -> None:
    day = world()
    deployment_id = inputs_of(day).descriptor.deployment_id
    models = [plan.model_unique_id for plan in day.example.bundle.operation_plans]
    tasks: list[tuple[TaskKind, str | None]] = [("DBT_BUILD_TEST_GATE", None)]
    tasks += [("CLICKHOUSE_PREPARE", model) for model in models]
    tasks += [("CLICKHOUSE_COMMIT", model) for model in models]
    tasks += [("DURABLE_WORKFLOW_SUMMARY", None)]

    def work(task: TaskKind, model: str | None, **losing: Losing) -> None:
        stages = TaskStages(with_losing(services_of(day, Services), losing))
        TaskWork(task, deployment_id, (day.example.bundle.digest,), model, lambda: stages).run(FIRST)

    for task, model in tasks:
        if task == kind:
            with pytest.raises(DponeError) as lost:
                work(task, model, **{port: Losing(getattr(day.ports, port), method)})
            assert lost.value.exit_class is ExitClass.UNKNOWN
            return
        work(task, model)
    raise AssertionError("no such task")


@pytest.mark.parametrize(
    ("name", "port", "method"),
    [
        ("adopt-baseline", "frozen", "freeze"),
        ("adopt-baseline", "activations", "adopt_baseline"),
        ("activate", "frozen", "freeze"),
        ("activate", "activations", "activate"),
        ("activate", "index", "publish"),
        ("activate", "index", "promote"),
        ("advance", "frozen", "freeze"),
        ("advance", "activations", "activate"),
        ("advance", "index", "publish"),
        ("advance", "index", "promote"),
    ],
)
def test_an_unknown_of_the_deployment_stage_ends_in_3(
    tmp_path: Path, read_as: Any, name: str, port: str, method: str
) -> None:
    one = deployment()
    read_as(one.inputs)
    if name != "adopt-baseline":
        one.adopt()
    services = one.baseline if name == "adopt-baseline" else one.activation
    losing = Losing(getattr(services, port), method)
    index = (f"--index={tmp_path}", f"--dag-file={tmp_path}/dag.py", "--worker-services=platform:services")
    options = {
        "adopt-baseline": (),
        "activate": (*index, f"--day={story.SCOPE.start_text[:10]}"),
        "advance": index,
    }[name]
    line = (name, f"--deployment={tmp_path}", *options)
    code, told = command(Composed(None, one, {port: losing}), *line)
    assert losing.lost, told
    assert (code, told["exit_class"]) == (3, "UNKNOWN")
    code, told = command(Composed(None, one, {}), *line)
    assert code == 0, told


def test_an_unknown_cover_of_a_target_ends_in_3(tmp_path: Path) -> None:
    proofs, deadlines = tmp_path / "proofs.json", tmp_path / "deadlines.json"
    proofs.write_bytes(story.proofs().to_bytes())
    deadlines.write_bytes(story.deadlines().to_bytes())
    code, told = command(
        Composed(None, None, {"ddl_freeze": Losing(MemoryDdlFreeze(), "cover")}),
        "freeze",
        f"{DATABASE}.mart.price",
        f"--proofs={proofs}",
        f"--model={story.PRICE}",
        f"--deadlines={deadlines}",
        "--login-timeout=1",
    )
    assert (code, told["exit_class"]) == (3, "UNKNOWN")


def test_an_unknown_installation_of_the_control_schema_ends_in_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise DponeError("DPONE_CONTROL_SCHEMA_ABSENT", "nothing is installed")

    store = SimpleNamespace(identity=absent)
    monkeypatch.setattr(dpone.composition.operator, "activation_store", lambda _: store)
    monkeypatch.setattr(dpone_mssql.control_schema, "install", lambda *_: Unknown(KILLED))
    limits = ("--login-timeout=1", "--lock-timeout=1", "--statement-timeout=1")
    code, told = command(Composed(None, None, {}), "control-schema", "--install", *limits)
    assert (code, told["exit_class"]) == (3, "UNKNOWN")
