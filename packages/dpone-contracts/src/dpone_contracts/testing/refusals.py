"""Expecting an error with a code, without a test framework."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpone_contracts.errors import DponeError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refused(code: str) -> Iterator[None]:
    """Pass when the block ends in a `DponeError` of this code, and fail otherwise."""
    seen = "no error"
    try:
        yield
    except DponeError as error:
        seen = error.code
    assert seen == code, f"{seen} where {code} is due"
