"""The platform's policy file: publish profiles, the read budget, and functions that it admits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import yaml
from pydantic import Field, ValidationError

from dpone_contracts.document import Part
from dpone_contracts.scalars import Positive  # noqa: TC001  # pydantic reads the annotation
from dpone_dbt_proof.mutation_closure import PlatformProfiles
from dpone_dbt_proof.read_dependencies import ReadBudget
from dpone_dbt_proof.tsql_policy import NONDETERMINISTIC, TsqlPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping


class PolicyError(Exception):
    """The file is no platform policy; the message names the field."""


class _Budget(Part):
    max_depth: Positive
    max_nodes: Positive
    max_edges: Positive
    max_definition_bytes: Positive


class PlatformPolicy(Part):
    """Closed; limits have no defaults. `profiles` maps each publish profile to the runtime that serves it."""

    schema_id: Literal["dpone.platform-policy.v1"] = Field(alias="schema")
    profiles: dict[str, Literal["v1", "v2"]]
    read_budget: _Budget
    admitted_functions: tuple[str, ...] = Field(default=(), strict=False)

    @property
    def offered(self) -> PlatformProfiles:
        """The publish profiles."""
        return PlatformProfiles(dict(self.profiles))

    @property
    def budget(self) -> ReadBudget:
        """The limits of the read closure."""
        return ReadBudget(**self.read_budget.model_dump())

    @property
    def tsql(self) -> TsqlPolicy:
        """The T-SQL policy with the platform's own admissions."""
        return TsqlPolicy(frozenset(name.upper() for name in self.admitted_functions))


def load_policy(data: bytes) -> PlatformPolicy:
    """Read a policy from YAML or JSON; raises `PolicyError`."""
    try:
        plain: Mapping[str, object] = yaml.safe_load(data)
        policy = PlatformPolicy.model_validate(plain)
        _ = policy.budget
    except yaml.YAMLError:
        raise PolicyError("the file is not YAML") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise PolicyError(f"{where}: {first['msg']}" if where else "the file holds no settings") from None
    except ValueError as error:
        raise PolicyError(f"read_budget: {error}") from None
    unknown = sorted(name for name in policy.tsql.admitted_functions if name not in NONDETERMINISTIC)
    if unknown:
        raise PolicyError(f"admitted_functions: {unknown[0]} is not a function that can be admitted")
    return policy
