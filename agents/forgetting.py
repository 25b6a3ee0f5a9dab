"""Forgetting in the partition of a subject: what goes, what is published about it, what is cleared up.

A wish is two records of the log, one behind the other. `Forget` derives the facts without what is forgotten,
or lets the claims go, and publishes what follows without the words. Until all of that is durable the pieces
of before are still needed, in case the worker dies and reads the record again. `Sweep` then deletes whatever
nothing needs any more. Both may be read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from agents.following import Lost, Touched
from state import stored_claim as claims
from state.changes import Change, Kind, Published, withdrawn
from state.claim import LiveClaim
from state.corrections import Forget
from state.cycles import Clock
from state.episodes import Reason
from state.facts import Fact
from state.forgotten import Sweep
from state.identity import ClaimId, FactId, derive
from state.shelf import Shelf
from state.stored_claim import Claim
from state.sweeping import blank_withdrawn, needed_for_facts, sweep, withdrawn_facts, wordless
from state.withdrawn import FACTS, Withdrawn
from streams.codec import Batch
from streams.host import Output, Record, Tables
from streams.keys import Partition, key, subject_key
from streams.topics import Topic
from streams.wire import fact_event, fact_fields, to_json

FORGOTTEN_TABLE: Final = "forgotten"
"""Subjects that were forgotten, by a hash of their name. Durable before all other tables of a forget."""

CLAIMS_TABLE: Final = "claims"


class Gone(msgspec.Struct, array_like=True):
    """What is left of a subject that was forgotten: the ids of the claims that it had, which are hashes."""

    claims: list[ClaimId] = []


_encode_gone: Final = msgspec.msgpack.Encoder().encode
_decode_gone: Final = msgspec.msgpack.Decoder(Gone).decode


class Partitioned(Protocol):
    """What consolidation has at hand of a partition: its tables as they are after the records so far."""

    kept: Tables
    shelf: Shelf

    def applied(self, table: str, table_key: bytes, record: Record) -> bool:
        """Whether what is stored under the key holds the record."""
        ...

    def claim(self, claim: ClaimId) -> tuple[bytes, LiveClaim | None]:
        """A claim, with its key; None where there is none."""
        ...

    def live(self, claim: Claim) -> LiveClaim:
        """A claim in use, from what is stored."""
        ...

    def claims_of(self, namespace: str, subject: str) -> list[ClaimId]:
        """The claims of a subject."""
        ...

    def stored_claims(self) -> Iterator[Claim]:
        """All claims of the partition: the long way."""
        ...

    def piece_keys(self, claim: ClaimId) -> list[bytes]:
        """The keys of all pieces of a claim."""
        ...

    def keep_claim(self, claim: ClaimId) -> None:
        """Store a claim that was changed."""
        ...

    def drop_claim(self, claim: ClaimId) -> None:
        """Empty a claim: nothing is left but that it holds the record."""
        ...

    def drop_subject(self, namespace: str, subject: str, record: Record) -> None:
        """Delete the row of a subject."""
        ...


def wish_of(batch: Batch) -> Forget | Sweep | None:
    """The wish that a record is; those come in records of their own."""
    if len(batch.entries) != 1:
        return None
    usable = batch.entries[0].usable
    return usable if isinstance(usable, Forget | Sweep) else None


# -- an observation, a source ---------------------------------------------------------------


def losing(tables: Partitioned, forget: Forget) -> list[tuple[Claim, list[str]]]:
    """The claims that lose words, each with the ids of the observations that go.

    A claim with observations that were taken back before is among them where these may be meant: nothing says
    any more whose they were, and their words may still lie in what was withdrawn then.
    """
    found: list[tuple[Claim, list[str]]] = []
    for claim in list(_candidates(tables, forget)):
        live = tables.live(_copy(claim))
        if forget.scope == "observation":
            assert forget.observation_id is not None
            if live.may_have_held(forget.observation_id, tables.shelf):
                found.append((claim, [forget.observation_id]))
            continue
        said = live.evidence(tables.shelf)
        ids = [s.observation_id for s in said if s.source == forget.source and not s.verdict]
        if ids or claim.retracted:
            found.append((claim, list(ids)))
    return found


def _candidates(tables: Partitioned, forget: Forget) -> Iterator[Claim]:
    if forget.subject is None:
        yield from (claim for claim in tables.stored_claims() if claim.namespace == forget.namespace)
        return
    for claim_id in tables.claims_of(forget.namespace, forget.subject):
        live = tables.claim(claim_id)[1]
        if live is not None:
            yield live.claim


def _copy(claim: Claim) -> Claim:
    """The claim as it would be read from the table; what is at hand is not disturbed."""
    return claims.decode(claims.encode(claim))


def without_words(change: Change, claim: Claim) -> Change:
    """The change as it is told where its fact may hold forgotten words: it is withdrawn, and no more."""
    if change.fact.reason != Reason.WITHDRAWN:
        return change
    fact = msgspec.structs.replace(wordless(change.fact), subject=claim.subject, predicate=claim.predicate)
    return msgspec.structs.replace(change, fact=fact)


def facts_left(live: LiveClaim) -> dict[FactId, Fact]:
    """The facts of a claim in use as they are now, without withdrawn ones."""
    published = live.published().values()
    return {p.fact.fact_id: p.fact for p in published if p.fact.reason != Reason.WITHDRAWN}


def fact_tombstones(
    tables: Partitioned, claim: ClaimId, left: Iterable[FactId], partition: Partition
) -> list[Output]:
    """What takes the withdrawn facts of a claim out of the topic of latest states."""
    gone = set(withdrawn_facts(claim, tables.piece_keys(claim))).difference(left)
    return [Output(Topic.FACTS, key(fact_id), b"", partition) for fact_id in sorted(gone)]


# -- a subject ------------------------------------------------------------------------------


def forgotten_key(namespace: str, subject: str) -> bytes:
    """Where it stands that a subject was forgotten."""
    return derive("forgotten", namespace, subject).encode("ascii")


def forget_subject(
    tables: Partitioned, record: Record, forget: Forget, clock: Clock, policy_version: str
) -> tuple[list[Output], list[Touched], dict[ClaimId, Lost]]:
    """Let all claims of a subject go: what is published, the claims touched, and what they lost."""
    assert forget.subject is not None
    row_key = forgotten_key(forget.namespace, forget.subject)
    stored = tables.kept.get(FORGOTTEN_TABLE, row_key)
    gone = Gone() if stored is None else _decode_gone(stored)
    named = [*dict.fromkeys((*gone.claims, *tables.claims_of(forget.namespace, forget.subject)))]
    outputs: list[Output] = []
    touched: list[Touched] = []
    lost: dict[ClaimId, Lost] = {}
    for claim_id in named:
        table_key, live = tables.claim(claim_id)
        if live is None or tables.applied(CLAIMS_TABLE, table_key, record):
            continue
        changes = _let_go(tables, live)
        outputs += [_event(change, record, clock, policy_version) for change in changes]
        outputs += fact_tombstones(tables, claim_id, (), record.partition)
        touched.append(Touched(live.claim, changes, (), ()))
        lost[claim_id] = Lost(live.claim, None, None, {}, forget.recorded_at)
        tables.drop_claim(claim_id)
    if named and not tables.kept.applied(FORGOTTEN_TABLE, row_key, record):
        tables.kept.put(FORGOTTEN_TABLE, row_key, _encode_gone(Gone(named)))
    tables.drop_subject(forget.namespace, forget.subject, record)
    return outputs, touched, lost


def _let_go(tables: Partitioned, live: LiveClaim) -> list[Change]:
    """Withdraw all facts of a claim; what is left of them are their ids and versions.

    Deletes what a second reading of the record would not need. The rest goes with the sweep.
    """
    claim, shelf = live.claim, tables.shelf
    held = tables.piece_keys(claim.claim)
    keep = needed_for_facts(tables.live(_copy(claim)), shelf)
    start = claim.claim.encode("ascii") + FACTS
    for piece in held:
        if piece not in keep and not piece.startswith(start):
            shelf.delete(piece)
    live.renew(shelf, epoch=claim.epoch)
    withdrawing = Withdrawn(claim.claim.encode("ascii"))
    withdrawing.shelf = shelf
    changes = []
    for published in sorted(live.published().values(), key=lambda p: p.fact.fact_id):
        if published.fact.reason == Reason.WITHDRAWN:
            continue
        fact = wordless(withdrawn(published.fact))
        change = Change(Kind.INVALIDATED, "", fact, published.version + 1)
        withdrawing.keep(Published(fact, change.version))
        changes.append(change)
    blank_withdrawn(claim.claim, tables.piece_keys(claim.claim), shelf)
    return changes


def _event(change: Change, record: Record, clock: Clock, policy_version: str) -> Output:
    body = fact_fields(
        change.fact,
        change.version,
        recorded_at=record.recorded_at,
        cycle=clock.cycle,
        policy_version=policy_version,
        model=None,
        degraded=False,
    )
    event = fact_event(change, to_json(body), position=record.position)
    # A key with the subject's name would be its last trace, and kept the longest.
    return Output(Topic.FACT_INVALIDATED, subject_key(change.fact.namespace, ""), event, record.partition)


# -- clearing up ----------------------------------------------------------------------------


def clear_up(tables: Partitioned, record: Record, wish: Sweep) -> list[ClaimId]:
    """Delete what nothing needs any more after a forget; the claims that were looked at."""
    gone: list[ClaimId] = []
    if wish.subject is not None:
        stored = tables.kept.get(FORGOTTEN_TABLE, forgotten_key(wish.namespace, wish.subject))
        gone = [] if stored is None else _decode_gone(stored).claims
    swept = list(gone)
    for claim_id in gone:
        _sweep(tables, claim_id, tables.claim(claim_id)[1])
    for claim_id in list(_unswept(tables, wish)):
        table_key, live = tables.claim(claim_id)
        if live is None or tables.applied(CLAIMS_TABLE, table_key, record):
            continue
        _sweep(tables, claim_id, live)
        live.claim.discarded.clear()
        live.claim.is_unswept = False
        tables.keep_claim(claim_id)
        swept.append(claim_id)
    return list(dict.fromkeys(swept))


def _sweep(tables: Partitioned, claim_id: ClaimId, live: LiveClaim | None) -> None:
    copy = None if live is None else tables.live(_copy(live.claim))
    sweep(copy, claim_id, tables.piece_keys(claim_id), tables.shelf)


def _unswept(tables: Partitioned, wish: Sweep) -> Iterator[ClaimId]:
    if wish.subject is None:
        of_namespace = (claim for claim in tables.stored_claims() if claim.namespace == wish.namespace)
        yield from (claim.claim for claim in of_namespace if claim.is_unswept)
        return
    for claim_id in tables.claims_of(wish.namespace, wish.subject):
        live = tables.claim(claim_id)[1]
        if live is not None and live.claim.is_unswept:
            yield claim_id
