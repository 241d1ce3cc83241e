"""Validates the SARIF that `dpone dbt check` writes against the schema of SARIF 2.1.0, which an npm package ships.

Without npm or its registry the answer is UNVERIFIED, exit 4.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator  # type: ignore[import-untyped]  # it ships no types

from dpone.cli.proof_reports import Verdicts, as_sarif
from dpone_dbt_proof.manifest import load_manifest
from dpone_dbt_proof.offline_compile import BadModel
from dpone_dbt_proof.project_proof import prove_project

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
BAD = BadModel("broken", "models/ä b.sql", 3, 7, "unknown tag 'x'")


def schema() -> dict[str, Any] | None:
    """Fetch the schema with the npm client; None where that can't be done."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    with tempfile.TemporaryDirectory() as work:
        packed = subprocess.run(
            [npm, "pack", "--silent", PACKAGE], cwd=work, capture_output=True, check=False
        )
        if packed.returncode != 0:
            return None
        with tarfile.open(next(Path(work).glob("*.tgz"))) as package:
            member = package.extractfile(MEMBER)
            return None if member is None else dict(json.load(member))


def main() -> int:
    """Judge a manifest's report, or one with a broken model alone."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path, help="a manifest.json with published models")
    manifest = load_manifest(parser.parse_args().manifest)
    wanted = schema()
    if wanted is None:
        sys.stderr.write(f"UNVERIFIED: npm gave no {PACKAGE}\n")
        return 4
    report = json.loads(as_sarif(Verdicts(prove_project(manifest), manifest.project_name, [BAD])))
    faults = [f"{list(fault.path)}: {fault.message}" for fault in Draft4Validator(wanted).iter_errors(report)]
    results = len(report["runs"][0]["results"])
    sys.stdout.write("\n".join([f"{results} results, {len(faults)} faults", *faults]) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
