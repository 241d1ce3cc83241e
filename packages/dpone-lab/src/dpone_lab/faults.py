"""Faults put around ports from the outside: nothing in the product knows of them."""

from __future__ import annotations

import signal
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from dpone_contracts.effects import effect_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpone.application.services import Services


class WatchedPort:
    """A port whose calls are reported after they took effect; everything else is the port's own."""

    def __init__(self, port: Any, protocol: type, after: Callable[[str, int], None]) -> None:
        self._port = port
        self._protocol = protocol
        self._after = after
        self._calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if effect_of(getattr(self._protocol, name, None)) is None:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            self._calls[name] += 1
            self._after(name, self._calls[name])
            return result

        return call


def hold_after_exchange(services: Services, occurrence: int, tell: Callable[[], None]) -> Services:
    """Services whose n-th EXCHANGE takes effect and then never returns: the process waits to be killed.

    `tell` is called once the exchange has been applied.
    """
    from dpone_contracts.ports.publisher import PreparedPublisher  # noqa: PLC0415

    def after(method: str, count: int) -> None:
        if (method, count) == ("exchange", occurrence):
            tell()
            _wait_for_ever()

    return replace(services, publisher=WatchedPort(services.publisher, PreparedPublisher, after))


def _wait_for_ever() -> NoReturn:
    while True:
        signal.pause()
