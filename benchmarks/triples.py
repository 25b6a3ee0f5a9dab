"""Triples by a language model that fails 20 %, hangs 5 % and lies 5 %: is anything lost, and what it costs.

The embedded host takes observations with words of their own, each a question, from a server that is a process
of its own (`tests/parts/unreliable.py`). Nothing may be lost, every outcome must be the one that the server
deserves, no question may take longer than its timeout, memory must stay flat, and a replay of the log must
ask nobody and give the same facts.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

import psutil

from agents import composition
from agents.intake import intake
from agents.refining import Refiner
from agents.replay import fact_lines, records
from benchmarks import Options
from benchmarks.record import Figure, out, show
from state.instants import INSTANT_MAX
from state.observations import Observation
from state.refinement import Outcome
from streams import language_model
from streams.codec import decode_batch
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.language_model import language_model_of
from streams.settings import LanguageModelSettings, Settings
from streams.topics import Topic
from tests.parts import unreliable
from tests.parts.processes import start_process

N, N_QUICK = 10_000, 300
TIMEOUT_S = 1.0
PAUSE_S = 0.02  # before a second try: three of them fit into the timeout
BATCH = 64
KEPT = 1_000  # answers, so that the bound is reached
WARM = 5  # the first fifth is left out of memory: what is loaded once is loaded then
SERVING_S = 30.0
MIB = 1024 * 1024


def run(options: Options) -> list[Figure]:
    """Refine, look at every outcome, and replay."""
    n = N_QUICK if options.quick else N
    with tempfile.TemporaryDirectory(prefix="factdrift-triples-") as name:
        folder = Path(name)
        server = start_process(
            [sys.executable, "-m", "tests.parts.unreliable"],
            name="the language model",
            log=folder / "server.log",
            folder=Path(__file__).parents[1],
        )
        pause_s, language_model.PAUSE_FIRST_S = language_model.PAUSE_FIRST_S, PAUSE_S
        try:
            url = server.wait_for_line(r"^serving (\S+)", SERVING_S)[1]
            return [_measure(n, url, folder)]
        finally:
            language_model.PAUSE_FIRST_S = pause_s
            server.kill()


def _measure(n: int, url: str, folder: Path) -> Figure:
    settings = Settings(
        triple_source="llm",
        vectors="none",
        llm=LanguageModelSettings(
            model="m", url=url, timeout_s=TIMEOUT_S, batch_timeout_s=3_600, kept_max=KEPT
        ),
    )
    model = language_model_of(settings.llm)
    store = EmbeddedStore(folder / "log")
    refiner = Refiner(model, batch_timeout_s=settings.llm.batch_timeout_s, kept_max=KEPT)
    door = intake(batch_bytes_max=settings.batch_bytes_max, keeps_index=True, refiner=refiner)
    folding = composition.agents(settings, keeps_index=True)[1:]
    host = EmbeddedHost(store, [door, *folding], clock=composition.wall_clock)
    memory, longest_batch_s = [], 0.0
    began = time.perf_counter()
    for start in range(0, n, BATCH):
        batch_began = time.perf_counter()
        lines = [(None, unreliable.line(number), None) for number in range(start, min(start + BATCH, n))]
        host.publish(Topic.OBSERVATIONS, lines)
        longest_batch_s = max(longest_batch_s, time.perf_counter() - batch_began)
        memory.append(psutil.Process().memory_info().rss)
    seconds = time.perf_counter() - began
    warm = memory[len(memory) // WARM :]
    wrong = _wrong(store, n)
    n_asked = _n_requests(url)
    again = EmbeddedHost(
        EmbeddedStore(folder / "again"), composition.agents(settings, keeps_index=True),
        clock=composition.wall_clock,
    )  # fmt: skip
    again.publish(Topic.BY_CLAIM, [(r.key, r.value, r.recorded_at) for r in records(store, Topic.BY_CLAIM)])
    more = {
        "requests": float(n_asked),
        "longest_question_s": model.longest_s,
        "longest_batch_s": longest_batch_s,
        "memory_after_a_fifth_mib": warm[0] / MIB,
        "memory_at_the_end_mib": warm[-1] / MIB,
        "memory_most_mib": max(memory) / MIB,
        "other_outcomes": float(wrong),
        "calls_of_a_replay": float(_n_requests(url) - n_asked),
        "facts": float(len(fact_lines(store, now=INSTANT_MAX))),
        "facts_that_differ_in_a_replay": float(_differing(store, again.store)),
    }
    _show(n, seconds, refiner.outcomes, more)
    return Figure("triples/unreliable", n, seconds, more=more)


def _wrong(store: EmbeddedStore, n: int) -> int:
    """How many observations are missing, doubled, or have another outcome than their server deserves.

    On a busy machine a question that would have been answered may time out: that is counted here too.
    """
    found: dict[str, Outcome] = {}
    for record in records(store, Topic.BY_CLAIM):
        for entry in decode_batch(record.value).entries:
            one = entry.usable
            if isinstance(one, Observation) and one.refinement is not None:
                found[one.statement.observation_id] = one.refinement.outcome
    assert len(found) == n, f"{len(found)} observations of {n} are in the log"
    return sum(found[f"o{number}"] != unreliable.outcome(f"message {number}") for number in range(n))


def _differing(store: EmbeddedStore, other: EmbeddedStore) -> int:
    one, two = (
        Counter(json.dumps(fact, sort_keys=True) for fact in fact_lines(found, now=INSTANT_MAX))
        for found in (store, other)
    )
    return ((one - two) + (two - one)).total()


def _n_requests(url: str) -> int:
    with urlopen(url) as response:
        return int(json.load(response)["n_requests"])


def _show(n: int, seconds: float, outcomes: Counter[Outcome], more: dict[str, float]) -> None:
    rows = [(outcome.value, f"{outcomes[outcome]:,}") for outcome in Outcome if outcomes[outcome]]
    show(f"Triples: {n:,} observations in {seconds:,.0f} s", ("outcome", "observations"), rows)
    show("and", ("", "figure"), [(name.replace("_", " "), f"{value:,.2f}") for name, value in more.items()])
    out.print(f"Every question had {TIMEOUT_S:g} s, every batch {BATCH} observations.\n")
