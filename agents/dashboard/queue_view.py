"""The work queue as it is drawn: both sides of each contested fact, and the forms that resolve it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents.answers import Fields
from agents.dashboard.markup import Child, Html, address, join, plain, tag
from agents.dashboard.queue_items import REASON_MAX, Item, rivals
from agents.dashboard.subjects import entity_address, names
from agents.dashboard.why import statement
from agents.dashboard.words import count, predicate, span, value, value_text

EVIDENCE_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Opened:
    """The form that is open: for which fact, of which kind; what was typed, and why it was not taken."""

    fact: str
    op: str
    typed: Mapping[str, str]
    refusal: str = ""


def view(items: Sequence[Item], opened: Opened | None, *, cursor: str | None, following: str | None) -> Html:
    """The page below its name."""
    if not items:
        return tag(
            "div", tag("p", "Nothing is contested."),
            tag("p", "A fact comes here when over 40 % of its newest votes are against it.", class_="quiet"),
            class_="card empty",
        )  # fmt: skip
    lead = "Facts that hold, although over 40 % of their newest votes are against them. "
    lead += "Decide what you know; what you do not know more votes will settle."
    cards = [card(one, opened if opened and opened.fact == one.fact["fact_id"] else None) for one in items]
    first = tag("a", "First page", href=address("queue"), class_="button")
    further = tag("a", "Next page", href=address("queue", cursor=following), class_="button", rel="next")
    return join(
        [
            tag("p", lead, class_="lead"),
            tag("ul", *cards, class_="cards wide"),
            tag("div", first if cursor else None, further if following else None, class_="more"),
        ]
    )


def card(item: Item, opened: Opened | None) -> Html:
    """One contested fact."""
    fact = item.fact
    where = entity_address(fact["namespace"], fact["subject"], fact=fact["fact_id"])
    about = tag("a", names(fact["namespace"], fact["subject"]), href=where, id=f"to-{fact['fact_id']}")
    against = join(_listed([value(rival) for rival in fact["rivals"]]))
    return tag(
        "li",
        tag(
            "div", tag("h2", about, " ", tag("span", predicate(fact["predicate"]), class_="about")),
            tag("span", "contested", class_="chip warn"), class_="row",
        ),
        tag(
            "div",
            _side("Holds", value(fact["object"]), fact["support"], item.support, "held"),
            _side("Against it", against, fact["dissent"], item.dissent, "rival"),
            class_="sides",
        ),
        _balance(fact["support"], fact["dissent"]),
        tag("p", "Holds ", span(fact["valid"]), f", confidence {fact['confidence']:.2f}.", class_="quiet"),
        tag("p", _RECONCILED, class_="advice") if item.reconciled else None,
        _buttons(fact, opened),
        None if opened is None else form(item, opened),
        class_="card", id=f"item-{fact['fact_id']}",
    )  # fmt: skip


def _listed(parts: Sequence[Html]) -> list[Child]:
    found: list[Child] = []
    for part in parts:
        found += [", " if found else None, part]
    return found


def _side(role: str, what: Html, n_votes: int, said_by: Sequence[Fields], kind: str) -> Html:
    shown = [statement(one) for one in said_by[:EVIDENCE_SHOWN]]
    left = len(said_by) - len(shown)
    rest = tag("li", f"and {count(left, 'earlier statement')}", class_="quiet") if left > 0 else None
    return tag(
        "div", tag("p", role, " · ", count(n_votes, "vote"), class_="quiet"),
        tag("p", what, class_="value"), tag("ul", *shown, rest, class_="statements"), class_=f"side {kind}",
    )  # fmt: skip


def _balance(n_for: int, n_against: int) -> Html:
    """How the votes of the whole fact stand, as one divided bar."""
    share = 100 * n_for / max(n_for + n_against, 1)
    return tag(
        "svg", tag("title", f"{n_for:,} for it, {n_against:,} against"),
        tag("rect", x="0", width=f"{share:.2f}%", height=6, rx=3, class_="held"),
        tag("rect", x=f"{share:.2f}%", width=f"{100 - share:.2f}%", height=6, rx=3, class_="rival"),
        width="100%", height=6, role="img", class_="balance",
    )  # fmt: skip


_RECONCILED: Final = (
    "A person has said how the two relate, so their documents conflict no longer. The votes still do, until "
    "one side has won."
)
_OPS: Final = (
    ("supersede", "Replace it…", "Replace it"), ("invalidate", "End it…", "End it"),
    ("refine", "One refines the other…", "Say so"),
)  # fmt: skip


def _buttons(fact: Fields, opened: Opened | None) -> Html:
    shown = [
        tag(
            "button", label, type="button", data_do="open", data_op=op, data_fact=fact["fact_id"],
            id=f"{op}-{fact['fact_id']}", class_="button",
            aria_expanded="true" if opened is not None and opened.op == op else "false",
        )
        for op, label, _ in _OPS
    ]  # fmt: skip
    where = entity_address(fact["namespace"], fact["subject"], fact=fact["fact_id"], why=fact["fact_id"])
    why = tag("a", "Why?", href=where, class_="button", id=f"why-{fact['fact_id']}")
    return tag("div", *shown, why, class_="buttons")


def form(item: Item, opened: Opened) -> Html:
    """What is asked before something is decided. The reason is asked for always."""
    fact, op, typed = item.fact, opened.op, opened.typed
    refusal = tag("p", opened.refusal, class_="refusal", role="alert") if opened.refusal else None
    parts: list[Child] = [refusal]
    if op == "supersede":
        proposed = typed.get("object", next(iter(rivals(item)), ""))
        parts += _field("object", "The value that holds instead", proposed, required=True)
    if op == "refine":
        parts.append(_choices(item, typed))
    else:
        parts += _field("valid_at", "From when on (empty: from now on)", typed.get("valid_at", ""),
                        placeholder="2024-05-01")  # fmt: skip
    parts += [
        tag("label", "Reason", for_=f"reason-{op}"),
        tag("textarea", typed.get("reason", ""), id=f"reason-{op}", name="reason", rows=2, required=True,
            maxlength=REASON_MAX, placeholder="Why you know; it is kept for ever"),
    ]  # fmt: skip
    submit = next(label for name, _, label in _OPS if name == op)
    buttons = tag(
        "div", tag("button", submit, type="submit", class_="button primary"),
        tag("button", "Cancel", type="button", data_do="cancel", data_back=f"{op}-{fact['fact_id']}",
            class_="button"),
        class_="buttons",
    )  # fmt: skip
    return tag(
        "form", *parts, buttons, data_do="decide", data_op=op, data_fact=fact["fact_id"],
        data_focus=f"{op}-{fact['fact_id']}", class_="decide",
    )  # fmt: skip


def _field(
    name: str, label: str, filled: str, *, required: bool = False, placeholder: str | None = None
) -> list[Child]:
    return [
        tag("label", label, for_=f"field-{name}"),
        tag("input", type="text", id=f"field-{name}", name=name, value=filled, required=required,
            placeholder=placeholder, autocomplete="off", maxlength=1_000),
    ]  # fmt: skip


def _choices(item: Item, typed: Mapping[str, str]) -> Html:
    """Which value is the finer one, for each rival."""
    held = plain(value_text(item.fact["object"]), shown_max=60)
    found = []
    for rival in rivals(item):
        shown = plain(rival, shown_max=60)
        found += [
            (f"rival:{rival}", f"“{shown}” refines “{held}”"),
            (f"held:{rival}", f"“{held}” refines “{shown}”"),
        ]
    chosen = typed.get("which", found[0][0] if found else "")
    options = [
        tag(
            "label",
            tag("input", type="radio", name="which", value=which, checked=which == chosen),
            " ",
            words,
        )
        for which, words in found
    ]
    return tag("fieldset", tag("legend", "Which is the finer one?"), *options)
