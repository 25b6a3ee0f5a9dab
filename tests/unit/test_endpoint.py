"""The embeddings endpoint, asked over real HTTP: what it answers, and what it does to whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from state.similarity import ModelId, VectorsUnavailable
from streams.vectors import endpoint, packaged
from streams.vectors.endpoint import Endpoint, EndpointVectors
from tests.parts.embeddings import (
    DIMENSION,
    KEY,
    EmbeddingsServer,
    Fault,
    changed,
    drips,
    floods,
    half_closes,
    hangs,
    sends,
    serving,
    status,
)

MODEL = ModelId("text-embedding-test", "1", DIMENSION, 0.84, "served")
LONG_S = 60.0  # a bound that only a hang reaches
SHORT_S = 0.3


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with serving() as found:
        yield found


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "PAUSE_FIRST_S", 0.001)


def asking(
    server: EmbeddingsServer, *, clock: Callable[[], float] = time.monotonic, **changes: object
) -> EndpointVectors:
    place = Endpoint(url=server.url, api_key=KEY, timeout_s=LONG_S, batch_max=64, rest_s=0.0)
    return EndpointVectors(MODEL, replace(place, **changes), clock=clock)  # type: ignore[arg-type]


def close(a: bytes, b: bytes) -> bool:
    import struct

    pairs = zip(struct.unpack(f"<{DIMENSION}f", a), struct.unpack(f"<{DIMENSION}f", b), strict=True)
    return all(abs(x - y) < 1e-6 for x, y in pairs)


def test_vectors_are_those_of_the_server_in_the_order_of_the_texts(server: EmbeddingsServer) -> None:
    texts = [f"text number {n}" for n in range(10)]

    made = asking(server, batch_max=3).embed(texts)

    assert all(map(close, made, packaged().embed(texts)))
    assert sorted(map(len, server.inputs)) == [1, 3, 3, 3]
    assert set(server.keys) == {f"Bearer {KEY}"}


def test_an_answer_in_another_order_is_put_right_by_its_indices(server: EmbeddingsServer) -> None:
    server.faults = [changed(lambda entries: entries[::-1])]

    made = asking(server).embed(["a cat", "a dog"])

    assert all(map(close, made, packaged().embed(["a cat", "a dog"])))


def test_vectors_come_at_unit_length_whatever_the_server_sends(server: EmbeddingsServer) -> None:
    server.faults = [
        changed(lambda e: [{**one, "embedding": [7.0 * n for n in one["embedding"]]} for one in e])
    ]

    (made,) = asking(server).embed(["a cat"])

    assert close(made, packaged().embed(["a cat"])[0])


@pytest.mark.parametrize("text", ["", "   ", "word " * 500])
def test_an_empty_or_very_long_text_is_not_sent(server: EmbeddingsServer, text: str) -> None:
    assert asking(server).embed([text]) == [bytes(4 * DIMENSION)]
    assert server.n_requests == 0


def test_without_a_key_none_is_sent_and_no_text_can_break_a_request(server: EmbeddingsServer) -> None:
    made = asking(server, api_key=None).embed(["\ud800", "\x00", '"},{', "😀"])

    assert {len(vector) for vector in made} == {4 * DIMENSION}
    assert server.keys == [None]


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_what_may_pass_is_tried_again(server: EmbeddingsServer, code: int) -> None:
    server.faults = [status(code), status(code)]

    made = asking(server).embed(["a cat"])

    assert close(made[0], packaged().embed(["a cat"])[0])
    assert server.n_requests == 3


def test_a_connection_that_breaks_off_is_tried_again(server: EmbeddingsServer) -> None:
    server.faults = [half_closes]

    assert close(asking(server).embed(["a cat"])[0], packaged().embed(["a cat"])[0])


@pytest.mark.parametrize(
    ("code", "advice"),
    [(400, "400"), (401, "FACTDRIFT_VECTORS_API_KEY"), (403, "API_KEY"), (404, "FACTDRIFT_VECTORS_URL")],
)
def test_what_will_not_pass_is_tried_once_and_says_what_to_do(
    server: EmbeddingsServer, code: int, advice: str
) -> None:
    server.faults = [status(code)]

    with pytest.raises(VectorsUnavailable, match=advice):
        asking(server).embed(["a cat"])
    assert server.n_requests == 1


def test_tries_are_bounded(server: EmbeddingsServer) -> None:
    server.down = status(503)

    with pytest.raises(VectorsUnavailable, match="503"):
        asking(server).embed(["a cat"])
    assert server.n_requests == endpoint.TRIES_MAX


def test_a_wait_that_is_longer_than_the_timeout_is_not_begun(server: EmbeddingsServer) -> None:
    server.down = status(429, Retry_After="3600")

    with pytest.raises(VectorsUnavailable, match="429"):
        asking(server).embed(["a cat"])
    assert server.n_requests == 1


@pytest.mark.parametrize("fault", [hangs, drips], ids=["nothing", "a byte now and then"])
def test_a_server_that_does_not_end_its_answer_holds_nobody_longer_than_the_timeout(
    server: EmbeddingsServer, fault: Fault
) -> None:
    server.down = fault

    with pytest.raises(VectorsUnavailable, match=r"did not answer within 0\.3 s"):
        asking(server, timeout_s=SHORT_S).embed(["a cat"])


def test_a_body_without_end_is_not_read_to_its_end(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "ANSWER_BYTES_MAX", 4 << 20)
    server.faults = [floods]

    with pytest.raises(VectorsUnavailable, match="sent over 4194304 bytes"):
        asking(server).embed(["a cat"])


@pytest.mark.parametrize(
    "fault",
    [
        sends(b"<html>"),
        sends(b""),
        sends(b"\xff\xfe"),
        sends(b"null"),
        sends(b"[]"),
        sends(b'{"data": 5}'),
        sends(b'{"data": [1]}'),
        sends(b"[" * 100_000),
        changed(lambda entries: entries[:-1]),
        changed(lambda entries: [*entries, entries[0]]),
        changed(lambda entries: [{**entries[0], "index": 1}, entries[1]]),
        changed(lambda entries: [{**entries[0], "index": "0"}, entries[1]]),
        changed(lambda entries: [{**one, "embedding": None} for one in entries]),
        changed(lambda entries: [{**one, "embedding": ["a"] * DIMENSION} for one in entries]),
        changed(lambda entries: [{**one, "embedding": [float("nan")] * DIMENSION} for one in entries]),
        changed(lambda entries: [{**one, "embedding": [10**400] * DIMENSION} for one in entries]),
        changed(lambda entries: [{**one, "embedding": one["embedding"][1:]} for one in entries]),
    ],
    ids=[
        "html", "nothing", "no text", "null", "a list", "a number", "numbers", "brackets", "one too few",
        "one too many", "one twice", "an index in words", "null vectors", "words", "not finite", "too great",
        "another dimension",
    ],
)  # fmt: skip
def test_an_answer_that_is_none_gives_no_vector_at_all(server: EmbeddingsServer, fault: Fault) -> None:
    server.faults = [fault]

    with pytest.raises(VectorsUnavailable, match="The embeddings endpoint"):
        asking(server).embed(["a cat", "a dog"])


def test_another_dimension_is_named_with_what_to_set(server: EmbeddingsServer) -> None:
    server.faults = [changed(lambda entries: [{**one, "embedding": [1.0, 2.0]} for one in entries])]

    with pytest.raises(VectorsUnavailable, match=r"dimension 2, expected 256.*FACTDRIFT_VECTORS_DIMENSION"):
        asking(server).embed(["a cat"])


def test_the_key_is_in_no_message_although_the_server_repeats_it(server: EmbeddingsServer) -> None:
    server.faults = [status(401, f"the key {KEY} is not known")]

    with pytest.raises(VectorsUnavailable) as refused:
        asking(server).embed(["a cat"])

    assert KEY not in str(refused.value)
    assert "is not known" in str(refused.value)


def test_a_server_that_redirects_is_not_followed_with_the_key(server: EmbeddingsServer) -> None:
    with serving() as other:
        server.faults = [status(307, Location=f"{other.url}/embeddings")]

        with pytest.raises(VectorsUnavailable, match="307"):
            asking(server).embed(["a cat"])
        assert other.n_requests == 0


def test_nobody_there_is_said_and_after_a_failure_nothing_is_asked_for_a_while() -> None:
    with serving() as server:
        now = 0.0
        vectors = asking(server, clock=lambda: now, rest_s=10.0)
        server.down = status(400)
        with pytest.raises(VectorsUnavailable, match="answered 400"):
            vectors.embed(["a cat"])
        server.down = None

        now = 9.0
        with pytest.raises(VectorsUnavailable, match=r"answered 400.*asked again in 1 s"):
            vectors.embed(["a cat"])
        assert server.n_requests == 1

        now = 10.0
        assert len(vectors.embed(["a cat"])) == 1
    with pytest.raises(VectorsUnavailable, match="cannot be asked"):
        vectors.embed(["a dog"])


def test_the_request_is_what_the_protocol_says(server: EmbeddingsServer) -> None:
    asking(server).embed(["a cat"])

    assert server.bodies == [{"model": "text-embedding-test", "input": ["a cat"], "encoding_format": "float"}]
