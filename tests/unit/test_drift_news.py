"""What each change of a fact means for drift: who enters, who leaves, and where an entry stands."""

from __future__ import annotations

import msgspec
import pytest

from state.changes import Kind, Published, Revision, diff
from state.drift_news import Bearing, bearing_of, counts_as_declared, news_of
from state.episodes import Reason
from tests.builders import day
from tests.property.test_drift import fact

AT = day(10)


@pytest.mark.parametrize("reason", [Reason.OUTVOTED, Reason.DENIED, Reason.SUPERSEDED, Reason.INVALIDATED])
def test_an_invalidation_enters_whatever_retired_the_fact(reason: Reason) -> None:
    assert bearing_of(Kind.INVALIDATED, "", reason=reason, hi=day(3), at=AT) is Bearing.ENTERS


def test_a_fact_that_never_held_leaves() -> None:
    assert bearing_of(Kind.INVALIDATED, "", reason=Reason.WITHDRAWN, hi=day(3), at=AT) is Bearing.LEAVES


@pytest.mark.parametrize("revision", [Revision.REINSTATED, Revision.SCHEDULED, Revision.ENDED])
def test_a_fact_that_is_open_again_or_ends_as_announced_leaves(revision: Revision) -> None:
    reason = {Revision.REINSTATED: None, Revision.SCHEDULED: Reason.OUTVOTED, Revision.ENDED: Reason.ENDED}

    assert bearing_of(Kind.REVISED, revision, reason=reason[revision], hi=day(3), at=AT) is Bearing.LEAVES


def test_a_revision_of_a_retired_fact_says_where_it_stands() -> None:
    for revision in (Revision.REDATED, Revision.RECOUNTED, Revision.REWORDED):
        assert bearing_of(Kind.REVISED, revision, reason="denied", hi=AT, at=AT) is Bearing.ENTERS


def test_an_end_still_to_come_at_the_deciding_statement_may_be_one_that_is_only_announced() -> None:
    assert bearing_of(Kind.REVISED, Revision.REDATED, reason="outvoted", hi=day(11), at=AT) is Bearing.MOVES


@pytest.mark.parametrize(
    ("kind", "revision"),
    [
        (Kind.CREATED, ""),
        (Kind.REINFORCED, ""),
        (Kind.REVISED, Revision.CONTESTED),
        (Kind.REVISED, Revision.RECOUNTED),
    ],
)
def test_what_happens_to_an_open_fact_bears_nothing(kind: Kind, revision: str) -> None:
    assert bearing_of(kind, revision, reason=None, hi=None, at=None) is None


def test_what_was_created_closed_or_reinforced_is_told_by_another_event() -> None:
    assert bearing_of(Kind.CREATED, "", reason="outvoted", hi=day(3), at=AT) is None
    assert bearing_of(Kind.REINFORCED, "", reason="outvoted", hi=day(3), at=AT) is None


@pytest.mark.parametrize(
    ("reason", "declared", "counts"),
    [
        ("outvoted", True, True),
        ("outvoted", False, False),
        ("denied", False, False),
        ("superseded", False, True),
        ("invalidated", False, True),
    ],
)
def test_a_decision_counts_even_where_the_predicate_is_not_declared(
    reason: str, declared: bool, counts: bool
) -> None:
    assert counts_as_declared(reason, declared=declared) is counts


def test_a_fact_that_is_reinforced_and_decided_anew_is_told_to_whoever_reads_no_reinforcements() -> None:
    known = fact("tea", "kim", reason="outvoted", at=AT, declared=True)
    later = msgspec.structs.replace(known, support=2, decided_observed_at=day(12))

    _, changes = diff({known.fact_id: Published(known, 3)}, [later], horizon=day(20))

    assert [(change.kind, change.revision) for change in changes] == [
        (Kind.REINFORCED, ""),
        (Kind.REVISED, Revision.RECOUNTED),
    ]
    news = [found for change in changes if (found := news_of(change)) is not None]
    assert [(found.bearing, found.at) for found in news] == [(Bearing.ENTERS, day(12))]
