"""Cycles: what happened in each, newest first, and what one of them touched. Drawn anew when one closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents import answers, listings
from agents.answers import Asked, Fields
from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import Html, address, join, said, tag
from agents.dashboard.questions import NotThere, Questions
from agents.dashboard.regions import Region
from agents.dashboard.sparkline import bars
from agents.dashboard.subjects import entity_address
from agents.dashboard.tables import row, table
from agents.dashboard.words import count, moment, predicate, value
from agents.read_model import ReadModelError

PAGE: Final = 40
FACTS_SHOWN: Final = 20
"""Facts of one cycle that are named; the record lists more of them by their ids."""
_COLUMNS: Final = (
    "cycle", "closed", "#observations", "#created", "#reinforced", "#invalidated", "#alerts", "#in flux",
)  # fmt: skip
_EDGES: Final = (("CREATED", "Created"), ("REINFORCED", "Reinforced"), ("INVALIDATED", "Invalidated"))

Edges = dict[str, list[Fields]]


async def page(questions: Questions, _frame: Frame, query: Mapping[str, str]) -> None:
    """Build the page: a list from `cursor` on, or the one `cycle` that is asked for."""
    region = Region("cycles")
    cursor = query.get("cursor") or None
    number = query.get("cycle", "")

    async def draw() -> None:
        if number:
            record, edges = await questions.ask(lambda asked: read_one(asked, number))
            region.show(one(record, edges))
            return
        found = await questions.ask(lambda asked: listings.cycles(asked, limit=PAGE, cursor=cursor))
        region.show(view(found["items"], cursor=cursor, following=found["next"]))

    if number:  # what is closed does not change
        await draw()
    else:
        await follow(questions.service.bell, draw)


def read_one(asked: Asked, number: str) -> tuple[Fields, Edges]:
    """A cycle by its number, with the facts that it names first. Raises NotThere, ReadModelError."""
    is_number = number.isascii() and number.isdigit() and len(number) < 19
    record = listings.cycle(asked, int(number)) if is_number else None
    if record is None:
        raise NotThere(f"There is no cycle {number[:20]!r}.")
    edges: Edges = {kind: [] for kind, _ in _EDGES}
    for kind, found in edges.items():
        for fact_id in record["edges"][kind][:FACTS_SHOWN]:
            try:
                found.append(answers.fact(asked, fact_id))
            except ReadModelError:  # it was forgotten since
                continue
    return record, edges


# -- drawing ----------------------------------------------------------------------------------


def view(items: Sequence[Fields], *, cursor: str | None, following: str | None) -> Html:
    """The list, with a picture of what each cycle read."""
    if not items:
        return tag("p", "No cycle was closed yet.", class_="card empty")
    oldest_first = list(reversed(items))
    label = f"Observations in each of {count(len(items), 'cycle')}, up to {items[0]['cycle']:,}"
    ends = [tag("span", f"cycle {cycle['cycle']:,}") for cycle in (oldest_first[0], items[0])]
    counts = [cycle["observations_processed"] for cycle in oldest_first]
    picture = tag(
        "div", tag("h2", "Observations in each cycle"), bars(counts, label=label, height=72),
        tag("p", *ends, class_="ends quiet"), class_="card",
    )  # fmt: skip
    first = tag("a", "Newest", href=address("cycles"), class_="button")
    further = tag("a", "Older", href=address("cycles", cursor=following), class_="button", rel="next")
    return join(
        [
            picture if len(items) > 1 else None,
            tag("h2", "Newest first"),
            table(_COLUMNS, [_row(one) for one in items], label=f"Cycles, {len(items):,} of them"),
            tag("div", first if cursor else None, further if following else None, class_="more"),
        ]
    )


def _row(one: Mapping[str, Any]) -> Html:
    link = tag("a", f"{one['cycle']:,}", href=address("cycles", cycle=str(one["cycle"])))
    return row(
        _COLUMNS,
        (link, moment(one["now"]), one["observations_processed"], one["facts_created"],
         one["facts_reinforced"], one["facts_invalidated"], one["drift_alerts"], one["in_flux"]),
    )  # fmt: skip


def one(record: Fields, edges: Edges) -> Html:
    """One cycle: its numbers, and the facts that it touched first."""
    numbers = (
        ("observations", record["observations_processed"]), ("facts created", record["facts_created"]),
        ("reinforced", record["facts_reinforced"]), ("invalidated", record["facts_invalidated"]),
        ("drift alerts", record["drift_alerts"]), ("in flux at its end", record["in_flux"]),
    )  # fmt: skip
    matched = [
        tag("li", said(rule["name"] or "removed since"), f": {count(rule['matches'], 'match', 'matches')}")
        for rule in record["rules_matched"]
    ]
    parts = [
        tag("p", tag("a", "All cycles", href=address("cycles"))),
        tag("h2", f"Cycle {record['cycle']:,}"),
        tag("p", f"Closed by the tick of {moment(record['now'])}.", class_="lead"),
        figures(numbers),
        join([tag("h3", "Rules that were matched"), tag("ul", *matched)]) if matched else None,
        *[_touched(label, edges[kind], len(record["edges"][kind])) for kind, label in _EDGES],
    ]
    return join(parts)


def figures(numbers: Sequence[tuple[str, int | str]]) -> Html:
    """Numbers with their names, as a row of tiles."""
    tiles = [
        tag("div", tag("dt", name), tag("dd", f"{n:,}" if isinstance(n, int) else n)) for name, n in numbers
    ]
    return tag("dl", *tiles, class_="figures")


def _touched(label: str, facts: Sequence[Fields], n_all: int) -> Html | None:
    if not facts:
        return None
    shown = [_fact(fact) for fact in facts]
    rest = tag("p", f"The first {len(facts):,} of {n_all:,} in the record.", class_="quiet")
    return join([tag("h3", label), tag("ul", *shown, class_="causes"), rest if n_all > len(facts) else None])


def _fact(fact: Fields) -> Html:
    where = entity_address(fact["namespace"], fact["subject"], fact=fact["fact_id"], why=fact["fact_id"])
    about = tag("a", said(fact["subject"], shown_max=60), " ", predicate(fact["predicate"]), href=where)
    return tag("li", about, " ", value(fact["object"]))
