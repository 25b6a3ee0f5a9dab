"""Which names are proposed as aliases, why, and what is never proposed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agents.main import app
from state.alias_report import Proposal, Said, as_toml, names_in, suggest
from state.names import normalise_predicate
from state.predicates import Registry, packaged
from tests.cases.world import World, numbered, observe

ORIGIN = "team.toml"
NOBODY = Registry({})


def said(predicate: str, *values: str, subject: str = "kim") -> list[Said]:
    return [Said("default", subject, predicate, f"t:{value}") for value in values]


def proposed(
    heard: list[Said],
    registry: Registry = NOBODY,
    vectors: dict[str, bytes] | None = None,
    threshold: float = 0.9,
) -> list[Proposal]:
    return suggest(names_in(heard), registry, vectors=vectors or {}, threshold=threshold)


def sure(heard: list[Said], registry: Registry = NOBODY) -> list[tuple[str, str]]:
    return [(one.meant, one.alias) for one in proposed(heard, registry) if one.is_sure]


def plane(x: float, y: float) -> bytes:
    return struct.pack("<2f", x, y)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("got", "got_a"),
        ("plans_to", "is_planning_to"),
        ("visited", "has_visited"),
        ("has_a", "has_an"),
        ("reads", "has_been_reading"),
        ("is_inspired_by", "has_been_inspired_by"),
        ("studies", "is_studying"),
    ],
)
def test_the_same_words_in_another_inflection_are_proposed(a: str, b: str) -> None:
    (found,) = proposed([*said(a, "x", "y"), *said(b, "z")])

    assert (found.meant, found.alias, found.is_sure) == (a, b, True)
    assert found.why == "the same words"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("agrees_with", "agrees_to"),
        ("works_at", "works_for"),
        ("is_encouraged_by", "encourages"),
        ("has_a", "is_a"),
        ("likes", "lives_in"),
        ("moved_to", "moved_from"),
        ("likes", "does_not_like"),
    ],
)
def test_other_words_are_not_the_same(a: str, b: str) -> None:
    assert proposed([*said(a, "x", "y"), *said(b, "z")]) == []


@pytest.mark.parametrize(("a", "b"), [("lives_in", "lived_in"), ("has_a", "had_a"), ("uses", "used")])
def test_another_tense_is_never_sure(a: str, b: str) -> None:
    found = proposed([*said(a, "x", "y", "z"), *said(b, "x", "y", "z")])

    assert [(one.is_sure, "tense" in one.why) for one in found] == [(False, True)]


def test_values_that_subjects_have_under_both_names_are_enough_where_they_are_many() -> None:
    heard = [*said("got", "a", "b", "c", "d", "e"), *said("received", "a", "b", "c", "x")]

    (found,) = proposed(heard)

    assert (found.meant, found.alias, found.is_sure) == ("got", "received", True)
    assert (found.n_shared, found.n_values, found.why) == (3, 4, "3 of 4 values in common")


def test_few_values_in_common_or_a_small_share_are_nothing() -> None:
    assert proposed([*said("got", "a", "b"), *said("received", "a", "b")]) == []
    assert proposed([*said("born_in", *"abcdefg"), *said("lives_in", *"abcnopq")]) == []


def test_another_subject_with_the_same_value_has_nothing_in_common() -> None:
    heard = [*said("got", "a", "b", "c"), *said("received", "a", "b", "c", subject="ann")]

    assert proposed(heard) == []


def test_what_excludes_each_other_is_never_proposed_whatever_speaks_for_it() -> None:
    heard = [*said("likes", "a", "b", "c"), *said("dislikes", "a", "b", "c")]

    assert proposed(heard, vectors={"likes": plane(1, 0), "dislikes": plane(1, 0)}) == []


def test_names_that_are_only_near_are_proposed_and_are_not_sure() -> None:
    vectors = {"got": plane(1, 0), "obtained": plane(0.96, 0.28), "ate": plane(0, 1)}

    (found,) = proposed([*said("got", "a", "b"), *said("obtained", "c"), *said("ate", "d")], vectors=vectors)

    assert (found.meant, found.alias, found.is_sure, found.cosine) == ("got", "obtained", False, 0.96)
    assert found.why == "near by 0.96, no value in common"


def test_the_declared_name_is_meant_and_else_the_more_frequent_one() -> None:
    declared = Registry({}).extended("[predicates.is_visiting]", origin=ORIGIN)
    heard = [*said("visits", "a", "b"), *said("is_visiting", "c")]

    assert sure(heard) == [("visits", "is_visiting")]
    assert sure(heard, declared) == [("is_visiting", "visits")]


def test_a_name_that_has_aliases_stays_the_one_that_is_meant() -> None:
    known = Registry({}).extended('[aliases]\nis_visiting = ["drops by"]', origin=ORIGIN)

    assert sure([*said("visits", "a", "b"), *said("is_visiting", "c")], known) == [("is_visiting", "visits")]


def test_two_names_that_both_have_aliases_stay_two() -> None:
    known = Registry({}).extended('[aliases]\nis_visiting = ["drops by"]\nvisits = ["sees"]', origin=ORIGIN)

    assert proposed([*said("visits", "a", "b"), *said("is_visiting", "c")], known) == []


def test_what_the_registry_would_refuse_is_not_proposed() -> None:
    declared = Registry({}).extended(
        '[predicates.visits]\ncardinality = "multi"\n[predicates.is_visiting]', origin=ORIGIN
    )

    assert sure([*said("visits", "a", "b"), *said("is_visiting", "c")], declared) == []


def test_all_aliases_stand_under_one_name_and_none_has_aliases() -> None:
    heard = [*said("plans", "a", "b"), *said("is_planning", "c"), *said("is_planning_a", "d")]

    assert sure(heard) == [("plans", "is_planning"), ("plans", "is_planning_a")]


def test_the_table_has_what_was_there_and_what_is_proposed_and_hides_what_is_not_sure() -> None:
    vectors = {"got": plane(1, 0), "obtained": plane(0.96, 0.28)}
    found = proposed([*said("got", "a", "b"), *said("got_a", "d"), *said("obtained", "c")], vectors=vectors)

    text = as_toml(found, {"acquired": "got", "quit": "left"})

    assert packaged().extended(text, origin=ORIGIN).aliases == {
        "acquired": "got",
        "got_a": "got",
        "quit": "left",
    }
    assert '# "obtained",  # near by 0.96' in text
    unhidden = text.replace('    # "', '    "')
    assert packaged().extended(unhidden, origin=ORIGIN).aliases["obtained"] == "got"


NAMES = st.sampled_from(
    [
        "got",
        "got_a",
        "has_got",
        "getting",
        "plans",
        "is_planning",
        "planned",
        "likes",
        "dislikes",
        "likes_the",
    ]
) | st.text(max_size=6).map(normalise_predicate).filter(bool)


@given(
    st.lists(
        st.builds(Said, st.just("n"), st.sampled_from("ab"), NAMES, st.sampled_from(["", "x", "y", "z"]))
    ),
    st.randoms(use_true_random=False),
    st.dictionaries(NAMES, NAMES, max_size=3),
)
def test_whatever_was_said_the_table_can_be_pasted_and_no_order_changes_it(
    heard: list[Said], chance: object, wanted: dict[str, str]
) -> None:
    present = {alias: meant for alias, meant in wanted.items() if meant not in wanted and alias != meant}
    registry = Registry({}, present)
    vectors = {one.predicate: plane(len(one.predicate), 3) for one in heard}

    found = proposed(heard, registry, vectors)
    text = as_toml(found, present)

    pasted = Registry({}).extended(text, origin=ORIGIN).aliases
    assert pasted == {**present, **{one.alias: one.meant for one in found if one.is_sure}}
    unhidden = "\n".join(line.removeprefix("# ").replace('    # "', '    "') for line in text.splitlines())
    Registry({}).extended(unhidden, origin=ORIGIN)
    shuffled = list(heard)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert proposed(shuffled, registry, vectors) == found


# -- the command ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    world = World(folder)
    world.each(
        numbered(
            [
                *(observe(value, 1, predicate="plans a") for value in ("trip", "party", "walk")),
                *(observe(value, 2, predicate="is planning") for value in ("trip", "party")),
                observe("tea", 3, predicate="drinks"),
            ]
        )
    )
    world.close()
    return folder


def test_the_command_writes_a_table_that_can_be_used_as_it_is(log: Path, tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(app, ["predicates", "suggest", "--data", str(log)], catch_exceptions=False)
    file = tmp_path / "mine.toml"
    file.write_text(done.stdout, encoding="utf-8")

    listed = run.invoke(
        app, ["predicates", "list", "--predicates", str(file), "--json"], catch_exceptions=False
    )
    again = run.invoke(
        app, ["predicates", "suggest", "--data", str(log), "--predicates", str(file)], catch_exceptions=False
    )

    assert done.exit_code == 0
    assert done.stdout.startswith("# 3 predicates; 1 aliases proposed, 0 more behind a #.\n[aliases]\n")
    rows = [json.loads(line) for line in listed.stdout.splitlines()]
    assert [(r["predicate"], r["declared_in"]) for r in rows if r["aliases"]] == [("plans_a", "nowhere")]
    assert again.stdout.splitlines()[1:] == ["[aliases]", "plans_a = [", '    "is_planning",', "]"]


def test_the_command_writes_json_when_asked_and_changes_nothing(log: Path) -> None:
    before = World(log)
    lines = before.lines()
    before.close()

    done = CliRunner().invoke(
        app, ["predicates", "suggest", "--data", str(log), "--json"], catch_exceptions=False
    )

    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (found["meant"], found["alias"], found["is_sure"]) == ("plans_a", "is_planning", True)
    assert found["why"] == "the same words; 2 of 2 values in common"
    after = World(log)
    assert after.lines() == lines
    after.close()


def test_without_vectors_the_command_says_that_names_were_not_compared(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTDRIFT_VECTORS", "none")

    done = CliRunner().invoke(app, ["predicates", "suggest", "--data", str(log)], catch_exceptions=False)

    assert "# Names were not compared: there are no vectors.\n" in done.stdout
    assert '"is_planning"' in done.stdout
