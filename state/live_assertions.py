"""The assertions of one claim in use: what a batch adds to them, which links and refusals follow.

Everything is worked out from a log of rows (statements, retracts, decisions) in the order in which they came
(`state.assertion_log`), so reading at any `known_at` is exactly a reading of what was recorded by then. A
statement costs what it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from state.assertion_log import Assertions, erase, load, store
from state.assertions import (
    NO_CLUSTERS,
    AssertionId,
    Book,
    Decided,
    Row,
    Said,
    TakenBack,
    assertion_id,
)
from state.corrections import Decision, Invalidate, Refusal, Relate, Supersede
from state.decisions import judge, links_of
from state.endings import ClosedByFold, Endings
from state.forms import Forms
from state.identity import ClaimId
from state.instants import Instant
from state.lifecycle import AssertionState, read
from state.links import Link, LinkKind, Verdicts, inferred
from state.noticing import Found, Watch, packed
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement, voter

Arrival = Statement | TakenBack | Supersede | Invalidate | Relate
"""What a batch brings, in the order of the log."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch did.

    `stored` is the head to be written, the very one from before where nothing is to be stored. `links` are
    new, `changed` are the assertions that were said again, taken back, opened or closed, by id; `refusals`
    are answers to decisions that were not applied.
    """

    stored: Assertions
    links: list[Link]
    changed: list[AssertionId]
    refusals: list[Refusal]


class LiveAssertions:
    """The assertions of one claim. May be kept between batches while what is stored is what it gave last.

    `prefix` begins the keys of its pages. Opening reads all pages; afterwards a statement costs what it
    touches, a decision or a retract as much as opening.
    """

    def __init__(
        self,
        stored: Assertions,
        shelf: Shelf,
        prefix: bytes,
        *,
        claim: ClaimId,
        predicate: Predicate,
        policy_version: str,
        forms: Forms = NO_CLUSTERS,
    ) -> None:
        self._stored = stored
        self._prefix = prefix
        self._claim = claim
        self._predicate = predicate
        self._policy_version = policy_version
        self._forms = forms
        self._rows: list[Row] = load(stored, shelf, prefix)
        self._clusters: dict[str, str] = {}
        self._rebuild()

    def apply(self, arrivals: Iterable[Arrival], shelf: Shelf, *, forms: Forms = NO_CLUSTERS) -> Applied:
        """Take in what a batch brings for the claim, in the order of the log.

        `forms` are the claim's clusters after the batch. A second delivery changes nothing and yields
        nothing. Links of kind `supersedes` that follow from documents are told at the end of the batch, as
        a document may say the old value again in its next statement.
        """
        self._follow(forms)
        n_before = len(self._rows)
        links: list[Link] = []
        refusals: list[Refusal] = []
        changed: dict[AssertionId, None] = {}
        spoken: dict[str, Said] = {}
        for arrival in arrivals:
            if isinstance(arrival, Statement):
                said = self._say(arrival, links, changed)
                if said is not None:
                    spoken[voter(arrival)] = said
            elif isinstance(arrival, TakenBack):
                self._take_back(arrival, changed)
            else:
                self._decide(arrival, links, refusals, changed)
        for document, said in spoken.items():
            self._notice(said, self._watch.replaced(document), links, changed)
        if len(self._rows) > n_before:
            self._stored = store(self._rows, self._stored, shelf, self._prefix, n_unchanged=n_before)
        return Applied(stored=self._stored, links=links, changed=list(changed), refusals=refusals)

    def read(
        self,
        *,
        valid_at: Instant,
        known_at: Instant | None = None,
        forms: Forms | None = None,
        closed_by_fold: Iterable[ClosedByFold] = (),
    ) -> list[AssertionState]:
        """Every assertion at `valid_at` as known at `known_at` (`state.lifecycle.read`)."""
        return read(
            self._rows,
            valid_at=valid_at,
            known_at=known_at,
            claim=self._claim,
            predicate=self._predicate,
            forms=self._forms if forms is None else forms,
            closed_by_fold=closed_by_fold,
        )

    @property
    def n_rows(self) -> int:
        """How many rows are kept."""
        return len(self._rows)

    def rows(self) -> list[Row]:
        """All that is kept, in the order of the log."""
        return list(self._rows)

    def forget(self, is_forgotten: Callable[[Statement], bool], shelf: Shelf, *, at: Instant) -> Applied:
        """Erase the statements of which `is_forgotten` is true: only their ids stay, as taken back at `at`.

        Unlike a retract it also takes them out of the past. Decisions stay; they are words of the decider.
        """
        changed: dict[AssertionId, None] = {}
        is_touched = False
        for number, row in enumerate(self._rows):
            if isinstance(row, Said) and is_forgotten(row.statement):
                is_touched = True  # also one that was taken back before and belongs to no assertion
                held = self._book.said_in(row.statement.observation_id)
                if held is not None:
                    changed[held.assertion_id] = None
                self._rows[number] = TakenBack(row.statement.observation_id, at)
        if is_touched:
            self._rebuild()
            self._stored = store(self._rows, self._stored, shelf, self._prefix, n_unchanged=0)
        return Applied(stored=self._stored, links=[], changed=list(changed), refusals=[])

    def erase(self, shelf: Shelf) -> None:
        """Delete every page, for a host that forgets the whole claim; the head's key is the host's."""
        erase(self._stored, shelf, self._prefix)

    # -- arrivals ---------------------------------------------------------------------------

    def _say(self, statement: Statement, links: list[Link], changed: dict[AssertionId, None]) -> Said | None:
        if not self._book.would_change(statement):
            return None
        replaces = self._book.said_in(statement.observation_id)
        said = Said(statement, {})
        self._rows.append(said)
        if replaces is None:
            self._book.say(statement)
        else:
            changed[replaces.assertion_id] = None
            self._rebuild()
        assertion = self._book.said_in(statement.observation_id)
        assert assertion is not None, "it was asked whether the book would take it"
        self._watch.watch(assertion)
        changed[assertion.assertion_id] = None
        self._notice(said, self._watch.partners(assertion, self._verdicts), links, changed)
        return said

    def _notice(
        self, said: Said, found: Iterable[Found], links: list[Link], changed: dict[AssertionId, None]
    ) -> None:
        """Publish relations as links, and remember with the statement that it was done."""
        own = self._book.said_in(said.statement.observation_id)
        for kind, source, target in found:
            other = target if kind == LinkKind.SUPERSEDES or source is own else source
            said.noticed[kind] = said.noticed.get(kind, b"") + packed(other.assertion_id)
            if kind == LinkKind.SUPERSEDES:
                changed[target.assertion_id] = None
            links.append(
                inferred(
                    self._book,
                    kind,
                    source,
                    target,
                    evidence_id=said.statement.observation_id,
                    recorded_at=said.statement.recorded_at,
                    policy_version=self._policy_version,
                )
            )

    def _take_back(self, taken: TakenBack, changed: dict[AssertionId, None]) -> None:
        held = self._book.said_in(taken.observation_id)
        decided = self._book.decided.get(taken.observation_id)
        if not self._book.take_back(taken.observation_id):
            return
        self._rows.append(taken)
        if held is not None:
            changed[held.assertion_id] = None
        if decided is not None:
            changed.update(dict.fromkeys(decided.targets))
        if held is not None or decided is not None:
            self._rebuild()

    def _decide(
        self,
        decision: Decision,
        links: list[Link],
        refusals: list[Refusal],
        changed: dict[AssertionId, None],
    ) -> None:
        answer = judge(self._book, self._endings, decision)
        if isinstance(answer, Refusal):
            refusals.append(answer)
        if not isinstance(answer, Decided):
            return
        self._rows.append(answer)
        self._book.enter(answer)
        self._arrange()
        made = links_of(self._book, answer, policy_version=self._policy_version)
        ends = (end for link in made for end in (link.source, link.target))
        changed.update(dict.fromkeys([*answer.sources, *answer.targets, *ends]))
        links += made

    # -- what follows from the rows -----------------------------------------------------------

    def _follow(self, forms: Forms) -> None:
        """Take over today's clusters."""
        self._forms = self._book.forms = forms
        is_wide = any(decided.is_wide for decided in self._book.decided.values())
        if is_wide and self._clusters != forms.cluster_of:
            self._arrange()

    def _rebuild(self) -> None:
        """Work everything out again: something was taken back, and nothing else can say what of it stays."""
        self._book = Book(self._claim, self._predicate, self._forms)
        for row in self._rows:
            self._book.enter(row)
        self._arrange()

    def _arrange(self) -> None:
        """Set up the ends, the verdicts and the watch anew: a decision or new clusters may move them all."""
        self._clusters = dict(self._forms.cluster_of)
        self._endings = Endings(self._book)
        self._verdicts = Verdicts(self._book)
        self._watch = Watch(self._book, self._endings)
        for row in self._rows:
            if isinstance(row, Said) and row.noticed:
                s = row.statement
                own = assertion_id(self._claim, voter(s), s.form, affirmed=s.affirmed)
                self._watch.remember(own, row.noticed)
        for assertion in self._book.assertions.values():
            self._watch.watch(assertion)
