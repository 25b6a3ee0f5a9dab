"""From settings to sources of vectors; the cache; models and their identities."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.similarity import ModelId, VectorsUnavailable, model_of
from streams.settings import BadSetting, Settings
from streams.vectors import THRESHOLD, packaged, vectors_of
from streams.vectors.cache import CachedVectors
from streams.vectors.transformer import digest_of

MODEL = ModelId("m", "1", 1, 0.5, "mean")


class Counting:
    """Vectors that say what they were asked; each text's first letter is its vector."""

    model = MODEL

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.asked.append(list(texts))
        return [text[:1].encode().ljust(4, b"\0") for text in texts]


# -- the cache ------------------------------------------------------------------------------


def test_a_text_that_was_asked_for_is_not_asked_for_again() -> None:
    source = Counting()
    cached = CachedVectors(source, kept_max=10)

    first = cached.embed(["a", "b", "a"])
    second = cached.embed(["b", "c"])

    assert first == [b"a\0\0\0", b"b\0\0\0", b"a\0\0\0"]
    assert second == [b"b\0\0\0", b"c\0\0\0"]
    assert source.asked == [["a", "b"], ["c"]]


def test_what_was_asked_for_longest_ago_makes_room() -> None:
    source = Counting()
    cached = CachedVectors(source, kept_max=2)

    for texts in (["a", "b"], ["a"], ["c"], ["a"], ["b"]):
        cached.embed(texts)

    assert source.asked == [["a", "b"], ["c"], ["b"]]


@given(st.lists(st.lists(st.text(max_size=2), max_size=5), max_size=8), st.integers(0, 5))
def test_the_cache_changes_no_answer_and_keeps_no_more_than_it_may(
    batches: list[list[str]], kept_max: int
) -> None:
    cached, plain = CachedVectors(Counting(), kept_max=kept_max), Counting()

    for texts in batches:
        assert cached.embed(texts) == plain.embed(texts)
        assert len(cached._kept) <= kept_max


def test_a_failure_is_not_kept() -> None:
    source = Counting()
    failures = [VectorsUnavailable("down")]

    class Failing(Counting):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            if failures:
                raise failures.pop()
            return source.embed(texts)

    cached = CachedVectors(Failing(), kept_max=10)

    with pytest.raises(VectorsUnavailable):
        cached.embed(["a"])
    assert cached.embed(["a"]) == [b"a\0\0\0"]


# -- identities -----------------------------------------------------------------------------

_plain = st.text(st.characters(exclude_characters="@/", exclude_categories=["Cs"]), min_size=1, max_size=8)
_models = st.builds(
    ModelId,
    st.text(min_size=1, max_size=12),
    _plain,
    st.integers(1, 10_000),
    st.floats(0, 1, exclude_min=True),
    _plain,
)


@given(_models)
def test_a_model_can_be_read_from_its_identity(model: ModelId) -> None:
    assert model_of(model.identity) == model


@pytest.mark.parametrize(
    "text", ["", "none", "wordllama@0.4", "m@1/x/mean/0.5", "m@1/3/mean/2.0", "m@1/3/mean/", "a/b/c/d"]
)
def test_what_is_no_identity_names_no_model(text: str) -> None:
    assert model_of(text) is None


@pytest.mark.parametrize(
    "changes", [{"revision": "a/b"}, {"pooling": "a@b"}, {"name": ""}, {"dimension": 0}, {"threshold": 0.0},
                {"threshold": 1.5}],
)  # fmt: skip
def test_a_model_that_could_not_be_read_again_is_refused(changes: dict[str, object]) -> None:
    fields = {"name": "m", "revision": "1", "dimension": 1, "threshold": 0.5, "pooling": "mean"}

    with pytest.raises(ValueError, match=r"a model|a revision|a threshold"):
        ModelId(**{**fields, **changes})  # type: ignore[arg-type]


# -- from settings --------------------------------------------------------------------------


def of(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(f"FACTDRIFT_{name}", value)
    return Settings()


def test_the_packaged_vectors_are_the_default_and_a_threshold_can_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert vectors_of(Settings()).model == packaged().model  # type: ignore[union-attr]
    assert packaged().model.threshold == THRESHOLD

    found = vectors_of(of(monkeypatch, VECTORS_THRESHOLD="0.9"))

    assert found is not None
    assert found.model.threshold == 0.9


def test_with_none_there_are_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vectors_of(of(monkeypatch, VECTORS="none")) is None


def test_an_endpoint_without_a_known_dimension_or_threshold_says_which_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(BadSetting, match="FACTDRIFT_VECTORS_DIMENSION is not set"):
        vectors_of(of(monkeypatch, VECTORS="openai", VECTORS_MODEL="mine"))
    with pytest.raises(BadSetting, match="factdrift calibrate --model openai:mine"):
        vectors_of(of(monkeypatch, VECTORS_DIMENSION="8"))

    found = vectors_of(of(monkeypatch, VECTORS_THRESHOLD="0.7"))

    assert found is not None
    assert found.model.identity == "mine@served/8/served/0.7"


def test_a_model_can_be_measured_before_it_has_a_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = of(monkeypatch, VECTORS="openai", VECTORS_MODEL="mine", VECTORS_DIMENSION="8")

    assert vectors_of(settings, to_measure=True) is not None


def test_without_sentence_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    source = vectors_of(of(monkeypatch, VECTORS="sentence-transformers"))
    assert source is not None

    with pytest.raises(VectorsUnavailable, match=r'pip install "factdrift\[sentence-transformers\]"'):
        source.embed(["text"])


def test_a_folder_is_known_by_what_is_in_it(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    first = digest_of(tmp_path)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x").write_bytes(b"2")
    assert digest_of(tmp_path) == first

    (tmp_path / "a").rename(tmp_path / "b")
    renamed = digest_of(tmp_path)
    (tmp_path / "b").write_bytes(b"3")

    assert len({first, renamed, digest_of(tmp_path)}) == 3
