"""What things are called on a cluster: states of the tables, and what a commit notes."""

from __future__ import annotations

import pytest

from streams.host import Mark
from streams.kafka.naming import (
    TABLES,
    changelog_name,
    fencing_id,
    group_name,
    intake_group_name,
    newest_state,
    note_of,
    present_states,
    read_marks,
    read_note,
    topic_name,
)
from streams.kafka.notes import Commit, check_marks
from streams.settings import KafkaSettings
from streams.topics import Topic

KAFKA = KafkaSettings(prefix="p.", group="g")
LATER = KAFKA.with_state(20260102030405)


def test_each_state_has_changelogs_a_group_and_fencing_ids_of_its_own_and_shares_the_rest() -> None:
    for name in (
        group_name,
        lambda kafka: changelog_name(kafka, "claims"),
        lambda kafka: fencing_id(kafka, 3),
    ):
        assert name(KAFKA) != name(LATER)
    assert intake_group_name(KAFKA) == intake_group_name(LATER)
    assert topic_name(KAFKA, Topic.FACTS) == topic_name(LATER, Topic.FACTS)
    assert KAFKA.state == 0, "the first settings were changed"


def test_the_newest_state_is_found_among_topics_of_anybody() -> None:
    others = ["pXg-claims-changelog", "p.g-claims-changelog-x", "p.g2-state-9-claims-changelog", "p.facts"]
    topics = [*others, *(changelog_name(kafka, table) for kafka in (LATER, KAFKA) for table in TABLES)]

    assert present_states(LATER, topics) == [0, LATER.state]
    assert newest_state(KAFKA, topics).state == LATER.state
    assert newest_state(LATER, others).state == 0


@pytest.mark.parametrize("reached", [{}, {"claims": 0}, {"claims": 12, "claim-pieces": 0, "subjects": 7}])
def test_a_note_is_read_as_it_was_written(reached: dict[str, int | None]) -> None:
    assert read_note(note_of(reached)) == reached


def test_a_table_without_a_record_is_not_in_the_note() -> None:
    assert read_note(note_of({"claims": None, "subjects": 3})) == {"subjects": 3}


@pytest.mark.parametrize("note", ["", "text", "claims=", "=3", "claims=-1", "a=b,c"])
def test_a_note_of_another_tool_says_nothing(note: str) -> None:
    assert read_note(note) == {}


MARKS = {"model": "a/b,c=d@1/2/mean/0.84", "aliases": "123456789012"}


def test_a_note_holds_marks_beside_offsets_and_each_is_read_alone() -> None:
    note = note_of({"claims": 12}, MARKS)

    assert read_marks(note) == MARKS
    assert read_note(note) == {"claims": 12}


@pytest.mark.parametrize("note", ["", "text", "claims=12", "=~x", "a=b,c"])
def test_a_note_without_marks_has_none(note: str) -> None:
    assert read_marks(note) == {}


def mark(name: str, met: list[tuple[str, str]], *, unmarked: str | None = None) -> Mark:
    return Mark(name, "today", lambda where, built_with: met.append((where, built_with)), unmarked)


def test_a_partition_that_was_built_with_something_else_is_met_and_noted_again() -> None:
    met: list[tuple[str, str]] = []
    commits = {
        0: Commit(7, note_of({}, {"model": "today"})),
        1: Commit(8, note_of({}, {"model": "before"})),
        2: Commit(9, note_of({"claims": 3})),
    }

    outdated = check_marks(commits, [mark("model", met)])

    assert met == [("of partition 1", "before")]
    assert outdated == {1: 8, 2: 9}


def test_a_partition_without_a_mark_was_built_with_what_the_mark_says_of_such() -> None:
    met: list[tuple[str, str]] = []

    outdated = check_marks({0: Commit(7, "claims=3")}, [mark("aliases", met, unmarked="none")])

    assert met == [("of partition 0", "none")]
    assert outdated == {0: 7}
