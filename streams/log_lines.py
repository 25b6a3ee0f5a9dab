"""What becomes of a line of the log before it is written: no secret, no character that could forge a line.

Names of subjects, sentences of servers and whatever else comes from outside ends up in logs. Characters that
cannot be seen, or that turn the direction of a line, are written as escapes; a line is one line. Knows no
stream and no level.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

HIDDEN: Final = "***"
TEXT_MAX: Final = 16_384  # characters of one value; a traceback is shorter, a hostile name may be longer
SECRET_MIN: Final = 4  # characters; anything shorter would be found in every line

_FIRST: Final = ("timestamp", "level", "logger", "service", "instance", "event")
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*(?=@)")
_BEARER: Final = re.compile(r"(?i)(\bbearer\s+|\bwhsec_)[\w.~+/=-]+")
_NAMES: Final = re.compile(r"(?i)password|passwd|secret|token|api_?key|authorization")
_SPOKEN: Final = re.compile(r"[^\s\"'=\\]+")

Line = MutableMapping[str, Any]


def printable(text: str) -> str:
    """The text with an escape for every character that cannot be seen; spaces of any kind stay."""
    if text.isprintable():
        return text
    return "".join(one if _is_seen(one) else _escape(one) for one in text)


def _is_seen(one: str) -> bool:
    return one.isprintable() or unicodedata.category(one) == "Zs"


def _escape(one: str) -> str:
    """As JSON writes it, so that it may stand in a JSON string as well."""
    units = one.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


# -- secrets --------------------------------------------------------------------------------


def secrets_of(settings: BaseModel) -> list[str]:
    """Every secret that settings hold, the longest first; of an address only its password."""
    return sorted({one for one in _secrets(settings) if len(one) >= SECRET_MIN}, key=len, reverse=True)


def _secrets(settings: BaseModel) -> Iterator[str]:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            yield from _secrets(value)
        elif isinstance(value, SecretStr):
            yield from _parts(value.get_secret_value())


def _parts(secret: str) -> Iterator[str]:
    if "://" not in secret:
        yield from (part.strip() for part in secret.split(","))  # several tokens are one setting
        return
    try:
        password = urlsplit(secret).password
    except ValueError:
        return
    if password is not None:
        yield from (password, unquote(password))


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets, nor anything that is one by its form."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _BEARER.sub(rf"\1{HIDDEN}", _USER_INFO.sub(HIDDEN, text))


def scrubbed(line: Line, secrets: Iterable[str]) -> Line:
    """A line whose values are short enough and hold no secret; numbers stay numbers."""
    found: Line = {}
    for name, value in line.items():
        if name.startswith("_"):
            found[name] = value
        elif value is not None and name != "event" and _NAMES.search(name):
            found[name] = HIDDEN
        elif value is None or isinstance(value, bool | int | float):
            found[name] = value
        else:
            found[name] = hidden(_shortened(value if isinstance(value, str) else _text(value)), secrets)
    return found


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}… ({len(text) - TEXT_MAX:,} more)"


# -- lines ----------------------------------------------------------------------------------


def as_json(line: Mapping[str, Any]) -> str:
    """One JSON object on one line, what every line has in front."""
    ordered = {name: line[name] for name in _FIRST if name in line} | dict(line)
    return printable(json.dumps(ordered, ensure_ascii=False, separators=(",", ":"), default=str))


def as_text(line: Mapping[str, Any]) -> str:
    """One line for a person; a traceback follows below it, set in."""
    rest = [
        f"{name}={_shown(value)}"
        for name, value in line.items()
        if name not in _FIRST and name != "exception"
    ]
    head = f"{line.get('timestamp', '')} {str(line.get('level', '')).upper()} {line.get('logger', '')}:"
    first = printable(" ".join([head, str(line.get("event", "")), *rest]))
    below = [f"    {printable(one)}" for one in str(line.get("exception") or "").splitlines()]
    return "\n".join([first, *below])


def _shown(value: object) -> str:
    if isinstance(value, str) and not _SPOKEN.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
