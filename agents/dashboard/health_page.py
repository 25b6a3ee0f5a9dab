"""Health: whether the service is well, how far behind and how busy it is, and what it could not use.

Shows what the service offers: dead letters and lag are told by those services that know them. Sending a
dead letter again is what `factdrift dlq replay` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agents import listings
from agents.api.service import Check
from agents.dashboard.cycles_page import figures
from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import Html, join, said, tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region, told
from agents.dashboard.sparkline import bars
from agents.dashboard.words import count, moment
from agents.dead_letters import OffersDeadLetters
from agents.lag import TellsLag
from state.errors import FactdriftError
from state.instants import parse_instant

EVERY_S: Final = 5.0
LETTERS_PAGE: Final = 10
CYCLES_READ: Final = 40
RAW_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Health:
    """What is known of the service at one time. `lag` and `letters` are None where it does not tell them."""

    checks: Sequence[Check]
    cycles: Sequence[Mapping[str, Any]]
    counted: Sequence[tuple[str, int]]
    lag: Mapping[str, int] | None = None
    letters: Mapping[str, Any] | None = None
    troubles: Sequence[str] = field(default=())


class HealthPage:
    """The page, open in one browser."""

    def __init__(self, questions: Questions, frame: Frame) -> None:
        self._questions = questions
        self._frame = frame
        self._before: int | None = None
        self._region = Region("health", act=self._act)

    async def draw(self) -> None:
        """Look at everything, and draw it."""
        self._region.show(view(await read(self._questions, self._before), is_first=self._before is None))

    async def _act(self, event: Mapping[str, str]) -> None:
        match event:
            case {"do": "older", "before": before} if before.isascii() and before.isdigit():
                self._before = int(before[:18])
            case {"do": "newest"}:
                self._before = None
            case {"do": "again", "offsets": listed}:
                await self._send_again(listed)
            case _:
                return
        await self.draw()

    async def _send_again(self, listed: str) -> None:
        offsets = [int(one) for one in listed.split(",")[:100] if one.isascii() and one.isdigit()]
        service = self._questions.service
        if not isinstance(service, OffersDeadLetters) or not offsets:
            return
        try:
            n_sent = await service.send_again(offsets)
        except FactdriftError as error:
            self._frame.notice(told(error), bad=True)
            return
        sent = f"{count(n_sent, 'record')} sent again. What still cannot be used is a dead letter once more."
        self._frame.notice(sent)


async def page(questions: Questions, frame: Frame, _query: Mapping[str, str]) -> None:
    """Build the page."""
    opened = HealthPage(questions, frame)
    await follow(questions.service.bell, opened.draw, every_s=EVERY_S)


async def read(questions: Questions, before: int | None) -> Health:
    """What the service tells of itself. What it cannot tell now is among the troubles."""
    service = questions.service
    troubles: list[str] = []
    cycles: Sequence[Mapping[str, Any]] = ()
    lag, letters = None, None
    try:
        cycles = (await questions.ask(lambda asked: listings.cycles(asked, limit=CYCLES_READ)))["items"]
        if isinstance(service, TellsLag):
            lag = await service.lag()
        if isinstance(service, OffersDeadLetters):
            letters = await service.dead_letters(before=before, limit=LETTERS_PAGE)
    except FactdriftError as error:
        troubles.append(told(error))
    return Health(service.checks(), cycles, counted(questions), lag, letters, troubles)


def counted(questions: Questions) -> list[tuple[str, int]]:
    """What this process has counted since it was started."""
    sample = questions.metrics.registry.get_sample_value
    accepted = sample("factdrift_api_observations_total", {"result": "accepted"}) or 0
    return [
        ("observations taken here", int(accepted)),
        ("streams followed", int(sample("factdrift_api_streams") or 0)),
    ]


# -- drawing ----------------------------------------------------------------------------------


def view(health: Health, *, is_first: bool) -> Html:
    """The page below its name."""
    well = all(check.ok for check in health.checks)
    checks = [_check(check) for check in health.checks]
    lag = sum(health.lag.values()) if health.lag is not None else None
    numbers: list[tuple[str, int | str]] = [
        ("records behind", lag if lag is not None else "not told"),
        ("observations per second", throughput(health.cycles)),
        *health.counted,
    ]
    return join(
        [
            *[tag("p", trouble, class_="notice bad") for trouble in health.troubles],
            tag("p", "All is well." if well else "Something is not well.", class_="lead"),
            tag("ul", *checks, class_="checks"),
            figures(numbers),
            _busy(health.cycles),
            _letters(health.letters, is_first=is_first),
        ]
    )


def _check(check: Check) -> Html:
    state = tag("span", "well" if check.ok else "not well", class_="chip good" if check.ok else "chip bad")
    return tag("li", state, " ", tag("strong", check.name.replace("_", " ")), f" {check.why}".rstrip())


def throughput(cycles: Sequence[Mapping[str, Any]]) -> str:
    """Observations per second over these cycles, by the log's clock; newest first. Two are needed."""
    if len(cycles) < 2:
        return "not known yet"
    span_ms = parse_instant(cycles[0]["closed_at"]) - parse_instant(cycles[-1]["closed_at"])
    n_observations = sum(cycle["observations_processed"] for cycle in cycles[:-1])
    return f"{n_observations * 1000 / span_ms:,.1f}" if span_ms > 0 else "not known yet"


def _busy(cycles: Sequence[Mapping[str, Any]]) -> Html | None:
    if len(cycles) < 2:
        return None
    counts = [cycle["observations_processed"] for cycle in reversed(cycles)]
    label = f"Observations in each of the newest {len(cycles)} cycles, at most {max(counts):,}"
    ends = tag("p", tag("span", moment(cycles[-1]["closed_at"])), tag("span", moment(cycles[0]["closed_at"])),
               class_="ends quiet")  # fmt: skip
    return join(
        [tag("h2", "Throughput"), tag("div", bars(counts, label=label, height=72), ends, class_="card")]
    )


def _letters(found: Mapping[str, Any] | None, *, is_first: bool) -> Html:
    heading = tag("h2", "Dead letters")
    if found is None:
        told_ = "This service does not read its dead letters; the command line does: "
        return join([heading, tag("p", told_, tag("code", "factdrift dlq list"), class_="quiet")])
    items = found["items"]
    if not items:
        return join([heading, tag("p", "None: everything could be used.", class_="card empty")])
    again = ",".join(str(one["offset"]) for one in items if one["code"] != "duplicate_id")
    buttons = [
        tag("button", "Send these again", type="button", data_do="again", data_offsets=again, id="again-all",
            class_="button small") if again else None,
        None if is_first else tag("button", "Newest", type="button", data_do="newest", id="newest",
                                  class_="button small"),
        tag("button", "Older", type="button", data_do="older", data_before=found["next"], id="older",
            class_="button small") if found["next"] else None,
    ]  # fmt: skip
    lead = f"{found['n_letters']:,} so far: records that could not be used, with their bytes. "
    lead += "Mend the cause first, then send them again."
    letters = [_letter(one) for one in items]
    return join(
        [
            heading,
            tag("p", lead, class_="lead"),
            tag("ul", *letters, class_="cards wide"),
            tag("div", *buttons, class_="more"),
        ]
    )


def _letter(one: Mapping[str, Any]) -> Html:
    again = tag("button", "Send again", type="button", data_do="again", data_offsets=one["offset"],
                id=f"again-{one['offset']}", class_="button small")  # fmt: skip
    origin = f"{one['origin_topic']}/{one['origin_partition']}/{one['origin_offset']}"
    where = f"{origin}, {moment(one['recorded_at'])}"
    return tag(
        "li",
        tag("div", tag("span", one["code"], class_="chip bad"), again, class_="row"),
        tag("p", said(one["message"], shown_max=400)),
        tag("pre", said(one["raw"], shown_max=RAW_MAX), tabindex=0),
        tag("p", where, class_="quiet"),
        class_="card letter",
    )  # fmt: skip
