"""Forms that come and go one by one, or several at once, make the clusters that they make all at once."""

from __future__ import annotations

import math
import struct

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from state.clusters import Form, partition
from state.forms import Clustering, Forms
from state.objects import Kind, type_object
from state.shelf import Shelf
from state.similarity import ModelId
from state.statements import Statement
from tests.builders import statement

MODEL = ModelId("plane", "1", 2, 0.88, "mean")
WORDS = [f"{first}{second}" for first in "abcdefgh" for second in ("", "o", " not x", ", Texas", "'s")]
OTHERS = ["2023-05", "2023-05-08", "2023-05-09", "2023", "5 kg"]

said = st.lists(st.sampled_from(WORDS) | st.sampled_from(OTHERS), min_size=1, max_size=3)
steps = st.lists(st.tuples(said, st.booleans(), st.booleans()), max_size=25)


def vector(text: str, turn: int) -> bytes:
    angle = (sum(map(ord, text)) * turn) % 360
    return struct.pack("<2f", math.cos(math.radians(angle)), math.sin(math.radians(angle)))


@given(steps, st.integers(1, 97))
def test_however_they_come_and_go(history: list[tuple[list[str], bool, bool]], turn: int) -> None:
    clustering = Clustering(Forms(), b"claim", MODEL)
    stored: dict[bytes, bytes] = {}
    there: list[Statement] = []
    for number, (words, are_vectors_there, takes_back) in enumerate(history):
        shelf = Shelf(stored.get)
        arriving = [worded(word, f"{number}-{place}") for place, word in enumerate(words)]
        leaving = [there.pop(0)] if takes_back and there else []
        wanted = clustering.wanted(arriving, shelf)
        vectors = {form: vector(text, turn) for form, text in wanted.items()} if are_vectors_there else {}

        before = dict(clustering.forms.cluster_of)
        old = set(clustering.forms.said)
        moved = clustering.enter(arriving, leaving, vectors, shelf)

        stored.update({key: value for key, value in shelf.changes.items() if value is not None})
        there += arriving
        forms = {key: as_compared(min(words), stored) for key, words in clustering.forms.said.items()}
        found = partition(forms, threshold=MODEL.threshold)
        now = clustering.forms
        assert {key: now.cluster_of.get(key, key) for key in forms} == found.cluster_of
        assert set(now.aside) == found.aside
        if len(forms) > 1:
            assert set(now.degraded) == found.degraded
        has_moved = any(
            before.get(form, form) != found.cluster_of[form] for form in old if form in found.cluster_of
        )
        assert moved or not has_moved


def as_compared(spelling: str, stored: dict[bytes, bytes]) -> Form:
    typed = type_object(spelling)
    key = b"claim/v" + MODEL.space.encode() + b"/" + typed.key.encode()
    return Form(typed, stored.get(key) if typed.kind is Kind.TEXT else None)


def worded(word: str, number: str) -> Statement:
    return msgspec.structs.replace(statement("", 1, id=number), form=type_object(word).key, spelling=word)


def test_texts_are_asked_for_from_the_second_on_whether_they_come_together_or_not() -> None:
    first, second = worded("a", "1"), worded("b", "2")
    together, apart = Clustering(Forms(), b"claim", MODEL), Clustering(Forms(), b"claim", MODEL)
    shelf = Shelf({}.get)

    assert together.wanted([first, second], shelf) == {"t:a": "a", "t:b": "b"}
    assert apart.wanted([first], shelf) == {}
    apart.enter([first], [], {}, shelf)
    assert apart.forms == Forms(said={"t:a": {"a": 1}})
    assert apart.wanted([second], shelf) == {"t:a": "a", "t:b": "b"}

    together.enter([first, second], [], {}, shelf)
    apart.enter([second], [], {}, shelf)
    assert together.forms == apart.forms
    assert together.forms.said == {"t:a": {"a": 1}, "t:b": {"b": 1}}
    assert together.forms.degraded == ["t:a", "t:b"]
