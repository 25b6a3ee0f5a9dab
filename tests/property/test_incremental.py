"""A claim kept between batches equals the fold of all of its evidence, after every step."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from state import clusters, folding, forms, strands, tail
from state import stored_claim as claims
from state.decided import retracted_by
from state.objects import type_object
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement
from state.votes import ALL_VOTES
from streams.vectors import packaged
from tests.builders import decision
from tests.builders import statement as built
from tests.kept import KeptClaim, facts_of
from tests.property.test_fold_against_twin import histories, lineages

PREDICATES = [
    Predicate("p"),
    Predicate("p", "multi"),
    Predicate("p", change="never"),
    Predicate("p", arbitration="explicit"),
]


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "CHUNK", 2)
    monkeypatch.setattr(tail, "INLINE_MAX", 1)
    monkeypatch.setattr(strands, "INLINE_MAX", 2)


@given(
    lineages(max_size=24) | histories(max_size=24),
    st.sampled_from(PREDICATES),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.floats(0, 0.3),
)
def test_a_claim_kept_between_batches_equals_the_fold_of_all_its_evidence(
    history: list[Statement],
    predicate: Predicate,
    chance: random.Random,
    in_order: bool,
    share_retracted: float,
) -> None:
    left = sorted(history, key=lambda s: s.observed_at) if in_order else history
    live, there, gone = KeptClaim(predicate), {}, set()
    while left:
        n = chance.randint(1, 3)
        batch, left = left[:n], left[n:]
        retracted = [s.observation_id for s in history if chance.random() < share_retracted / 4]
        repeated = [s for s in there.values() if chance.random() < 0.1]
        batch += [contradiction(s, chance) for s in there.values() if chance.random() < 0.05]
        for statement in batch:
            held = there.get(statement.observation_id, statement)
            there[statement.observation_id] = min(held, statement, key=lambda s: s.content_hash)
        gone |= set(retracted)

        live.apply([*batch, *repeated], retracted)

        now = [s for s in there.values() if s.observation_id not in gone]
        assert live.facts() == facts_of(now, predicate)
    assert live.apply(list(there.values()), sorted(gone)) == []


def contradiction(s: Statement, chance: random.Random) -> Statement:
    """Another content under the id of a statement; the smaller content hash stays, whatever came first."""
    mark = chance.choice(["!", "~"])  # below and above every other hash
    form = chance.choice([s.form, "a", "b"])
    return msgspec.structs.replace(s, content_hash=mark + s.content_hash, form=form, spelling=form or None)


WORDS = [
    "adoption agency",
    "adoption agencies",
    "the adoption agencies",
    "foster care",
    "2023-05",
    "2023-05-08",
    "9 May 2023",
    "2023",
    "5 kg",
    "5000 g",
]


@st.composite
def conversations(draw: st.DrawFn) -> list[Statement]:
    """Short histories whose objects are paraphrases, fitting dates and equal measures."""
    found = []
    for s in draw(histories(max_size=12)):
        word = draw(st.sampled_from(WORDS))
        found.append(msgspec.structs.replace(s, form=type_object(word).key, spelling=word))
    return found


@given(conversations(), st.sampled_from(PREDICATES), st.randoms(use_true_random=False), st.floats(0, 0.3))
def test_clusters_that_move_as_forms_come_and_go_leave_the_facts_of_all_the_evidence(
    history: list[Statement], predicate: Predicate, chance: random.Random, share_retracted: float
) -> None:
    vectors = packaged()
    live, there, gone = KeptClaim(predicate, vectors), {}, set()
    for statement in history:
        there[statement.observation_id] = statement
        retracted = [s.observation_id for s in history if chance.random() < share_retracted / 4]
        gone |= set(retracted)

        live.apply([statement], retracted)

        now = [s for s in there.values() if s.observation_id not in gone]
        assert live.facts() == facts_of(now, predicate, vectors)


def test_no_text_is_embedded_before_a_claim_has_a_second_one() -> None:
    live = KeptClaim(Predicate("p"), packaged())

    live.apply([worded("foster care", 1), worded("foster care", 2), worded("5 kg", 3)])
    assert live.n_embedded == 0

    live.apply([worded("adoption agency", 4)])
    assert live.n_embedded == 2


def worded(word: str, at: int) -> Statement:
    return msgspec.structs.replace(
        built("x", at, id=f"{word}@{at}"), form=type_object(word).key, spelling=word
    )


@given(histories(max_size=12), st.permutations(PREDICATES), st.integers(1, 11))
def test_a_predicate_that_is_declared_otherwise_later_folds_its_claims_anew(
    history: list[Statement], predicates: list[Predicate], n: int
) -> None:
    before, now, *_ = predicates
    live = KeptClaim(before)
    live.apply(history[:n])

    live.redeclare(now)
    live.apply(history[n:])

    if history[n:]:
        assert live.facts() == facts_of(history, now)


def test_a_claim_of_another_format_is_refused_with_a_way_out() -> None:
    live = KeptClaim(Predicate("p"))
    live.apply([built("a", 1, id="a")])
    claim = claims.decode(live.stored)
    claim.format = 99

    with pytest.raises(claims.StoredFormatUnknown, match="another release"):
        claims.decode(claims.encode(claim))
    with pytest.raises(claims.StoredFormatUnknown, match="another release"):
        claims.decode(b"\x91\x01")


@given(
    lineages(max_size=24) | histories(max_size=24),
    st.sampled_from(PREDICATES),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_a_batch_that_died_between_two_writes_is_applied_again_with_the_same_events(
    history: list[Statement], predicate: Predicate, chance: random.Random, in_order: bool
) -> None:
    left = sorted(history, key=lambda s: s.observed_at) if in_order else history
    live, there = KeptClaim(predicate), []
    while left:
        n = chance.randint(1, 3)
        batch, left = left[:n], left[n:]
        there += batch
        first = live.crash(batch, [], n_written=chance.randint(0, 6))

        again = live.apply(batch)

        assert again == first
        assert live.facts() == facts_of(there, predicate)


@given(conversations(), st.sampled_from(PREDICATES[:2]), st.randoms(use_true_random=False))
def test_a_batch_that_moved_clusters_and_died_is_applied_again_with_the_same_events(
    history: list[Statement], predicate: Predicate, chance: random.Random
) -> None:
    vectors = packaged()
    live, there = KeptClaim(predicate, vectors), []
    left = history
    while left:
        n = chance.randint(1, 4)
        batch, left = left[:n], left[n:]
        retracted = [s.observation_id for s in there if chance.random() < 0.1]
        there = [s for s in (*there, *batch) if s.observation_id not in retracted]
        first = live.crash(batch, retracted, n_written=chance.randint(0, 12))

        again = live.apply(batch, retracted)

        assert again == first
        assert live.facts() == facts_of(there, predicate, vectors)


@pytest.mark.parametrize("n_written", range(10))
def test_a_value_whose_strand_is_gone_is_a_new_one_though_a_dead_batch_named_it(n_written: int) -> None:
    """The strand apart is let go with the third batch, deleted with the fourth, and named by it again."""
    multi = PREDICATES[1]
    live = KeptClaim(multi, packaged())
    live.apply([worded("5 kg", 0), worded("adoption agency", 1), worded("adoption agency", 2)])
    live.apply([worded("2023-05", 3), worded("adoption agencies", 4), worded("foster care", 5)])
    live.apply([worded("adoption agency", at) for at in (7, 8, 9)], ["adoption agencies@4", "foster care@5"])
    last = [worded("adoption agencies", 10)]
    gone = ["5 kg@0", "2023-05@3", *(f"adoption agency@{at}" for at in (1, 2, 7, 8, 9))]
    first = live.crash(last, gone, n_written=n_written)

    assert live.apply(last, gone) == first
    assert live.facts() == facts_of(last, multi, packaged())


def test_a_late_saying_of_a_document_counts_where_the_boundary_comes_between_it_and_the_next() -> None:
    """The document's second saying opened the next fact; its first one is dissent of the one that ended."""
    said = [
        built("b", 3, id="s0"),
        built("b", 0, id="s1"),
        built("b", 2, id="s2", source="s", document="d"),
        built("b", 0, id="s3", valid_from=3),
        built("a", 1, id="s4"),
        built("a", 0, id="s5"),
        built("b", 1, id="s6", source="s", document="d"),
    ]
    live = KeptClaim(PREDICATES[0])
    for n, statement in enumerate(said, start=1):
        live.apply([statement])
        assert live.facts() == facts_of(said[:n], PREDICATES[0])


def test_a_late_denial_counts_against_the_fact_whose_beginning_comes_before_it() -> None:
    """When it took effect another fact was open, and in its cycle it was nobody's vote."""
    policy = Policy(window=ALL_VOTES, by_cycle=True, version="by-cycle")
    said = [
        [(2, built("a", 0, id="s0"))],
        [(1, built("b", 0, id="s1", valid_from=2))],
        [(2, built("b", 3, id="s2"))],
        [
            (1, built("a", 3, id="s3", affirmed=False, votes=False)),
            (1, built("b", 2, id="s4", affirmed=False)),
        ],
        [(1, built("b", 2, id="s5", affirmed=False))],
    ]
    live, there = KeptClaim(PREDICATES[0], policy=policy), []
    for arrivals in said:
        batch = [msgspec.structs.replace(statement, cycle=cycle) for cycle, statement in arrivals]
        there += batch
        live.apply(batch)
        assert live.facts() == facts_of(there, PREDICATES[0], policy=policy)


def test_what_a_document_took_back_is_forgotten_although_its_cluster_is_gone_with_it() -> None:
    """The denial of a day joined that of its month; without it the month is on its own again."""

    def said(
        word: str, at: int, number: int, *, document: str | None = None, affirmed: bool = False
    ) -> Statement:
        found = built("x", at, id=f"s{number}", affirmed=affirmed, source=document and "s", document=document)
        return msgspec.structs.replace(found, form=type_object(word).key, spelling=word)

    month, day = said("2023-05", 1, 2), said("2023-05-08", 0, 3, document="d")
    unheard = [built("x", 0, id="s4", votes=False), built("x", 1, id="s5", votes=False)]
    last = [said("2023-05", 1, 6, affirmed=True), said("2023-05", 2, 7, document="d")]
    live = KeptClaim(PREDICATES[0], packaged())
    live.apply([month, day])
    live.apply(unheard)
    live.apply(last, ["s2", "s3", "s4", "s5"])

    assert live.facts() == facts_of(last, PREDICATES[0], packaged())


@given(
    lineages(max_size=14) | histories(max_size=14),
    st.sampled_from(PREDICATES),
    st.lists(
        st.tuples(
            st.integers(0, 12), st.integers(0, 12), st.sampled_from("abc"), st.sampled_from(["", *"abc"])
        ),
        max_size=3,
    ),
    st.randoms(use_true_random=False),
)
def test_decisions_in_any_order_of_arrival_leave_the_facts_of_all_the_evidence(
    history: list[Statement],
    predicate: Predicate,
    decisions: list[tuple[int, int, str, str]],
    chance: random.Random,
) -> None:
    left = [[s] for s in history]
    for number, (at, decided_at, closes, opens) in enumerate(decisions):
        taken = decision(f"x{number}", closes=closes, opens=opens or None, at=at, decided_at=decided_at)
        left.insert(chance.randint(0, len(left)), taken)
    live, there, gone = KeptClaim(predicate), [], set()
    for batch in left:
        there += batch
        retracted = sorted({retracted_by(s) for s in there if s.verdict and chance.random() < 0.05})
        gone |= set(retracted)
        live.apply(batch, retracted)

        now = [s for s in there if retracted_by(s) not in gone]
        assert live.facts() == facts_of(now, predicate)
    assert live.apply(there) == []


@given(
    histories(max_size=16),
    st.sampled_from(PREDICATES[:2]),
    st.lists(st.integers(1, 4), min_size=16, max_size=16),
    st.randoms(use_true_random=False),
)
def test_votes_by_cycle_leave_the_facts_of_all_the_evidence_with_its_cycles(
    history: list[Statement], predicate: Predicate, cycles: list[int], chance: random.Random
) -> None:
    policy = Policy(window=ALL_VOTES, by_cycle=True, version="by-cycle")
    left = [msgspec.structs.replace(s, cycle=n) for s, n in zip(history, cycles, strict=False)]
    live, there = KeptClaim(predicate, policy=policy), []
    while left:
        n = chance.randint(1, 3)
        batch, left = left[:n], left[n:]
        there += batch
        live.apply(batch)

        assert live.facts() == facts_of(there, predicate, policy=policy)


def worded_all(*words: str) -> list[Statement]:
    return [worded(word, at) for at, word in enumerate(words, start=1)]


@pytest.mark.parametrize("predicate", PREDICATES[:2])
def test_a_spelling_that_changes_what_guards_see_clusters_the_claim_anew(predicate: Predicate) -> None:
    words = worded_all("foster care", "foster care system", "Foster Care", "Foster Care System")
    one_by_one, at_once = KeptClaim(predicate, packaged()), KeptClaim(predicate, packaged())

    for statement in words:
        one_by_one.apply([statement])
    at_once.apply(words)

    assert one_by_one.facts() == at_once.facts() == facts_of(words, predicate, packaged())


def test_forms_that_are_left_out_for_want_of_room_do_not_depend_on_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forms, "KEPT_MAX", 4)
    monkeypatch.setattr(clusters, "FORMS_MAX", 4)
    others = worded_all("apples", "boats", "cars", "doors", "eggs", "flags")
    lessons = [worded("yoga lesson", 20), worded("yoga lessons", 21)]
    first, last = KeptClaim(PREDICATES[1], packaged()), KeptClaim(PREDICATES[1], packaged())

    for statement in [*lessons, *others]:
        first.apply([statement])
    for statement in [*others, *lessons]:
        last.apply([statement])
    assert first.facts() == last.facts()

    first.apply([], [s.observation_id for s in others])
    fresh = KeptClaim(PREDICATES[1], packaged())
    fresh.apply(lessons)
    assert first.facts() == fresh.facts()


def test_what_was_announced_is_told_again_when_it_has_come() -> None:
    live = KeptClaim(Predicate("p"))
    live.apply([built("a", 1, id="a"), built("a", 2, id="not", affirmed=False, valid_from=50)])

    changes = live.apply([built("b", 60, id="b")])

    told = [(c.fact.form, c.kind.value, c.revision) for c in changes]
    assert ("a", "fact-invalidated", "") in told
