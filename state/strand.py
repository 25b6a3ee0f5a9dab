"""One fold of a claim, kept between batches: evidence comes in, changes of facts come out.

A claim of a single-valued predicate is one strand; values of a multi-valued one are a strand each. What
arrives in order costs the same however long the history is: it folds on from the stored state. What
arrives late folds again from its chunk, and stops where the state is what it was before. The outcome is
that of `state.timeline.fold_all` over all evidence; tests compare the two after every step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import msgspec

from state.changes import Change, Published, diff
from state.chunks import CHUNK, Chunk, Chunks, saying_of
from state.documents import KEPT_IN_USE, Document, Incomplete
from state.episodes import Episode
from state.evidence import Evidence, takes_part
from state.facts import About, build
from state.finish import finish
from state.fold_state import ASIDE, BEFORE_ALL, Cluster, FoldState, Side, decode_state, encode_state
from state.identity import FactId
from state.instants import Instant
from state.majority import fold_never_changing
from state.periods import Fold, Policy, distinct
from state.statements import ObservationId, Place, Statement, document_of, order, position, voter
from state.timeline import fold_all


class Strand(msgspec.Struct, array_like=True):
    """The stored form of a strand.

    `tail` is the evidence behind the last full chunk, in order, each statement as bytes so that storing
    the strand again costs no encoding; the first `n_folded` of it are in `state`, the others are
    scheduled. `base` is the state before the tail, `marks` states within it with the number of tail
    statements they stand behind, as bytes too ("" for the state before all). `closed` are the episodes
    closed within the tail, each with that number and with what was published of it. `live` is what was
    published of the facts that are open or still to come, `withdrawn` of those that no evidence carries
    any more. `is_flat`: the strand is folded as a whole each time (see `Folding.flatten`).
    """

    epoch: int = -1
    horizon: Instant = BEFORE_ALL
    base: bytes = b""
    base_at: Instant = BEFORE_ALL
    state: FoldState = msgspec.field(default_factory=FoldState)
    tail: list[bytes] = []
    n_folded: int = 0
    marks: list[tuple[int, Instant, bytes]] = []
    n_chunks: int = 0
    closed: list[tuple[int, Episode, Published]] = []
    live: dict[FactId, Published] = {}
    withdrawn: dict[FactId, Published] = {}
    is_flat: bool = False
    due_at: Instant | None = None


DOCUMENTS_IN_USE: Final = 1024  # documents whose sayings are kept at hand between two batches

_form_of: Final = attrgetter("form")


def _itself(form: str) -> Cluster:
    return form


_encode_statement: Final = msgspec.msgpack.Encoder().encode
_decode_statement: Final = msgspec.msgpack.Decoder(Statement).decode


class Folding:
    """A strand in use: applies what arrives. Implements `state.periods.History`.

    May be kept between batches; `strand` and `tail` always say the same.
    """

    def __init__(
        self,
        strand: Strand,
        chunks: Chunks,
        about: About,
        policy: Policy,
        *,
        cluster_of: Callable[[str], Cluster] | None,
        never_changes: bool = False,
    ) -> None:
        self.strand = strand
        self.chunks = chunks
        self.about = about
        self.policy = policy
        self.never_changes = never_changes
        self.tail = [_decode_statement(stored) for stored in strand.tail]
        self._ids = {statement.observation_id: statement for statement in self.tail}
        self._said_in_tail: dict[tuple[str | None, str], list[Statement]] = {}
        for statement in self.tail:
            self._note_said(statement)
        self.set_clusters(cluster_of, has_aside=False)
        self._documents: dict[str, Document] = {}
        self._whole: dict[str, Document] = {}

    def set_clusters(self, cluster_of: Callable[[str], Cluster] | None, *, has_aside: bool) -> None:
        """Say which forms mean the same; None where each form is a cluster of its own."""
        self.has_aside = has_aside
        self._cluster_of = cluster_of if cluster_of is not None else _itself
        if cluster_of is None:
            self.cluster: Callable[[Statement], Cluster] = _form_of
        else:
            self.cluster = lambda statement: cluster_of(statement.form)

    # -- looking back -----------------------------------------------------------------------

    def takes_side(self, statement: Statement) -> bool:
        """Whether a statement votes for or against something."""
        return takes_part(statement) and (not self.has_aside or self.cluster(statement) != ASIDE)

    def since(self, effective_from: Instant, before: Instant) -> list[Statement]:
        """Statements that take part and took effect in [effective_from, before), in their order."""
        tail = self.tail
        start = bisect_left(tail, effective_from, key=position)
        end = bisect_left(tail, before, lo=start, key=position)
        found = [s for s in tail[start:end] if self.takes_side(s)]
        number = self.strand.n_chunks
        if start == 0:
            while number:
                number -= 1
                statements = self.chunks.get(number).statements
                inside = [
                    s for s in statements if effective_from <= s.effective_at < before and self.takes_side(s)
                ]
                found = inside + found
                if position(statements[0]) < effective_from:
                    break
        return distinct(found)

    def previous(self, statement: Statement) -> Instant | None:
        """Effective time of the same voter's newest statement for this side at an earlier place, or None."""
        side = (self.cluster(statement), statement.affirmed)
        place = statement.place
        who = voter(statement)
        try:
            return self._document(who).previous(place, side)
        except Incomplete:
            return self._whole_document(who).previous(place, side)

    def began(self, who: str, side: Side, place: Place) -> Instant:
        """Since when the document, at `place`, says this without having said anything else in between."""
        try:
            return self._document(who).began_at(side, place)
        except Incomplete:
            return self._whole_document(who).began_at(side, place)

    def _document(self, who: str) -> Document:
        """What a document has said in all of the evidence."""
        found = self._documents.get(who)
        if found is None:
            found = self.chunks.document(who) if self.strand.n_chunks else None
            found = self._documents[who] = found or Document()
            for statement in self._said_in_tail.get(document_of(who), ()):
                if self.takes_side(statement):
                    found.add(saying_of(statement, self.cluster(statement)), kept=KEPT_IN_USE)
        return found

    def _whole_document(self, who: str) -> Document:
        """The same from all of the evidence, however long ago: the long way, for late evidence only."""
        whole = self._whole.get(who)
        if whole is not None:
            return whole
        whole = self._whole[who] = Document()
        sayings = sorted(
            saying_of(s, self.cluster(s))
            for s in self.everything()
            if s.document is not None and self.takes_side(s) and voter(s) == who
        )
        whole.sayings = sayings
        return whole

    def everything(self) -> list[Statement]:
        """All statements, in order."""
        found: list[Statement] = []
        for number in range(self.strand.n_chunks):
            found.extend(self.chunks.get(number).statements)
        return found + self.tail

    def find(self, observation_id: ObservationId) -> Statement | None:
        """The statement with this id, or None."""
        held = self._ids.get(observation_id)
        if held is not None or self.strand.n_chunks == 0:
            return held
        key = self.chunks.place_of(observation_id)
        if key is None:
            return None
        for statement in self.chunks.get(self.chunks.covering(key[0], self.strand.n_chunks)).statements:
            if statement.observation_id == observation_id:
                return statement
        return None

    def published(self) -> dict[FactId, Published]:
        """Everything that was published of this strand, withdrawn facts too: the long way."""
        found = {**self.strand.withdrawn, **self.strand.live}
        for number in range(self.strand.n_chunks):
            found.update({p.fact.fact_id: p for _, p in self.chunks.get(number).closed})
        found.update({p.fact.fact_id: p for _, _, p in self.strand.closed})
        return found

    def withdraw_unclaimed(self) -> list[Change]:
        """Withdraw what was handed over as published and is no fact of this strand."""
        strand = self.strand
        strand.withdrawn, changes = diff(strand.withdrawn, (), horizon=strand.horizon)
        return changes

    # -- what arrives -----------------------------------------------------------------------

    def apply(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, horizon: Instant
    ) -> list[Change]:
        """Take statements in and out, and say what changed about the facts.

        `added` are not in the strand yet, `removed` are. `horizon` is the greatest observed_at of the
        claim after that.
        """
        strand = self.strand
        self._whole.clear()
        if len(self._documents) > DOCUMENTS_IN_USE:
            self._documents.clear()
        lowered = horizon < strand.horizon
        strand.horizon = horizon
        if self.never_changes or any(s.votes and s.is_late_end and s.affirmed for s in added):
            self.flatten()
        for statement in added:
            if statement.document is not None and self.takes_side(statement):
                saying = saying_of(statement, self.cluster(statement))
                self._document(voter(statement)).add(saying, kept=KEPT_IN_USE)
        changes = self._apply(added, removed, lowered=lowered)
        strand.due_at = self._due_at()
        return changes

    def _apply(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, lowered: bool
    ) -> list[Change]:
        strand = self.strand
        if strand.is_flat:
            return self._apply_flat(added, removed)
        if not removed and not lowered and self._is_in_order(added):
            self._set_tail(strand.n_folded, sorted((*self.tail[strand.n_folded :], *added), key=order))
            return self._fold_on()
        return self._fold_again(added, removed, lowered=lowered)

    def _due_at(self) -> Instant | None:
        """When something that is already known happens next: an end, or a scheduled statement."""
        strand = self.strand
        if strand.is_flat:
            return strand.horizon
        ends = [strand.state.ends[0].at] if strand.state.ends else []
        ends += [position(s) for s in self.tail[strand.n_folded : strand.n_folded + 1]]
        return min(ends, default=None)

    def _set_tail(self, start: int, statements: Sequence[Statement]) -> None:
        """Replace the tail from an index on, in memory and as it is stored."""
        for statement in self.tail[start:]:
            self._leave_tail(statement)
        self.tail[start:] = statements
        self.strand.tail[start:] = [_encode_statement(statement) for statement in statements]
        for statement in statements:
            self._ids[statement.observation_id] = statement
            self._note_said(statement)

    def _note_said(self, statement: Statement) -> None:
        if statement.document is not None:
            self._said_in_tail.setdefault((statement.source, statement.document), []).append(statement)

    def _leave_tail(self, statement: Statement) -> None:
        del self._ids[statement.observation_id]
        if statement.document is not None:
            key = (statement.source, statement.document)
            said = self._said_in_tail[key]
            said.remove(statement)
            if not said:
                del self._said_in_tail[key]

    def _without(self, removed: Iterable[Statement], added: Iterable[Statement]) -> list[Statement]:
        gone = {s.observation_id for s in removed}
        return sorted((*(s for s in self.tail if s.observation_id not in gone), *added), key=order)

    def _is_in_order(self, added: Sequence[Statement]) -> bool:
        at = self.strand.state.at
        return all(position(statement) > at for statement in added)

    def _fold_on(self) -> list[Change]:
        """Fold what is new and publish the difference; the cost does not depend on the history."""
        strand = self.strand
        fresh = self._fold_tail()
        changes = self._publish(dict(strand.live), fresh)
        self._seal()
        return changes

    def _fold_tail(self) -> list[tuple[int, Episode]]:
        """Fold the tail up to the horizon, leaving marks; returns the episodes closed on the way."""
        strand = self.strand
        fold = Fold(strand.state, self, self.policy)
        fresh: list[tuple[int, Episode]] = []
        for at, members in groupby(self.tail[strand.n_folded :], key=position):
            if at > strand.horizon:
                break
            group = list(members)
            n_marked = strand.marks[-1][0] if strand.marks else 0
            if strand.n_folded - n_marked >= CHUNK:
                strand.marks.append((strand.n_folded, strand.state.at, encode_state(strand.state)))
            fold.step(at, group)
            strand.n_folded += len(group)
            if fold.closed:
                fresh.extend((strand.n_folded, episode) for episode in fold.closed)
                fold.closed = []
        return fresh

    def _scheduled(self) -> list[tuple[Instant, list[Statement]]]:
        left = self.tail[self.strand.n_folded :]
        return [(at, list(members)) for at, members in groupby(left, key=position)]

    def _publish(self, before: dict[FactId, Published], fresh: Sequence[tuple[int, Episode]]) -> list[Change]:
        """Compare what was published of facts that may have changed with what they are now."""
        strand = self.strand
        coming = finish(strand.state, self._scheduled(), self, self.policy, horizon=strand.horizon)
        facts = [build(self.about, episode) for _, episode in fresh]
        facts += [build(self.about, episode) for episode in coming]
        known = dict(before)
        for fact in facts:
            gone = strand.withdrawn.pop(fact.fact_id, None)
            if gone is not None:
                known[fact.fact_id] = gone
        after, changes = diff(known, facts, horizon=strand.horizon)
        for (n, episode), fact in zip(fresh, facts, strict=False):
            strand.closed.append((n, episode, after.pop(fact.fact_id)))
        strand.live = {fact.fact_id: after.pop(fact.fact_id) for fact in facts[len(fresh) :]}
        strand.withdrawn.update(after)
        return changes

    # -- chunks -----------------------------------------------------------------------------

    def _seal(self) -> None:
        """Move the oldest statements of a long tail into a chunk of their own."""
        strand = self.strand
        while len(strand.marks) > 1 or (strand.marks and strand.n_folded - strand.marks[0][0] >= CHUNK):
            n, at, state = strand.marks.pop(0)
            statements = self.tail[:n]
            del self.tail[:n], strand.tail[:n]
            for statement in statements:
                self._leave_tail(statement)
            done = [(e, published) for number, e, published in strand.closed if number <= n]
            self.chunks.put(strand.n_chunks, Chunk(statements, decode_state(strand.base), done))
            strand.n_chunks += 1
            strand.base, strand.base_at = state, at
            strand.n_folded -= n
            strand.closed = [(m - n, e, published) for m, e, published in strand.closed if m > n]
            strand.marks = [(m - n, at, state) for m, at, state in strand.marks]
            self._index(statements)

    def _index(self, statements: Iterable[Statement]) -> None:
        """Enter statements that moved into a chunk at their ids and documents."""
        said: dict[str, list[Statement]] = {}
        for statement in statements:
            self.chunks.put_place(order(statement))
            if statement.document is not None and self.takes_side(statement):
                said.setdefault(voter(statement), []).append(statement)
        for who, group in said.items():
            stored = self.chunks.document(who) or Document()
            for statement in group:
                stored.add(saying_of(statement, self.cluster(statement)))
            self.chunks.put_document(who, stored)

    # -- late evidence ----------------------------------------------------------------------

    def _fold_again(
        self, added: Sequence[Statement], removed: Sequence[Statement], *, lowered: bool
    ) -> list[Change]:
        """Fold again from the first place at which the evidence changed."""
        strand = self.strand
        first = min(
            [position(s) for s in (*added, *removed)] + ([Instant(strand.horizon + 1)] if lowered else [])
        )
        if strand.n_chunks and first <= strand.base_at:
            return self._fold_again_from_chunk(first, added, removed)
        return self._fold_tail_again(added, removed, {})

    def _fold_tail_again(
        self, added: Sequence[Statement], removed: Sequence[Statement], before: dict[FactId, Published]
    ) -> list[Change]:
        """Fold the whole tail again, from its base."""
        strand = self.strand
        self._set_tail(0, self._without(removed, added))
        before = {**before, **strand.live}
        before.update({build(self.about, e).fact_id: published for _, e, published in strand.closed})
        strand.state, strand.n_folded = decode_state(strand.base), 0
        strand.marks, strand.closed = [], []
        self._forget(removed)
        fresh = self._fold_tail()
        changes = self._publish(before, fresh)
        self._seal()
        return changes

    def _forget(self, removed: Iterable[Statement]) -> None:
        for statement in removed:
            if statement.document is not None and self.takes_side(statement):
                who = voter(statement)
                saying = saying_of(statement, self.cluster(statement))
                self._document(who).remove(saying)
                stored = self.chunks.document(who)
                if stored is not None:
                    stored.remove(saying)
                    self.chunks.put_document(who, stored)

    def _fold_again_from_chunk(
        self, first: Instant, added: Sequence[Statement], removed: Sequence[Statement]
    ) -> list[Change]:
        """Open the chunks from the first change on, and fold all that follows again."""
        number = self.chunks.covering(first, self.strand.n_chunks)
        before = self._unseal(number)
        return self._fold_tail_again(added, removed, before)

    def _unseal(self, number: int) -> dict[FactId, Published]:
        """Take the chunks from `number` on back into the tail; returns what was published of their facts."""
        strand = self.strand
        before: dict[FactId, Published] = {}
        statements: list[Statement] = []
        for n in range(number, strand.n_chunks):
            chunk = self.chunks.get(n)
            statements.extend(chunk.statements)
            before.update({published.fact.fact_id: published for _, published in chunk.closed})
            if n == number:
                strand.base, strand.base_at = encode_state(chunk.state), chunk.state.at
            self.chunks.delete(n)
        self._set_tail(0, statements + self.tail)
        strand.n_chunks = number
        return before

    # -- strands that are folded as a whole --------------------------------------------------

    def flatten(self) -> None:
        """From now on fold the strand as a whole.

        For predicates that never change, which are counted and not folded, and for claims with late
        reports of an end, whose spans are filled in only when everything else is folded. Both cost more
        the longer the history is.
        """
        strand = self.strand
        if strand.is_flat:
            return
        before = self._unseal(0)
        before.update({published.fact.fact_id: published for _, _, published in strand.closed})
        strand.live.update(before)
        strand.is_flat = True
        strand.base, strand.base_at, strand.state = b"", BEFORE_ALL, FoldState()
        strand.marks, strand.closed, strand.n_folded = [], [], 0

    def _apply_flat(self, added: Sequence[Statement], removed: Sequence[Statement]) -> list[Change]:
        strand = self.strand
        self._set_tail(0, self._without(removed, added))
        if self.never_changes:
            episodes = fold_never_changing(self.tail, self.cluster, self.policy)
        else:
            evidence = Evidence(self.tail, self._cluster_of)
            episodes = fold_all(evidence, self.policy, horizon=strand.horizon)
        facts = [build(self.about, episode) for episode in episodes]
        known = {**strand.withdrawn, **strand.live}
        after, changes = diff(known, facts, horizon=strand.horizon)
        strand.live = {fact.fact_id: after.pop(fact.fact_id) for fact in facts}
        strand.withdrawn = after
        return changes
