"""Reading plain dated messages: a line each, as JSON or as text that begins with a time.

Decides what of a line is the time, the speaker and the words. Takes nothing out of the words; that is
`state.extraction`.

    {"said_at": "2023-05-08T13:56:00Z", "speaker": "Caroline", "text": "I went to a support group yesterday"}
    2023-05-08T13:56:00Z Caroline: I went to a support group yesterday
    2023-05-08 The shop closes at six
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from state.errors import BadInput, BadInstant
from state.fields import not_blank, refuse_control_characters, require, text
from state.identity import content_hash
from state.instants import Instant, parse_instant
from state.validation import fields_of

MESSAGE_BYTES_MAX: Final = 32 * 1024
SPEAKER_CHARACTERS_MAX: Final = 60

_LINE: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?)?)\s+"
    rf"(?:(?P<speaker>[^\s:][^:\n]{{0,{SPEAKER_CHARACTERS_MAX - 1}}}):\s+)?(?P<text>\S.*)",
    re.DOTALL,
)
_NAMES: Final = ("text", "speaker", "id", "document", "namespace")


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody said at an instant. `message_id` is the same whenever the same line is read.

    `document` is what the message belongs to: the one that its line names, else the message itself, so that
    all that is taken out of one message is one voice.
    """

    message_id: str
    said_at: Instant
    speaker: str | None
    text: str
    namespace: str
    document: str


def read_message(line: bytes, *, namespace: str) -> Message:
    """The message in one line. `namespace` is that of a line which names none.

    Raises BadInput with one of the dead-letter codes of observations; `not_json` for a line that is neither
    JSON nor begins with a time.
    """
    stripped = line.removeprefix(b"\xef\xbb\xbf").strip()
    if stripped.startswith(b"{"):
        return _message(fields_of(stripped, bytes_max=MESSAGE_BYTES_MAX), namespace)
    if len(stripped) > MESSAGE_BYTES_MAX:
        raise BadInput(
            "too_large", f"The line has {len(stripped)} bytes; at most {MESSAGE_BYTES_MAX} are read."
        )
    try:
        written = stripped.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not_utf8", f"Byte {error.start} of the line is not UTF-8.") from error
    found = _LINE.fullmatch(written)
    if found is None:
        raise BadInput("not_json", "The line is neither a JSON object nor a time with a text behind it.")
    said = {"said_at": found["time"].replace(" Z", "Z"), "speaker": found["speaker"], "text": found["text"]}
    return _message(said, namespace)


def _message(fields: Mapping[str, Any], namespace: str) -> Message:
    require(fields, "text", "said_at")
    words = not_blank(text(fields, "text"), "text") or ""
    speaker = not_blank(text(fields, "speaker"), "speaker")
    given_id = not_blank(text(fields, "id"), "id")
    document = not_blank(text(fields, "document"), "document")
    namespace = not_blank(text(fields, "namespace"), "namespace") or namespace
    refuse_control_characters(fields, _NAMES)
    try:
        said_at = parse_instant(fields["said_at"])
    except BadInstant as error:
        raise BadInput("bad_instant", f"said_at: {error}") from error
    message_id = given_id or f"sha-{content_hash(namespace, speaker, said_at, document, words)}"
    return Message(message_id, said_at, speaker, words, namespace, document or f"message {message_id}")
