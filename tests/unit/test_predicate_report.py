"""What the data says of predicates, and `factdrift predicates`: the questions, and that nothing changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agents import composition
from agents.logs import NoSuchLog
from agents.main import app
from state.fold_state import ASIDE
from state.predicate_report import (
    MULTI_SHARE_ABOVE,
    STEADY_DAYS_MIN,
    SUBJECTS_MIN,
    PredicateReport,
    Seen,
    look,
    report,
)
from state.predicates import Predicate, packaged
from state.statements import Statement
from streams.embedded.store import FILE_NAME
from streams.settings import Settings
from streams.topics import Topic
from tests.builders import day, statement


def said(*values: tuple[str, int], **fields: Any) -> list[Statement]:
    """Statements of one subject: a value and the day on which it was said."""
    return [statement(value, day(at), id=f"{n:02}", **fields) for n, (value, at) in enumerate(values)]


def in_days(text: str) -> list[Statement]:
    """`"AB A"`: A on day 0, B on day 1, A on day 3."""
    return said(*[(value, at) for at, value in enumerate(text) if value != " "])


def seen(statements: Sequence[Statement]) -> Seen:
    return look(statements, lambda form: form)


# -- one subject ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["ABAB", "BABA", "AABBAABB", "ABBAAB", "ACBCACB", "ABCAB", "ABCDEFGHADH A E"]
)
def test_two_values_each_said_again_after_the_other_are_in_turn(text: str) -> None:
    assert seen(in_days(text)).is_in_turn


@pytest.mark.parametrize(
    "text", ["", "A", "AAAA", "AB", "ABA", "AABB", "ABBA", "ABCBA", "ABACA", "AABACCADA"]
)
def test_a_value_that_returns_alone_is_not_in_turn(text: str) -> None:
    assert not seen(in_days(text)).is_in_turn


def test_values_said_at_the_same_two_instants_are_in_turn() -> None:
    assert seen(said(("A", 0), ("B", 0), ("A", 1), ("B", 1))).is_in_turn
    assert not seen(said(("A", 0), ("B", 1), ("A", 2), ("B", 2))).is_in_turn
    assert not seen(said(("A", 0), ("A", 1), ("B", 1), ("B", 2))).is_in_turn


def test_an_old_history_told_again_is_no_return_of_its_values() -> None:
    told = [
        statement(value, day(told_on), id=f"{value}{told_on}", valid_from=day(valid))
        for told_on in (10, 20)
        for value, valid in (("A", 0), ("B", 5))
    ]

    assert not seen(told).is_in_turn
    assert not seen(told).is_together


def test_two_values_of_one_document_at_one_instant_are_at_once() -> None:
    assert seen(said(("A", 0), ("B", 0), source="s", document="d")).is_at_once


@pytest.mark.parametrize(
    "statements",
    [
        said(("A", 0), ("B", 0)),
        said(("A", 0), ("B", 1), source="s", document="d"),
        said(("A", 0), ("A", 0), source="s", document="d"),
        [*said(("A", 0), document="d"), statement("B", day(0), id="x", document="e")],
        [*said(("A", 0), source="s", document="d"), statement("B", day(0), id="x", source="t", document="d")],
    ],
    ids=["no document", "another instant", "the same value", "another document", "another source"],
)
def test_two_values_of_other_voices_or_instants_are_not_at_once(statements: list[Statement]) -> None:
    assert not seen(statements).is_at_once


@pytest.mark.parametrize(
    ("text", "together"), [("AB", False), ("AABBCC", False), ("ABA", True), ("ABBA", True), ("ABCB", True)]
)
def test_values_are_together_when_one_is_said_before_another_is_over(text: str, together: bool) -> None:
    assert seen(in_days(text)).is_together is together


def test_values_said_at_one_instant_are_together() -> None:
    assert seen(said(("A", 0), ("A", 1), ("B", 1))).is_together


def test_values_are_together_when_one_is_stated_to_hold_beyond_the_start_of_another() -> None:
    until_ten = statement("A", day(0), id="a", valid_from=day(0), valid_to=day(10))

    assert seen([until_ten, statement("B", day(5), id="b")]).is_together
    assert not seen([until_ten, statement("B", day(10), id="b")]).is_together


def test_what_takes_no_side_is_no_value() -> None:
    statements = [
        statement("A", day(0), id="1"),
        statement("B", day(1), id="2", affirmed=False),
        statement("C", day(2), id="3", votes=False),
        statement("D", day(3), id="4", valid_to=day(1)),
        statement("", day(4), id="5"),
        statement("coarse", day(5), id="6"),
    ]

    found = look(statements, lambda form: ASIDE if form == "coarse" else form)

    assert found.n_values == 1


def test_paraphrases_are_one_value() -> None:
    assert look(in_days("AaAa"), str.upper).n_values == 1


def test_a_value_is_steady_when_it_is_repeated_for_long_and_never_denied_or_ended() -> None:
    steady = said(("A", 0), ("A", STEADY_DAYS_MIN))

    assert seen(steady).is_steady
    assert not seen(said(("A", 0), ("A", STEADY_DAYS_MIN - 1))).is_steady
    assert not seen([*steady, statement("B", day(9), id="b")]).is_steady
    assert not seen([*steady, statement("A", day(9), id="b", affirmed=False)]).is_steady
    assert not seen([*steady, statement("A", day(9), id="b", valid_to=day(20))]).is_steady


# -- questions --------------------------------------------------------------------------------


def asked(predicate: Predicate, *subjects: Sequence[Statement]) -> PredicateReport:
    (line,) = report([(predicate.name, seen(subject)) for subject in subjects], lambda _name: predicate)
    return line


UNDECLARED = Predicate("p", declared=False)
IN_TURN, FOLLOWING, STEADY = in_days("ABAB"), in_days("AABB"), said(("A", 0), ("A", STEADY_DAYS_MIN))
AT_ONCE = said(("A", 0), ("B", 0), document="d")


@pytest.mark.parametrize("predicate", [UNDECLARED, Predicate("p")])
def test_values_in_turn_ask_whether_a_predicate_has_many(predicate: Predicate) -> None:
    line = asked(predicate, IN_TURN, IN_TURN, IN_TURN, FOLLOWING)

    assert line.suggestion == "multi?"
    assert line.why == "In 3 of 4 subjects two values were each said again after the other."
    assert (line.n_subjects, line.n_several, line.n_in_turn, line.share_in_turn) == (4, 4, 3, 0.75)


def test_values_of_one_document_at_one_instant_ask_the_same() -> None:
    line = asked(UNDECLARED, AT_ONCE, AT_ONCE, AT_ONCE)

    assert line.suggestion == "multi?"
    assert line.why == "In 3 of 3 subjects one document says two values at one instant."


@pytest.mark.parametrize("shown", [IN_TURN, AT_ONCE])
def test_nothing_is_asked_below_the_number_or_the_share_of_subjects(shown: list[Statement]) -> None:
    n_at_the_share = round(SUBJECTS_MIN / MULTI_SHARE_ABOVE)

    assert asked(UNDECLARED, *[shown] * (SUBJECTS_MIN - 1)).suggestion == ""
    assert asked(UNDECLARED, *[shown] * SUBJECTS_MIN).suggestion == "multi?"
    others = [FOLLOWING] * (n_at_the_share - SUBJECTS_MIN)
    assert asked(UNDECLARED, *[shown] * SUBJECTS_MIN, *others).suggestion == ""
    assert asked(UNDECLARED, *[shown] * SUBJECTS_MIN, *others[1:]).suggestion == "multi?"


def test_values_that_only_follow_each_other_ask_whether_a_predicate_has_one() -> None:
    multi = Predicate("p", "multi")

    assert asked(multi, FOLLOWING, FOLLOWING, FOLLOWING, in_days("A")).suggestion == "single?"
    assert asked(multi, FOLLOWING, FOLLOWING, FOLLOWING, in_days("ABA")).suggestion == ""
    assert asked(multi, FOLLOWING, FOLLOWING).suggestion == ""
    assert asked(UNDECLARED, FOLLOWING, FOLLOWING, FOLLOWING).suggestion == ""


def test_values_said_once_each_say_nothing_about_a_predicate_with_many() -> None:
    assert asked(Predicate("p", "multi"), *[in_days("ABCD")] * 9).suggestion == ""


def test_values_that_stay_for_long_ask_whether_a_predicate_ever_changes() -> None:
    assert asked(UNDECLARED, STEADY, STEADY, STEADY, in_days("A")).suggestion == "never?"
    assert asked(Predicate("p"), STEADY, STEADY, STEADY).suggestion == "never?"
    assert asked(UNDECLARED, STEADY, STEADY, STEADY, in_days("AB")).suggestion == ""
    assert asked(UNDECLARED, STEADY, STEADY).suggestion == ""


def test_a_predicate_that_never_changes_is_asked_nothing_though_its_sources_disagree() -> None:
    assert asked(Predicate("p", change="never"), IN_TURN, IN_TURN, IN_TURN).suggestion == ""


def test_questions_come_first_then_the_predicates_with_most_subjects() -> None:
    claims = [("few", seen(in_days("A"))), *[("many", seen(in_days("A")))] * 2, ("also", seen(in_days("A")))]
    claims += [("asked", seen(IN_TURN))] * SUBJECTS_MIN

    lines = report(claims, packaged().get)

    assert [line.predicate.name for line in lines] == ["asked", "many", "also", "few"]


# -- the command ------------------------------------------------------------------------------


def run(*arguments: str | Path) -> list[dict[str, Any]]:
    """The JSON lines that a command writes when its output is piped."""
    done = CliRunner().invoke(app, ["predicates", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_list_says_what_is_declared_and_in_which_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[predicates.uses]\ncardinality = "multi"\n[predicates."is user of"]\n', encoding="utf-8")

    shown = {line["predicate"]: line for line in run("list", "Use", "--predicates", file)}

    assert shown["username"]["declared_in"] == "packaged"
    assert shown["uses"]["declared_in"] == shown["is_user_of"]["declared_in"] == str(file)
    assert shown["uses"]["cardinality"] == "multi"
    assert all("use" in name for name in shown)
    assert len(run("list")) == len(packaged().declared)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which three people use two tools in turn, one of them often enough to be stored in chunks."""
    folder = tmp_path / "log"
    host = composition.embedded(Settings(), folder)
    lines = [
        {
            "subject": f"person {subject}",
            "predicate": "runs with",
            "object": ("tea", "coal")[at % 2],
            "observed_at": f"2024-01-{at // 24 + 1:02}T{at % 24:02}:00:00Z",
        }
        for subject, n in ((1, 4), (2, 4), (3, 150))
        for at in range(n)
    ]
    host.publish(Topic.OBSERVATIONS, [(None, json.dumps(line).encode(), None) for line in lines])
    host.store.close()
    return folder


def test_report_reads_all_evidence_of_a_log_and_changes_nothing(log: Path) -> None:
    before = (log / FILE_NAME).read_bytes()

    assert run("report", "--data", log) == [
        {
            "predicate": "runs_with", "declared": False, "cardinality": "single", "change": "any",
            "arbitration": "vote", "subjects": 3, "subjects_with_several_values": 3, "subjects_in_turn": 3,
            "subjects_at_once": 0, "share_in_turn": 1.0, "suggestion": "multi?",
            "why": "In 3 of 3 subjects two values were each said again after the other.",
        }
    ]  # fmt: skip
    assert (log / FILE_NAME).read_bytes() == before


def test_report_goes_by_the_file_that_is_given_and_can_be_asked_for_questions_only(
    log: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[predicates.runs_with]\ncardinality = "multi"\n', encoding="utf-8")

    (line,) = run("report", "--data", log, "--predicates", file)

    assert (line["declared"], line["cardinality"], line["suggestion"]) == (True, "multi", None)
    assert run("report", "--data", log, "--predicates", file, "--questions") == []
    assert len(run("report", "--data", log, "--questions")) == 1


def test_report_of_a_folder_without_a_log_says_how_to_make_one_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NoSuchLog, match="holds no factdrift log"):
        run("report", "--data", tmp_path / "none")

    assert not (tmp_path / "none").exists()
