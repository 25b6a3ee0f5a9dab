"""What can go wrong with the read model, each case with a stable code.

The codes, in order of precedence, are in `CODES`; an API answers with them, and the message is one sentence
on what happened and what the caller can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from state.errors import FactdriftError

CODES: Final[Mapping[str, str]] = {
    "read_model_unreachable": "The database does not answer, or refuses who asks.",
    "read_model_foreign": "The database holds something that is no read model of factdrift.",
    "read_model_newer": "A newer release wrote the read model.",
    "read_model_busy": "Another process held the read model for longer than a batch can take.",
    "read_model_other_log": "The read model holds another log than the one that is to be applied.",
    "read_model_unfinished": "A rebuild was interrupted; following on would leave a gap.",
    "bad_limit": "A page holds 1 to 1,000 items.",
    "bad_cursor": "The cursor does not come from this question.",
    "cursor_expired": "The read model was rebuilt since the cursor was given out.",
    "no_such_claim": "No claim has this id.",
    "no_such_fact": "No fact has this id, or none was known by then.",
    "too_much_evidence": "The claim has more evidence than one answer about the past may fold.",
}
"""Every code with its meaning, in order of precedence."""


class ReadModelError(FactdriftError):
    """A question or a database that the read model cannot serve. `code` is one of `CODES`."""

    def __init__(self, code: str, message: str) -> None:
        assert code in CODES
        super().__init__(message)
        self.code = code
        self.message = message
