"""Plans remembered for statements that come again: same parsed statement, same variable types, unchanged catalog."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from dpone_lab.sqlserver.language.translate import translate

if TYPE_CHECKING:
    from dpone_lab.sqlserver.language.translate import Translatable
    from dpone_lab.sqlserver.language.translation import Scope, Translation
    from dpone_lab.sqlserver.language.types import SqlType

_MOST_PLANS = 256


class PlanCache:
    """The plans of one session, keyed by the statement's node itself: equal texts are parsed to the same nodes."""

    def __init__(self) -> None:
        self._plans: OrderedDict[int, tuple[Translatable, object, dict[str, SqlType], Translation]] = (
            OrderedDict()
        )

    def translate(self, node: Translatable, scope: Scope) -> Translation:
        """Return ``language.translate.translate(node, scope)``, remembered while the catalog's version stands."""
        version, types = scope.catalog.version, dict(scope.variables)
        known = self._plans.get(id(node))
        if known is not None and known[0] is node and known[1] == version and known[2] == types:
            self._plans.move_to_end(id(node))
            return known[3]
        plan = translate(node, scope)
        self._plans[id(node)] = (node, version, types, plan)
        if len(self._plans) > _MOST_PLANS:
            self._plans.popitem(last=False)
        return plan
