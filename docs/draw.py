"""Draws the pictures of docs/concepts.md from a real run: `python docs/draw.py docs/pictures`.

The packaged example of the world is replayed into a fresh embedded log, and what `factdrift` answers about it
is drawn. Decides nothing: every bar, dot and line is in the answer of a command that is named below.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from state.instants import DAY_MS, Instant, format_instant, month_start, parse_instant

WORLD: Final = Path(__file__).parents[1] / "examples" / "world.jsonl"
Answer = Mapping[str, Any]

WIDTH: Final = 760
LEFT: Final = 130
RIGHT: Final = 20
STYLE: Final = """
  .paper { fill: #ffffff }
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .quiet { fill: #59636e } .strong { font-weight: 600 }
  .a { fill: #8ec7c0 } .b { fill: #e8b979 } .c { fill: #b7a7d9 } .on { fill: #10302c }
  .line { stroke: #8c959f; stroke-width: 1 } .grid { stroke: #d1d9e0 }
  .now { stroke: #b3261e; stroke-width: 1.5 }
  .window { fill: none; stroke: #24292f; stroke-width: 1.5 } .edge { stroke: #24292f; stroke-width: 1.5 }
  .count { fill: none; stroke: #0b7a75; stroke-width: 2 } .alert { fill: #b3261e; opacity: .12 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #1e2129 }
    text { fill: #e6edf3 } .quiet { fill: #9da7b3 } .on { fill: #10302c } .grid { stroke: #3d444d }
    .window, .edge { stroke: #e6edf3 } .now { stroke: #ff8b82 } .count { stroke: #58c4bc }
    .alert { fill: #ff8b82; opacity: .2 }
  }
"""
HATCH: Final = """<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse">
  <path d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4" stroke="#24292f" stroke-width="1.2"/></pattern>"""
COLOURS: Final = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class Axis:
    """The stretch [lo, hi) that is shown, with a mark every so many months."""

    lo: Instant
    hi: Instant
    months: int

    def marks(self) -> list[tuple[Instant, str]]:
        """Round instants within, each with its year, or with its year and month."""
        years = range(int(format_instant(self.lo)[:4]), int(format_instant(self.hi)[:4]) + 1)
        found = [month_start(12 * year + month) for year in years for month in range(0, 12, self.months)]
        length = 4 if self.months == 12 else 7
        step = max(1, len(found) // 8) if self.months == 12 else 1
        return [(at, format_instant(at)[:length]) for at in found[::step] if self.lo <= at < self.hi]


def axis(lo: str, hi: str, *, months: int) -> Axis:
    """An axis from one date to another."""
    return Axis(parse_instant(lo), parse_instant(hi), months)


class Log:
    """The example, replayed; and what the command line answers about it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ask("replay", str(WORLD))

    def facts(self, subject: str, predicate: str, *, known_at: str) -> list[Answer]:
        """`factdrift facts SUBJECT PREDICATE --known-at …`"""
        return self._ask("facts", subject, predicate, "--known-at", known_at)

    def history(self, subject: str, predicate: str) -> list[Answer]:
        """`factdrift history SUBJECT PREDICATE`"""
        return self._ask("history", subject, predicate)

    def why(self, subject: str, predicate: str) -> Answer:
        """`factdrift why SUBJECT PREDICATE`"""
        return self._ask("why", subject, predicate)[0]

    def watch(self, topic: str, subject: str) -> list[Answer]:
        """`factdrift watch --topic TOPIC --subject SUBJECT --from-start --once`"""
        return self._ask("watch", "--topic", topic, "--subject", subject, "--from-start", "--once")

    def _ask(self, *words: str) -> list[Answer]:
        command = [sys.executable, "-m", "agents.main", *words, "--data", str(self._folder), "--json"]
        done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603 our own program
        return [json.loads(line) for line in done.stdout.splitlines()]


class Picture:
    """An SVG that grows from top to bottom, over one time axis."""

    def __init__(self, title: str, told: str, axis: Axis) -> None:
        self._head = f"<title>{escape(title)}</title><desc>{escape(told)}</desc>"
        self._body: list[str] = []
        self.axis = axis
        self.high = 16

    def x(self, at: Instant) -> float:
        """Where an instant lies; what is outside lies at the edge."""
        span = self.axis.hi - self.axis.lo
        share = min(max((at - self.axis.lo) / span, 0.0), 1.0)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def add(self, name: str, text: str | None = None, **attributes: object) -> None:
        """One element. `class_` is class, and _ in other names is -."""
        written = "".join(
            f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
            for key, value in attributes.items()
        )
        self._body.append(
            f"<{name}{written}/>" if text is None else f"<{name}{written}>{escape(text)}</{name}>"
        )

    def label(self, text: str, y: float, *, class_: str = "quiet") -> None:
        """Words left of the axis."""
        self.add("text", text, x=LEFT - 10, y=y, text_anchor="end", class_=class_)

    def bar(self, lo: str | None, hi: str | None, y: float, value: str, colour: str) -> None:
        """A fact: from one bound to the other, or over the edge of the picture."""
        left = self.x(self.axis.lo if lo is None else parse_instant(lo))
        right = self.x(self.axis.hi if hi is None else parse_instant(hi))
        self.add("rect", x=left, y=y, width=round(right - left, 1), height=24, rx=3, class_=colour)
        if right - left > 7 * len(value) + 16:
            self.add("text", value, x=left + 8, y=y + 17, class_="on")

    def dots(self, statements: Iterable[Answer], y: float, colour: str) -> None:
        """Statements, where they take effect."""
        for one in statements:
            at = self.x(parse_instant(one["effective_at"]))
            self.add("circle", cx=at, cy=y, r=5.5, class_=colour, stroke="#24292f", stroke_width=0.8)

    def upright(self, at: Instant, y1: float, y2: float, class_: str) -> None:
        """A line through one instant."""
        self.add("line", x1=self.x(at), x2=self.x(at), y1=y1, y2=y2, class_=class_)

    def svg(self) -> str:
        """The whole, with the marks of its axis at the bottom."""
        below = Picture("", "", self.axis)
        for at, words in self.axis.marks():
            below.upright(at, 8, self.high, "grid")
            below.add("text", words, x=below.x(at), y=self.high + 18, text_anchor="middle", class_="quiet")
        inner = "\n".join([*below._body, *self._body])
        size = f'viewBox="0 0 {WIDTH} {self.high + 28}" width="{WIDTH}" height="{self.high + 28}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{self._head}\n'
            f"<style>{STYLE}</style>\n<defs>{HATCH}</defs>\n"
            f'<rect width="100%" height="100%" rx="6" class="paper"/>\n{inner}\n</svg>\n'
        )


def two_clocks(log: Log) -> str:
    """What was known of one claim at three instants, and the answers about one year."""
    known = ("2024-01-10", "2024-05-31", "2024-06-04")
    told = [log.facts("Pakistan", "capital", known_at=at) for at in known]
    asked = parse_instant("1963-01-01")
    shown = axis("1944-01-01", "1980-01-01", months=12)
    picture = Picture("Two clocks", "The capital of Pakistan, as known at three instants of 2024.", shown)
    values = list(dict.fromkeys(fact["object"] for facts in told for fact in facts))
    picture.high += 18
    picture.add("text", "valid_at = 1963", x=picture.x(asked), y=18, text_anchor="middle")
    for at, facts in zip(known, told, strict=True):
        picture.label(f"known {at}", picture.high + 17)
        for fact in facts:
            colour = COLOURS[values.index(fact["object"])]
            picture.bar(fact["valid"]["lo"], fact["valid"]["hi"], picture.high, fact["object"], colour)
        picture.high += 38
    picture.upright(asked, 24, picture.high - 6, "now")
    return picture.svg()


def votes(log: Log) -> str:
    """The statements of one claim, the five that decided, and the facts that follow."""
    claim = log.why("Australia", "capital")
    first, second = claim["facts"]
    statements = [s for fact in claim["facts"] for s in (*fact["supported_by"], *fact["dissented_by"])]
    counted = [s for s in statements if s["observation_id"] in first["decision"]["rivals"][0]["counted"]]
    shown = axis("1995-09-01", "2005-09-01", months=12)
    picture = Picture("Five votes", "Votes for two capitals, the window that decided, and the facts.", shown)
    lanes = {first["object"]: 44, second["object"]: 74}
    for value, y in lanes.items():
        picture.label(f"said {value}", y + 5)
        picture.dots((s for s in statements if s["object"] == value), y, COLOURS[list(lanes).index(value)])
    places = [picture.x(parse_instant(s["effective_at"])) for s in counted]
    picture.add("rect", x=min(places) - 11, y=28, width=round(max(places) - min(places) + 22, 1), height=62,
                rx=8, class_="window")  # fmt: skip
    picture.add("text", f"the newest {len(counted)}", x=min(places) - 11, y=22)
    decided, boundary = parse_instant(first["decision"]["at"]), parse_instant(first["valid"]["hi"])
    picture.upright(decided, 90, 142, "now")
    picture.add("text", "decided here", x=picture.x(decided) + 6, y=108)
    picture.upright(boundary, 90, 150, "edge")
    picture.add("text", "dated here", x=picture.x(boundary) - 6, y=108, text_anchor="end")
    picture.label("facts", 139)
    for fact, colour in zip(claim["facts"], COLOURS, strict=False):
        picture.bar(fact["valid"]["lo"], fact["valid"]["hi"], 122, fact["object"], colour)
    picture.high = 158
    return picture.svg()


def contested(log: Log) -> str:
    """A fact that keeps being disputed: hatched where over 40 % of the newest five votes are against it."""
    claim, events = log.why("Earth", "longest river"), log.history("Earth", "longest river")
    (fact,) = claim["facts"]
    statements = [*fact["supported_by"], *fact["dissented_by"]]
    at_of = {s["observation_id"]: parse_instant(s["effective_at"]) for s in statements}
    shown = axis("1984-01-01", "2025-01-01", months=12)
    picture = Picture("Contested", "One fact, open throughout, contested time and again.", shown)
    for number, (side, value) in enumerate((("supported_by", fact["object"]), ("dissented_by", "Amazon"))):
        picture.label(f"said {value}", 29 + 30 * number)
        picture.dots(fact[side], 24 + 30 * number, COLOURS[number])
    picture.label(f"{fact['object']} holds", 95)
    picture.bar(fact["valid"]["lo"], fact["valid"]["hi"], 78, "", "a")
    begun: Instant | None = None
    for event in [*events, None]:
        if event is not None and event["revision"] not in {"contested", "settled"}:
            continue
        now = (
            shown.hi
            if event is None
            else max(at_of[n] for n in (*event["supported_by"], *event["dissented_by"]))
        )
        if begun is not None:
            width = round(picture.x(now) - picture.x(begun), 1)
            picture.add("rect", x=picture.x(begun), y=78, width=width, height=24, fill="url(#hatch)")
        begun = now if event is not None and event["revision"] == "contested" else None
    picture.high = 114
    return picture.svg()


def drift(log: Log) -> str:
    """How many facts of one subject were retired within thirty days, and when it was called unstable."""
    alerts = {one["signal"]: one for one in log.watch("drift-alerts", "Twitter")}
    retired = retirements(log.watch("fact-invalidated", "Twitter"))
    limit = alerts["unstable"]["limit"]
    shown = axis("2022-10-01", "2023-02-20", months=1)
    picture = Picture("Drift", "Facts of Twitter retired within thirty days, and its alert.", shown)
    top, bottom, step = 30, 250, 12
    begin, end = (parse_instant(alerts[signal]["now"]) for signal in ("unstable", "stable"))
    picture.add("rect", x=picture.x(begin), y=top, width=round(picture.x(end) - picture.x(begin), 1),
                height=bottom - top, class_="alert")  # fmt: skip
    picture.add("text", "unstable", x=picture.x(begin) + 6, y=top + 15, class_="strong")
    steps = sorted(
        {at for one in retired for at in (one, Instant(one + 30 * DAY_MS)) if shown.lo <= at < shown.hi}
    )
    points = [f"{picture.x(shown.lo)},{bottom}"]
    n_before = 0
    for at in steps:
        n_now = sum(at - 30 * DAY_MS < one <= at for one in retired)
        points += [f"{picture.x(at)},{bottom - step * n_before}", f"{picture.x(at)},{bottom - step * n_now}"]
        n_before = n_now
    points.append(f"{picture.x(shown.hi)},{bottom - step * n_before}")
    picture.add("polyline", points=" ".join(points), class_="count")
    for count in (0, limit, 10, 15):
        picture.label(f"{count} retired" if count == limit else str(count), bottom - step * count + 5)
    picture.add(
        "line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom - step * limit, y2=bottom - step * limit, class_="now"
    )
    for at in retired:
        if shown.lo <= at < shown.hi:
            picture.upright(at, bottom + 14, bottom + 24, "line")
    picture.label("each of them", bottom + 24)
    picture.high = bottom + 30
    return picture.svg()


def retirements(events: Sequence[Answer]) -> list[Instant]:
    """When each retirement that counts for drift was decided: of declared predicates, and not withdrawn."""
    return [
        parse_instant(event["decided_observed_at"])
        for event in events
        if event["declared"] and event["reason"] != "withdrawn" and event["decided_observed_at"]
    ]


PICTURES: Final = {
    "two-clocks.svg": two_clocks,
    "votes.svg": votes,
    "contested.svg": contested,
    "drift.svg": drift,
}


def main(arguments: Sequence[str]) -> int:
    """Write all pictures into the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python docs/draw.py FOLDER\n")
        return 2
    target = Path(arguments[0])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        log = Log(Path(folder))
        for name, draw in PICTURES.items():
            (target / name).write_text(draw(log), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
