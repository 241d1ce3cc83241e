"""The machine's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """UTC time of this machine, to the microsecond."""

    def now(self) -> str:
        """Now as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def wait(self, milliseconds: int) -> None:
        """Sleep."""
        time.sleep(milliseconds / 1000)
