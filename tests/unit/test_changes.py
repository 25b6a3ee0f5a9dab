"""From one state of the facts to the next: each change has its kind, a version, and is said once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.changes import INVALIDATIONS, Change, Kind, Published, Revision, diff, withdrawn
from state.episodes import Reason
from state.facts import Fact
from state.identity import FactId, claim_id, fact_id
from state.instants import Instant
from state.predicates import Predicate
from state.statements import ObservationId, Statement
from tests.builders import day, statement
from tests.kept import KeptClaim, contents, facts_of

CLAIM = claim_id("default", "kim", "prefers")
TEA, MILK = fact_id(CLAIM, "t:tea", 0), fact_id(CLAIM, "t:milk", 0)
HORIZON = day(50)
BASE = Fact(
    fact_id=TEA, claim=CLAIM, namespace="default", subject="Kim", predicate="prefers", declared=True,
    form="t:tea", ordinal=0, object="tea", lo=day(1), hi=None, lo_granularity="day", hi_granularity=None,
    reason=None, contested=False, rivals=(), support=3, dissent=1, observations=4, votes=None,
    decided_at=None, decided_observed_at=None, previous_fact_id=None, invalidated_by=None,
    supported_by=(ObservationId("o1"),), dissented_by=(ObservationId("o2"),),
)  # fmt: skip


def tea(**changes: Any) -> Fact:
    """The fact that all rows are about, as it was or as it has become."""
    return msgspec.structs.replace(BASE, **changes)


def ended(reason: str, hi: int = day(9), **changes: Any) -> Fact:
    return tea(**{"reason": reason, "hi": hi, "hi_granularity": "day", **changes})


def kinds(changes: Sequence[Change]) -> list[str]:
    """The kinds of changes in words: the topic without "fact-", or the revision."""
    return [change.revision or change.kind.value.removeprefix("fact-") for change in changes]


def published(*facts: Fact, version: int = 7) -> dict[FactId, Published]:
    return {fact.fact_id: Published(fact, version) for fact in facts}


CONTESTED = {"contested": True, "rivals": ("milk",)}
FUTURE = day(51)
ROWS: dict[str, tuple[Fact | None, Fact | None, list[str]]] = {
    # a fact that was not there
    "an open fact appears": (None, tea(), ["created"]),
    "a contested fact appears": (None, tea(**CONTESTED), ["created"]),
    "a fact appears outvoted": (None, ended("outvoted"), ["created", "invalidated"]),
    "a fact appears denied": (None, ended("denied"), ["created", "invalidated"]),
    "a fact appears superseded": (None, ended("superseded"), ["created", "invalidated"]),
    "a fact appears invalidated": (None, ended("invalidated"), ["created", "invalidated"]),
    "a fact appears ended": (None, ended("ended"), ["created", "ended"]),
    "a fact appears with an end to come": (None, ended("ended", FUTURE), ["created", "scheduled"]),
    # support
    "another document says so": (tea(), tea(support=4, observations=5), ["reinforced"]),
    "the same document says so again": (tea(), tea(observations=5), ["reinforced"]),
    "a voice more for a retired fact": (ended("denied"), ended("denied", support=4), ["reinforced"]),
    "support that is taken back": (tea(), tea(support=2, observations=3), ["recounted"]),
    "one statement of a document is taken back": (tea(), tea(observations=3), ["recounted"]),
    "a voice against it": (tea(), tea(dissent=2), ["recounted"]),
    "a voice against it is taken back": (tea(), tea(dissent=0), ["recounted"]),
    "a voice for it and one against it": (tea(), tea(support=4, dissent=2), ["reinforced"]),
    # ends
    "it is outvoted": (tea(), ended("outvoted"), ["invalidated"]),
    "it is denied": (tea(), ended("denied"), ["invalidated"]),
    "it is superseded": (tea(), ended("superseded"), ["invalidated"]),
    "it is invalidated by a decision": (tea(), ended("invalidated"), ["invalidated"]),
    "it ends of itself": (tea(), ended("ended"), ["ended"]),
    "it ends exactly at the horizon": (tea(), ended("ended", HORIZON), ["ended"]),
    "it will end": (tea(), ended("ended", Instant(HORIZON + 1)), ["scheduled"]),
    "it will be denied": (tea(), ended("denied", FUTURE), ["scheduled"]),
    "it ends for another reason": (ended("ended"), ended("outvoted"), ["invalidated"]),
    "it was outvoted, now it just ended": (ended("outvoted"), ended("ended"), ["ended"]),
    "it is outvoted with more support": (
        tea(), ended("outvoted", support=4, observations=5), ["reinforced", "invalidated"],
    ),
    "it is outvoted while contested": (tea(**CONTESTED), ended("outvoted"), ["invalidated"]),
    # and back
    "it is reinstated": (ended("outvoted"), tea(), ["reinstated"]),
    "it is reinstated contested": (ended("outvoted"), tea(**CONTESTED), ["reinstated", "contested"]),
    "it is reinstated with more support": (
        ended("outvoted"), tea(support=4), ["reinforced", "reinstated"],
    ),
    "its scheduled end is taken back": (ended("ended", FUTURE), tea(), ["reinstated"]),
    "it comes back after it was withdrawn": (withdrawn(tea()), tea(), ["reinstated"]),
    "it comes back outvoted after it was withdrawn": (withdrawn(tea()), ended("outvoted"), ["invalidated"]),
    "it comes back ended after it was withdrawn": (withdrawn(tea()), ended("ended"), ["ended"]),
    # dates
    "it began earlier": (tea(), tea(lo=day(0)), ["redated"]),
    "its start is no longer known": (tea(), tea(lo=None, lo_granularity=None), ["redated"]),
    "its start is known more finely": (tea(), tea(lo_granularity="hour"), ["redated"]),
    "it ended earlier": (ended("outvoted"), ended("outvoted", day(8)), ["redated"]),
    "its end is known more finely": (
        ended("ended"), ended("ended", hi_granularity="hour"), ["redated"],
    ),
    "its scheduled end moves": (ended("ended", FUTURE), ended("ended", day(60)), ["redated"]),
    "it began earlier and has ended": (tea(), ended("ended", lo=day(0)), ["ended"]),
    # words
    "its value is spelled in another way": (tea(), tea(object="Tea"), ["reworded"]),
    "a number becomes text": (tea(object=5), tea(object="5"), ["reworded"]),
    "an integer becomes a fraction": (tea(object=1), tea(object=1.0), ["reworded"]),
    "an integer becomes a boolean": (tea(object=1), tea(object=True), ["reworded"]),
    "its subject is spelled in another way": (tea(), tea(subject="kim"), ["reworded"]),
    "its predicate is spelled in another way": (tea(), tea(predicate="Prefers"), ["reworded"]),
    "it is reworded by a voice for it": (
        tea(), tea(object="Tea", support=4), ["reinforced", "reworded"],
    ),
    # dispute
    "it becomes contested": (tea(), tea(**CONTESTED), ["contested"]),
    "it becomes contested by a voice against it": (tea(), tea(dissent=2, **CONTESTED), ["contested"]),
    "it is settled": (tea(**CONTESTED), tea(), ["settled"]),
    "it is settled by a voice for it": (tea(**CONTESTED), tea(support=4), ["reinforced", "settled"]),
    "another rival": (tea(**CONTESTED), tea(contested=True, rivals=("rum",)), ["recounted"]),
    # the rest of what a reader sees
    "the votes that ended it are counted anew": (
        ended("outvoted", votes="3:1"), ended("outvoted", votes="4:1"), ["recounted"],
    ),
    "another statement decided it": (
        ended("outvoted", decided_observed_at=day(9)), ended("outvoted", decided_observed_at=day(10)),
        ["recounted"],
    ),
    "it was decided at another time": (
        ended("outvoted", decided_at=day(9)), ended("outvoted", decided_at=day(10)), ["recounted"],
    ),
    "another fact took its place": (
        ended("outvoted", invalidated_by=None), ended("outvoted", invalidated_by=MILK), ["recounted"],
    ),
    "an earlier episode is found": (tea(), tea(previous_fact_id=MILK), ["recounted"]),
    "a registry declares its predicate": (tea(declared=False), tea(), ["recounted"]),
    # gone
    "nothing carries it any more": (tea(), None, ["invalidated"]),
    "nothing carries it any more, and it was retired": (ended("ended"), None, ["invalidated"]),
    # nothing
    "nothing": (None, None, []),
    "the same": (tea(), tea(), []),
    "the same, retired": (ended("outvoted"), ended("outvoted"), []),
    "the same, withdrawn": (withdrawn(tea()), None, []),
    "the same statements under other ids": (tea(), tea(supported_by=("x",), dissented_by=("y",)), []),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), ROWS.values(), ids=ROWS.keys())
def test_every_change_of_a_fact_has_its_kinds_in_order(
    before: Fact | None, after: Fact | None, expected: list[str]
) -> None:
    held = published(before) if before else {}
    facts = [after] if after else []

    then, changes = diff(held, facts, horizon=HORIZON)

    assert kinds(changes) == expected
    first = 8 if before else 1
    assert [change.version for change in changes] == list(range(first, first + len(expected)))
    for change in changes:
        assert change.fact == then[change.fact.fact_id].fact
    if changes:
        assert then[TEA].version == changes[-1].version
    else:
        assert then == held


@pytest.mark.parametrize(("before", "after", "expected"), ROWS.values(), ids=ROWS.keys())
def test_a_second_comparison_yields_nothing(
    before: Fact | None, after: Fact | None, expected: list[str]
) -> None:
    facts = [after] if after else []
    then, _ = diff(published(before) if before else {}, facts, horizon=HORIZON)

    assert diff(then, facts, horizon=HORIZON) == (then, [])


def test_the_table_has_every_kind_every_revision_and_every_reason() -> None:
    words = {word for _, _, expected in ROWS.values() for word in expected}
    reasons = {fact.reason for before, after, _ in ROWS.values() for fact in (before, after) if fact}

    told_by_facts = {revision.value for revision in Revision} - {Revision.RECLUSTERED}
    assert words == {"created", "reinforced", "invalidated", *told_by_facts}
    assert reasons == {None, *(reason.value for reason in Reason)}
    assert set(Reason) - INVALIDATIONS == {Reason.ENDED}


def compared_anew(*facts: Fact) -> dict[FactId, Published]:
    return {
        fact_id: msgspec.structs.replace(one, is_compared_anew=True)
        for fact_id, one in published(*facts).items()
    }


def test_a_fact_of_which_only_the_comparison_is_new_says_so_once() -> None:
    then, changes = diff(compared_anew(tea()), [tea()], horizon=HORIZON)

    assert [(change.kind, change.revision, change.version) for change in changes] == [
        (Kind.REVISED, Revision.RECLUSTERED, 8)
    ]
    assert then == published(tea(), version=8)
    assert diff(then, [tea()], horizon=HORIZON) == (then, [])


@pytest.mark.parametrize("after", [tea(support=4, observations=5), ended("denied"), None])
def test_a_fact_that_a_new_comparison_changes_tells_the_change_alone(after: Fact | None) -> None:
    facts = [after] if after else []
    plain = diff(published(tea()), facts, horizon=HORIZON)

    assert diff(compared_anew(tea()), facts, horizon=HORIZON) == plain


def test_a_revision_is_named_and_nothing_else_is() -> None:
    for before, after, _ in ROWS.values():
        _, changes = diff(published(before) if before else {}, [after] if after else [], horizon=HORIZON)
        for change in changes:
            assert (change.kind is Kind.REVISED) == (change.revision != "")


def test_a_withdrawn_fact_stays_in_history_with_its_version_and_without_a_dispute() -> None:
    then, changes = diff(published(tea(**CONTESTED, votes="x", invalidated_by=MILK)), [], horizon=HORIZON)

    assert (then[TEA].fact.reason, then[TEA].version) == ("withdrawn", 8)
    assert (then[TEA].fact.contested, then[TEA].fact.rivals) == (False, ())
    assert (then[TEA].fact.votes, then[TEA].fact.invalidated_by) == (None, None)
    assert then[TEA].fact.lo == BASE.lo
    assert [(change.kind, change.version) for change in changes] == [(Kind.INVALIDATED, 8)]


def test_a_fact_that_was_withdrawn_goes_on_from_its_version() -> None:
    then, _ = diff(published(tea()), [], horizon=HORIZON)
    then, changes = diff(then, [tea()], horizon=HORIZON)

    assert [(change.revision, change.version) for change in changes] == [("reinstated", 9)]
    assert then == published(tea(), version=9)


def test_each_fact_has_versions_of_its_own_and_the_facts_keep_their_order() -> None:
    milk = tea(fact_id=MILK, object="milk")
    rum = tea(fact_id="rum", object="rum")
    held = {**published(tea(), version=3), **published(rum, version=9)}

    then, changes = diff(held, [milk, ended("outvoted", support=4)], horizon=HORIZON)

    assert [(change.fact.object, change.version) for change in changes] == [
        ("milk", 1), ("tea", 4), ("tea", 5), ("rum", 10),
    ]  # fmt: skip
    assert kinds(changes) == ["created", "reinforced", "invalidated", "invalidated"]
    assert {key: entry.version for key, entry in then.items()} == {TEA: 5, MILK: 1, "rum": 10}


def test_a_comparison_leaves_what_it_was_given_alone() -> None:
    held = published(tea())

    diff(held, [ended("outvoted")], horizon=HORIZON)

    assert held == published(tea())


# -- generated histories --------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Statement]:
    """Short histories in which instants, documents, bounds and values collide often."""
    found = []
    for number in range(draw(st.integers(1, 10))):
        observed = draw(st.integers(0, 9))
        valid_from = draw(st.none() | st.integers(0, 11))
        valid_to = draw(st.none() | st.none() | st.integers(1, 6))
        document = draw(st.sampled_from([None, "d1", "d2", "d3"]))
        found.append(
            statement(
                draw(st.sampled_from(["a", "a", "b", "c", ""])),
                day(observed),
                id=f"s{number}",
                affirmed=draw(st.integers(0, 3)) > 0,
                valid_from=None if valid_from is None else day(valid_from),
                valid_to=None if valid_to is None else day((valid_from or 0) + valid_to),
                source="s" if document else None,
                document=document,
                votes=draw(st.integers(0, 9)) > 0,
            )
        )
    return found


Batches = list[tuple[list[Statement], list[str]]]


@st.composite
def arrivals(draw: st.DrawFn) -> Batches:
    """A history in random order and batches, some of it twice and some of it taken back."""
    history = draw(histories())
    order = draw(st.permutations(history))
    twice = draw(st.lists(st.sampled_from(history), max_size=3))
    left = [*order, *twice]
    batches: Batches = []
    while left:
        size = draw(st.integers(1, 4))
        retracted = draw(st.lists(st.sampled_from(history), max_size=1)) if draw(st.booleans()) else []
        batches.append((left[:size], [s.observation_id for s in retracted]))
        left = left[size:]
    return batches


predicates = st.sampled_from([Predicate("p"), Predicate("p", "multi"), Predicate("p", change="never")])


@given(arrivals(), predicates, st.randoms(use_true_random=False))
def test_whoever_keeps_the_greatest_version_of_each_fact_has_the_published_facts(
    batches: Batches, predicate: Predicate, chance: random.Random
) -> None:
    claim, events = KeptClaim(predicate), []
    there: dict[str, Statement] = {}
    for statements, retracted in batches:
        events += claim.apply(statements, retracted)
        there.update((s.observation_id, s) for s in statements)
    delivered = events + chance.sample(events, len(events) // 2)
    chance.shuffle(delivered)

    held: dict[str, Change] = {}
    for event in delivered:
        if event.fact.fact_id not in held or event.version >= held[event.fact.fact_id].version:
            held[event.fact.fact_id] = event

    gone = {i for _, retracted in batches for i in retracted}
    kept = contents(e.fact for e in held.values() if e.fact.reason != Reason.WITHDRAWN)
    assert kept == facts_of([s for s in there.values() if s.observation_id not in gone], predicate)


@given(arrivals(), predicates)
def test_versions_of_a_fact_rise_by_one_from_its_creation_on(batches: Batches, predicate: Predicate) -> None:
    claim = KeptClaim(predicate)
    versions: dict[str, int] = {}
    for statements, retracted in batches:
        for change in claim.apply(statements, retracted):
            assert change.version == versions.get(change.fact.fact_id, 0) + 1
            assert (change.kind is Kind.CREATED) == (change.version == 1)
            versions[change.fact.fact_id] = change.version


@given(arrivals(), predicates)
def test_a_batch_that_is_delivered_again_changes_nothing(batches: Batches, predicate: Predicate) -> None:
    claim = KeptClaim(predicate)
    for statements, retracted in batches:
        claim.apply(statements, retracted)
        before, pieces = claim.facts(), dict(claim.pieces)

        assert claim.apply(statements, retracted) == []

        assert (claim.facts(), claim.pieces) == (before, pieces)


def test_a_statement_that_takes_the_place_of_a_retracted_one_is_not_passed_over_in_silence() -> None:
    claim = KeptClaim(Predicate("p"))
    claim.apply([statement("a", day(1), id="a"), statement("b", day(5), id="b")])
    instead = statement("b", day(6), id="c", valid_from=day(5))

    changes = claim.apply([instead], ["b"])

    a = next(published.fact for published in claim.seen.values() if published.fact.form == "a")
    assert (a.hi, a.decided_observed_at) == (day(5), day(6))
    assert [(c.fact.form, c.revision) for c in changes] == [("a", "recounted")]
