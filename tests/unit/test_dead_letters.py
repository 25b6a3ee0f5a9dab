"""Dead letters of an embedded log: paged from the newest, and sent again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import composition
from agents.dead_letters import NoSuchLetter, newest, send_again
from streams.embedded import PARTITION, EmbeddedHost
from streams.settings import Settings
from streams.topics import Topic


@pytest.fixture
def host(tmp_path: Path) -> Iterator[EmbeddedHost]:
    found = composition.embedded(Settings(), tmp_path)
    found.start()
    yield found
    found.store.close()


def spoil(host: EmbeddedHost, n_records: int) -> None:
    host.publish(Topic.OBSERVATIONS, [(None, b"bad %d" % number, None) for number in range(n_records)])


def test_pages_go_from_the_newest_to_the_oldest_and_end(host: EmbeddedHost) -> None:
    spoil(host, 5)

    raws, before = [], None
    while True:
        page = newest(host.store, before=before, limit=2)
        raws.append([letter["raw"] for letter in page["items"]])
        before = page["next"]
        if before is None:
            break

    assert raws == [["bad 4", "bad 3"], ["bad 2", "bad 1"], ["bad 0"]]
    assert page["n_letters"] == 5


def test_an_empty_log_has_an_empty_page(host: EmbeddedHost) -> None:
    assert newest(host.store, before=None, limit=10) == {"items": [], "next": None, "n_letters": 0}
    assert newest(host.store, before=-5, limit=10)["items"] == []


def test_a_record_is_sent_again_once_and_what_is_still_bad_is_a_letter_again(host: EmbeddedHost) -> None:
    spoil(host, 2)

    assert send_again(host, [0, 0]) == 1

    assert host.store.end(Topic.DEAD_LETTERS, PARTITION) == 3
    assert newest(host.store, before=None, limit=1)["items"][0]["raw"] == "bad 0"


@pytest.mark.parametrize("offset", [-1, 7])
def test_a_letter_that_is_not_there_is_refused_and_nothing_is_sent(host: EmbeddedHost, offset: int) -> None:
    spoil(host, 2)

    with pytest.raises(NoSuchLetter):
        send_again(host, [0, offset])

    assert host.store.end(Topic.DEAD_LETTERS, PARTITION) == 2
