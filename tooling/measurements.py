"""Where benches keep their figures: comparisons in test_artifacts/bench.json, a bench's own steps in a file of its name."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "test_artifacts"
COMPARISONS = FOLDER / "bench.json"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One step in both forms, in one run: seconds, added peak megabytes, rows; `ratio` is baseline over ours."""

    name: str
    ours_s: float
    baseline_s: float
    ratio: float
    ours_mb: float
    baseline_mb: float
    rows: int

    @classmethod
    def of(cls, name: str, ours: tuple[float, float], baseline: tuple[float, float], rows: int) -> Comparison:
        """Compare (seconds, megabytes) of both forms."""
        return cls(
            name,
            round(ours[0], 4),
            round(baseline[0], 4),
            round(baseline[0] / ours[0], 3),
            round(ours[1], 1),
            round(baseline[1], 1),
            rows,
        )

    def line(self) -> str:
        """The comparison for a person."""
        return (
            f"{self.name:30} {self.ours_s:8.3f} s  baseline {self.baseline_s:8.3f} s  ratio {self.ratio:7.2f}"
            f"  {self.ours_mb:8.1f} MB  baseline {self.baseline_mb:8.1f} MB  {self.rows} rows"
        )


def keep(found: list[Comparison]) -> None:
    """Print comparisons, and put them into bench.json in place of earlier ones of the same names."""
    names = {each.name for each in found}
    there = json.loads(COMPARISONS.read_text())["results"] if COMPARISONS.exists() else []
    rows = [row for row in there if row["name"] not in names] + [asdict(each) for each in found]
    _write(COMPARISONS, {"results": rows})
    for each in found:
        print(each.line())


def keep_steps(name: str, figures: dict[str, Any]) -> None:
    """Put figures that are compared with nothing into a file of the bench's own name."""
    _write(FOLDER / f"{name}.json", figures)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
