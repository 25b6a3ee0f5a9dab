"""Links between what documents assert, noticed in the partition of the subject (DESIGN 6).

Keeps the assertions of every claim that two voices have spoken about, and publishes each link once on
`fact-links`. Under `vote` the fold decides and links annotate; what follows from them for a reader is worked
out on read (`state.lifecycle`), never here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from agents.deciding import refusal_letter
from agents.following import Folded, Lost, Touched
from state.assertion_log import Assertions, decode, encode, page_number
from state.assertions import Said, TakenBack
from state.corrections import Invalidate, Relate, Supersede
from state.forms import Forms
from state.identity import ClaimId
from state.link_ids import ids_of_links
from state.live_assertions import Arrival, LiveAssertions
from state.observations import Observation, Retract
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement, voter
from streams.codec import Entry
from streams.host import Output, Record, Tables
from streams.keys import key
from streams.topics import Topic
from streams.wire import link_event

ASSERTIONS_TABLE: Final = "assertions"
PAGES_TABLE: Final = "assertion-pages"
KEPT_MAX: Final = 512  # assertions of a claim under `vote`; more would cost more than an annotation is worth
LOOK_BACK_MAX: Final = 64  # statements of a claim that are looked through for a second voice
LIVE_MAX: Final = 4_096  # claims kept in use between records


class Linking:
    """The follower. Its pages are durable before the rows that count them, as they belong to `early`.

    Predicates that are voted on are left out unless `every_predicate`: with many documents each
    observation would give rise to a dozen links that decide nothing.
    """

    tables = (ASSERTIONS_TABLE, PAGES_TABLE)
    early = (PAGES_TABLE,)

    def __init__(
        self, predicate_of: Callable[[str], Predicate], *, policy_version: str, every_predicate: bool
    ) -> None:
        self._predicate_of = predicate_of
        self._every_predicate = every_predicate
        self._policy_version = policy_version
        self._held: OrderedDict[bytes, tuple[bytes, LiveAssertions]] = OrderedDict()

    def follow(self, tables: Tables, folded: Folded) -> list[Output]:
        """Take in what the record brings to each claim, and publish the links that it gives rise to."""
        shelf = Shelf(lambda page: tables.get(PAGES_TABLE, page))
        outputs: list[Output] = []
        for touched in folded.touched:
            is_explicit = self._predicate_of(touched.claim.predicate).arbitration == "explicit"
            if not (is_explicit or self._every_predicate):
                continue
            if not tables.applied(ASSERTIONS_TABLE, _row_key(touched.claim.claim), folded.record):
                outputs += self._link(tables, shelf, folded, touched)
        for lost in folded.lost.values():
            if not tables.applied(ASSERTIONS_TABLE, _row_key(lost.claim.claim), folded.record):
                outputs += self._forget(tables, shelf, folded.record, lost)
        for claim_id in folded.swept:
            _sweep(tables, shelf, claim_id)
        for page, value in shelf.changes.items():
            tables.put(PAGES_TABLE, page, value)
        return outputs

    def _link(self, tables: Tables, shelf: Shelf, folded: Folded, touched: Touched) -> list[Output]:
        claim = touched.claim
        row_key = _row_key(claim.claim)
        stored = tables.get(ASSERTIONS_TABLE, row_key)
        arrivals = _arrivals(folded, touched)
        if stored is None:
            is_decided = any(isinstance(a, Supersede | Invalidate | Relate) for a in arrivals)
            said = self._before(folded, touched, is_decided=is_decided)
            if said is None:
                return []
            arrivals = [*said, *arrivals]
        predicate = self._predicate_of(claim.predicate)
        live = self._live(row_key, stored, shelf, claim.claim, predicate, claim.forms)
        if live.n_rows >= KEPT_MAX and predicate.arbitration == "vote":
            arrivals = [a for a in arrivals if not isinstance(a, Statement)]
        applied = live.apply(arrivals, shelf, forms=claim.forms)
        encoded = encode(applied.stored)
        self._keep(row_key, encoded, live)
        if encoded != stored:
            tables.put(ASSERTIONS_TABLE, row_key, encoded)
        partition = folded.record.partition
        outputs = [
            Output(Topic.FACT_LINKS, key(link.link_id), link_event(link, claim), partition)
            for link in applied.links
        ]
        entries = {e.usable.correction_id: e for e in folded.batch.entries if isinstance(e.usable, Relate)}
        for refusal in applied.refusals:
            entry = entries.get(refusal.correction_id)  # decisions that close are answered by the fold
            if entry is not None and isinstance(entry.usable, Relate):
                outputs.append(refusal_letter(entry.usable, refusal, entry, folded.record))
        return outputs

    def _forget(self, tables: Tables, shelf: Shelf, record: Record, lost: Lost) -> list[Output]:
        """Erase what a claim is to forget; the links that its statements gave rise to go with them."""
        claim, row_key = lost.claim, _row_key(lost.claim.claim)
        stored = tables.get(ASSERTIONS_TABLE, row_key)
        if stored is None:
            return []
        predicate = self._predicate_of(claim.predicate)
        live = self._live(row_key, stored, shelf, claim.claim, predicate, claim.forms)
        if lost.ids is None:
            gone = live.rows()
            tables.put(ASSERTIONS_TABLE, row_key, None)  # the pages go with the sweep
        else:
            gone = [row for row in live.rows() if isinstance(row, Said) and _is_lost(row.statement, lost)]
            live.forget(lambda statement: _is_lost(statement, lost), shelf, at=lost.at)
            taken = [TakenBack(observation_id, lost.at) for observation_id in sorted(lost.ids)]
            encoded = encode(live.apply(taken, shelf, forms=claim.forms).stored)
            self._keep(row_key, encoded, live)
            tables.put(ASSERTIONS_TABLE, row_key, encoded)
        links = ids_of_links(claim.claim, predicate, gone)
        return [Output(Topic.FACT_LINKS, key(link), b"", record.partition) for link in links]

    def _before(self, folded: Folded, touched: Touched, *, is_decided: bool) -> list[Statement] | None:
        """All that was said of a claim without a row, in the order of the log; None where one voice said it.

        Most claims are spoken of by one voice and have nothing to link, so they have no row until somebody
        decides something about them.
        """
        claim = touched.claim
        strands = claim.strands.values()
        is_long = claim.n_apart > 0 or any(s.n_chunks or s.n_folded > LOOK_BACK_MAX for s in strands)
        if (
            not (is_long or is_decided)
            and len({voter(s) for s in touched.statements}) < 2
            and _n_votes(touched) < 2
        ):
            return None
        said = [s for s in folded.evidence(claim.claim) if not s.verdict]
        if not is_decided and len({voter(s) for s in said}) < 2:
            return None
        return sorted(said, key=lambda s: (s.recorded_at, s.observed_at, s.observation_id))

    def _live(
        self,
        row_key: bytes,
        stored: bytes | None,
        shelf: Shelf,
        claim: ClaimId,
        predicate: Predicate,
        forms: Forms,
    ) -> LiveAssertions:
        held = self._held.pop(row_key, None)
        if held is not None and held[0] == stored:
            return held[1]
        head = Assertions() if stored is None else decode(stored)
        return LiveAssertions(
            head,
            shelf,
            row_key,
            claim=claim,
            predicate=predicate,
            policy_version=self._policy_version,
            forms=forms,
        )

    def _keep(self, row_key: bytes, stored: bytes, live: LiveAssertions) -> None:
        self._held[row_key] = (stored, live)
        if len(self._held) > LIVE_MAX:
            self._held.popitem(last=False)


def _sweep(tables: Tables, shelf: Shelf, claim: ClaimId) -> None:
    """Delete the pages of a claim that its row does not count."""
    stored = tables.get(ASSERTIONS_TABLE, _row_key(claim))
    n_pages = 0 if stored is None else decode(stored).n_pages
    for page, _ in list(tables.scan(PAGES_TABLE, _row_key(claim))):
        if page_number(page) >= n_pages:
            shelf.delete(page)


def _is_lost(statement: Statement, lost: Lost) -> bool:
    assert lost.ids is not None
    is_of_source = lost.source is not None and statement.source == lost.source
    return is_of_source or statement.observation_id in lost.ids


def _row_key(claim: ClaimId) -> bytes:
    return claim.encode("ascii")


def _n_votes(touched: Touched) -> int:
    """How many voices the facts of a claim have for and against them: at least as many as there are."""
    facts = [p.fact for strand in touched.claim.strands.values() for p in strand.live.values()]
    n_closed = sum(len(strand.closed) for strand in touched.claim.strands.values())
    return max(sum(fact.support + fact.dissent for fact in facts), len(facts) + n_closed)


def _arrivals(folded: Folded, touched: Touched) -> list[Arrival]:
    """What the record brings to a claim, in its order."""
    claim, retracted = touched.claim.claim, set(touched.retracted)
    found: list[Arrival] = []
    for entry in folded.batch.entries:
        found += _arrivals_of(entry, claim, retracted, folded)
    return found


def _arrivals_of(entry: Entry, claim: ClaimId, retracted: set[str], folded: Folded) -> Iterable[Arrival]:
    usable = entry.usable
    if isinstance(usable, Observation):
        return [usable.statement] if usable.claim == claim else []
    if isinstance(usable, Supersede | Invalidate | Relate):
        return [usable] if usable.claim == claim else []
    if isinstance(usable, Retract) and usable.observation_id in retracted:
        return [TakenBack(usable.observation_id, usable.recorded_at or folded.record.recorded_at)]
    return []
