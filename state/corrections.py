"""The decisions and erasures that a person can send: typed, validated, each with a reason.

Says what each correction carries and which codes refuse one. Reads no bytes (`state.correction_records`)
and decides nothing about a claim: the fold (DESIGN 4.11) and the assertions (`state.decisions`) both take
these records as they are. A retract is older than this and lives in `state.observations`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from state.identity import ClaimId
from state.instants import Instant
from state.statements import Spelling

LINK_KINDS: Final = ("confirms", "contradicts", "refines")
"""What an explicit link can say. `supersedes` and `invalidates` close something: they are commands."""

SCOPES: Final = ("observation", "source", "subject")

REFUSALS: Final[Mapping[str, str]] = {
    "correction_id_taken": "Another correction of the claim has this id and other content.",
    "unknown_target": "The claim holds nothing that the target names, by id, by observation or by value.",
    "self_link": "Both ends of the link are the same assertion.",
    "already_closed": "The target has been superseded or invalidated by then.",
}
"""Every code of a correction that is refused by the state of its claim, in order of precedence.

What needs no state to be refused (`blank_reason`, `link_kind_supersedes`, …) is a dead letter and never
comes this far; `self_link` is both, as two names may turn out to mean one assertion.
"""


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a correction speaks about.

    `id` is that of the fact or assertion as the decider saw it. Ids of facts are derived and can shift
    when late evidence comes, so a careful sender adds the value (`form`, the key of the typed object), an
    instant inside and some supporting observations; they say what is meant where the id is known no more.
    At least one of `id`, `form` and `observation_ids` is there.
    """

    id: str | None = None
    form: str | None = None
    at: Instant | None = None
    observation_ids: tuple[str, ...] = ()


class _Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all decisions carry.

    `claim`, `subject` and `predicate` are normal forms. `decided_at` is when it was decided, None where
    the sender left it out: then after everything that it speaks about. `content_hash` is over what the
    sender wrote, so a command that is sent again is recognised whatever its time.
    """

    correction_id: str
    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    reason: str
    recorded_at: Instant
    decided_at: Instant | None
    content_hash: str
    confidence: float = 1.0


class Supersede(_Decision, frozen=True, kw_only=True, omit_defaults=True, tag="supersede"):
    """Closes the target at `valid_at` and opens the replacement there (DESIGN 6).

    `form` and `spelling` are the replacement's; both empty for a replacement without object.
    """

    target: Target
    form: str
    spelling: Spelling | None
    valid_at: Instant
    granularity: str


class Invalidate(_Decision, frozen=True, kw_only=True, omit_defaults=True, tag="invalidate"):
    """Closes the target at `valid_at`; nothing takes its place."""

    target: Target
    valid_at: Instant
    granularity: str


class Relate(_Decision, frozen=True, kw_only=True, omit_defaults=True, tag="link"):
    """Says how two assertions of one claim relate: `kind` is one of `LINK_KINDS`. Closes nothing."""

    kind: str
    source: Target
    target: Target


class Forget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="forget"):
    """Erase what an observation, a source or a subject said, wherever it is held (DESIGN 4.10).

    `scope` is one of `SCOPES`. An observation and a subject lie under `namespace` and `subject` (normal
    form); a source has said things about many subjects, so `subject` may be None there.
    """

    correction_id: str
    scope: str
    namespace: str
    subject: str | None
    reason: str
    recorded_at: Instant
    content_hash: str
    observation_id: str | None = None
    source: str | None = None


Decision = Supersede | Invalidate | Relate
Correction = Decision | Forget


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that was not applied. `code` is one of `REFUSALS`; the message says what to do instead."""

    correction_id: str
    claim: ClaimId
    code: str
    message: str
    recorded_at: Instant
