"""What the API answers when it cannot do what was asked: RFC 9457 problem details, each with a stable code.

Decides which status and title a code has, and turns every error that factdrift raises into one. Whatever has
no row here is a fault of ours and answered as `internal`, without its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import sqlalchemy.exc
from starlette.responses import Response

from agents.claims import NoSuchClaim
from agents.read_model.errors import CODES as READ_MODEL_CODES
from state.correction_records import CORRECTION_CODES
from state.corrections import REFUSALS
from state.errors import BadInput, BadInstant, BadInterval, FactdriftError, Refused
from state.validation import CODES as INPUT_CODES
from streams.embedded.store import EmbeddedLocked

MEDIA_TYPE: Final = "application/problem+json"

OWN: Final[Mapping[str, tuple[int, str]]] = {
    "not_found": (404, "There is nothing at this address."),
    "method_not_allowed": (405, "This address does not take that method."),
    "wrong_host": (421, "The Host header names another machine; give a token to be reached by other names."),
    "unauthorised": (401, "A bearer token is needed, and none that is valid was given."),
    "too_many_requests": (429, "More requests than the rate allows."),
    "body_too_large": (413, "The body is larger than is read."),
    "body_too_slow": (408, "The body took too long to arrive."),
    "headers_too_large": (431, "The address and the headers hold more than is read."),
    "too_many_lines": (413, "One request holds more observations than are taken at once."),
    "unsupported_media_type": (415, "The body is of a kind that is not read here."),
    "bad_json": (400, "The body is not JSON."),
    "invalid_parameter": (422, "A parameter is unknown, missing, or has a value that it cannot have."),
    "nothing_accepted": (422, "No record of the request could be used."),
    "bad_interval": (422, "The two ends of a window enclose nothing."),
    "no_such_correction": (404, "No correction has this id, or it is not projected yet."),
    "no_such_cycle": (404, "No cycle of this number was closed."),
    "unknown_field": (422, "The correction has a field that its kind does not know."),
    "blank_text": (422, "There are no words to look for."),
    "too_many_streams": (503, "As many streams as allowed are being followed."),
    "overloaded": (503, "More is waiting to be written than can wait."),
    "file_in_use": (503, "Another process kept bytes of what was erased; send the same command again."),
    "log_unavailable": (503, "The log does not answer."),
    "stopping": (503, "The service is being stopped."),
    "internal": (500, "A fault of ours; the log of the service says more."),
}
"""The API's own codes: status and title."""

_STATUS_OF: Final[Mapping[str, int]] = {
    "no_such_claim": 404,
    "no_such_fact": 404,
    "unknown_target": 404,
    "already_closed": 409,
    "correction_id_taken": 409,
    "cursor_expired": 410,
    "bad_cursor": 400,
    "read_model_unreachable": 503,
    "read_model_foreign": 503,
    "read_model_newer": 503,
    "read_model_busy": 503,
    "read_model_other_log": 503,
    "read_model_unfinished": 503,
}

PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    **{
        code: (_STATUS_OF.get(code, 422), title)
        for code, title in {**INPUT_CODES, **CORRECTION_CODES, **REFUSALS, **READ_MODEL_CODES}.items()
    },
    **OWN,
}
"""Every code that an answer can carry, with its status and title."""


@dataclass(eq=False)
class Problem(Exception):
    """An answer other than the one asked for."""

    code: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return PROBLEMS[self.code][0]

    def fields(self) -> dict[str, Any]:
        """The members of the problem document. `type` leads to the list of all codes."""
        status, title = PROBLEMS[self.code]
        return {
            "type": f"/v1/problems#{self.code}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "code": self.code,
            **self.more,
        }

    def response(self) -> Response:
        """The answer."""
        return Response(
            msgspec.json.encode(self.fields()),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers=dict(self.headers),
        )


def problem_of(error: Exception) -> Problem:  # noqa: PLR0911 one line for each kind reads best
    """The problem that an error is to whoever asked."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, sqlalchemy.exc.TimeoutError):
        return Problem("read_model_busy", "Too many questions at once; ask again.", {"Retry-After": "1"})
    if isinstance(error, NoSuchClaim):
        return Problem("no_such_claim", str(error))
    if isinstance(error, BadInstant):
        return Problem("bad_instant", str(error))
    if isinstance(error, BadInterval):
        return Problem("bad_interval", str(error))
    code = getattr(error, "code", None)
    if isinstance(error, BadInput | Refused) or (isinstance(error, FactdriftError) and code in PROBLEMS):
        return Problem(str(code) if code in PROBLEMS else "invalid_parameter", str(error))
    if isinstance(error, EmbeddedLocked) or _is_of_the_log(error):
        return Problem("log_unavailable", str(error), {"Retry-After": "5"})
    return Problem("internal", "A fault of ours; the log of the service says more.")


def _is_of_the_log(error: Exception) -> bool:
    """Whether the broker, or the embedded file, is what failed: an error that says what to do."""
    return isinstance(error, FactdriftError) and type(error).__module__.startswith("streams.")
