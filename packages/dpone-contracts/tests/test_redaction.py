"""A canary value inside `Redacted` is looked for wherever text is made."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback

import pytest
from pydantic import BaseModel

from dpone_contracts.effects import Reason
from dpone_contracts.errors import DponeError
from dpone_contracts.redaction import Redacted, without_literals

CANARY = "canary-4711"


class Report(BaseModel):
    value: str


def test_no_rendering_shows_the_value(caplog: pytest.LogCaptureFixture) -> None:
    value = Redacted(CANARY)
    logging.getLogger("dpone").error("saw %s and %r", value, value)
    error = DponeError("DPONE_INTERNAL", f"saw {value}", {"value": value})
    rendered = [
        str(value),
        repr(value),
        f"{value}",
        f"{value!r:>20}",
        "%s" % value,  # noqa: UP031
        CANARY.replace(CANARY, value),
        json.dumps({"value": value, "nested": [value]}),
        Report(value=value).model_dump_json(),
        repr(Report(value=value)),
        repr([value]),
        repr(Reason("DPONE_INTERNAL", value)),
        "".join(traceback.format_exception(error)),
        json.dumps(error.diagnostics()),
        caplog.text,
        repr(dir(value)),
    ]
    assert not [text for text in rendered if CANARY in text]
    assert value.reveal() == CANARY


@pytest.mark.parametrize("leak", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_redacted_value_does_not_travel(leak: object) -> None:
    assert callable(leak)
    with pytest.raises(TypeError):
        leak(Redacted(CANARY))


@pytest.mark.parametrize(
    "message",
    [
        "Violation of PRIMARY KEY constraint 'PK_x'. The duplicate key value is (canary-4711, 2013-01-31).",
        "Conversion failed when converting the varchar value 'canary''-4711' to data type int.",
        'Cannot parse canary "canary-4711": 4711 at 0xCAFE4711',
    ],
)
def test_engine_messages_lose_their_literals(message: str) -> None:
    assert "4711" not in without_literals(message)
