"""A real transformer as a source of vectors: what identifies it, what it says, and what it must not say."""

from __future__ import annotations

import asyncio
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from state.similarity import VectorsUnavailable, cosine, model_of, unit
from streams.vectors.transformer import TransformerChoice, TransformerVectors


def near(vectors: TransformerVectors, a: str, b: str) -> float:
    left, right = map(unit, vectors.embed([a, b]))
    assert left is not None
    assert right is not None
    return cosine(left, 1.0, right)


def test_the_model_says_what_it_is(minilm: TransformerVectors) -> None:
    model = minilm.model

    assert (model.dimension, model.pooling, model.threshold) == (384, "mean", 0.90)
    assert len(model.revision) == 12
    assert model_of(model.identity) == model


def test_another_file_in_the_folder_is_another_revision(
    minilm: TransformerVectors, folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    choice = TransformerChoice(str(copy), revision=None, device="cpu", threshold=0.90, batch_max=64)
    same = TransformerVectors(choice).model.revision
    (copy / "README.md").write_text("changed", "utf-8")

    assert same == minilm.model.revision
    assert TransformerVectors(choice).model.revision != same


@pytest.mark.parametrize(
    ("a", "b", "measured"),
    [
        ("2023-05-08", "2023-05-09", 0.978),
        ("30 years", "31 years", 0.890),
        ("allergic to penicillin", "not allergic to penicillin", 0.924),
    ],
)
def test_cosines_are_those_for_which_there_are_guards(
    minilm: TransformerVectors, a: str, b: str, measured: float
) -> None:
    assert near(minilm, a, b) == pytest.approx(measured, abs=0.01)


def test_vectors_have_unit_length_and_the_order_of_their_texts(minilm: TransformerVectors) -> None:
    texts = ["a dog", "an adoption agency", "", "the sea at night", "京都"]

    together = minilm.embed(texts)

    alone = [minilm.embed([text])[0] for text in texts]
    for text, one, other in zip(texts, together, alone, strict=True):
        left, right = unit(one), unit(other)
        if text == "":
            assert left is right is None
            continue
        assert left is not None
        assert right is not None
        assert cosine(left, 1.0, right) == pytest.approx(1.0, abs=1e-5)
        assert sum(x * x for x in struct.unpack("<384f", one)) == pytest.approx(1.0, abs=1e-5)


def test_a_text_that_the_model_would_read_only_in_part_joins_nothing(minilm: TransformerVectors) -> None:
    beginning = "one two three four five six seven eight nine ten " * 30
    inside = "one two three four five six seven eight nine ten " * 3

    assert unit(minilm.embed([beginning + "she stays"])[0]) is None
    assert unit(minilm.embed(["word " * 600])[0]) is None
    assert unit(minilm.embed([inside])[0]) is not None


def test_no_text_stops_it(minilm: TransformerVectors) -> None:
    made = minilm.embed(["\ud800", "\x00", "😀", "a" * 300_000, " ", "[SEP] [CLS]"])

    assert {len(vector) for vector in made} == {4 * 384}


def test_an_event_loop_goes_on_while_another_thread_embeds(minilm: TransformerVectors) -> None:
    async def count_while_embedding() -> int:
        texts = [f"a sentence about the number {n}, and a few words more" for n in range(2_000)]
        embedding = asyncio.create_task(asyncio.to_thread(minilm.embed, texts))
        n_turns = 0
        while not embedding.done():
            await asyncio.sleep(0.01)
            n_turns += 1
        assert len(embedding.result()) == len(texts)
        return n_turns

    assert asyncio.run(count_while_embedding()) > 10


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "no/such-model-anywhere"}, "cannot be loaded"),
        ({"device": "quantum"}, "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_is_unavailable_and_says_what_to_set(
    folder: Path, change: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    choice = TransformerChoice(str(folder), revision=None, device="cpu", threshold=0.90, batch_max=64)

    with pytest.raises(VectorsUnavailable, match=rf"{told}.*FACTDRIFT_VECTORS"):
        TransformerVectors(replace(choice, **change)).embed(["text"])  # type: ignore[arg-type]


def test_a_folder_that_is_no_model_is_unavailable(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", "utf-8")
    choice = TransformerChoice(str(tmp_path), revision=None, device="cpu", threshold=0.90, batch_max=64)

    with pytest.raises(VectorsUnavailable, match="cannot be loaded"):
        _ = TransformerVectors(choice).model
