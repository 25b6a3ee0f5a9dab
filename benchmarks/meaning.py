"""What it costs that texts mean something: the embedded host with vectors and without, and what is embedded.

The real conversations, as often as it takes, each time under subjects of their own, in batches of 500 as a
replay cuts them, into an embedded log in a temporary folder. Loading the model is not timed. Time is that of
the processor, of the whole process: what else the machine does is left out. Vectors come from the source that
the settings name (FACTDRIFT_VECTORS…, else the packaged one), with its cache as users have it; `uncached` has
none, so that every text that a claim asks for is embedded. Printed too: the texts that were embedded beside
the distinct texts in claims that have two or more, which is what could be asked for at most. And what one
more text costs a claim that has many.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from agents import composition
from benchmarks import Options, missing, real_input
from benchmarks.record import Figure, leave_out, show
from state.errors import BadInput
from state.instants import parse_instant
from state.objects import type_object
from state.observations import Observation
from state.similarity import ModelId, Vectors
from state.validation import read
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.settings import Settings
from streams.topics import Topic
from streams.vectors import vectors_of
from streams.vectors.cache import CachedVectors
from streams.wire import to_json

FILE: Final = "locomo_observations.jsonl"
N, N_QUICK = 100_000, 5_000
BATCH = 500
RUNS = 3  # of those that are compared; the median counts
TARGET_PER_S = 5_000
SIZES, STEP = (10, 50, 100, 200), 20  # texts of a claim before, and how many more are timed
RECORDED_AT = parse_instant("2026-01-01T00:00:00Z")  # after every observation of the file


def run(options: Options) -> list[Figure]:
    """Measure the embedded host on the conversations, and print what vectors add to it."""
    lines = real_input(FILE)
    if lines is None:
        leave_out(missing(FILE))
        return []
    n = N_QUICK if options.quick else N
    records = list(islice(repeated(lines), n))
    forms = Forms(records)
    settings = Settings()
    bare = settings.vector.model_copy(update={"kept_max": 0})
    source = vectors_of(settings.model_copy(update={"vector": bare}))
    if source is None:
        leave_out("FACTDRIFT_VECTORS=none makes no vectors: there is nothing to measure.")
        return []
    source.embed(["a text, so that the model is loaded"])
    type_object("5 kg")  # the units are loaded too
    named = settings.vectors
    kept_max = settings.vector.kept_max
    runs = 1 if options.quick else RUNS
    figures = [
        _median("none", runs, records, lambda: None, forms),
        _median(named, runs, records, lambda: Counting(source, kept_max=kept_max), forms),
        _median(f"{named}-uncached", 1, records, lambda: Counting(source, kept_max=0), forms),
    ]
    _show(figures, forms)
    return [*figures, *_growth(f"{named}-growth", lines, source, options)]


def _show(figures: Sequence[Figure], forms: Forms) -> None:
    plain = figures[0].us_per_observation or 0
    rows = [
        (
            figure.name.partition("/")[2],
            f"{figure.observations_per_s or 0:,.0f}",
            f"{figure.us_per_observation or 0:,.0f}",
            f"{(figure.us_per_observation or 0) - plain:,.0f}",
            f"{figure.more['texts_asked']:,.0f}",
            f"{figure.more['texts_embedded']:,.0f}",
        )
        for figure in figures
    ]
    show(
        f"The embedded host, {figures[0].n:,} observations of conversations, by processor time",
        ("vectors", "per second", "µs each", "of vectors", "texts asked for", "embedded"),
        rows,
        [
            f"Distinct texts in claims that have two or more: {forms.n_wanted:,} in {forms.n_claims:,} "
            f"claims; {forms.n_distinct:,} texts when each counts once.",
            f"The target is {TARGET_PER_S:,} a second with packaged vectors; what they add to each "
            f"observation alone would let {_alone(figures):,.0f} through.",
        ],
    )


def _alone(figures: Sequence[Figure]) -> float:
    """How many observations a second there could be if nothing but their vectors took time."""
    plain, packaged = (figure.us_per_observation or 0 for figure in figures[:2])
    return 1e6 / max(packaged - plain, 1.0)


def _growth(name: str, lines: Sequence[bytes], source: Vectors, options: Options) -> list[Figure]:
    """One claim that hears a text after the other, all of them different."""
    given = {str(json.loads(line)["object"]): json.loads(line) for line in lines}
    records = [
        to_json({**fields, "subject": "one", "predicate": "heard", "observation_id": f"o{number}"})
        for number, fields in enumerate(given.values())
    ][: 50 if options.quick else 2 * max(SIZES)]
    figures = []
    with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as folder:
        host = _host(Path(folder), source)
        started = time.process_time()
        for number, record in enumerate(records, start=1):
            if number in SIZES:
                started = time.process_time()
            host.publish(Topic.OBSERVATIONS, [(None, record, None)])
            if number - STEP + 1 in SIZES:
                seconds = time.process_time() - started
                figures.append(Figure(f"meaning/{name}/{number - STEP + 1}", STEP, seconds))
        host.store.close()
    rows = [
        (figure.name.rpartition("/")[2], f"{(figure.us_per_observation or 0) / 1000:,.1f}")
        for figure in figures
    ]
    show("One more text for a claim, its batch and transaction included", ("texts", "ms each"), rows)
    return figures


def repeated(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The observations again and again, each time of other subjects and with other ids."""
    given = [json.loads(line) for line in lines]
    for number in range(N):
        for fields in given:
            again = {**fields, "subject": f"{fields['subject']} {number}"}
            again["observation_id"] = f"{fields['observation_id']}-{number}"
            yield to_json(again)


class Forms:
    """The texts that could need a vector: distinct ones in claims that hear two or more."""

    def __init__(self, records: Sequence[bytes]) -> None:
        of_claim: dict[str, set[str]] = defaultdict(set)
        for record in records:
            try:
                found = read(record, recorded_at=RECORDED_AT)
            except BadInput:
                continue
            if isinstance(found, Observation) and found.statement.form.startswith("t:"):
                of_claim[found.claim].add(found.statement.form)
        several = [forms for forms in of_claim.values() if len(forms) > 1]
        self.n_claims = len(several)
        self.n_wanted = sum(len(forms) for forms in several)
        self.n_distinct = len(set().union(*several))


class Counting:
    """A source behind a cache, with how many texts claims asked for and how many were embedded."""

    def __init__(self, source: Vectors, *, kept_max: int = 0) -> None:
        self._source = source
        self._cache = CachedVectors(self._counted(), kept_max=kept_max)
        self.n_asked = 0
        self.n_embedded = 0

    @property
    def model(self) -> ModelId:
        """The model of the source."""
        return self._source.model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """As `Vectors.embed`."""
        self.n_asked += len(texts)
        return self._cache.embed(texts)

    def _counted(self) -> Vectors:
        counting = self

        class Source:
            model = counting.model

            def embed(self, texts: Sequence[str]) -> list[bytes]:
                counting.n_embedded += len(texts)
                return counting._source.embed(texts)

        return Source()


def _host(folder: Path, source: Vectors | None) -> EmbeddedHost:
    agents = composition.agents_with(Settings(), source, keeps_index=True)
    return EmbeddedHost(
        EmbeddedStore(folder), [*agents, *composition.single_agents()], clock=lambda: RECORDED_AT
    )


def _median(
    name: str, runs: int, records: Sequence[bytes], source: Callable[[], Counting | None], forms: Forms
) -> Figure:
    """The run in the middle, each with a log and a cache of its own."""
    found = sorted(
        (_measured(name, records, source(), forms) for _ in range(runs)), key=lambda one: one.seconds or 0.0
    )
    return found[len(found) // 2]


def _measured(name: str, records: Sequence[bytes], source: Counting | None, forms: Forms) -> Figure:
    with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as folder:
        host = _host(Path(folder), source)
        gc.collect()
        gc.freeze()  # the input and what is counted about it are not the host's to look after
        started, cpu_started = time.perf_counter(), time.process_time()
        left = iter(records)
        while batch := list(islice(left, BATCH)):
            host.publish(Topic.OBSERVATIONS, [(None, record, None) for record in batch])
        cpu_s, seconds = time.process_time() - cpu_started, time.perf_counter() - started
        gc.unfreeze()
        host.store.close()
    more = {
        "wall_s": seconds,
        "texts_asked": 0 if source is None else source.n_asked,
        "texts_embedded": 0 if source is None else source.n_embedded,
        "texts_wanted_at_most": forms.n_wanted,
    }
    assert source is None or source.n_embedded <= forms.n_wanted, "texts are embedded that nobody needs"
    return Figure(f"meaning/{name}", len(records), cpu_s, more)
