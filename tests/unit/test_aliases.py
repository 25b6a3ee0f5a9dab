"""Aliases of predicates: what a table may say, what follows from it, and what stays as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from state.aliases import ALIAS_CODES, NO_ALIASES, folded, identity, names_of, parse_aliases
from state.corrections import Invalidate, Relate, Supersede
from state.errors import BadAliases
from state.identity import claim_id
from state.instants import INSTANT_MAX
from state.observations import Observation, Recluster, Retract
from state.predicates import Registry, packaged
from state.validation import read

ORIGIN = "team.toml"
RECEIVED = {"got": "received", "got_a": "received"}


def record(**fields: Any) -> bytes:
    found = {
        "subject": "Kim",
        "predicate": "Got a",
        "object": "letter",
        "observed_at": "2024-01-05",
        **fields,
    }
    return json.dumps({key: value for key, value in found.items() if value is not None}).encode()


def decision(op: str, **fields: Any) -> bytes:
    target = {"object": "letter"}
    return record(op=op, object=None, observed_at=None, target=target, reason="a mistake", **fields)


# -- tables ---------------------------------------------------------------------------------


def test_a_table_says_what_each_alias_means_in_normal_names() -> None:
    found = parse_aliases({"Received": ["got", "Got a", "got-a"]}, origin=ORIGIN)

    assert found == RECEIVED


def test_a_file_has_its_aliases_beside_its_predicates_and_an_alias_declares_nothing() -> None:
    mine = packaged().extended('[aliases]\nobtained = ["was_given"]\n', origin=ORIGIN)

    assert mine.aliases == {"was_given": "obtained"}
    assert mine.declared == packaged().declared
    assert not mine.get("obtained").declared
    assert packaged().aliases == {}


@pytest.mark.parametrize(
    ("toml", "code", "told"),
    [
        ('aliases = ["got"]', "alias_malformed", "received = "),
        ('[aliases]\nreceived = "got"', "alias_malformed", "received = "),
        ("[aliases]\nreceived = []", "alias_malformed", "received = "),
        ("[aliases]\nreceived = [1]", "alias_malformed", "received = "),
        ('[aliases]\nreceived = ["..."]', "alias_blank", "'...'"),
        ('[aliases]\n"..." = ["got"]', "alias_blank", "'...'"),
        ('[aliases]\nreceived = ["Received"]', "alias_of_itself", "'Received'"),
        ('[aliases]\nreceived = ["got"]\nearned = ["got"]', "alias_taken", "received"),
        ('[aliases]\nreceived = ["got"]\ngot = ["received"]', "alias_cycle", "got -> received -> got"),
        ('[aliases]\na = ["b"]\nb = ["c"]\nc = ["a"]', "alias_cycle", "circle"),
        ('[aliases]\nreceived = ["got"]\ngot = ["got a"]', "alias_chain", "got_a -> got -> received"),
        (
            '[aliases]\nreceived = ["got"]\n[predicates.got]\ncardinality = "multi"',
            "alias_declared",
            "[predicates.received]",
        ),
        ('[aliases]\nobtained = ["attended"]', "alias_of_another_kind", "[predicates.obtained]"),
        ('[aliases]\nlives_in = ["visited"]', "alias_of_another_kind", "visited"),
    ],
)
def test_a_table_that_cannot_be_true_is_refused_with_a_code_and_what_to_do(
    toml: str, code: str, told: str
) -> None:
    with pytest.raises(BadAliases) as caught:
        packaged().extended(toml, origin=ORIGIN)

    assert caught.value.code == code
    assert code in ALIAS_CODES
    assert str(caught.value).startswith(f"{code}: {ORIGIN}")
    assert str(caught.value).endswith(".")
    assert told in str(caught.value)


def test_a_declared_alias_is_one_where_both_are_declared_alike() -> None:
    mine = packaged().extended(
        '[aliases]\nobtained = ["attended"]\n[predicates.obtained]\ncardinality = "multi"', origin=ORIGIN
    )

    assert mine.aliases == {"attended": "obtained"}


def test_the_same_alias_listed_twice_for_one_name_is_one() -> None:
    assert parse_aliases({"received": ["got", "Got"], "Received": ["got"]}, origin=ORIGIN) == {
        "got": "received"
    }


def test_two_tables_are_told_apart_whatever_the_order_of_their_lines() -> None:
    assert identity({}) == NO_ALIASES
    assert identity(RECEIVED) == identity(dict(reversed(RECEIVED.items())))
    assert identity(RECEIVED) != identity({"got": "received"})


# -- records --------------------------------------------------------------------------------


def test_an_observation_belongs_to_the_claim_of_the_name_that_is_meant() -> None:
    found = folded(read(record(), recorded_at=INSTANT_MAX), RECEIVED)

    assert isinstance(found, Observation)
    assert found.claim == claim_id("default", "kim", "received")
    assert (found.predicate, found.statement.predicate) == ("received", "received")


def test_what_was_written_stays_on_the_observation_and_in_its_ids() -> None:
    written = read(record(), recorded_at=INSTANT_MAX)
    found = folded(written, RECEIVED)

    assert isinstance(written, Observation)
    assert isinstance(found, Observation)
    assert found.written_predicate == "Got a"
    assert found.statement.observation_id == written.statement.observation_id
    assert found.statement.content_hash == written.statement.content_hash


@pytest.mark.parametrize(
    "raw",
    [
        record(predicate="received"),
        record(op="retract", observation_id="o1"),
        record(op="forget", scope="subject", reason="asked for"),
    ],
)
def test_what_speaks_of_no_alias_is_left_as_it_is(raw: bytes) -> None:
    usable = read(raw, recorded_at=INSTANT_MAX)

    assert folded(usable, RECEIVED) is usable
    if not isinstance(usable, Retract):
        assert folded(usable, {}) is usable


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (decision("supersede"), Supersede),
        (decision("invalidate"), Invalidate),
        (decision("link", kind="confirms", source={"id": "x"}), Relate),
        (record(op="recluster", object=None), Recluster),
    ],
)
def test_a_decision_about_an_alias_is_one_about_the_name_that_is_meant(raw: bytes, kind: type) -> None:
    found = folded(read(raw, recorded_at=INSTANT_MAX), RECEIVED)

    assert isinstance(found, kind)
    assert found.claim == claim_id("default", "kim", "received")  # type: ignore[union-attr]
    assert found.predicate == "received"  # type: ignore[union-attr]


def test_folding_twice_is_folding_once() -> None:
    once = folded(read(record(), recorded_at=INSTANT_MAX), RECEIVED)

    assert folded(once, RECEIVED) == once


def test_a_question_looks_under_the_name_that_is_meant_and_then_under_the_alias() -> None:
    assert names_of("Got a", RECEIVED) == ("received", "got_a")
    assert names_of("received", RECEIVED) == ("received",)
    assert names_of("Lives In", {}) == ("lives_in",)


def test_a_registry_that_is_extended_twice_keeps_the_aliases_of_both() -> None:
    once = Registry({}).extended('[aliases]\nreceived = ["got"]', origin=ORIGIN)
    twice = once.extended('[aliases]\nleft = ["quit"]', origin=ORIGIN)

    assert twice.aliases == {"got": "received", "quit": "left"}
    with pytest.raises(BadAliases, match="alias_chain"):
        once.extended('[aliases]\nearned = ["received"]', origin=ORIGIN)


def test_the_page_has_every_code_and_its_example_is_a_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "predicates.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]

    assert [code for code in ALIAS_CODES if f"| `{code}` |" not in page] == []
    assert packaged().extended(example, origin=ORIGIN).aliases["was_given"] == "received"
