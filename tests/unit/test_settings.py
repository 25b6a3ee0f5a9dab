"""Settings whose values need more than a type: what is taken, what is refused, and what follows from it."""

from __future__ import annotations

import pytest

from agents import composition
from state.policy import Policy
from state.votes import ALL_VOTES
from streams.settings import BadSetting, Settings


@pytest.mark.parametrize(
    ("text", "window", "version"),
    [
        ("5", 5, "1"),
        ("1", 1, "1+window=1,contested=40"),
        ("7", 7, "1+window=7,contested=40"),
        ("all", ALL_VOTES, "1+window=all,contested=40"),
    ],
)
def test_the_vote_window_reaches_the_policy_and_its_version_names_it(
    text: str, window: int, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTDRIFT_VOTE_WINDOW", text)

    assert composition.policy(Settings()) == Policy(window=window, version=version)


def test_the_default_window_is_five() -> None:
    assert Settings().vote_window == Policy().window == 5


@pytest.mark.parametrize("text", ["0", "-1", "", "many", "ALL", "5.5", "٥", "1e3"])
def test_what_is_no_vote_window_is_refused_with_what_it_may_be(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTDRIFT_VOTE_WINDOW", text)

    with pytest.raises(BadSetting) as refused:
        Settings()

    assert (
        str(refused.value)
        == f"FACTDRIFT_VOTE_WINDOW is {text!r}, expected a number of votes from 1 on, all or cycle."
    )


def test_votes_by_cycle_are_a_policy_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTDRIFT_VOTE_WINDOW", "cycle")

    policy = composition.policy(Settings())

    assert policy.by_cycle
    assert policy.version == "1+window=cycle,contested=40"
