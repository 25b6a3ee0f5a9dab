"""The small parts of the API: buckets of requests, tokens, bodies cut into records, bells."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.accepting import records_of
from agents.api.rates import CALLERS_MAX, Rates
from agents.api.service import Bell, rung
from agents.api.tokens import Tokens, is_loopback, names_this_machine


@given(
    st.floats(0.1, 100), st.integers(1, 20),
    st.lists(st.floats(0, 10, allow_subnormal=False), min_size=1, max_size=60),
)  # fmt: skip
def test_no_caller_gets_more_than_the_burst_and_what_the_rate_adds(
    per_s: float, burst: int, pauses_s: list[float]
) -> None:
    rates = Rates(per_s, burst)
    now_s, n_allowed = 0.0, 0

    for pause_s in pauses_s:
        now_s += pause_s
        wait_s = rates.wait_s("kim", now_s)
        n_allowed += wait_s == 0
        assert wait_s <= 1 / per_s + 1e-6

    assert n_allowed <= burst + per_s * now_s + 1e-6
    assert n_allowed >= min(burst, len(pauses_s))


def test_one_caller_does_not_use_up_what_another_has() -> None:
    rates = Rates(1, 1)

    assert rates.wait_s("kim", 0) == 0
    assert rates.wait_s("kim", 0) > 0
    assert rates.wait_s("lee", 0) == 0


def test_who_waits_as_long_as_told_is_let_in() -> None:
    rates = Rates(0.25, 1)
    rates.wait_s("kim", 0)

    assert rates.wait_s("kim", rates.wait_s("kim", 1) + 1) == 0


def test_only_so_many_callers_are_remembered() -> None:
    rates = Rates(1, 1)

    for number in range(CALLERS_MAX + 5):
        rates.wait_s(str(number), 0)

    assert len(rates._buckets) == CALLERS_MAX


def test_a_token_is_admitted_whole_and_only_whole() -> None:
    tokens = Tokens(["first-token-of-length", "other-token-of-length"])

    first = tokens.admits(b"Bearer first-token-of-length")
    assert first is not None
    assert tokens.admits(b"bearer other-token-of-length") not in (None, first)
    for wrong in (
        None, b"", b"Bearer", b"Bearer ", b"Bearer first-token-of-lengt", b"Basic first-token-of-length",
        b"first-token-of-length", b"Bearer first-token-of-length,other-token-of-length", b"Bearer \xff\xfe",
    ):  # fmt: skip
        assert tokens.admits(wrong) is None, wrong


def test_no_token_is_kept_as_it_is() -> None:
    tokens = Tokens(["first-token-of-length"])

    assert "first-token" not in repr(vars(tokens))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.5.5.5", "::1"])
def test_addresses_of_this_machine_are_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "evil.example"])
def test_every_other_address_is_another(host: str) -> None:
    assert not is_loopback(host)
    assert not names_this_machine(host.encode())


@pytest.mark.parametrize(
    ("body", "kind", "records"),
    [
        (b'{"a": 1}', "application/json", [b'{"a": 1}']),
        (b' [{"a": 1}, 2 ,"x"] ', "application/json", [b'{"a": 1}', b"2", b'"x"']),
        (b"[]", "application/json", []),
        (b"[1,", "application/json", [b"[1,"]),
        (b"", "application/json", [b""]),
        (b'{"a": 1}\r\n\n  \n{"b": 2}', "application/x-ndjson", [b'{"a": 1}', b'{"b": 2}']),
        (b"[1]\n[2]", "application/x-ndjson", [b"[1]", b"[2]"]),
        (b"", "application/x-ndjson", []),
    ],
)
def test_a_body_is_cut_into_its_records(body: bytes, kind: str, records: list[bytes]) -> None:
    assert records_of(body, kind) == records


def test_a_ring_between_reading_and_waiting_is_not_missed() -> None:
    async def ring_first() -> bool:
        bell = Bell()
        bell.open()
        event = bell.next()
        bell.ring()
        return await rung(event, 30)

    assert asyncio.run(ring_first())
