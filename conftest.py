"""Settings of every test run: generated examples are not timed on shared machines."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("dpone", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dpone")
