"""What things are called on a cluster: states of the tables, and what a commit notes."""

from __future__ import annotations

import pytest

from streams.kafka.naming import (
    TABLES,
    changelog_name,
    fencing_id,
    group_name,
    intake_group_name,
    newest_state,
    note_of,
    present_states,
    read_note,
    topic_name,
)
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
