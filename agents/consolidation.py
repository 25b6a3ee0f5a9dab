"""Consolidation: from validated batches to facts, one table write per touched claim.

One internal record is one batch for one partition. What it does to each claim is `state.claim`; this
module reads and writes the tables, and turns changes into events.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import msgspec
import structlog

from agents import forgetting
from agents.deciding import decide, origin_of
from agents.following import Folded, Follower, Lost, Touched
from agents.forgetting import FORGOTTEN_TABLE
from agents.refined_once import is_elsewhere
from agents.traces import Traces
from agents.trust_snapshots import Trusting
from state import stored_claim as claims
from state.arriving import Duplicate
from state.claim import LiveClaim, Outcome
from state.corrections import Forget, Invalidate, Relate, Supersede
from state.cycles import Clock, Tick
from state.episodes import Reason
from state.facts import Fact
from state.forgotten import Redacted, Sweep
from state.identity import ID_BYTES, ClaimId
from state.observations import Observation, Recluster, Retract
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.similarity import Vectors, VectorsUnavailable
from state.statements import Statement
from state.stored_claim import Claim
from state.sweeping import prefix_of
from state.triples import as_given
from streams.codec import Batch, Entry, decode_batch
from streams.host import Agent, Effects, Output, Record, State, Tables, Write
from streams.keys import key, subject_key
from streams.topics import Topic
from streams.wire import dead_letter, fact_event, fact_fields, observation_fields, to_json

log = structlog.get_logger()

CLAIMS_TABLE: Final = "claims"
PIECES_TABLE: Final = "claim-pieces"
SUBJECTS_TABLE: Final = "subjects"
CLOCK_TABLE: Final = "cycles"
CLOCK_KEY: Final = b"clock"


class Subject(msgspec.Struct, array_like=True):
    """What is kept of a subject: its claims, and the ids retracted from it."""

    claims: list[ClaimId] = []
    retracted: list[str] = []


class Arrivals(msgspec.Struct):
    """What one batch brings for one claim. `forgets` are the ids whose words go, where any may be here.

    `decisions` come each with the statements before it.
    """

    about: tuple[str, str, str] | None = None
    statements: list[Statement] = []
    entries: dict[str, Entry] = {}
    retracted: list[str] = []
    recluster: bool = False
    forgets: frozenset[str] | None = None
    decisions: list[tuple[Supersede | Invalidate, Sequence[Statement]]] = []


_encode_subject: Final = msgspec.msgpack.Encoder().encode
_decode_subject: Final = msgspec.msgpack.Decoder(Subject).decode
_encode_clock: Final = msgspec.msgpack.Encoder().encode
_decode_clock: Final = msgspec.msgpack.Decoder(Clock).decode


LIVE_MAX: Final = 10_000  # claims kept in use between batches


class LiveClaims:
    """Claims kept in use between batches, so that a busy one is not read anew for each.

    A claim is used again only if what is stored is byte for byte what it stored last: whatever else may
    have happened to the store (a rolled-back batch, another process), it is then read again. A new claim is
    read once before it is kept: most are never spoken of again, and to hold thousands of those costs more, in
    memory and in the collector's passes over it, than to read the others once.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[bytes, tuple[bytes, LiveClaim]] = OrderedDict()

    def get(self, table_key: bytes, stored: bytes) -> LiveClaim | None:
        """The live claim that stored exactly this, or None."""
        held = self._held.pop(table_key, None)
        return held[1] if held is not None and held[0] == stored else None

    def keep(self, table_key: bytes, stored: bytes, live: LiveClaim) -> None:
        """Keep a claim that stored this, unless it is new; the one used longest ago makes room."""
        if live.is_new:
            return
        self._held[table_key] = (stored, live)
        if len(self._held) > LIVE_MAX:
            self._held.popitem(last=False)

    def drop(self, table_key: bytes) -> None:
        """Keep a claim no longer."""
        self._held.pop(table_key, None)


def consolidation(
    *,
    predicate_of: Callable[[str], Predicate],
    policy: Policy,
    vectors: Vectors | None = None,
    trusting: Trusting | None = None,
    followers: Sequence[Follower] = (),
    early: Sequence[str] = (),
) -> Agent:
    """The consolidation agent, with the registry of predicates and the policy that it folds by.

    `vectors` say which texts mean the same; without them only equal normal forms do. `trusting` says what the
    votes of sources weigh where values never change; without it all weigh the same. `followers` take in
    each record after its facts are folded, in their order; `early` are those of their tables that are
    durable before all others.
    """
    held = LiveClaims()
    traces = Traces()

    def apply(state: State, records: Sequence[Record]) -> Effects:
        effects = Effects()
        tables = _Overlay(state, held, predicate_of, policy, vectors, trusting)
        for record in records:
            folded = _consolidate(tables, record)
            for follower in followers:
                found = follower.follow(tables.kept, folded)
                folded = replace(folded, outputs=[*folded.outputs, *found]) if found else folded
            effects.outputs.extend(traces.stamped(folded))
            effects.reclaim = effects.reclaim or folded.reclaims
            if folded.moved != folded.clock:
                tables.kept.put(CLOCK_TABLE, CLOCK_KEY, _encode_clock(folded.moved))
        effects.writes.extend(tables.writes())
        return effects

    kept = [table for follower in followers for table in follower.tables if table not in early]
    between = (SUBJECTS_TABLE, PIECES_TABLE, *dict.fromkeys(kept))
    stages = ((FORGOTTEN_TABLE, *early), between, (CLAIMS_TABLE, CLOCK_TABLE))
    return Agent("consolidation", (Topic.BY_CLAIM,), tuple(stage for stage in stages if stage), apply)


def clock_of(tables: Tables) -> Clock:
    """The newest tick that the partition has read."""
    stored = tables.get(CLOCK_TABLE, CLOCK_KEY)
    return Clock() if stored is None else _decode_clock(stored)


def _moved(clock: Clock, batch: Batch) -> Clock:
    """The clock after a batch; a tick that was sent again moves nothing."""
    for entry in batch.entries:
        if isinstance(entry.usable, Tick):
            clock = clock.after(entry.usable)
    return clock


class _Overlay:
    """The tables as they are after the records handled so far in this call."""

    def __init__(
        self,
        state: State,
        held: LiveClaims,
        predicate_of: Callable[[str], Predicate],
        policy: Policy,
        vectors: Vectors | None,
        trusting: Trusting | None = None,
    ) -> None:
        self._state = state
        self.kept = Tables(state)
        self._held = held
        self.predicate_of = predicate_of
        self.policy = policy
        self.vectors = vectors
        self.trusting = trusting
        self.claims: dict[bytes, LiveClaim | None] = {}
        # Not a method: claims in use hold the shelf, and would then hold each other through this overlay.
        self._begun = begun = set[bytes]()
        self.shelf = Shelf(lambda at: None if at[:ID_BYTES] in begun else state.get(PIECES_TABLE, at))
        self.subjects: dict[bytes, Subject] = {}
        self.dirty_claims: set[bytes] = set()
        self.dirty_subjects: set[bytes] = set()
        self._gone_claims: set[bytes] = set()
        self._gone_subjects: set[bytes] = set()

    def applied(self, table: str, table_key: bytes, record: Record) -> bool:
        return self._state.applied(table, table_key, record)

    def claim(self, claim: ClaimId) -> tuple[bytes, LiveClaim | None]:
        table_key = claim.encode("ascii")
        if table_key not in self.claims:
            stored = self._state.get(CLAIMS_TABLE, table_key)
            live = None
            if stored is None:  # then no piece is there that the claim has pointed to, and none is asked for
                self._begun.add(table_key)
            else:
                live = self._held.get(table_key, stored) or self._read(stored)
            self.claims[table_key] = live
        return table_key, self.claims[table_key]

    def _read(self, stored: bytes) -> LiveClaim | None:
        claim = claims.decode(stored)
        return None if claims.is_emptied(claim) else self.live(claim)

    def live(self, claim: Claim) -> LiveClaim:
        model = None if self.vectors is None else self.vectors.model
        predicate = self.predicate_of(claim.predicate)
        return LiveClaim(claim, predicate=predicate, policy=self.policy, model=model)

    def subject(self, namespace: str, subject: str) -> tuple[bytes, Subject]:
        table_key = subject_key(namespace, subject)
        if table_key not in self.subjects:
            stored = self._state.get(SUBJECTS_TABLE, table_key)
            self.subjects[table_key] = Subject() if stored is None else _decode_subject(stored)
        return table_key, self.subjects[table_key]

    def claims_of(self, namespace: str, subject: str) -> list[ClaimId]:
        """The claims of a subject."""
        return list(self.subject(namespace, subject)[1].claims)

    def stored_claims(self) -> Iterator[Claim]:
        """All claims of the partition: the long way."""
        for table_key, stored in self._state.scan(CLAIMS_TABLE, b""):
            if table_key not in self.claims and not claims.is_emptied(claim := claims.decode(stored)):
                yield claim
        yield from [live.claim for live in self.claims.values() if live is not None]

    def piece_keys(self, claim: ClaimId) -> list[bytes]:
        """The keys of all pieces of a claim, in order."""
        prefix = prefix_of(claim)
        changes = self.shelf.changes
        found = {piece for piece, _ in self._state.scan(PIECES_TABLE, prefix) if piece not in changes}
        found |= {p for p, value in changes.items() if value is not None and p.startswith(prefix)}
        return sorted(found)

    def keep_claim(self, claim: ClaimId) -> None:
        """Store a claim that was changed."""
        self.dirty_claims.add(claim.encode("ascii"))

    def drop_claim(self, claim: ClaimId) -> None:
        """Empty a claim. One that is begun anew in the same call is stored all the same."""
        table_key = claim.encode("ascii")
        self.claims[table_key] = None
        self.dirty_claims.discard(table_key)
        self._gone_claims.add(table_key)
        self._held.drop(table_key)

    def drop_subject(self, namespace: str, subject: str, record: Record) -> None:
        """Delete the row of a subject, unless a later record has begun it anew."""
        table_key = subject_key(namespace, subject)
        if not self.applied(SUBJECTS_TABLE, table_key, record):
            self.subjects[table_key] = Subject()
            self.dirty_subjects.discard(table_key)
            self._gone_subjects.add(table_key)

    def facts(self, namespace: str, subject: str) -> Iterator[tuple[Claim, Fact]]:
        """The open facts of a subject, each with its claim."""
        for claim_id in self.subject(namespace, subject)[1].claims:
            live = self.claim(claim_id)[1]
            if live is not None:
                yield from ((live.claim, fact) for fact in live.open_facts(self.shelf))

    def evidence(self, claim: ClaimId) -> list[Statement]:
        """All statements of a claim that was touched, those of the record among them."""
        live = self.claim(claim)[1]
        return [] if live is None else live.evidence(self.shelf)

    def writes(self) -> list[Write]:
        found = [
            Write(SUBJECTS_TABLE, table_key, _encode_subject(self.subjects[table_key]))
            for table_key in sorted(self.dirty_subjects)
        ]
        found += [Write(PIECES_TABLE, piece, value) for piece, value in sorted(self.shelf.changes.items())]
        for table_key in sorted(self.dirty_claims):
            live = self.claims[table_key]
            assert live is not None
            stored = claims.encode(live.claim)
            self._held.keep(table_key, stored, live)
            found.append(Write(CLAIMS_TABLE, table_key, stored))
        for gone in sorted(self._gone_claims - self.dirty_claims):
            emptied = claims.emptied(ClaimId(gone.decode("ascii")))
            found.append(Write(CLAIMS_TABLE, gone, claims.encode(emptied)))
        gone_subjects = self._gone_subjects - self.dirty_subjects
        found += [Write(SUBJECTS_TABLE, gone, None) for gone in sorted(gone_subjects)]
        return found + self.kept.writes()


def _consolidate(tables: _Overlay, record: Record) -> Folded:
    """Apply one internal record to every claim that it touches."""
    batch = decode_batch(record.value)
    clock = clock_of(tables.kept)
    wish = forgetting.wish_of(batch)
    if isinstance(wish, Sweep) or (wish is not None and wish.scope == "subject"):
        return _forget_or_sweep(tables, record, batch, clock, wish)
    outputs: list[Output] = []
    open_claims: list[tuple[bytes, LiveClaim, Arrivals]] = []
    for claim_id, arrivals in _by_claim(tables, batch, clock).items():
        table_key, live = tables.claim(claim_id)
        if tables.applied(CLAIMS_TABLE, table_key, record):
            continue
        if live is None and arrivals.about is not None:
            live = tables.live(_new_claim(tables, claim_id, arrivals.about))
            tables.claims[table_key] = live
        if arrivals.decisions:
            found, letters = decide(live, arrivals.decisions, arrivals.entries, tables.shelf, record)
            arrivals.statements.extend(found)
            outputs.extend(letters)
        if live is None:
            continue
        if tables.trusting is not None:
            live.fold_by(tables.trusting.policy_of(tables.kept.get, live.claim, live.predicate))
        open_claims.append((table_key, live, arrivals))
    embedded = _embed(tables, open_claims)
    touched = []
    lost: dict[ClaimId, Lost] = {}
    for (table_key, live, arrivals), vectors in zip(open_claims, embedded, strict=True):
        outcome = live.apply(
            arrivals.statements, arrivals.retracted, tables.shelf,
            epoch=record.offset, vectors=vectors, recluster=arrivals.recluster,
            rebuild=arrivals.forgets is not None,
        )  # fmt: skip
        if outcome.changed:
            tables.dirty_claims.add(table_key)
        outputs.extend(_outputs(live.claim, outcome, arrivals, record, live.policy, clock))
        if arrivals.forgets is not None and isinstance(wish, Forget):
            left, claim_id = forgetting.facts_left(live), live.claim.claim
            outputs.extend(forgetting.fact_tombstones(tables, claim_id, left, record.partition))
            lost[claim_id] = Lost(live.claim, arrivals.forgets, wish.source, left, wish.recorded_at)
        touched.append(
            Touched(live.claim, outcome.changes, arrivals.statements, arrivals.retracted, outcome.arrived)
        )
    return Folded(
        record, batch, touched, clock, _moved(clock, batch), outputs, tables.facts, tables.evidence, lost
    )


def _forget_or_sweep(
    tables: _Overlay, record: Record, batch: Batch, clock: Clock, wish: Forget | Sweep
) -> Folded:
    """Forget a subject, or clear up after something was forgotten."""
    if isinstance(wish, Sweep):
        swept = forgetting.clear_up(tables, record, wish)
        return Folded(
            record, batch, (), clock, clock, (), tables.facts, tables.evidence, swept=swept, reclaims=True
        )
    version = tables.policy.version
    outputs, touched, lost = forgetting.forget_subject(tables, record, wish, clock, version)
    assert wish.subject is not None
    about = (wish.namespace, wish.subject)
    return Folded(
        record, batch, touched, clock, clock, outputs, tables.facts, tables.evidence, lost, emptied=about
    )


def _embed(tables: _Overlay, touched: Sequence[tuple[bytes, LiveClaim, Arrivals]]) -> list[dict[str, bytes]]:
    """Vectors for the texts that need one, in one call for the whole record."""
    wanted = [
        live.wanted(arrivals.statements, tables.shelf, recluster=arrivals.recluster)
        for _, live, arrivals in touched
    ]
    texts = sorted({text for forms in wanted for text in forms.values()})
    if not texts or tables.vectors is None:
        return [{} for _ in wanted]
    try:
        vector_of = dict(zip(texts, tables.vectors.embed(texts), strict=True))
    except VectorsUnavailable as unavailable:
        # Exact and typed matching goes on; the claims say that they are degraded (CASES F30).
        log.warning("vectors unavailable", texts=len(texts), reason=str(unavailable))
        return [{} for _ in wanted]
    return [{form: vector_of[text] for form, text in forms.items()} for forms in wanted]


def _by_claim(tables: _Overlay, batch: Batch, clock: Clock) -> dict[ClaimId, Arrivals]:
    """The batch by claim, in order of first appearance; a retract goes to every claim of its subject."""
    found: dict[ClaimId, Arrivals] = {}
    for entry in batch.entries:
        usable = entry.usable
        if isinstance(usable, Observation):
            if is_elsewhere(tables.kept, usable, lambda claim: tables.claim(claim)[1] is not None):
                continue
            arrivals = found.get(usable.claim)
            if arrivals is None:
                arrivals = found[usable.claim] = Arrivals(
                    about=(usable.namespace, usable.subject, usable.predicate)
                )
            arrivals.about = (usable.namespace, usable.subject, usable.predicate)
            statement = usable.statement
            if tables.policy.by_cycle:
                statement = msgspec.structs.replace(statement, cycle=clock.cycle)
            arrivals.statements.append(statement)
            arrivals.entries[usable.statement.content_hash] = entry
        elif isinstance(usable, Retract):
            assert usable.namespace is not None
            assert usable.subject is not None
            _retract(tables, usable.namespace, usable.subject, usable.observation_id, found)
        elif isinstance(usable, Redacted) and usable.namespace and usable.subject and usable.observation_id:
            _retract(tables, usable.namespace, usable.subject, usable.observation_id, found)
        elif isinstance(usable, Forget):
            _forget(tables, usable, found)
        elif isinstance(usable, Recluster):
            found.setdefault(usable.claim, Arrivals()).recluster = True
        elif isinstance(usable, Relate):
            found.setdefault(usable.claim, Arrivals())
        elif isinstance(usable, Supersede | Invalidate):
            arrivals = found.setdefault(usable.claim, Arrivals())
            arrivals.decisions.append((usable, tuple(arrivals.statements)))
            arrivals.entries[usable.content_hash] = entry
    return found


def _retract(
    tables: _Overlay, namespace: str, name: str, observation_id: str, found: dict[ClaimId, Arrivals]
) -> None:
    table_key, subject = tables.subject(namespace, name)
    if observation_id not in subject.retracted:
        subject.retracted.append(observation_id)
        tables.dirty_subjects.add(table_key)
    for claim_id in subject.claims:
        found.setdefault(claim_id, Arrivals()).retracted.append(observation_id)
    # A claim of this subject that is new in this very batch gets the tombstone from the subject.


def _forget(tables: _Overlay, usable: Forget, found: dict[ClaimId, Arrivals]) -> None:
    """An observation, or all that a source said: retracts, and their words go."""
    losing = forgetting.losing(tables, usable)
    if usable.subject is not None and usable.observation_id is not None:
        _retract(tables, usable.namespace, usable.subject, usable.observation_id, found)
    for claim, ids in losing:
        if usable.scope == "source":
            for observation_id in ids:
                _retract(tables, claim.namespace, claim.subject, observation_id, found)
        found.setdefault(claim.claim, Arrivals()).forgets = frozenset(ids)


def _new_claim(tables: _Overlay, claim_id: ClaimId, about: tuple[str, str, str]) -> Claim:
    """A claim, entered at its subject, with the tombstones that were there before it."""
    namespace, subject_name, predicate = about
    table_key, subject = tables.subject(namespace, subject_name)
    if claim_id not in subject.claims:
        subject.claims.append(claim_id)
        tables.dirty_subjects.add(table_key)
    return Claim(
        claim=claim_id,
        namespace=namespace,
        subject=subject_name,
        predicate=predicate,
        layout=claims.layout_of(tables.predicate_of(predicate)),
        retracted=sorted(subject.retracted),
    )


def _outputs(
    claim: Claim, outcome: Outcome, arrivals: Arrivals, record: Record, policy: Policy, clock: Clock
) -> list[Output]:
    """Events, latest states and dead letters, in the order in which they happened."""
    outputs: list[Output] = []
    record_key = subject_key(claim.namespace, claim.subject)
    bodies: dict[str, dict[str, object]] = {}
    latest: dict[str, bytes] = {}
    for told in outcome.changes:
        change = told if arrivals.forgets is None else forgetting.without_words(told, claim)
        body = bodies.get(change.fact.fact_id)
        if body is None:
            body = bodies[change.fact.fact_id] = fact_fields(
                change.fact,
                change.version,
                recorded_at=record.recorded_at,
                cycle=clock.cycle,
                policy_version=policy.version,
                model=claim.forms.model or None,
                degraded=bool(claim.forms.degraded),
            )
        body["version"] = change.version
        latest[change.fact.fact_id] = written = to_json(body)
        event = fact_event(change, written, position=record.position)
        outputs.append(Output(Topic(change.kind.value), record_key, event, record.partition))
    for fact_id, body in bodies.items():
        if arrivals.forgets is not None and body["reason"] == Reason.WITHDRAWN:
            continue  # nothing of it is kept (`forgetting.fact_tombstones`)
        outputs.append(Output(Topic.FACTS, key(fact_id), latest[fact_id], record.partition))
    outputs.extend(
        _duplicate_letter(claim, duplicate, arrivals, record, number)
        for number, duplicate in enumerate(outcome.duplicates)
    )
    return outputs


def _duplicate_letter(
    claim: Claim, duplicate: Duplicate, arrivals: Arrivals, record: Record, number: int
) -> Output:
    """The dead letter of the statement that lost its id; its text is put together again."""
    lost = duplicate.lost
    entry = arrivals.entries.get(lost.content_hash)
    origin, sent, content = record, lost, None
    if entry is not None:
        if isinstance(entry.usable, Observation):
            sent, content = as_given(entry.usable), entry.usable.content
        origin = origin_of(entry, record)
    letter = dead_letter(
        origin,
        "duplicate_id",
        f"Another observation of {lost.subject} / {lost.predicate} has the id {lost.observation_id} "
        f"and other content; the one with the smaller content hash, {duplicate.kept_hash[:12]}…, stays.",
        raw=to_json(observation_fields(claim.namespace, sent, content=content)),
        part=f"{claim.claim}/{lost.content_hash}/{number}",
    )
    return Output(Topic.DEAD_LETTERS, subject_key(claim.namespace, claim.subject), letter)
