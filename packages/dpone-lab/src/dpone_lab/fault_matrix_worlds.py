"""Worlds side by side: each plays its share of a matrix in a process and a lab of its own."""

from __future__ import annotations

import multiprocessing
import queue
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpone_contracts.errors import DponeError
from dpone_lab.demo_command import leave_on_sigterm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TOLD: Final = "told"
_GIVEN: Final = "given"
_ENDED: Final = "ended"
_FAILED: Final = "failed"
_LOOK_SECONDS: Final = 5
_STOP_SECONDS: Final = 60


@dataclass
class Pace:
    """Tells from time to time how much is done and how long the rest will take at the pace so far."""

    tell: Callable[[str], None]
    every_seconds: float = 30
    _first: tuple[int, float] | None = None
    _last: float = 0

    def done(self, played: int, wanted: int) -> None:
        """So many of the wanted ones are played now."""
        now = time.monotonic()
        if self._first is None:
            # What came before the first case was the labs' start.
            self._first = (played, now)
        since, at = self._first
        if played <= since or (now - self._last < self.every_seconds and played < wanted):
            return
        self._last = now
        left = (now - at) / (played - since) * (wanted - played)
        self.tell(f"{played} of {wanted} cases, about {left / 60:.0f} min left")


def side_by_side(
    play: Callable[..., None], parent: Path, worlds: int, tell: Callable[[str], None]
) -> Iterator[Any]:
    """Call `play(number, folder, tell, give)` in so many processes, and yield what they give as it comes.

    Raises what the first failed one ended with, after the others were ended too.
    """
    context = multiprocessing.get_context("spawn")
    heard: multiprocessing.Queue[tuple[int, str, Any]] = context.Queue()
    parent.mkdir(parents=True, exist_ok=True)
    processes = [
        context.Process(target=_one_world, args=(number, play, parent / f"world-{number + 1}", heard))
        for number in range(worlds)
    ]
    for process in processes:
        process.start()
    playing = set(range(worlds))
    try:
        while playing:
            number, what, said = _next(heard, processes, playing)
            if what == _TOLD:
                tell(f"{number + 1}: {said}")
            elif what == _GIVEN:
                yield said
            elif what == _ENDED:
                playing.remove(number)
            else:
                raise DponeError(*said)
    finally:
        _end(processes, playing)


def _next(heard: Any, processes: list[Any], playing: set[int]) -> tuple[int, str, Any]:
    """Wait for the next word of a world; one that died without a last word is told as failed."""
    while True:
        with suppress(queue.Empty):
            word: tuple[int, str, Any] = heard.get(timeout=_LOOK_SECONDS)
            return word
        for number in playing:
            if not processes[number].is_alive() and heard.empty():
                return number, _FAILED, ("DPONE_INTERNAL", f"world {number + 1} ended without a word")


def _end(processes: list[Any], playing: set[int]) -> None:
    """SIGTERM to those that still play leaves every block, their engines stop; whoever does not end is killed."""
    for number in playing:
        processes[number].terminate()
    for process in processes:
        process.join(timeout=_STOP_SECONDS)
        if process.is_alive():
            process.kill()


def _one_world(number: int, play: Callable[..., None], folder: Path, heard: Any) -> None:
    leave_on_sigterm()

    def say(what: str) -> Callable[[Any], None]:
        return lambda said: heard.put((number, what, said))

    try:
        play(number, folder, say(_TOLD), say(_GIVEN))
        say(_ENDED)(None)
    except DponeError as error:
        say(_FAILED)((error.code, error.observed, dict(error.evidence)))
    except Exception as fault:  # noqa: BLE001 - a process edge
        traceback.print_exc()
        say(_FAILED)(("DPONE_INTERNAL", f"a world ended with {type(fault).__name__}: {fault}"))
