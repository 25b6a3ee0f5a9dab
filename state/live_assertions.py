"""The assertions of one claim in use: what a batch adds to them, and how they are stored.

Stored is a log of rows (statements, retracts, decisions) in the order in which they came: a small head with
the newest rows, and full pages under keys of their own that are written once. A batch writes the head;
only opening a claim reads all of it. Everything else is worked out from the rows, so reading at any
`known_at` is exactly a reading of what was recorded by then.

Page keys are taken below a prefix that the host gives. A page is written before the head that counts it: a
crash between the two leaves a page that no head speaks of, and the same batch writes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final
from uuid import UUID

import msgspec

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
from state.errors import FactdriftError
from state.forms import Forms
from state.identity import ClaimId
from state.instants import Instant
from state.lifecycle import AssertionState, read
from state.links import Link, LinkKind, Verdicts, inferred
from state.noticing import Found, Watch
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import Statement, voter

STORED_FORMAT: Final = 1
PAGE_ROWS: Final = 32  # more: a larger head with every batch; fewer: more keys to read when a claim is opened

Arrival = Statement | TakenBack | Supersede | Invalidate | Relate
"""What a batch brings, in the order of the log."""


class Assertions(msgspec.Struct, frozen=True, array_like=True):
    """The stored head: how many full pages there are, and the rows after them."""

    format: int = STORED_FORMAT
    n_pages: int = 0
    rows: tuple[Row, ...] = ()


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


class AssertionsFormatUnknown(FactdriftError):
    """Assertions that another release stored, in a form that this one cannot read."""


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
        self._rows: list[Row] = [*_pages(stored, shelf, prefix), *stored.rows]
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
            self._stored = self._store(n_before, shelf)
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

    def rows(self) -> list[Row]:
        """All that is kept, in the order of the log."""
        return list(self._rows)

    def forget(self, is_forgotten: Callable[[Statement], bool], shelf: Shelf, *, at: Instant) -> Applied:
        """Erase the statements of which `is_forgotten` is true: only their ids stay, as taken back at `at`.

        Unlike a retract it also takes them out of the past. Decisions stay; they are words of the decider.
        """
        changed: dict[AssertionId, None] = {}
        for number, row in enumerate(self._rows):
            if isinstance(row, Said) and is_forgotten(row.statement):
                held = self._book.said_in(row.statement.observation_id)
                if held is not None:
                    changed[held.assertion_id] = None
                self._rows[number] = TakenBack(row.statement.observation_id, at)
        if changed:
            self._rebuild()
            self._stored = self._store(0, shelf)
        return Applied(stored=self._stored, links=[], changed=list(changed), refusals=[])

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
            said.noticed[kind] = said.noticed.get(kind, b"") + UUID(other.assertion_id).bytes
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
        if not self._book.take_back(taken.observation_id):
            return
        self._rows.append(taken)
        if held is not None:
            changed[held.assertion_id] = None
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

    # -- storage ----------------------------------------------------------------------------

    def _store(self, n_unchanged: int, shelf: Shelf) -> Assertions:
        """Write the pages that are full now, and give the head."""
        n_pages, n_left = divmod(len(self._rows), PAGE_ROWS)
        for page in range(min(n_unchanged // PAGE_ROWS, self._stored.n_pages), n_pages):
            rows = self._rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
            shelf.put(_page_key(self._prefix, page), _encode_page(rows))
        return Assertions(STORED_FORMAT, n_pages, tuple(self._rows[len(self._rows) - n_left :]))


def _pages(stored: Assertions, shelf: Shelf, prefix: bytes) -> Iterable[Row]:
    for page in range(stored.n_pages):
        held = shelf.get(_page_key(prefix, page))
        assert held is not None, "a page is written before it is counted"
        yield from _decode_page(held)


def _page_key(prefix: bytes, page: int) -> bytes:
    return prefix + b"/a" + page.to_bytes(4, "big")


_encode_page: Final = msgspec.msgpack.Encoder().encode
_decode_page: Final = msgspec.msgpack.Decoder(list[Row]).decode
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Assertions).decode


def encode(stored: Assertions) -> bytes:
    """The head as bytes."""
    return _encode(stored)


def decode(stored: bytes) -> Assertions:
    """A head from its bytes. Raises AssertionsFormatUnknown where another release wrote it."""
    try:
        found = _decode(stored)
    except msgspec.ValidationError as error:
        raise AssertionsFormatUnknown(_REMEDY) from error
    if found.format != STORED_FORMAT:
        raise AssertionsFormatUnknown(f"They have format {found.format}, not {STORED_FORMAT}. {_REMEDY}")
    return found


_REMEDY: Final = (
    "Stored assertions were written by another release of factdrift. Start that release, or let this one "
    "build its tables anew from the log."
)
