"""Drift: who is unstable now, newest first, each with causes and window; and who came to rest lately.

Walks the alerts a page at a time and asks of each whether it still says how things are, so what is read is
bounded however many entities there are. Drawn anew whenever the read model changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents import listings
from agents.answers import Asked
from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import Html, join, plain, tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region
from agents.dashboard.sparkline import bars, bins
from agents.dashboard.subjects import entity_address, names
from agents.dashboard.words import ago, count, date, moment, predicate, value
from state.instants import Instant, parse_instant

ALERTS_PAGE: Final = 50
PAGES_MAX: Final = 6
"""Pages of alerts that are walked for one drawing: what is older is on the entity's own page."""
CARDS_MAX: Final = 24
LATELY_MAX: Final = 15
CAUSES_SHOWN: Final = 4
WINDOW_DAYS: Final = 30

Alert = dict[str, Any]
_CALM: Final = {"stable": "came to rest", "settled": "settled"}
_SIGNALS: Final = {"unstable": "became unstable", "churning": "is churning", **_CALM}


async def page(questions: Questions, _frame: Frame, _query: Mapping[str, str]) -> None:
    """Build the page."""
    region = Region("drift", announces=True)

    async def draw() -> None:
        region.show(await questions.ask(lambda asked: view(*read(asked), now=asked.now)))

    await follow(questions.service.bell, draw)


def read(asked: Asked) -> tuple[list[Alert], list[Alert], bool]:
    """The alerts of those who are unstable now, newest first; all newest ones; whether there may be more.

    Raises ReadModelError.
    """
    current: dict[tuple[str, str], Alert] = {}
    newest: list[Alert] = []
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        found = listings.drift_alerts(asked, limit=ALERTS_PAGE, cursor=cursor)
        newest = newest or found["items"]
        for alert in _still_unstable(asked, found["items"]):
            current.setdefault((alert["namespace"], alert["subject"]), alert)
        cursor = found["next"]
        if cursor is None or len(current) >= CARDS_MAX:
            break
    cards = list(current.values())
    return cards[:CARDS_MAX], newest[:LATELY_MAX], cursor is not None or len(cards) > CARDS_MAX


def _still_unstable(asked: Asked, alerts: Sequence[Alert]) -> list[Alert]:
    """Those of some alerts that are the newest word about their subject, and say that it is unstable."""
    names_ = list(dict.fromkeys(a["subject"] for a in alerts if a["signal"] == "unstable"))
    if not names_:
        return []
    items = listings.unstable(asked, names=names_)["items"]
    standing = {alert["event_id"] for item in items for alert in item["alerts"]}
    return [alert for alert in alerts if alert["event_id"] in standing]


# -- drawing ----------------------------------------------------------------------------------


def view(unstable: Sequence[Alert], newest: Sequence[Alert], more: bool, *, now: Instant) -> Html:
    """The page below its name."""
    if unstable:
        n_shown = f"{len(unstable)} or more" if more else str(len(unstable))
        told = f"{n_shown} {'entity is' if n_shown == '1' else 'entities are'} unstable: more than "
        told += f"{unstable[0]['limit']} of their facts were retired within {WINDOW_DAYS} days."
        cards: Html = tag("ul", *[card(alert, now=now) for alert in unstable], class_="cards")
    else:
        told = f"Nobody is unstable: no entity had more than four facts retired within {WINDOW_DAYS} days."
        cards = tag(
            "div", tag("p", "All is calm."),
            tag("p", "An entity appears here by itself when its facts keep being retired.", class_="quiet"),
            class_="card empty",
        )  # fmt: skip
    rows = [_transition(alert, now=now) for alert in newest]
    lately = [tag("h2", "Lately"), tag("ol", *rows, class_="log")] if rows else []
    return join([tag("p", told, class_="lead"), cards, *lately])


def card(alert: Alert, *, now: Instant) -> Html:
    """One unstable entity."""
    causes = list(reversed(alert["causes"]))
    first_fact = causes[0]["fact_id"] if causes else None
    shown = [_cause(cause) for cause in causes[:CAUSES_SHOWN]]
    rest = causes[CAUSES_SHOWN:]
    hidden = tag(
        "details", tag("summary", f"{count(len(rest), 'earlier cause')}", id=f"more-{alert['event_id']}"),
        tag("ul", *[_cause(cause) for cause in rest], class_="causes"),
    ) if rest else None  # fmt: skip
    looks = alert["looks_like"]
    return tag(
        "li",
        tag(
            "div", tag("h2", _named(alert, fact=first_fact)),
            tag("span", plain(looks), class_="chip warn") if looks else None, class_="row",
        ),
        tag(
            "p", tag("strong", count(alert["count"], "fact")),
            f" retired since {moment(alert['window_start'])}, {alert['lifetime']:,} in its whole life. ",
            f"Unstable since {moment(alert['since'])}.",
        ),
        window(alert),
        tag("p", alert["advice"], class_="advice") if alert["advice"] else None,
        tag("ul", *shown, class_="causes"),
        hidden,
        tag("p", f"Seen {ago(alert['now'], now)}, in cycle {alert['cycle']:,}.", class_="quiet"),
        class_="card",
    )  # fmt: skip


def window(alert: Mapping[str, Any]) -> Html:
    """The retirements of an alert over its window, a bar for each day."""
    lo, hi = parse_instant(alert["window_start"]), parse_instant(alert["now"])
    decided = [parse_instant(cause["decided_observed_at"]) for cause in alert["causes"]]
    counts = bins(decided, lo=lo, hi=hi, n_bins=WINDOW_DAYS)
    from_, to = moment(alert["window_start"]), moment(alert["now"])
    label = f"{count(sum(counts), 'retirement')} between {from_} and {to}"
    ends = tag(
        "p", tag("span", date(alert["window_start"])), tag("span", date(alert["now"])), class_="ends quiet"
    )
    return tag("div", bars(counts, label=label), ends, class_="window")


def _cause(cause: Mapping[str, Any]) -> Html:
    about = tag("span", predicate(cause["predicate"]), class_="quiet")
    how = tag("span", cause["votes"] or cause["reason"], class_="quiet votes")
    decided = tag("span", date(cause["decided_observed_at"]), class_="quiet")
    return tag("li", about, " ", value(cause["object"]), " ", decided, how)


def _transition(alert: Alert, *, now: Instant) -> Html:
    causes = alert["causes"]
    calm = alert["signal"] in _CALM
    return tag(
        "li",
        tag("time", ago(alert["now"], now), datetime=alert["now"], class_="quiet"),
        tag(
            "span", _named(alert, fact=causes[-1]["fact_id"] if causes else None), " ",
            tag("span", _SIGNALS[alert["signal"]], class_="chip" if calm else "chip warn"),
            tag("span", f" as of {moment(alert['now'])}", class_="quiet"),
        ),
    )  # fmt: skip


def _named(alert: Alert, *, fact: str | None) -> Html:
    where = entity_address(alert["namespace"], alert["subject"], fact=fact)
    shown = names(alert["namespace"], alert["subject"])
    if where is None or not alert["subject"]:
        return shown
    return tag("a", shown, href=where, id=f"to-{alert['event_id']}")
