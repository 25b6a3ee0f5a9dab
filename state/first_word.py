"""The first statement of a claim that nobody has spoken of: what most new claims ever hear.

A short way of the fold (`state.periods`) and of what is published of it (`state.publishing`): with the
outcome that the long way has, for a statement about which there is nothing to decide.
"""

from __future__ import annotations

from typing import Final

from state.changes import Change, changes_of
from state.episodes import open_episode
from state.facts import About, build
from state.fold_state import ClusterState, FoldState, OpenFact, SpellingCount, Vote
from state.policy import Policy
from state.statements import Statement, voter
from state.stored_strand import Strand
from state.withdrawn import Withdrawn

_EMPTY: Final = FoldState()


def is_first_word(strand: Strand, statement: Statement, policy: Policy) -> bool:
    """Whether a lone statement, for a strand whose clusters are its forms, opens a fact and does no more.

    So it is where the strand holds nothing, and what is said is not about an end, nor about the time after
    everything observed.
    """
    return (
        strand.n_folded == 0
        and strand.n_chunks == 0
        and statement.votes
        and statement.affirmed
        and statement.form != ""
        and statement.valid_to is None
        and statement.effective_at <= strand.horizon
        and not policy.by_cycle
        and not strand.tail
        and not strand.segments
        and not strand.live
        and strand.state == _EMPTY
    )


def begin(strand: Strand, statement: Statement, about: About, withdrawn: Withdrawn) -> list[Change]:
    """Fold and publish it. What the strand keeps of the statement itself is its tail, and the caller's."""
    strand.n_folded = 1
    held, said = opened_by_word(statement)
    form = statement.form
    strand.state = FoldState(
        at=held.lo, period_from=held.lo, open=held, clusters={form: said}, recent={form: True}
    )
    fact = build(about, open_episode(held, form))
    gone = withdrawn.take(fact.fact_id)
    published, changes = changes_of(gone, fact, horizon=strand.horizon)
    strand.live = {fact.fact_id: published}
    return changes


def opened_by_word(statement: Statement) -> tuple[OpenFact, ClusterState]:
    """The fact that it opens, with one voice, and its cluster, with one vote; nobody contests it."""
    at, observed_at = place = (statement.effective_at, statement.observed_at)
    form, spelling = statement.form, statement.spelling
    held = OpenFact(
        form,
        at,
        statement.lo_granularity,
        0,
        support=1,
        observations=1,
        spellings=[SpellingCount(spelling, 1, place)],
        subject=statement.subject,
        predicate=statement.predicate,
        named_at=place,
        supported_by=[statement.observation_id],
    )
    said = ClusterState(
        affirmed=[Vote(place, voter(statement), None)],
        last=place,
        endless_known=max(at, observed_at),
        first_form=form,
        first_at=place,
        n_facts=1,
        spelling=spelling,
        spelled_at=place,
    )
    return held, said
