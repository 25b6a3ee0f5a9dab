"""What a wish to forget leaves in the log: who clears up after it, and what stands for erased words.

Decides nothing. The wish is `state.corrections.Forget`; what it does to a claim is `state.sweeping` and
`state.claim`. Both records stand in the internal topic, so a replay does the same.
"""

from __future__ import annotations

import msgspec

from state.corrections import Forget
from state.identity import derive


class Sweep(msgspec.Struct, frozen=True, kw_only=True, tag="sweep", omit_defaults=True):
    """Follows each `Forget` in the log: what it left behind for the case of a crash is deleted now.

    Every table holds the forget by then, so nothing that is stored needs the older pieces any more.
    `subject` is None where a source was forgotten whatever it spoke about.
    """

    namespace: str
    subject: str | None = None


class Redacted(msgspec.Struct, frozen=True, kw_only=True, tag="redacted", omit_defaults=True):
    """Stands in a log that can be rewritten where the words of something forgotten stood.

    `digest` says what it was to whoever knows the words, and tells nobody else. The other three are there
    where the observation stays taken back for ever (all scopes but `subject`).
    """

    digest: str
    namespace: str | None = None
    subject: str | None = None
    observation_id: str | None = None


def sweep_of(forget: Forget) -> Sweep:
    """The record that clears up after a forget."""
    return Sweep(namespace=forget.namespace, subject=forget.subject)


def digest_of(namespace: str, subject: str, observation_id: str) -> str:
    """What is left of an observation: a hash over where it was said and its id."""
    return derive("redacted", namespace, subject, observation_id)
