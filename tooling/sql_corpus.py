"""Counts both kinds of mistake over the corpus of T-SQL models: what is wrongly proven and what is wrongly refused."""

from __future__ import annotations

import argparse
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CORPUS_TEST = ROOT / "packages" / "dpone-dbt-proof" / "tests" / "test_tsql_corpus.py"


def corpus() -> Any:
    """Load the module that reads and judges the corpus, so that both say the same."""
    spec = spec_from_file_location("tsql_corpus", CORPUS_TEST)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(CORPUS_TEST)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def mistakes(module: Any) -> Iterator[tuple[str, str]]:
    """Yield (kind, what) of each model whose answer is not the expected one."""
    for model in (*module.PROVEN, *module.REFUSED, *module.UNVERIFIED):
        answer = module.answer_to(model)
        reads = tuple(str(relation) for relation in answer.reading.reads)
        found = [(reason.code.name, (reason.line, reason.column)) for reason in answer.reasons]
        expected, given = model.status.value, answer.status.value
        if given == "PROVEN" and expected != "PROVEN":
            yield "false acceptance", f"{model.name}: proven, expected {model.code}"
        elif expected == "PROVEN" and given != "PROVEN":
            yield "false refusal", f"{model.name}: {found}"
        elif expected == "PROVEN" and reads != model.reads:
            yield "wrong relations", f"{model.name}: {reads}, expected {model.reads}"
        elif given != expected or model.code not in {code for code, _ in found}:
            if expected != "PROVEN":
                yield "wrong reason", f"{model.name}: {found}, expected {model.code}"
        elif model.at is not None and found != [(model.code, model.at)]:
            yield "wrong place", f"{model.name}: {found}, expected {model.at}"


def main() -> int:
    """Print sizes, counts and every mistake; exit 1 on any but a false refusal."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    module = corpus()
    found = list(mistakes(module))
    kinds = ("false acceptance", "false refusal", "wrong relations", "wrong reason", "wrong place")
    lines = [
        f"proven {len(module.PROVEN)}, refused {len(module.REFUSED)}, unverified {len(module.UNVERIFIED)} models"
    ]
    lines += [f"{kind}: {sum(each == kind for each, _ in found)}" for kind in kinds]
    lines += [f"  {kind}: {what}" for kind, what in found]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if any(kind != "false refusal" for kind, _ in found) else 0


if __name__ == "__main__":
    sys.exit(main())
