"""What agents of the embedded host are given to read: each record once, in order, as the file holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from streams.embedded import PARTITION, EmbeddedHost, EmbeddedStore
from streams.embedded.host import READ_MAX
from streams.host import Agent, Effects, Output, Record, State
from streams.topics import Topic
from tests.builders import day

Seen = list[Record]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore(tmp_path / "log")
    yield opened
    opened.close()


def listening(seen: Seen, *, name: str = "listening", topic: Topic = Topic.BY_CLAIM) -> Agent:
    """An agent that only notes what it reads; it breaks off at a value that says so."""

    def apply(_state: State, records: Sequence[Record]) -> Effects:
        assert len(records) <= READ_MAX
        if any(record.value == b"break off" for record in records):
            raise ValueError("as asked")
        seen.extend(records)
        return Effects()

    return Agent(name, (topic,), (), apply)


def forwarding() -> Agent:
    """An agent that says everything again, in two records."""

    def apply(_state: State, records: Sequence[Record]) -> Effects:
        said = [
            Output(Topic.BY_CLAIM, r.key, r.value + end, PARTITION) for r in records for end in (b"", b"!")
        ]
        return Effects(outputs=said)

    return Agent("forwarding", (Topic.OBSERVATIONS,), (), apply)


def host(store: EmbeddedStore, *agents: Agent) -> EmbeddedHost:
    return EmbeddedHost(store, agents, clock=lambda: day(1))


def publish(over: EmbeddedHost, *values: bytes, traces: dict[int, bytes] | None = None) -> None:
    items = [(b"k%d" % n, value, day(2) if n else None) for n, value in enumerate(values)]
    over.publish(Topic.OBSERVATIONS, items, traces=traces or {})


def in_the_file(store: EmbeddedStore, topic: Topic) -> Seen:
    return store.read(topic, PARTITION, 0, 100_000)


def test_what_is_read_is_what_the_file_holds(store: EmbeddedStore) -> None:
    said, forwarded = Seen(), Seen()
    over = host(
        store, listening(said, name="first", topic=Topic.OBSERVATIONS), forwarding(), listening(forwarded)
    )

    publish(over, b"a", b"b", traces={1: b"00-trace"})
    publish(over, b"c")

    assert [record.value for record in forwarded] == [b"a", b"a!", b"b", b"b!", b"c", b"c!"]
    assert said == in_the_file(store, Topic.OBSERVATIONS)
    assert forwarded == in_the_file(store, Topic.BY_CLAIM)
    assert said[1].trace == b"00-trace"


def test_a_batch_that_was_taken_back_is_read_by_nobody(store: EmbeddedStore) -> None:
    seen = Seen()
    over = host(store, forwarding(), listening(seen))
    publish(over, b"before")

    with pytest.raises(ValueError, match="as asked"):
        publish(over, b"never", b"break off")
    publish(over, b"after")

    assert [record.value for record in seen] == [b"before", b"before!", b"after", b"after!"]
    assert seen == in_the_file(store, Topic.BY_CLAIM)


def test_an_agent_that_is_behind_reads_all_that_it_missed_first(store: EmbeddedStore) -> None:
    seen = Seen()
    publish(host(store, forwarding()), b"a", b"b")

    publish(host(store, forwarding(), listening(seen)), b"c")

    assert seen == in_the_file(store, Topic.BY_CLAIM)
    assert len(seen) == 6


def test_more_than_an_agent_is_given_at_once_comes_in_several_parts(store: EmbeddedStore) -> None:
    seen = Seen()
    n = READ_MAX + 3

    publish(host(store, forwarding(), listening(seen)), *(b"%d" % number for number in range(n)))

    assert seen == in_the_file(store, Topic.BY_CLAIM)
    assert len(seen) == 2 * n


def test_several_appends_of_one_transaction_are_each_read_once(store: EmbeddedStore) -> None:
    seen = Seen()
    over = host(store, forwarding(), listening(seen))

    over.publish_each([(Topic.OBSERVATIONS, [(None, value, None)]) for value in (b"a", b"b", b"c")])

    assert [record.value for record in seen] == [b"a", b"a!", b"b", b"b!", b"c", b"c!"]
    assert seen == in_the_file(store, Topic.BY_CLAIM)


def test_what_another_process_wrote_meanwhile_is_read_in_its_place(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    seen = Seen()
    over = host(store, forwarding(), listening(seen))
    publish(over, b"a")
    other = EmbeddedStore(tmp_path / "log")
    with other.transaction():
        other.append(Topic.BY_CLAIM, PARTITION, [(None, b"theirs", day(3))])
    other.close()

    publish(over, b"b")

    assert [record.value for record in seen] == [b"a", b"a!", b"theirs", b"b", b"b!"]
