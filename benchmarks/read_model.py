"""How fast the read model keeps up, and how long its questions take, on SQLite and on PostgreSQL.

The log is made by the embedded host from a fixed seed: half of the subjects are heard of once, the others
several times, and some change their value. A million facts are copies of a smaller log under other names and
ids. Making the log is not timed. What is timed is the projection of all of it into an empty database, and
then questions about subjects drawn at random, one after the other on one connection, as a reader would: no
two share a cache but the database's own. PostgreSQL is left out where there is none.

Beside the clock on the wall stands the processor time of this process (`cpu`): on a machine that others use,
only that one can be repeated. On SQLite it is all there is, but for the disk; on PostgreSQL it lacks the
server's share.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from sqlalchemy import URL, Connection, text

from agents import composition
from agents.read_model import (
    FactFilter,
    Folding,
    ReadModel,
    apply,
    catch_up,
    claim_read,
    fact,
    facts,
    folding_of,
    open_url,
)
from agents.read_model.following import SLICE_RECORDS
from benchmarks import Options
from benchmarks.record import Figure, leave_out, show
from benchmarks.replicated import Copies
from state.instants import DAY_MS, Instant, format_instant, parse_instant
from state.why import explain
from streams.embedded import EmbeddedHost
from streams.settings import Settings
from streams.topics import CHANGE_FEED, Topic
from streams.wire import to_json

PARTS = ("read-model-100k", "read-model-1m")

BATCH = 500
N_QUESTIONS = 2_000
START = parse_instant("2020-01-01T00:00:00Z")
VALUES = ("Oslo", "Bergen", "Rome", "Lima", "Pune", "Quito", "Porto", "Seoul")
DATABASES = ("sqlite", "postgresql")


@dataclass(frozen=True, slots=True)
class Load:
    """A log: how many facts are wanted in it, about how many questions are asked of it."""

    name: str
    n_facts: int
    n_questions: int = N_QUESTIONS
    n_copies: int = 1


LOADS: tuple[Load, ...] = (Load("100k", 100_000), Load("1m", 5_000, n_copies=200))
QUICK: tuple[Load, ...] = (Load("5k", 5_000, 200), Load("10k", 1_000, 200, n_copies=10))


def run(options: Options) -> list[Figure]:
    """Measure both databases on logs of 10^5 and 10^6 facts and print what they took."""
    loads = QUICK
    if not options.quick:
        loads = tuple(one for one in LOADS if not options.only or f"read-model-{one.name}" in options.only)
    figures: list[Figure] = []
    for load in loads:
        with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as folder:
            host = composition.embedded(Settings(), Path(folder))
            made = make_log(host, load)
            for database in DATABASES:
                with _model(database, Path(folder)) as model:
                    if model is None:
                        leave_out(f"read_model on {database} is left out: there is none.")
                        continue
                    figures += _measured(load, database, model, host, made)
            host.store.close()
    return figures


@dataclass(frozen=True, slots=True)
class Made:
    """What is in the log: how many events and facts, and the subjects."""

    n_observations: int
    n_events: int
    n_subjects: int


def make_log(host: EmbeddedHost, load: Load) -> Made:
    """Publish observations until there are about as many facts as wanted."""
    chance = random.Random(7)
    n_events = n_facts = n_observations = 0
    subjects = 0
    batch: list[bytes] = []

    def publish() -> None:
        nonlocal n_events, n_facts
        made = host.publish(Topic.OBSERVATIONS, [(None, line, None) for line in batch])
        n_events += sum(output.topic in CHANGE_FEED for output in made)
        n_facts += sum(output.topic is Topic.FACT_CREATED for output in made)
        batch.clear()

    while n_facts < load.n_facts:
        subject = f"subject-{subjects:07d}"
        subjects += 1
        for place in range(1 if chance.random() < 0.5 else chance.randint(2, 6)):
            at = Instant(START + place * DAY_MS + chance.randrange(DAY_MS))
            batch.append(
                to_json(
                    {
                        "subject": subject,
                        "predicate": "lives_in",
                        "object": chance.choice(VALUES) if chance.random() < 0.3 else VALUES[0],
                        "observed_at": format_instant(at),
                        "source": {"id": "bench", "document": f"d{chance.randrange(1_000)}"},
                    }
                )
            )
            n_observations += 1
            if len(batch) == BATCH:
                publish()
    publish()
    return Made(n_observations, n_events, subjects)


def _measured(load: Load, database: str, model: ReadModel, host: EmbeddedHost, made: Made) -> list[Figure]:
    name = f"read_model/{load.name}/{database}"
    n_records, taken, cpu = _projected(load, model, host, made)
    _settle(model)
    n_events = made.n_events * load.n_copies
    figures = [
        Figure(
            f"{name}/projection",
            n_events,
            taken,
            {
                "cpu_s": cpu,
                "events_per_cpu_s": n_events / cpu,
                "records": n_records,
                "observations": made.n_observations * load.n_copies,
                "slice_records": SLICE_RECORDS,
            },
        )
    ]
    made = dataclasses.replace(made, n_subjects=made.n_subjects * load.n_copies)
    with model.reading() as connection:
        for question, ask in _questions(connection, made).items():
            figures.append(_asked(f"{name}/{question}", load.n_questions, made, ask))
    rows = [
        (figure.name.rpartition("/")[2], f"{figure.n:,}", f"{figure.observations_per_s or 0:,.0f}",
         f"{figure.n / figure.more['cpu_s']:,.0f}",
         *(f"{figure.more[p]:.2f}" if p in figure.more else ""
           for p in ("p50_ms", "p99_ms", "cpu_p50_ms", "cpu_p99_ms")))
        for figure in figures
    ]  # fmt: skip
    show(
        f"{database}, {load.n_facts * load.n_copies:,} facts",
        ("", "events", "per second", "per cpu second", "p50 ms", "p99 ms", "cpu p50 ms", "cpu p99 ms"),
        rows,
    )
    return figures


def _projected(load: Load, model: ReadModel, host: EmbeddedHost, made: Made) -> tuple[int, float, float]:
    """Project the whole log: how many records, seconds on the wall, seconds of the processor."""
    if load.n_copies == 1:
        started, started_cpu = time.perf_counter(), time.process_time()
        n_records = catch_up(model, host.store)
        return n_records, time.perf_counter() - started, time.process_time() - started_cpu
    n_records, taken, cpu = 0, 0.0, 0.0
    for records in Copies(host.store, made.n_subjects).slices(load.n_copies):
        started, started_cpu = time.perf_counter(), time.process_time()
        n_records += apply(model, records)
        taken += time.perf_counter() - started
        cpu += time.process_time() - started_cpu
    return n_records, taken, cpu


def _questions(connection: Connection, made: Made) -> dict[str, Callable[[str], object]]:
    """Each question about a subject."""
    folding: Folding = folding_of(Settings())
    now = Instant(START + 30 * DAY_MS)
    known_at = Instant(2**52)  # everything, but folded again

    def of_subject(subject: str, known: Instant | None = None) -> Sequence[object]:
        found = facts(connection, folding, FactFilter(subject=subject), now=now, known_at=known).items
        assert found, subject
        return found

    ids = [item.fact_id for item in facts(connection, folding, FactFilter(), now=now, limit=1_000).items]
    chance = random.Random(11)

    def why(subject: str) -> object:
        read = claim_read(connection, folding, subject=subject, predicate="lives_in")
        return explain(read.statements, read.predicate, read.policy, read.cluster_of)

    return {
        "fact": lambda _subject: fact(connection, folding, chance.choice(ids), now=now),
        "facts_of_subject": of_subject,
        "facts_known_at": lambda subject: of_subject(subject, known_at),
        "why": why,
    }


def _asked(name: str, n_questions: int, made: Made, ask: Callable[[str], object]) -> Figure:
    chance = random.Random(5)
    taken, cpu = [], []
    for _ in range(n_questions):
        subject = f"subject-{chance.randrange(made.n_subjects):07d}"
        started, started_cpu = time.perf_counter(), time.process_time()
        ask(subject)
        cpu.append((time.process_time() - started_cpu) * 1_000)
        taken.append((time.perf_counter() - started) * 1_000)
    more = {"cpu_s": sum(cpu) / 1_000}
    for prefix, times in (("", sorted(taken)), ("cpu_", sorted(cpu))):
        more |= {
            f"{prefix}p50_ms": median(times),
            f"{prefix}p99_ms": times[int(len(times) * 0.99)],
            f"{prefix}max_ms": times[-1],
        }
    return Figure(name, n_questions, sum(taken) / 1_000, more)


def _settle(model: ReadModel) -> None:
    """What an operator's database does by itself in time: statistics for the planner."""
    with model.writing() as connection:
        connection.execute(text("ANALYZE"))


@contextlib.contextmanager
def _model(database: str, folder: Path) -> Iterator[ReadModel | None]:
    """An empty read model of one kind, None where there is no server for it."""
    if database == "sqlite":
        url = URL.create("sqlite", database=str(folder / "read-model.sqlite"))
        with contextlib.closing(open_url(url)) as model:
            yield model
        return
    from tests.parts import PartMissing  # needs what only tests need: imported where it is asked for
    from tests.parts.postgres import start_postgres

    try:
        server = start_postgres(folder / "postgres")
    except PartMissing:
        yield None
        return
    try:
        with server.database() as url, contextlib.closing(open_url(url)) as model:
            yield model
    finally:
        server.stop()
