"""Renders the verdicts of a project: text for people, JSON with a versioned schema, SARIF and CI annotations."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from dpone_dbt_proof.proof_bundle import reason_plain
from dpone_dbt_proof.reasons import Code, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpone_dbt_proof.offline_compile import BadModel
    from dpone_dbt_proof.project_proof import ProjectProof, V1Model
    from dpone_dbt_proof.proof_diff import LostProof

CHECK_SCHEMA: Final = "dpone.dbt-check.v1"
COMPILE_SCHEMA: Final = "dpone.refresh-compile.v1"
_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


class Verdicts:
    """What a command reports: every judged model, the ones that dbt could not parse among them."""

    def __init__(
        self,
        proof: ProjectProof,
        project_name: str,
        bad_models: Sequence[BadModel] = (),
        project: Path | None = None,
    ) -> None:
        self.proof = proof
        self._project = project
        self._bad = {f"model.{project_name}.{bad.name}": bad for bad in bad_models}

    @property
    def status(self) -> Status:
        """The worst status; nothing published is nothing proven."""
        statuses = [status for _, status, _, _ in self.models()]
        if not statuses and not self.proof.v1:
            return Status.UNVERIFIED
        for status in (Status.NONCONFORMANT, Status.UNVERIFIED):
            if status in statuses:
                return status
        return Status.PROVEN

    def models(self) -> list[tuple[str, Status, tuple[str, ...], tuple[Reason, ...]]]:
        """Return unique id, status, reads and reasons of each model, by unique id."""
        judged = [(model.unique_id, model.status, model.reads, model.reasons) for model in self.proof.models]
        judged += [(key, Status.UNVERIFIED, (), (_parse_reason(bad),)) for key, bad in self._bad.items()]
        return sorted(judged)

    def file(self, path: str) -> str:
        """Return a path of the project as CI names it: from where the command runs, where the project lies below."""
        here = Path.cwd()
        root = (self._project or here).resolve()
        return (root.relative_to(here) / path).as_posix() if root.is_relative_to(here) else path

    @property
    def v1(self) -> tuple[V1Model, ...]:
        """Models of V1 workflows, which these proofs don't judge."""
        return self.proof.v1


def _parse_reason(bad: BadModel) -> Reason:
    code = Code.JINJA_SYNTAX if bad.missing is None else Code.COMPILE_FAILED
    return Reason(code, bad.message, bad.path, bad.line, bad.column)


def as_json(verdicts: Verdicts, schema: str, lost: Sequence[LostProof] | None = None) -> str:
    """Return one JSON document; keys beyond the fixed ones stand only where there is something to say."""
    plain: dict[str, Any] = {
        "schema": schema,
        "verdict": verdicts.status.value,
        "models": [
            {
                "unique_id": key,
                "status": status.value,
                "reads": list(reads),
                "reasons": [reason_plain(reason) for reason in reasons],
            }
            for key, status, reads, reasons in verdicts.models()
        ],
    }
    if verdicts.v1:
        plain["v1_models"] = [
            {"unique_id": model.unique_id, "workflow": model.workflow, "selector": model.selector}
            for model in verdicts.v1
        ]
    if lost is not None:
        plain["lost"] = [
            {
                "unique_id": item.unique_id,
                "edits": list(item.edits),
                "reasons": [reason_plain(reason) for reason in item.reasons],
            }
            for item in lost
        ]
    return json.dumps(plain, indent=2, ensure_ascii=False)


def as_text(verdicts: Verdicts, lost: Sequence[LostProof] | None = None) -> str:
    """Return the verdicts for people: each reason with its place and the change that helps."""
    lines: list[str] = []
    for key, status, reads, reasons in verdicts.models():
        lines.append(f"{status.value:<14} {key}")
        if reads:
            lines.append(f"    reads {', '.join(reads)}")
        for reason in reasons:
            lines.append(f"    {place(reason)}{reason.code}: {reason.message}")
            lines.append(f"        {reason.code.remedy}")
    lines += [
        f"{'V1':<14} {model.unique_id} in workflow {model.workflow}, {model.selector}"
        for model in verdicts.v1
    ]
    for item in lost or ():
        lines.append(f"{item.unique_id} lost its proof by")
        lines += [f"    {edit}" for edit in item.edits]
    if not verdicts.models() and not verdicts.v1:
        lines.append("No model has meta.dpone.publish with enabled: true.")
    lines.append(f"Verdict: {verdicts.status.value}")
    return "\n".join(lines)


def place(reason: Reason) -> str:
    """Return `path:line:column ` as far as it is known."""
    parts = [str(part) for part in (reason.path, reason.line, reason.column) if part is not None]
    return f"{':'.join(parts)} " if reason.path else ""


def as_annotations(verdicts: Verdicts) -> str:
    """Return workflow commands that CI shows beside the changed line."""
    return "\n".join(
        f"::{_level(reason)} {_properties(verdicts, reason)}::{_escaped(f'{key}: {reason.message}. {reason.code.remedy}')}"
        for key, _, _, reasons in verdicts.models()
        for reason in reasons
    )


def _properties(verdicts: Verdicts, reason: Reason) -> str:
    file = None if reason.path is None else verdicts.file(reason.path)
    named = {"file": file, "line": reason.line, "col": reason.column, "title": str(reason.code)}
    return ",".join(f"{name}={_in_property(value)}" for name, value in named.items() if value is not None)


def _in_property(value: object) -> str:
    return _escaped(str(value)).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _level(reason: Reason) -> str:
    return "error" if reason.code.status is Status.NONCONFORMANT else "warning"


def as_sarif(verdicts: Verdicts) -> str:
    """Return SARIF 2.1.0: a rule a code, a result a reason, each with the suggested change."""
    found = [(key, reason) for key, _, _, reasons in verdicts.models() for reason in reasons]
    codes = sorted({reason.code for _, reason in found}, key=str)
    driver = {
        "name": "dpone",
        "version": version("dpone"),
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "results": list(_results(verdicts, found, codes)),
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps(
        {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False
    )


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": str(code),
        "help": {"text": code.remedy},
        "defaultConfiguration": {"level": "error" if code.status is Status.NONCONFORMANT else "warning"},
    }


def _results(
    verdicts: Verdicts, found: Iterable[tuple[str, Reason]], codes: list[Code]
) -> Iterable[dict[str, Any]]:
    for key, reason in found:
        result: dict[str, Any] = {
            "ruleId": str(reason.code),
            "ruleIndex": codes.index(reason.code),
            "level": _level(reason),
            "message": {"text": f"{key}: {reason.message}. {reason.code.remedy}"},
        }
        if reason.path is not None:
            physical: dict[str, Any] = {"artifactLocation": {"uri": quote(verdicts.file(reason.path))}}
            if reason.line is not None:
                column = {} if reason.column is None else {"startColumn": reason.column}
                physical["region"] = {"startLine": reason.line, **column}
            result["locations"] = [{"physicalLocation": physical}]
        yield result
