"""The header `traceparent`: what of it is taken, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.traceparent import PACKED_MAX, Traceparent, packed, parse, unpacked, well_formed
from streams.topics import Topic
from streams.trace_headers import headers_of, trace_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{SPAN}-01".encode()

places = st.builds(
    Traceparent,
    trace_id=st.integers(1, 2**128 - 1).map("{:032x}".format),
    span_id=st.integers(1, 2**64 - 1).map("{:016x}".format),
    flags=st.integers(0, 255),
)


def test_a_header_says_trace_span_and_whether_it_is_recorded() -> None:
    found = parse(HEADER)

    assert found == Traceparent(TRACE, SPAN, 1)
    assert found.is_sampled
    assert not Traceparent(TRACE, SPAN, 2).is_sampled


@given(places)
def test_what_is_written_is_read_again(place: Traceparent) -> None:
    assert parse(place.header()) == place


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"00",
        HEADER[:-1],
        HEADER + b"0",
        HEADER + b"-more",
        HEADER + b"\n",
        b" " + HEADER,
        HEADER.upper(),
        f"00-{'0' * 32}-{SPAN}-01".encode(),
        f"00-{TRACE}-{'0' * 16}-01".encode(),
        f"ff-{TRACE}-{SPAN}-01".encode(),
        f"00-{TRACE}-{SPAN}-0g".encode(),
        f"00_{TRACE}_{SPAN}_01".encode(),
        "00-４bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".encode(),
        b"\xff" * 55,
    ],
)
def test_a_malformed_header_is_none(header: bytes) -> None:
    assert parse(header) is None
    assert well_formed(header) is None


def test_of_a_version_to_come_what_is_known_is_taken() -> None:
    later = f"01-{TRACE}-{SPAN}-ff-what-else".encode()

    assert well_formed(later) == HEADER
    assert parse(f"01-{TRACE}-{SPAN}-ffmore".encode()) is None


@given(st.binary(max_size=80))
def test_whatever_comes_as_a_header_raises_nothing(header: bytes) -> None:
    found = parse(header)

    assert found is None or parse(found.header()) == found


# -- those of a batch -----------------------------------------------------------------------


@given(st.lists(st.none() | places.map(Traceparent.header), max_size=12))
def test_the_headers_of_a_batch_come_back_with_their_places(headers: list[bytes | None]) -> None:
    value = packed(headers)
    expected = {number: header for number, header in enumerate(headers) if header is not None}

    assert (value is None) == (not expected)
    assert unpacked(value or b"") == expected


@given(st.binary(max_size=60))
def test_what_nobody_of_ours_wrote_holds_no_headers(value: bytes) -> None:
    assert all(parse(header) for header in unpacked(value).values())


def test_equal_headers_are_written_once() -> None:
    value = packed([HEADER] * 500)

    assert value is not None
    assert value.count(TRACE.encode()) == 1


def test_a_batch_carries_only_so_many_different_headers() -> None:
    headers = [Traceparent(f"{number:032x}", SPAN, 1).header() for number in range(1, PACKED_MAX + 3)]

    assert list(unpacked(packed([*headers, headers[0]]) or b"")) == [*range(PACKED_MAX), PACKED_MAX + 2]


# -- on the wire ----------------------------------------------------------------------------


def test_of_several_headers_of_one_name_the_last_counts() -> None:
    other = Traceparent("1" * 32, SPAN, 0).header()

    assert (
        trace_of(Topic.OBSERVATIONS, [("traceparent", other), ("x", b""), ("traceparent", HEADER)]) == HEADER
    )
    assert trace_of(Topic.OBSERVATIONS, [("traceparent", HEADER), ("traceparent", b"bad")]) is None
    assert trace_of(Topic.OBSERVATIONS, [("Traceparent", HEADER)]) is None


@pytest.mark.parametrize("topic", [Topic.OBSERVATIONS, Topic.BY_CLAIM, Topic.FACT_CREATED])
def test_a_header_that_is_written_is_read_again(topic: Topic) -> None:
    trace = packed([HEADER]) if topic is Topic.BY_CLAIM else HEADER

    assert trace_of(topic, headers_of(topic, trace)) == trace
    assert headers_of(topic, None) == []
