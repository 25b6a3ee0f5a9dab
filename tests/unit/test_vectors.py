"""The packaged vectors: as measured, the same in any batch, and joining what the cases say."""

import struct
from importlib import metadata

import pytest

from state.clusters import Form, partition
from state.objects import type_object
from state.similarity import ModelId, Vectors, VectorsUnavailable, cosine, unit
from streams.vectors import THRESHOLD, StaticVectors, packaged


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return packaged()


def clusters(vectors: Vectors, *originals: str) -> list[set[str]]:
    typed = [type_object(original) for original in originals]
    made = vectors.embed([one.text for one in typed])
    forms = {one.key: Form(one, vector) for one, vector in zip(typed, made, strict=True)}
    found = partition(forms, threshold=vectors.model.threshold).cluster_of
    return [
        {forms[key].typed.spelling for key in found if found[key] == one} for one in sorted({*found.values()})
    ]


@pytest.mark.parametrize(
    ("a", "b", "measured"),
    [
        ("adoption agencies", "adoption agency", 0.928),
        ("foster care", "adoption agency", 0.263),
        ("Monday", "Tuesday", 0.602),
        ("New York", "New York City", 0.769),
    ],
)
def test_cosines_are_those_that_were_measured(vectors: Vectors, a: str, b: str, measured: float) -> None:
    left, right = map(unit, vectors.embed([a, b]))

    assert left is not None
    assert right is not None
    assert cosine(left, 1.0, right) == pytest.approx(measured, abs=0.01)


def test_a_vector_has_the_length_and_dimension_that_the_model_says(vectors: Vectors) -> None:
    (vector,) = vectors.embed(["foster care"])

    components = struct.unpack(f"<{vectors.model.dimension}f", vector)
    assert sum(component**2 for component in components) == pytest.approx(1, abs=1e-6)
    assert vectors.model.threshold == THRESHOLD


def test_a_text_has_the_same_vector_alone_and_in_any_batch(vectors: Vectors) -> None:
    texts = ["adoption agency", "a longer text about hiking in the mountains", "", "京都", "café"]

    assert vectors.embed(texts) == [vectors.embed([text])[0] for text in texts]
    assert vectors.embed([]) == []


@pytest.mark.parametrize("text", ["", "word " * 500])
def test_of_an_empty_or_very_long_text_the_model_has_no_idea(vectors: Vectors, text: str) -> None:
    assert unit(vectors.embed([text])[0]) is None


def test_no_text_stops_it(vectors: Vectors) -> None:
    made = vectors.embed(["\ud800", "\x00", "😀", "a" * 300_000, " "])

    assert {len(vector) for vector in made} == {4 * vectors.model.dimension}


def test_two_spellings_of_one_value_join_and_another_value_does_not(vectors: Vectors) -> None:
    found = clusters(vectors, "adoption agencies", "adoption agency", "foster care")

    assert found == [{"adoption agencies", "adoption agency"}, {"foster care"}]


def test_seven_paraphrases_of_one_value_are_one_cluster(vectors: Vectors) -> None:
    found = clusters(
        vectors,
        "adoption agency",
        "adoption agencies",
        "an adoption agency",
        "the adoption agency",
        "the adoption agencies",
        "some adoption agencies",
        "agencies for adoption",
    )

    assert len(found) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("working as a nurse at a hospital", "working as a doctor at a hospital"),
        ("vegetarian diet", "vegan diet"),
        ("frontend developer", "backend developer"),
        ("apple juice", "orange juice"),
        ("New York", "New York City"),
        ("likes hiking", "dislikes hiking"),
    ],
)
def test_values_that_share_most_words_stay_apart(vectors: Vectors, a: str, b: str) -> None:
    assert len(clusters(vectors, a, b)) == 2


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)

    with pytest.raises(VectorsUnavailable, match="pip install"):
        packaged()


def test_damaged_files_are_unavailable_vectors_and_not_a_crash(tmp_path) -> None:
    weights = tmp_path / "weights" / "table.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"not a table")
    damaged = StaticVectors(
        ModelId("m", "1", 2, 0.5, "mean"), weights=weights, tokenizer=tmp_path / "none.json"
    )

    with pytest.raises(VectorsUnavailable, match="cannot be read"):
        damaged.embed(["text"])
