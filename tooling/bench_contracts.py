"""Print what the contracts cost as ratios within one run: import, and loading with checks and digests."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SLICE = 100
PLAN = "operation-plan.normal-day1-competitor-price-event.json"
VECTORS = Path(__file__).parents[1] / "packages/dpone-contracts/tests/vectors/published-0.74/valid"


def import_seconds(statement: str, rounds: int) -> float:
    """Return the best time of a statement in fresh interpreters, the interpreter's own start taken off."""
    code = f"import time; began = time.process_time(); {statement}; print(time.process_time() - began)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(rounds)
    ]
    return min(runs)


def seconds(work: Callable[[list[bytes]], None], stored: list[bytes]) -> float:
    """Return the processor time of a call: what others do on the machine does not count."""
    began = time.process_time()
    work(stored)
    return time.process_time() - began


def main() -> None:
    """Measure and print; exit code 1 when a ratio is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000, help="operation plans to load")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, the best one counts")
    options = parser.parse_args()

    from dpone_contracts.plans import OperationPlan  # noqa: PLC0415 - imports are what is measured first

    base = json.loads((VECTORS / PLAN).read_bytes())
    fields = {
        name: value
        for name, value in base.items()
        if name not in ("schema", "operation_id", "operation_plan_sha256")
    }
    plans = [
        OperationPlan.build(**{**fields, "owner_generation": generation + 1}).to_bytes()
        for generation in range(options.plans)
    ]

    def straightforward(stored: list[bytes]) -> None:
        for data in stored:
            text = json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"))
            sha256(text.encode()).hexdigest()

    def contracts(stored: list[bytes]) -> None:
        for data in stored:
            OperationPlan.from_bytes(data)

    # Both sides of a slice stand under the same load of the machine; the best round of each counts.
    ours = plain = 0.0
    for begin in range(0, len(plans), SLICE):
        stored = plans[begin : begin + SLICE]
        rounds = [
            (seconds(contracts, stored), seconds(straightforward, stored)) for _ in range(options.rounds)
        ]
        ours += min(of_ours for of_ours, _ in rounds)
        plain += min(of_plain for _, of_plain in rounds)
    loading = ours / plain
    pydantic = import_seconds("from pydantic import BaseModel", 5)
    importing = import_seconds("import dpone_contracts", 5) / pydantic
    modules = "import dpone_contracts.plans, dpone_contracts.bindings, dpone_contracts.receipts, dpone_contracts.projection"
    everything = import_seconds(modules, 5) / pydantic
    print(f"import dpone_contracts / import pydantic: {importing:.2f} (bound 2)")
    print(f"import all document modules / import pydantic: {everything:.2f} (bound 2)")
    print(f"load {options.plans} plans / loads + dumps + sha256: {loading:.2f} (bound 4)")
    sys.exit(int(importing > 2 or loading > 4))


if __name__ == "__main__":
    main()
