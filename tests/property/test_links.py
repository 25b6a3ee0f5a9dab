"""Assertions, links and lifecycle against their plain twin, in any order, at any two instants."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from state.assertion_log import PAGE_ROWS
from state.assertions import AssertionId, TakenBack, assertion_id
from state.corrections import Relate, Target
from state.forms import Forms
from state.instants import Instant
from state.lifecycle import AssertionState
from state.live_assertions import Arrival
from state.noticing import CONTRADICTED_MAX
from state.predicates import Predicate
from state.statements import Statement
from tests.disputing import CLAIM, Disputed, invalidate, link, said, supersede
from tests.reference import links as twin

SINGLE = Predicate("located_in")
EXPLICIT = Predicate("located_in", arbitration="explicit")
MULTI = Predicate("works_on", cardinality="multi")
UNDECLARED = Predicate("is_at", declared=False)
PREDICATES = st.sampled_from([SINGLE, SINGLE, EXPLICIT, MULTI, UNDECLARED])
FORMS = Forms(cluster_of={"a2": "a"})
VALUES = ("a", "a", "a2", "b", "b", "c", "")
DOCUMENTS = (None, "D1", "D1", "D2", "D2", "D3", "D4")
END = 14
"""After the last instant that a generated bound can have."""


# -- what is generated ----------------------------------------------------------------------


@st.composite
def statements(draw: st.DrawFn, number: int, recorded_at: int) -> Statement:
    document = draw(st.sampled_from(DOCUMENTS))
    lo = draw(st.integers(0, 9))
    hi = draw(st.none() | st.integers(lo + 1, lo + 4))
    observed = draw(st.integers(0, 12))
    made = said(
        draw(st.sampled_from(VALUES)),
        lo,
        hi,
        document=document,
        id=f"s{number:02}",
        affirmed=draw(st.integers(0, 4)) > 0,
        observed_at=observed,
        recorded_at=recorded_at,
        confidence=draw(st.sampled_from([0.3, 0.8])),
        extracted=draw(st.booleans()),
        supersedes=draw(st.none() | st.sampled_from(DOCUMENTS[1:])) if document else None,
        votes=draw(st.integers(0, 9)) > 0,
    )
    if hi is not None and draw(st.integers(0, 3)) == 0:  # only an end, perhaps said afterwards
        made = msgspec.structs.replace(made, valid_from=None, effective_at=Instant(observed))
        made = msgspec.structs.replace(made, valid_to=Instant(hi)) if observed != hi else made
    return made


@st.composite
def evidence(draw: st.DrawFn, max_size: int = 8) -> list[Statement]:
    n = draw(st.integers(1, max_size))
    return [draw(statements(number, draw(st.integers(0, 5)))) for number in range(n)]


@st.composite
def logs(draw: st.DrawFn) -> list[Arrival]:
    """Statements, retracts and decisions in the order of a log, with recorded times that never fall."""
    found: list[Arrival] = []
    spoken: list[Statement] = []
    at = 0
    for number in range(draw(st.integers(1, 10))):
        at += draw(st.integers(0, 2))
        what = draw(st.integers(0, 9))
        if what < 6 or not spoken:
            spoken.append(draw(statements(number, at)))
            found.append(spoken[-1])
        elif what == 6:
            ids = [s.observation_id for s in spoken] + [getattr(d, "correction_id", "c00") for d in found]
            found.append(TakenBack(draw(st.sampled_from(ids)), Instant(at)))
        else:
            found.append(draw(decisions(number, at, spoken)))
    return found


@st.composite
def decisions(draw: st.DrawFn, number: int, at: int, spoken: list[Statement]) -> Any:
    def target(*, is_wide: bool) -> Target:
        about = draw(st.sampled_from(spoken))
        if is_wide and about.form:
            return Target(form=about.form)
        return Target(id=id_of_statement(about))

    kind = draw(st.sampled_from(["supersede", "invalidate", "confirms", "refines", "contradicts"]))
    is_wide = draw(st.integers(0, 3)) == 0
    valid_at, name = draw(st.integers(0, 12)), f"c{number:02}"
    if kind == "supersede":
        made: Any = supersede(target(is_wide=is_wide), draw(st.sampled_from("abc")), valid_at, id=name)
    elif kind == "invalidate":
        made = invalidate(target(is_wide=is_wide), valid_at, id=name)
    else:
        one, other = target(is_wide=is_wide), target(is_wide=is_wide)
        if (one.form is None) is not (other.form is None):
            one = other = Target(id=id_of_statement(spoken[0]))  # refused: both ends are one
        made = link(kind, one, other, valid_at, id=name)
    decided_at = draw(st.integers(0, 14))
    return msgspec.structs.replace(made, recorded_at=Instant(at), decided_at=Instant(decided_at))


def id_of_statement(statement: Statement) -> AssertionId:
    who = f"o{statement.observation_id}" if statement.document is None else f"d1:s{statement.document}"
    return assertion_id(CLAIM, who, statement.form, affirmed=statement.affirmed)


# -- the twin's view ------------------------------------------------------------------------


def as_twin(s: Statement) -> twin.Saying:
    return twin.Saying(
        id=s.observation_id,
        document=s.document,
        value=s.form,
        affirmed=s.affirmed,
        lo=s.effective_at,
        hi=s.valid_to,
        observed=s.observed_at,
        recorded=s.recorded_at,
        is_report=s.is_late_end,
        direct=not s.extracted,
        confidence=s.confidence,
        replaces=s.supersedes,
    )


def twin_log(log: list[Arrival], names: dict[str, twin.Name]) -> list[twin.Event]:
    found: list[twin.Event] = []
    for event in log:
        if isinstance(event, Statement):
            if event.votes:
                found.append(as_twin(event))
                names[id_of_statement(event)] = found[-1].name
        elif isinstance(event, TakenBack):
            found.append(twin.Taken(event.observation_id, event.recorded_at))
        else:
            value = getattr(event, "form", "")
            other = getattr(event, "source", None)
            assert event.decided_at is not None
            kind = getattr(event, "kind", type(event).__name__.lower())
            found.append(
                twin.Decision(
                    event.correction_id,
                    kind,
                    _twin_target(event.target, names),
                    getattr(event, "valid_at", 0),
                    event.decided_at,
                    event.recorded_at,
                    value,
                    None if other is None else _twin_target(other, names),
                )
            )
            if kind == "supersede":
                opened = assertion_id(CLAIM, f"c{event.correction_id}", value, affirmed=True)
                names[opened] = (f"decision {event.correction_id}", value, True)
    return found


def _twin_target(target: Target, names: dict[str, twin.Name]) -> twin.Name | str:
    if target.form is not None:
        return target.form
    return names.get(str(target.id), ("nobody", "", True))


def compare(claim: Disputed, log: list[Arrival], known_at: int | None = None) -> None:
    names: dict[str, twin.Name] = {}
    events = twin_log(log, names)
    known = twin.world(
        events,
        10**9 if known_at is None else known_at,
        single=not claim.predicate.is_multi,
        declared=claim.predicate.declared,
        means=claim.forms.cluster_of,
    )
    ids = {name: key for key, name in names.items()}
    for t in range(-1, END + 2):
        expected = {
            ids[name]: (
                answer.state,
                None if answer.preferred is None else ids[answer.preferred],
                frozenset(ids[member] for member in answer.dispute),
            )
            for name, answer in known.answers(t, ids).items()
        }
        assert {one.assertion_id: _brief(one) for one in read(claim, t, known_at)} == expected, t


def _brief(state: AssertionState) -> tuple[str, str | None, frozenset[str]]:
    return (state.state.value, state.preferred, frozenset(state.dispute))


def read(claim: Disputed, t: int, known_at: int | None = None) -> list[AssertionState]:
    return claim.open().read(
        valid_at=Instant(t), known_at=None if known_at is None else Instant(known_at), forms=claim.forms
    )


def fed(
    predicate: Predicate, log: list[Arrival], sizes: list[int] | None = None, forms: Forms | None = None
) -> Disputed:
    claim = Disputed(predicate)
    claim.forms = Forms() if forms is None else forms
    left = list(log)
    for size in [*(sizes or []), 1]:
        while left:
            claim.batch(*left[:size])
            left = left[size:]
            if sizes and size != 1:
                break
    return claim


MONOLOGUE = st.lists(
    st.tuples(st.integers(0, 8), st.none() | st.integers(1, 4), st.integers(0, 12), st.integers(0, 3)),
    min_size=1,
    max_size=5,
)
"""What one document says of one value: start, length, when observed; 0 at last: an end and no start."""


@st.composite
def rulings(draw: st.DrawFn) -> list[Arrival]:
    """A few statements of two documents, one of which may replace the other, and several decisions."""
    found: list[Arrival] = []
    spoken: list[Statement] = []
    for number in range(draw(st.integers(1, 3))):
        lo, document = draw(st.integers(0, 6)), draw(st.sampled_from(["D1", "D2"]))
        spoken.append(
            said(
                draw(st.sampled_from("aab")),
                lo,
                draw(st.none() | st.integers(lo + 1, lo + 6)),
                document=document,
                id=f"s{number}",
                observed_at=draw(st.integers(0, 6)),
                recorded_at=0,
                supersedes="D1" if document == "D2" and draw(st.booleans()) else None,
            )
        )
    found += spoken
    for number in range(draw(st.integers(1, 4))):
        found.append(draw(decisions(number, number, spoken)))
    found.append(draw(statements(90, 9)))
    return found


# -- properties -----------------------------------------------------------------------------


@given(PREDICATES, evidence(), st.randoms(use_true_random=False), st.lists(st.integers(1, 4), max_size=5))
def test_any_order_and_batching_of_the_same_statements_gives_the_answers_of_the_twin(
    predicate: Predicate, arrivals: list[Statement], chance: Any, sizes: list[int]
) -> None:
    shuffled = list(arrivals)
    chance.shuffle(shuffled)

    claim = fed(predicate, shuffled, sizes, FORMS)

    compare(claim, list(arrivals))


@given(PREDICATES, logs(), st.integers(0, 20))
def test_with_retracts_and_decisions_every_answer_at_two_clocks_is_that_of_the_twin(
    predicate: Predicate, log: list[Arrival], known_at: int
) -> None:
    claim = fed(predicate, log, forms=FORMS)

    compare(claim, log)
    compare(claim, log, known_at)


@given(MONOLOGUE)
def test_a_document_that_says_one_thing_in_many_ways_holds_when_the_twin_says(
    sayings: list[tuple[int, int | None, int, int]],
) -> None:
    arrivals: list[Arrival] = []
    for number, (lo, length, observed, form) in enumerate(sayings):
        hi = None if length is None else lo + length
        made = said("a", lo, hi, document="D1", id=f"s{number}", observed_at=observed, recorded_at=0)
        if hi is not None and form == 0 and observed != hi:  # an end alone: from when observed, if before it
            made = msgspec.structs.replace(made, valid_from=None, effective_at=Instant(observed))
        arrivals.append(made)

    claim = fed(SINGLE, arrivals)

    compare(claim, arrivals)


@given(PREDICATES, rulings())
def test_several_decisions_about_a_few_assertions_end_them_as_the_twin_says(
    predicate: Predicate, log: list[Arrival]
) -> None:
    claim = fed(predicate, log)

    compare(claim, log)


@given(PREDICATES, logs(), st.integers(0, 20))
def test_an_answer_of_the_past_is_the_answer_of_a_log_that_ends_there(
    predicate: Predicate, log: list[Arrival], known_at: int
) -> None:
    claim, then = fed(predicate, log), fed(predicate, [one for one in log if one.recorded_at <= known_at])

    for t in range(-1, END + 2):
        assert read(claim, t, known_at) == read(then, t)


@given(PREDICATES, logs(), st.lists(st.integers(1, 4), max_size=5))
def test_a_replay_writes_nothing_new_and_gives_the_same_links(
    predicate: Predicate, log: list[Arrival], sizes: list[int]
) -> None:
    claim = fed(predicate, log, sizes, FORMS)
    links, head, table = list(claim.links), claim.head, dict(claim.table)
    refused = {refusal.correction_id for refusal in claim.refusals}

    # What was refused left nothing behind and may be sent again: it is no replay of something applied.
    claim.each([one for one in log if getattr(one, "correction_id", None) not in refused])

    assert (claim.links, claim.head, claim.table) == (links, head, table)
    assert fed(predicate, log, sizes, FORMS).links == links
    assert len({one.link_id for one in links}) == len(links)


@given(PREDICATES, logs())
def test_a_claim_that_is_kept_between_batches_notices_what_one_that_is_read_back_does(
    predicate: Predicate, log: list[Arrival]
) -> None:
    kept, read_back = Disputed(predicate, kept=True), Disputed(predicate)

    kept.each(log)
    read_back.each(log)

    assert kept.links == read_back.links
    assert kept.refusals == read_back.refusals
    assert (kept.head, kept.table) == (read_back.head, read_back.table)


@given(st.permutations(range(9)), st.lists(st.integers(1, 4), max_size=5))
def test_n_sources_that_confirm_each_other_make_n_minus_one_links(order: list[int], sizes: list[int]) -> None:
    sources = [said("Paris", n // 2, document=f"D{n}", id=f"F{n}") for n in range(9)]

    claim = fed(SINGLE, [sources[n] for n in order], sizes)

    assert [one.kind for one in claim.links] == ["confirms"] * 8
    assert len({one.link_id for one in claim.links}) == 8
    groups = [{one.source, one.target} for one in claim.links]
    connected = set(groups[0])
    for _ in groups:
        connected = connected.union(*(group for group in groups if group & connected))
    assert len(connected) == 9


SPANS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.none() | st.integers(1, 4)), max_size=8
)


@given(SPANS, st.randoms(use_true_random=False))
def test_contradicts_links_are_the_pairs_that_conflict_at_some_instant_in_any_order(
    spans: list[tuple[str, int, int | None]], chance: Any
) -> None:
    arrivals = [
        said(value, lo, None if n is None else lo + n, document=f"D{number}", id=f"F{number}", observed_at=20)
        for number, (value, lo, n) in enumerate(spans)
    ]
    chance.shuffle(arrivals)

    claim = fed(SINGLE, list(arrivals))

    names: dict[str, twin.Name] = {}
    known = twin.world(twin_log(list(arrivals), names), 10**9)
    expected = {
        frozenset((a, b))
        for a, one in names.items()
        for b, other in names.items()
        if a != b
        and known.conflict(one, other)
        and any(known.holding(one, t) and known.holding(other, t) for t in range(END + 2))
    }
    told = [frozenset((one.source, one.target)) for one in claim.links if one.kind == "contradicts"]
    assert len(told) == len(set(told))
    assert set(told) == expected


# -- bounds ---------------------------------------------------------------------------------


def test_one_arrival_gives_rise_to_a_bounded_number_of_links_however_great_the_dispute() -> None:
    claim = Disputed(SINGLE, kept=True)
    claim.batch(*[said("Paris", n, document=f"P{n}") for n in range(60)])

    applied = claim.batch(said("London", 100, document="L"))

    assert [one.kind for one in applied.links] == ["contradicts"] * CONTRADICTED_MAX
    states = claim.open().read(valid_at=Instant(200))
    assert {state.state.value for state in states} == {"conflicting"}  # every one of them, linked or not


def test_disputes_that_were_closed_are_looked_at_no_more_and_leave_the_head() -> None:
    claim = Disputed(EXPLICIT, kept=True)
    for n in range(0, 400, 4):
        claim.batch(
            said(f"v{n}", n, document=f"D{n}", id=f"F{n}"), said(f"w{n}", n, document=f"E{n}", id=f"G{n}")
        )
        claim.batch(
            invalidate(Target(observation_ids=(f"F{n}",)), n + 2, id=f"c{n}"),
            invalidate(Target(observation_ids=(f"G{n}",)), n + 2, id=f"d{n}"),
        )

    applied = claim.batch(said("new", 1000, document="N"))

    assert applied.links == []
    assert len(claim.open()._watch._hulls) == 1
    assert len(applied.stored.rows) < PAGE_ROWS
    assert len(claim.head) < 64 * 1024


def test_a_relate_record_is_kept_with_its_reason() -> None:
    claim = Disputed(EXPLICIT)
    claim.each([said("a", 1, document="D1", id="A"), said("b", 1, document="D2", id="B")])

    claim.batch(link("refines", claim.target("A"), claim.target("B"), 5, id="c1"))

    (kept,) = [row for row in claim.open().rows() if getattr(row, "decision", None) is not None]
    assert isinstance(kept.decision, Relate)
    assert kept.decision.reason == "read again"
