"""The section of docs/benchmarks.md about speed: a table for figures that say the same kinds of things.

Written from kept figures. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.markdown import Line, Newest, markdown, where

SPEED: Final = {
    "engine": "the engine alone, in memory",
    "meaning": "the embedded host, with vectors and without",
    "read_model": "questions to the read model",
    "drift": "the drift counter",
    "triples": "a language model that fails, hangs and lies",
    "kafka": "the Kafka host beside others on one broker",
    "dashboard": "what a browser waits for",
}
"""The benchmarks of speed, and what each is about."""

OURS: Final = "factdrift"
"""The row to which the others of its table are compared, where there is one."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a kept value is shown: under a heading, multiplied, with so many decimals."""

    heading: str
    scale: float = 1.0
    decimals: int = 0

    def cell(self, line: Line, key: str) -> str:
        """The value of a line under this heading, or nothing where it has none."""
        return f"{line[key] * self.scale:,.{self.decimals}f}" if key in line else ""


COLUMNS: Final[Mapping[str, Column]] = {
    "n": Column("n"),
    "observations_per_s": Column("per second"),
    "us_per_observation": Column("µs each", decimals=1),
    "durable_observations_per_s": Column("per second, without the last commit"),
    "cpu_us_per_observation": Column("its CPU, µs each"),
    "broker_cpu_us_per_observation": Column("broker's CPU, µs each"),
    "memory_peak_mib": Column("memory, MiB"),
    "records_written_per_observation": Column("records written each", decimals=2),
    "value_bytes": Column("its value, KB", 1e-3, 1),
    "stored_bytes": Column("stored in all, MB", 1e-6, 1),
    "stored_bytes_per_claim": Column("bytes stored per claim"),
    "memory_bytes_per_claim": Column("bytes of memory per claim"),
    "ms_per_late_observation": Column("ms each", decimals=2),
    "ms_at_most": Column("at most, ms", decimals=1),
    "texts_asked": Column("texts asked for"),
    "texts_embedded": Column("texts embedded"),
    "texts_wanted_at_most": Column("texts that could be asked for"),
    "requests": Column("requests"),
    "longest_question_s": Column("longest question, s", decimals=2),
    "longest_batch_s": Column("longest batch, s", decimals=2),
    "memory_after_a_fifth_mib": Column("memory after a fifth, MiB"),
    "memory_at_the_end_mib": Column("memory at the end, MiB"),
    "other_outcomes": Column("other outcomes than the server's"),
    "calls_of_a_replay": Column("calls of a replay"),
    "facts": Column("facts"),
    "facts_that_differ_in_a_replay": Column("facts that differ in a replay"),
    "events_per_cpu_s": Column("events per second of CPU"),
    "median_ms": Column("median, ms"),
    "p50_ms": Column("median, ms", decimals=2),
    "p95_ms": Column("95 % within, ms"),
    "p99_ms": Column("99 % within, ms", decimals=2),
    "max_ms": Column("at most, ms", decimals=1),
    "most_ms": Column("at most, ms"),
    "cpu_p99_ms": Column("99 % within, ms of CPU", decimals=2),
    "named_percent": Column("named by an event, %", decimals=1),
    "cpu_percent": Column("its CPU, %"),
    "first_paint_ms": Column("first paint, median ms"),
    "first_paint_max_ms": Column("at most"),
    "content_ms": Column("content, median ms"),
    "content_max_ms": Column("at most"),
    "with_disk_s": Column("ready again with its disk, s", decimals=1),
    "without_disk_s": Column("ready again without it, s", decimals=1),
    "changelog_records": Column("changelog records"),
    "restored_per_s": Column("records restored per second"),
    "memory_mib": Column("memory before, MiB"),
    "restored_memory_mib": Column("memory when restored, MiB"),
}
"""What the page shows of a figure, in this order."""

HIDDEN: Final = frozenset(
    {
        "cpu_share", "wall_s", "cpu_s", "records", "observations", "slice_records", "memory_most_mib",
        "cpu_p50_ms", "cpu_max_ms", "modified",
    }
)  # fmt: skip
"""What is kept of a figure and not shown: how it was measured, or the same in other words."""


def speed(newest: Newest) -> Iterator[str]:
    """The section: each benchmark with its command, and its figures."""
    yield "## Speed"
    for name, what in SPEED.items():
        yield f"### {name}: {what}\n\n    python -m benchmarks {name} --record"
        found = {key.partition("/")[2]: line for key, line in newest.items() if key.startswith(f"{name}/")}
        if not found:
            yield "Not measured yet on a machine that had nothing else to do."
        told = ""
        for group, rows in _grouped(found):
            measured = where(next(iter(rows.values())))
            if measured != told:
                yield f"{measured}."
                told = measured
            yield _table(group, rows)


def _grouped(found: Newest) -> Iterator[tuple[str, Newest]]:
    """Figures of one first name, with the same columns, commit and machine; each group with that name."""
    groups: dict[tuple[str, str, tuple[str, ...]], dict[str, Line]] = {}
    for name, line in found.items():
        first, slash, _ = name.partition("/")
        groups.setdefault((first if slash else "", where(line), _shown(line)), {})[name] = line
    for first, measured, columns in [key for key, rows in groups.items() if key[0] and len(rows) == 1]:
        alone = groups.pop((first, measured, columns))
        groups.setdefault(("", measured, columns), {}).update(alone)
    for (first, _, _), rows in sorted(groups.items(), key=lambda item: (item[0][0] != "", item[0][1])):
        yield first, {name.removeprefix(f"{first}/"): line for name, line in rows.items()}


def _shown(line: Line) -> tuple[str, ...]:
    return tuple(key for key in COLUMNS if key in line)


def _table(group: str, rows: Newest) -> str:
    keys = _shown(next(iter(rows.values())))
    ours = rows.get(OURS, {}).get("observations_per_s")
    headings: Sequence[str] = [COLUMNS[key].heading for key in keys]
    cells = [[COLUMNS[key].cell(line, key) for key in keys] for line in rows.values()]
    if ours:
        headings = ["factdrift is", *headings]
        cells = [
            [f"{ours / line['observations_per_s']:.2f} ×", *of_row]
            for line, of_row in zip(rows.values(), cells, strict=True)
        ]
    return markdown((group, *headings), [(name, *of_row) for name, of_row in zip(rows, cells, strict=True)])
