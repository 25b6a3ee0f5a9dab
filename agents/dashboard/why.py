"""Why a fact is what it is: its story in sentences, and the statements behind it, beside the timeline.

Asks what `factdrift why` asks; the sentences are those of `agents.telling`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agents import answers
from agents.answers import Asked
from agents.dashboard.markup import Html, join, plain, said, tag
from agents.dashboard.questions import NotThere
from agents.dashboard.words import count, date, predicate, span, value, value_text
from agents.explaining import as_json
from agents.telling import Telling

STATEMENTS_MAX: Final = 6
"""Statements of each role that are shown; `factdrift why` lists all."""
CONTENT_MAX: Final = 400
SENTENCE_MAX: Final = 600


@dataclass(frozen=True, slots=True)
class Story:
    """One fact, told: its record as the API gives it, and the sentences about it."""

    fact: dict[str, Any]
    predicate: str
    sentences: list[str]


def read(asked: Asked, fact_id: str, *, known_at: str | None) -> Story:
    """The story of a fact as it was known. Raises NotThere, NoSuchClaim, ReadModelError."""
    about = answers.fact(asked, fact_id, known_at=known_at)
    found, explanation = answers.explained(
        asked,
        subject=about["subject"],
        predicate=about["predicate"],
        namespace=about["namespace"],
        known_at=known_at,
    )
    whole = as_json(found, explanation, None, now=asked.now, during=None)
    fact = next((one for one in whole["facts"] if one["fact_id"] == fact_id), None)
    if fact is None:
        raise NotThere("This fact was withdrawn: no evidence carries it any more, as far as was known then.")
    name = f"{plain(about['subject'], shown_max=60)} / {predicate(about['predicate'])}"
    telling = Telling(explanation, name, now=asked.now, retracted=found.claim.retracted)
    return Story(fact, about["predicate"], telling.fact(fact["index"]))


# -- drawing ----------------------------------------------------------------------------------


def panel(story: Story) -> Html:
    """The story, with who is for the fact and who is not."""
    fact = story.fact
    heading = f"Why {predicate(story.predicate)} "
    close = tag("button", "Close", type="button", data_do="close", id="close-why", class_="button small",
                data_back=f"bar-{fact['fact_id']}")  # fmt: skip
    return tag(
        "aside",
        tag("div", tag("h2", heading, value(fact["object"])), close, class_="row"),
        tag(
            "p", state_chip(fact), " ", span(fact["valid"]), " ",
            tag("span", f"confidence {fact['confidence']:.2f}", class_="quiet"),
        ),
        sentences(story.sentences),
        statements("For it", fact["supported_by"], fact["support"]),
        statements("Against it", fact["dissented_by"], fact["dissent"]),
        statements("What closed it", fact["closed_by"], len(fact["closed_by"])),
        class_="card why", tabindex="-1", data_focus=f"why-{fact['fact_id']}",
        aria_label=f"Why {plain(value_text(fact['object']))}",
    )  # fmt: skip


def state_chip(fact: Mapping[str, Any]) -> Html:
    """What a fact is, as a word on a coloured ground."""
    state, reason = fact["state"], fact["reason"]
    kind = {"open": "chip good", "contested": "chip warn"}.get(state, "chip")
    return tag("span", f"{state}: {reason}" if reason and state == "retired" else state, class_=kind)


def sentences(lines: Sequence[str]) -> Html:
    """Paragraphs and lists, as `agents.telling` writes them."""
    parts: list[Html] = []
    items: list[Html] = []
    for line in [*lines, ""]:
        if line.startswith("- "):
            items.append(tag("li", said(line[2:], shown_max=SENTENCE_MAX)))
            continue
        if items:
            parts.append(tag("ul", *items))
            items = []
        if line:
            parts.append(tag("p", said(line, shown_max=SENTENCE_MAX)))
    return tag("div", *parts, class_="story")


def statements(role: str, found: Sequence[Mapping[str, Any]], n_votes: int) -> Html | None:
    """The newest statements of one role."""
    if not found:
        return None
    newest = sorted(found, key=lambda one: one["observed_at"], reverse=True)
    shown = [statement(one) for one in newest[:STATEMENTS_MAX]]
    left = len(newest) - len(shown)
    rest = tag("li", f"and {count(left, 'earlier statement')}", class_="quiet") if left > 0 else None
    heading = f"{role} ({count(n_votes, 'vote')})" if n_votes else role
    return join([tag("h3", heading), tag("ul", *shown, rest, class_="statements")])


def statement(one: Mapping[str, Any]) -> Html:
    """One statement: who said it, when, and in which words."""
    source = one.get("source") or {}
    by = source.get("document") or source.get("id") or one["observation_id"]
    denied = "denies " if one["polarity"] == "denied" else ""
    words = one.get("content")
    return tag(
        "li",
        tag(
            "span", date(one["observed_at"]), " · ", said(str(by), shown_max=80),
            tag("span", " (read out of a text)") if source.get("category") == "extracted" else None,
            class_="quiet",
        ),
        tag("blockquote", said(words, shown_max=CONTENT_MAX)) if words
        else tag("div", denied, value(one.get("object"))),
    )  # fmt: skip
