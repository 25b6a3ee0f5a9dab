"""Facts of their own: where each assertion stands for itself, claims against their plain twin.

The facts are those of the twin and of the assertions, in any order of arrival and any batching, and a claim
that is kept between batches has those that all of its evidence gives at once.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state import strands, tail
from state.assertions import TakenBack, assertion_id
from state.corrections import Invalidate, Refusal, Relate, Supersede
from state.decided import retracted_by
from state.episodes import Role
from state.facts import About, Fact, build
from state.identity import claim_id, fact_id
from state.own_facts import own_name
from state.policy import Policy
from state.predicates import Predicate
from state.statements import Statement, restatement_key, voter
from state.timeline import fold
from tests.disputing import CLAIM, Disputed
from tests.kept import NAMES, KeptClaim, facts_of
from tests.property.test_links import evidence, logs, rulings, twin_log
from tests.reference import links, own_facts

PREDICATES = [
    Predicate("located_in", arbitration="explicit"),
    Predicate("works_on", cardinality="multi", arbitration="explicit"),
]
KEPT = claim_id(*NAMES)
LATEST = 10**9


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "INLINE_MAX", 1)
    monkeypatch.setattr(strands, "INLINE_MAX", 2)


class Told(KeptClaim):
    """A claim that is fed a log: statements, retracts and decisions, each judged when it comes."""

    def __init__(self, predicate: Predicate) -> None:
        super().__init__(predicate)
        self.evidence: dict[str, Statement] = {}
        self.gone: set[str] = set()
        self.refused: list[str] = []

    def learn(self, log: list[Any]) -> None:
        """Take in a part of the log as one batch. Retracts come after all else of it, as in a host."""
        arrivals: list[Statement] = []
        for event in log:
            if isinstance(event, Statement):
                arrivals.append(event)
            elif isinstance(event, Supersede | Invalidate):
                entered = self.judge(event, arrivals)
                if isinstance(entered, Refusal):
                    self.refused.append(entered.correction_id)
                else:
                    arrivals += entered
        taken = [event.observation_id for event in log if isinstance(event, TakenBack)]
        self.gone |= set(taken)
        self.evidence.update({s.observation_id: s for s in arrivals})
        self.apply(arrivals, taken)

    def left(self) -> list[Statement]:
        """All of the evidence."""
        return [s for s in self.evidence.values() if retracted_by(s) not in self.gone]


def own(fact: Fact, names: dict[str, links.Name], support: frozenset[str]) -> own_facts.OwnFact:
    """A published fact as the twin writes it; `support` are the statements that it has."""
    closing = fact.closed_by if fact.reason in ("superseded", "invalidated") else None
    return own_facts.OwnFact(
        name=names[fact.fact_id],
        ordinal=fact.ordinal,
        lo=fact.lo,
        hi=fact.hi,
        reason=fact.reason,
        support=support,
        closed_by=closing if closing and closing.startswith("c") else None,
        opened_by=fact.opened_by and fact.opened_by.removesuffix("+"),
        against=fact.against,
    )


def fact_names(world: links.World, log: list[Any]) -> dict[str, links.Name]:
    """The name of the assertion behind each id that a fact may have."""
    found: dict[str, links.Name] = {}
    voices = {voter(s): links_name(s) for s in log if isinstance(s, Statement)}
    whos = {f"c{s.decision}": s.name for s in world.sayings if s.decision is not None} | voices
    for who, name in whos.items():
        for value in {s.value for s in world.sayings if s.name[0] == name[0]}:
            named = own_name(who, value, affirmed=True)
            for ordinal in range(8):
                found[fact_id(KEPT, named, ordinal)] = (name[0], value, True)
    return found


def links_name(s: Statement) -> links.Name:
    return (
        f"saying {s.observation_id}" if s.document is None else f"document {s.document}", s.form, s.affirmed
    )  # fmt: skip


def heard(log: list[Any]) -> list[Any]:
    """A log without links, and without what repeats another statement of a document under another id.

    The twin knows no such repetitions; that they count nowhere is tested by F34.
    """
    found, seen = [], set()
    for event in log:
        key = restatement_key(event) if isinstance(event, Statement) and event.votes else None
        if not isinstance(event, Relate) and (key is None or key not in seen):
            found.append(event)
            seen.add(key)
    return found


def world_of(log: list[Any], predicate: Predicate) -> links.World:
    return links.world(twin_log(log, {}), LATEST, single=not predicate.is_multi)


@given(st.sampled_from(PREDICATES), logs() | rulings(), st.lists(st.integers(1, 3), max_size=6))
def test_the_facts_are_those_of_the_twin_whatever_the_batches(
    predicate: Predicate, log: list[Any], sizes: list[int]
) -> None:
    log = heard(log)
    claim, left = Told(predicate), list(log)
    for size in [*sizes, *[1] * len(log)]:
        batch, left = _until_retract(left, size)
        claim.learn(batch)

    world = world_of(log, predicate)
    names = fact_names(world, log)
    folded = fold(claim.left(), predicate, Policy(), {})
    told = []
    for number, episode in enumerate(folded.episodes):
        support = frozenset(i for i, role in folded.roles.items() if role == (Role.SUPPORT, number))
        told.append(own(build(About(KEPT, "default", True), episode), names, support))
        assert episode.observations == len(support)
    assert sorted(told, key=repr) == sorted(own_facts.facts(world), key=repr)
    assert claim.facts() == facts_of(claim.left(), predicate)


def _until_retract(log: list[Any], size: int) -> tuple[list[Any], list[Any]]:
    """The next batch; a retract ends it, as what comes after it in a record is judged without it."""
    batch = log[:size]
    for number, event in enumerate(batch, start=1):
        if isinstance(event, TakenBack):
            return log[:number], log[number:]
    return batch, log[size:]


@given(st.sampled_from(PREDICATES), logs() | rulings(), st.lists(st.integers(1, 3), max_size=6))
def test_a_claim_kept_between_batches_equals_the_fold_of_all_its_evidence(
    predicate: Predicate, log: list[Any], sizes: list[int]
) -> None:
    claim, left = Told(predicate), heard(log)
    while left:
        size = sizes.pop() if sizes else 1
        batch, left = left[:size], left[size:]

        claim.learn(batch)

        assert claim.facts() == facts_of(claim.left(), predicate)


@given(st.sampled_from(PREDICATES), logs() | rulings(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_same_evidence_in_any_order_gives_the_same_facts(
    predicate: Predicate, log: list[Any], chance: Any, size: int
) -> None:
    first = Told(predicate)
    for event in heard(log):
        first.learn([event])
    statements = list(first.evidence.values())
    chance.shuffle(statements)

    other = KeptClaim(predicate)
    other.apply([], sorted(first.gone))
    for n in range(0, len(statements), size):
        other.apply(statements[n : n + size])

    assert other.facts() == first.facts()


@given(st.sampled_from(PREDICATES), logs() | rulings())
def test_a_fact_holds_when_its_assertion_does(predicate: Predicate, log: list[Any]) -> None:
    log = [e for e in heard(log) if not (isinstance(e, Statement) and e.valid_from is None)]
    claim, assertions = Told(predicate), Disputed(predicate)
    for event in log:
        claim.learn([event])
        assertions.batch(event)

    kept: dict[str, list[tuple[int | None, int | None]]] = {}
    for fact in (p.fact for p in claim.seen.values() if p.fact.reason != "withdrawn"):
        kept.setdefault(assertion_of(fact, log), []).append((fact.lo, fact.hi))
    for t in range(-1, 20):
        states = assertions.open().read(valid_at=t)  # type: ignore[arg-type]
        holding = {one.assertion_id for one in states if one.holds and one.affirmed}
        open_then = {
            name
            for name, spans in kept.items()
            if any((lo is None or lo <= t) and (hi is None or t < hi) for lo, hi in spans)
        }
        assert holding == open_then, t


def assertion_of(fact: Fact, log: list[Any]) -> str:
    """The assertion that a fact belongs to."""
    whos = {voter(s) for s in log if isinstance(s, Statement)}
    whos |= {f"c{d.correction_id}" for d in log if isinstance(d, Supersede)}
    for who in whos:
        if fact.fact_id == fact_id(KEPT, own_name(who, fact.form, affirmed=True), fact.ordinal):
            return assertion_id(CLAIM, who, fact.form, affirmed=True)
    raise AssertionError(fact)


@given(st.sampled_from(PREDICATES), logs() | rulings())
def test_what_the_facts_refuse_the_links_refuse_too(predicate: Predicate, log: list[Any]) -> None:
    claim, assertions = Told(predicate), Disputed(predicate)
    for event in heard(log):
        claim.learn([event])
        assertions.batch(event)

    assert claim.refused == [refusal.correction_id for refusal in assertions.refusals]


@given(st.sampled_from(PREDICATES), evidence(), st.integers(0, 12))
def test_a_batch_that_died_between_two_writes_is_applied_again_with_the_same_events(
    predicate: Predicate, said: list[Statement], n_written: int
) -> None:
    claim = KeptClaim(predicate)
    claim.apply(said[:-1])
    first = claim.crash(said[-1:], [], n_written=n_written)

    assert claim.apply(said[-1:]) == first
    assert claim.facts() == facts_of(said, predicate)
