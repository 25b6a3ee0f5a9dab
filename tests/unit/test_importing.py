"""Exports of mem0, Graphiti and tables as observations: every item is used or refused with a code, in any
order.
"""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.importing import BadExport, Import, from_csv, from_graphiti, from_mem0, judged
from state.instants import parse_instant
from state.table_export import BadMapping

NOW = parse_instant("2026-01-01")


def stream(value: Any) -> io.BytesIO:
    return io.BytesIO(value if isinstance(value, bytes) else json.dumps(value).encode())


def mem0(value: Any, **options: Any) -> Import:
    return judged(from_mem0(stream(value), **options), now=NOW, namespace=None)


def graphiti(value: Any, nodes: Any = None) -> Import:
    return judged(
        from_graphiti(stream(value), None if nodes is None else stream(nodes)), now=NOW, namespace=None
    )


def table(text: str | bytes, namespace: str | None = None, **options: Any) -> Import:
    body = text if isinstance(text, bytes) else text.encode()
    columns, constants = options.pop("columns", {}), options.pop("constants", {})
    return judged(from_csv(io.BytesIO(body), columns, constants, **options), now=NOW, namespace=namespace)


def said(found: Import) -> list[tuple[str, str, str]]:
    """(object, polarity, when) of every observation."""
    lines = [json.loads(line) for line in found.lines]
    return [(line["object"], line.get("polarity", "affirmed"), line["observed_at"]) for line in lines]


# -- mem0 -----------------------------------------------------------------------------------

MEMORY = {
    "id": "m1", "memory": "Works at Initech", "user_id": "alice", "hash": "h", "metadata": None,
    "created_at": "2024-01-05T10:00:00-08:00", "updated_at": "2024-06-01T09:00:00-07:00",
}  # fmt: skip
ADDED = {
    "id": "h1", "memory_id": "m1", "old_memory": None, "new_memory": "Works at Acme", "event": "ADD",
    "created_at": "2024-01-05T10:00:00-08:00", "updated_at": None, "is_deleted": False,
}  # fmt: skip
UPDATED = {
    "id": "h2", "memory_id": "m1", "old_memory": "Works at Acme", "new_memory": "Works at Initech",
    "event": "UPDATE", "created_at": "2024-01-05T10:00:00-08:00", "updated_at": "2024-06-01T09:00:00-07:00",
    "is_deleted": False,
}  # fmt: skip
DELETED = {
    "id": "h3", "memory_id": "m1", "old_memory": "Works at Initech", "new_memory": None, "event": "DELETE",
    "created_at": "2024-01-05T10:00:00-08:00", "updated_at": "2024-09-01T09:00:00-07:00", "is_deleted": True,
}  # fmt: skip
HISTORY = [
    ("Works at Acme", "affirmed", "2024-01-05T10:00:00-08:00"),
    ("Works at Initech", "affirmed", "2024-06-01T09:00:00-07:00"),
]


def test_a_memory_without_history_says_its_text_since_it_was_last_written() -> None:
    found = mem0([MEMORY])

    assert said(found) == HISTORY[1:]
    (line,) = map(json.loads, found.lines)
    assert (line["subject"], line["predicate"]) == ("alice", "memory m1")
    assert line["recorded_at"] == line["observed_at"]
    assert line["source"] == {"id": "mem0", "category": "extracted"}


@pytest.mark.parametrize(
    "export",
    [
        [{**MEMORY, "history": [UPDATED, ADDED]}],
        {"results": [MEMORY], "history": [UPDATED, ADDED]},
        {"memories": [{**MEMORY, "history": [ADDED]}], "history": [UPDATED]},
        [UPDATED, MEMORY, ADDED],
        b"\n".join(json.dumps(one).encode() for one in (MEMORY, ADDED, UPDATED)),
    ],
)
def test_a_history_is_found_wherever_an_export_puts_it(export: Any) -> None:
    found = mem0(export)

    assert said(found) == HISTORY
    assert found.refused == []


def test_a_memory_that_is_gone_is_denied_when_it_went() -> None:
    found = mem0([{**one, "user_id": "alice"} for one in (ADDED, UPDATED, DELETED)])

    assert said(found) == [*HISTORY, ("Works at Initech", "denied", "2024-09-01T09:00:00-07:00")]


def test_what_an_update_replaced_held_before_though_its_beginning_was_not_exported() -> None:
    assert said(mem0([{**MEMORY, "history": [UPDATED]}])) == HISTORY


def test_under_one_predicate_for_all_an_update_denies_the_old_text() -> None:
    found = mem0([{**MEMORY, "history": [ADDED, UPDATED]}], predicate="is known for")

    assert [(o, p) for o, p, _ in said(found)] == [
        ("Works at Acme", "affirmed"), ("Works at Acme", "denied"), ("Works at Initech", "affirmed"),
    ]  # fmt: skip
    assert {json.loads(line)["predicate"] for line in found.lines} == {"is known for"}


@pytest.mark.parametrize(
    ("memory", "code"),
    [
        ({"id": "m1", "memory": "x", "created_at": "2024-01-01"}, "missing_field"),  # whose is it?
        ({"id": "m1", "user_id": "a", "created_at": "2024-01-01"}, "missing_field"),
        ({"memory": "x", "user_id": "a", "created_at": "2024-01-01"}, "missing_field"),
        ({"id": "m1", "memory": "x", "user_id": "a"}, "missing_field"),
        ({"id": "m1", "memory": "x", "user_id": "a", "created_at": "someday"}, "bad_instant"),
        ({"id": "m1", "memory": 5, "user_id": "a", "created_at": "2024-01-01"}, "wrong_type"),
        ({"id": "m1", "memory": "...", "user_id": "a", "created_at": "2024-01-01"}, "blank_object"),
        ({**MEMORY, "history": [{**UPDATED, "event": "MERGE"}]}, "wrong_type"),
        ("a memory", "not_an_object"),
    ],
)
def test_a_memory_that_cannot_be_used_is_refused_and_the_others_are_not(memory: Any, code: str) -> None:
    found = mem0([memory, {**MEMORY, "id": "m2"}])

    assert [(one.item, one.code) for one in found.refused] == [(1, code)]
    assert (found.n_items, found.n_used, len(found.lines)) == (2, 1, 1)


def test_a_line_that_is_no_json_is_refused_with_its_number() -> None:
    found = mem0(json.dumps(MEMORY).encode() + b"\n{broken\n")

    assert [(one.item, one.code) for one in found.refused] == [(2, "not_an_object")]


@pytest.mark.parametrize("body", [b"", b"hello", b"3", b'"text"'])
def test_a_file_that_is_no_export_at_all_is_told(body: bytes) -> None:
    with pytest.raises(BadExport):
        mem0(body)


# -- Graphiti -------------------------------------------------------------------------------

NODES = [{"uuid": "n1", "name": "Kim", "labels": ["Entity"]}, {"uuid": "n2", "name": "Acme", "summary": "…"}]
EDGE = {
    "uuid": "e1", "group_id": "team", "source_node_uuid": "n1", "target_node_uuid": "n2", "name": "WORKS_AT",
    "fact": "Kim works at Acme.", "episodes": ["ep1", "ep2"], "created_at": "2024-03-01T12:00:00Z",
    "valid_at": "2023-05-01T00:00:00Z", "invalid_at": None, "expired_at": None, "fact_embedding": [0.5],
}  # fmt: skip


def test_each_episode_of_an_edge_is_a_statement_of_its_own() -> None:
    found = graphiti({"edges": [EDGE], "nodes": NODES})

    lines = [json.loads(line) for line in found.lines]
    assert [line["source"]["document"] for line in lines] == ["ep1", "ep2"]
    first = lines[0]
    assert (first["namespace"], first["subject"], first["predicate"], first["object"]) == (
        "team", "Kim", "WORKS_AT", "Acme",
    )  # fmt: skip
    assert (first["observed_at"], first["valid_from"]) == ("2024-03-01T12:00:00Z", "2023-05-01T00:00:00Z")
    assert first["content"] == "Kim works at Acme."
    assert len({line["observation_id"] for line in lines}) == 2


def test_when_an_episode_was_said_is_taken_from_the_episode_where_that_is_there() -> None:
    episodes = [{"uuid": "ep1", "name": "a chat", "valid_at": "2024-02-28T08:00:00Z", "content": "…"}]

    found = graphiti({"edges": [EDGE], "nodes": NODES, "episodes": episodes})

    first, second = (json.loads(line) for line in sorted(found.lines, key=lambda line: b"ep2" in line))
    assert first["observed_at"] == "2024-02-28T08:00:00Z"
    assert first["recorded_at"] == second["observed_at"] == "2024-03-01T12:00:00Z"


def test_nothing_is_written_down_before_it_is_said() -> None:
    episodes = [{"uuid": "ep1", "valid_at": "2024-03-02T00:00:00Z"}]

    found = graphiti({"edges": [{**EDGE, "episodes": ["ep1"]}], "nodes": NODES, "episodes": episodes})

    (line,) = map(json.loads, found.lines)
    assert line["recorded_at"] == line["observed_at"] == "2024-03-02T00:00:00Z"


def test_an_end_that_was_noticed_later_is_said_later() -> None:
    edge = {
        **EDGE,
        "episodes": [],
        "invalid_at": "2024-06-01T00:00:00Z",
        "expired_at": "2024-07-01T00:00:00Z",
    }

    begun, ended = (json.loads(line) for line in graphiti([edge], NODES).lines)

    assert "valid_to" not in begun
    assert (ended["observed_at"], ended["valid_to"]) == ("2024-07-01T00:00:00Z", "2024-06-01T00:00:00Z")
    assert "valid_from" not in ended


def test_an_end_that_was_known_from_the_beginning_is_part_of_the_statement() -> None:
    (line,) = graphiti([{**EDGE, "episodes": [], "invalid_at": "2024-06-01T00:00:00Z"}], NODES).lines

    assert json.loads(line)["valid_to"] == "2024-06-01T00:00:00Z"


def test_an_edge_that_expired_without_an_end_is_denied() -> None:
    _, denied = graphiti([{**EDGE, "episodes": [], "expired_at": "2024-07-01T00:00:00Z"}], NODES).lines

    assert json.loads(denied)["polarity"] == "denied"


@pytest.mark.parametrize(
    "named",
    [
        {"source_node_name": "Kim", "target_node_name": "Acme"},
        {"source_node": {"name": "Kim"}, "target_node": {"name": "Acme"}},
    ],
)
def test_names_that_stand_in_the_edge_need_no_nodes(named: dict[str, Any]) -> None:
    assert graphiti([{**EDGE, **named}]).refused == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"source_node_uuid": "n9"}, "missing_field"),
        ({"name": None}, "missing_field"),
        ({"uuid": None}, "missing_field"),
        ({"created_at": None, "valid_at": None}, "missing_field"),
        ({"created_at": "soon"}, "bad_instant"),
        ({"episodes": "ep1"}, "wrong_type"),
        ({"invalid_at": "2023-04-01T00:00:00Z"}, "inverted_interval"),
        ({"created_at": "2031-01-01T00:00:00Z", "reference_time": 3}, None),
    ],
)
def test_an_edge_that_cannot_be_used_is_refused_as_a_whole(changed: Any, code: str | None) -> None:
    found = graphiti({"edges": [{**EDGE, **changed}, {**EDGE, "uuid": "e2"}], "nodes": NODES})

    assert [(one.item, one.code) for one in found.refused] == ([] if code is None else [(1, code)])
    assert len(found.lines) == (2 if code else 4)


@given(st.permutations([EDGE, {**EDGE, "uuid": "e2", "created_at": "2024-01-01T00:00:00Z"}, *NODES]))
def test_the_order_of_lines_makes_no_difference(items: list[Any]) -> None:
    body = b"\n".join(json.dumps(item).encode() for item in items)

    found = graphiti(body)

    assert found.refused == []
    assert sorted(found.lines) == sorted(graphiti({"edges": [EDGE, {**EDGE, "uuid": "e2",
        "created_at": "2024-01-01T00:00:00Z"}], "nodes": NODES}).lines)  # fmt: skip
    assert [json.loads(line)["recorded_at"][:7] for line in found.lines] == ["2024-01"] * 2 + ["2024-03"] * 2


# -- tables ---------------------------------------------------------------------------------


def test_columns_that_are_called_as_fields_need_no_mapping_and_empty_cells_are_left_out() -> None:
    found = table(
        "subject,predicate,object,observed_at,source.id,confidence\nkim,lives in,Oslo,2024-01-10,crm,\n"
    )

    assert [json.loads(line) for line in found.lines] == [
        {"subject": "kim", "predicate": "lives in", "object": "Oslo", "observed_at": "2024-01-10",
         "source": {"id": "crm"}}
    ]  # fmt: skip


def test_columns_and_constants_are_given_by_field() -> None:
    found = table(
        "Name;City;When\r\nKim;Oslo;2024-01-10\r\n",
        columns={"subject": "Name", "object": "City", "observed_at": "When"},
        constants={"predicate": "lives in"},
        delimiter=";",
        namespace="crm",
    )

    (line,) = map(json.loads, found.lines)
    assert (line["namespace"], line["subject"], line["predicate"]) == ("crm", "Kim", "lives in")


def test_a_cell_may_hold_line_breaks_and_a_byte_order_mark_is_no_part_of_a_name() -> None:
    found = table(
        b"\xef\xbb\xbfsubject,predicate,object,observed_at,content\n"
        b'kim,lives in,"Oslo",2024-01-10,"she said\nOslo"\n'
    )

    assert json.loads(found.lines[0])["content"] == "she said\nOslo"


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("kim,lives in,Oslo", "missing_field"),
        (",lives in,Oslo,2024-01-10", "missing_field"),
        ("kim,lives in,Oslo,someday", "bad_instant"),
        ('kim,lives in,"Os"lo,2024-01-10', "wrong_type"),
        ("...,lives in,Oslo,2024-01-10", "blank_subject"),
        ("kim,lives in,Oslo,2027-01-10", "future_observed_at"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_with_its_line(row: str, code: str) -> None:
    found = table(f"subject,predicate,object,observed_at\n{row}\nlee,lives in,Rome,2024-01-10\n")

    assert [(one.item, one.code) for one in found.refused] == [(2, code)]
    assert (found.n_items, len(found.lines)) == (2, 1)


def test_a_row_that_is_no_utf_8_is_refused_and_the_next_is_not() -> None:
    found = table(b"subject,predicate,object,observed_at\nk\xff,p,o,2024-01-10\nlee,p,o,2024-01-10\n")

    assert [(one.item, one.code) for one in found.refused] == [(2, "not_utf8")]
    assert len(found.lines) == 1


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("", {}, "The file is empty"),
        ("a,b\n", {}, "No column is subject. Name it with --column subject=COLUMN"),
        ("a,b\n", {"columns": {"subject": "c"}}, "The file has no column c; it has a, b."),
        ("a,b\n", {"columns": {"colour": "a"}}, "There is no field colour; known are "),
        ("a,a\n", {"columns": {"subject": "a"}}, "The file has the column a more than once."),
        (
            "a\n",
            {"columns": {"subject": "a"}, "constants": {"subject": "x"}},
            "The field subject is given as ",
        ),
    ],
)
def test_a_mapping_that_does_not_fit_is_told_before_any_row(text: str, options: Any, told: str) -> None:
    with pytest.raises(BadMapping) as refused:
        table(text, **options)

    assert str(refused.value).startswith(told)


@given(st.binary(max_size=300))
def test_whatever_the_bytes_every_row_is_used_or_refused(body: bytes) -> None:
    found = table(b"subject,predicate,object,observed_at\n" + body)

    assert found.n_used + len(found.refused) == found.n_items
    for line in found.lines:
        json.loads(line)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("id", "memory", "user_id", "created_at", "history", "event", "memory_id", "uuid", "edges",
                 "name", "fact", "source_node_uuid", "episodes", "results", "nodes")
            ),
            inner, max_size=4,
        ),
        max_leaves=12,
    )
)  # fmt: skip
def test_whatever_the_json_every_item_is_used_or_refused(value: Any) -> None:
    for kind in (mem0, graphiti):
        try:
            found = kind(value)
        except BadExport:
            continue
        assert found.n_used + len(found.refused) == found.n_items
