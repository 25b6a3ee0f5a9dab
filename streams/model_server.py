"""What clients of servers of models share: which refusals may pass, and what of a server's words is told.

Sends nothing and tries nothing again; `streams.vectors.endpoint` and `streams.language_client` do.
"""

from __future__ import annotations

from typing import Final

REASON_MAX: Final = 200  # characters of a server's own words that reach a log
MAY_PASS: Final = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
"""Statuses after which the same request may be answered."""


def said(text: str, api_key: str | None) -> str:
    """A server's own words as they may reach a log: short, printable, and without the key."""
    shown = "".join(c if c.isprintable() else " " for c in text)[: 4 * REASON_MAX]
    if api_key:
        shown = shown.replace(api_key, "…")  # some servers repeat the key they refuse
    return shown[:REASON_MAX]


def wait_s(retry_after: str | None) -> float:
    """The seconds that a server asks to be left alone; 0 where it names none."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else 0.0


def advice(status: int, settings: str) -> str:
    """What to look at after a refusal, by the prefix of the settings, as another sentence; "" for none."""
    if status in (401, 403):
        return f" Check {settings}_API_KEY."
    return f" Check {settings}_URL and {settings}_MODEL." if status == 404 else ""
