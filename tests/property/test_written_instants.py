"""The projection reads the instants of events by a faster way than everybody else: to the same instants."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agents.read_model.batch import _instant
from state.instants import INSTANT_END, INSTANT_MIN, Instant, format_instant, parse_instant


@given(st.integers(INSTANT_MIN, INSTANT_END - 1).map(Instant))
def test_an_instant_that_an_event_writes_is_read_back(at: Instant) -> None:
    assert _instant(format_instant(at)) == at == parse_instant(format_instant(at))


@given(st.dates(), st.sampled_from(["", "T09:30", "T09:30:00", "T24:00:00Z", "T23:59:59.9999999Z"]))
def test_what_others_write_is_read_as_everywhere(day: object, rest: str) -> None:
    written = f"{day}{rest}"
    try:
        expected = parse_instant(written)
    except Exception as error:
        refused = type(error)
    else:
        assert _instant(written) == expected
        return
    try:
        found = _instant(written)
    except refused:
        return
    raise AssertionError((written, found))
