"""How many observations a second the engine takes in, and whether a long history makes it slower.

One core, nothing read or written: statements in memory, in batches of 500, through `LiveClaim.apply` into
tables that are dictionaries, with claims kept in use as consolidation keeps them. What is timed is what
consolidation does to claims, their encoding included; not timed are making the input, reading records and
writing events. The input is drawn from a fixed seed, so every run sees the same.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from multiprocessing import get_context
from statistics import median
from types import MappingProxyType

import msgspec
import psutil

from agents.consolidation import LiveClaims
from benchmarks import Options, missing, real_input
from benchmarks.record import Figure, leave_out, out, show_speed
from state import stored_claim as claims
from state.changes import Change, Kind
from state.claim import LiveClaim
from state.errors import BadInput
from state.facts import About, Fact, build
from state.identity import ClaimId, claim_id
from state.instants import DAY_MS, Instant, parse_instant
from state.observations import Observation
from state.policy import Policy
from state.predicates import packaged
from state.shelf import Shelf
from state.statements import ObservationId, Statement, order
from state.stored_claim import Claim
from state.timeline import fold
from state.validation import read

PARTS = ("loads", "real", "growth", "claims", "late")
PROFILED = ("hot", "cold", "flapping", "late", "growth")

BATCH = 500  # observations, as a replay cuts them
RUNS = 3  # of the short ones; the median counts
HOT_CLAIMS = 200
MOVE_EVERY, NOISE = 40, 0.10  # a claim's true value changes every 40 statements or so; a tenth is wrong
LATE_SHARE, LATE_DAYS = 0.05, 30
N_LATE = 100
BUDGET_S = 60.0  # for one long history; what takes longer is cut off, and says so
VALUES = ("Oslo", "Bergen", "Rome", "Lima", "Pune", "Quito", "Porto", "Seoul")
PREDICATE = "lives_in"  # single and declared
START = parse_instant("1900-01-01T00:00:00Z")  # a million hours later it is 2014
RECORDED_AT = parse_instant("2026-01-01T00:00:00Z")

Batch = Sequence[Observation]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    load: int = 100_000
    growth: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    harder_growth: tuple[int, ...] = (1_000, 10_000, 100_000)
    one_run_from: int = 100_000  # a history this long says enough in one run
    claims: int = 1_000_000
    history: int = 100_000
    n_late: int = N_LATE
    runs: int = RUNS


QUICK = Sizes(
    load=2_000, growth=(1_000, 4_000), harder_growth=(1_000,), claims=5_000, history=2_000, n_late=10, runs=1
)


def run(options: Options) -> list[Figure]:
    """Measure the parts asked for and print a table of each. Exits with a sentence where facts are wrong."""
    sizes = QUICK if options.quick else Sizes()
    if options.profile is not None:
        _profile(options.profile, sizes)
        return []
    state = "on" if gc.isenabled() else "off"
    out.print(f"Garbage collector {state}, thresholds {gc.get_threshold()}; batches of {BATCH}.\n")
    parts: dict[str, Callable[[Sizes], list[Figure]]] = {
        "loads": _loads, "real": _real, "growth": _growth, "claims": _claims, "late": _late,
    }  # fmt: skip
    asked = [name for name in PARTS if not options.only or name in options.only]
    measure(hot(min(sizes.load, 10_000)))  # warm-up
    return [figure for name in asked for figure in parts[name](sizes)]


# -- the tables of a host, in memory ---------------------------------------------------------


class Tables:
    """What a host keeps: claims and their pieces as bytes. Takes a batch in as consolidation does."""

    def __init__(self) -> None:
        self.claims: dict[bytes, bytes] = {}
        self.pieces: dict[bytes, bytes] = {}
        self._held = LiveClaims()
        self._epoch = 0

    def apply(self, batch: Batch) -> list[Change]:
        """Apply one batch to every claim that it touches, and store what changed."""
        self._epoch += 1
        by_claim: dict[ClaimId, list[Observation]] = {}
        for observation in batch:
            by_claim.setdefault(observation.claim, []).append(observation)
        shelf = Shelf(self.pieces.get)
        changes: list[Change] = []
        for claim, group in by_claim.items():
            table_key = claim.encode("ascii")
            live = self._live(table_key, group[0])
            outcome = live.apply([o.statement for o in group], (), shelf, epoch=self._epoch)
            changes += outcome.changes
            if outcome.changed:
                stored = self.claims[table_key] = claims.encode(live.claim)
                self._held.keep(table_key, stored, live)
        for key, value in shelf.changes.items():
            if value is None:
                self.pieces.pop(key, None)
            else:
                self.pieces[key] = value
        return changes

    def _live(self, table_key: bytes, first: Observation) -> LiveClaim:
        stored = self.claims.get(table_key)
        predicate = packaged().get(first.predicate)
        if stored is None:
            claim = Claim(
                claim=first.claim,
                namespace=first.namespace,
                subject=first.subject,
                predicate=first.predicate,
                layout=claims.layout_of(predicate),
            )
        else:
            held = self._held.get(table_key, stored)
            if held is not None:
                return held
            claim = claims.decode(stored)
        return LiveClaim(claim, predicate=predicate, policy=Policy())

    def n_bytes(self) -> int:
        """Bytes of all keys and values."""
        return sum(len(k) + len(v) for table in (self.claims, self.pieces) for k, v in table.items())


# -- measuring ------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """One pass over a load: size and seconds of each batch, what it changed, the tables after it."""

    tables: Tables = field(default_factory=Tables)
    batches: list[tuple[int, float]] = field(default_factory=list)
    cpu_s: float = 0.0
    n_changes: int = 0
    n_facts: int = 0
    n_retired: int = 0

    @property
    def n(self) -> int:
        """Observations taken in."""
        return sum(n for n, _ in self.batches)

    @property
    def seconds(self) -> float:
        """Seconds by the wall clock, of taking in alone."""
        return sum(seconds for _, seconds in self.batches)

    def last_tenth(self) -> tuple[int, float]:
        """Observations and seconds of the last tenth, in whole batches: one at least."""
        last = self.batches[-max(1, len(self.batches) // 10) :]
        return sum(n for n, _ in last), sum(seconds for _, seconds in last)


def measure(load: Iterable[Batch], *, budget_s: float = inf) -> Run:
    """Take a load in, up to `budget_s` seconds; only `Tables.apply` is timed, not the making of the load."""
    done = Run()
    gc.collect()
    for batch in load:
        if budget_s < inf and done.seconds > budget_s:
            break
        cpu_s, started = time.process_time(), time.perf_counter()
        changes = done.tables.apply(batch)
        done.batches.append((len(batch), time.perf_counter() - started))
        done.cpu_s += time.process_time() - cpu_s
        done.n_changes += len(changes)
        done.n_facts += sum(change.kind is Kind.CREATED for change in changes)
        done.n_retired += sum(change.kind is Kind.INVALIDATED for change in changes)
    return done


def _median_run(make: Callable[[], Iterable[Batch]], n_runs: int, *, budget_s: float = inf) -> Run:
    """The run of median time."""
    done = sorted((measure(make(), budget_s=budget_s) for _ in range(n_runs)), key=lambda run: run.seconds)
    return done[len(done) // 2]


def _figure(name: str, run: Run, note: str = "", more: Mapping[str, float] = MappingProxyType({})) -> Figure:
    share = run.cpu_s / run.seconds
    note = note or (
        f"{run.n_facts / run.n:.3f} facts, {run.n_retired / run.n:.3f} retirements, "
        f"{run.n_changes / run.n:.2f} events per observation"
    )
    if share < 0.95:
        note += f"; disturbed: the processor was ours {share:.0%} of the time"
    return Figure(f"engine/{name}", run.n, run.seconds, {"cpu_share": share, **more}, note)


def _profile(name: str, sizes: Sizes) -> None:
    """Print the functions that cost most of themselves while one load is taken in."""
    makers: dict[str, Callable[[], Iterable[Batch]]] = {
        **_made(sizes.load), "growth": partial(one_claim, sizes.load),
    }  # fmt: skip
    measure(makers[name]())
    load, tables, profile = list(makers[name]()), Tables(), cProfile.Profile()
    profile.enable()
    for batch in load:
        tables.apply(batch)
    profile.disable()
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(25)


# -- loads ----------------------------------------------------------------------------------


def batches(observations: Iterable[Observation]) -> Iterator[Batch]:
    """Observations in the order of their arrival, cut as consolidation gets them."""
    left = iter(observations)
    while batch := list(islice(left, BATCH)):
        yield batch


def observation(number: int, claim: ClaimId, subject: str, value: str, at: int, document: str) -> Observation:
    """One observation of the usual kind: a text, a document, no bounds; id and hash as long as real ones."""
    said = Statement(
        effective_at=Instant(at),
        observed_at=Instant(at),
        observation_id=ObservationId(f"sha-{number:032x}"),
        form="t:" + value.casefold(),
        affirmed=True,
        spelling=value,
        source="assistant",
        document=document,
        valid_from=None,
        valid_to=None,
        lo_granularity="day",
        hi_granularity=None,
        confidence=1.0,
        extracted=False,
        supersedes=None,
        votes=True,
        subject=subject,
        predicate=PREDICATE,
        recorded_at=Instant(at),
        content_hash=f"{number:032x}",
    )
    return Observation(claim=claim, namespace="bench", subject=subject, predicate=PREDICATE, statement=said)


def _person(number: int) -> tuple[ClaimId, str]:
    subject = f"person {number}"
    return claim_id("bench", subject, PREDICATE), subject


def spoken(n: int, *, flapping: bool = False) -> Iterator[Observation]:
    """Of 200 claims, one statement per claim and day or so; a document speaks of twenty of them.

    Usually the true value moves now and then and a tenth is wrong; `flapping`: two values take turns, three
    statements each, which is just enough to unseat a fact again and again.
    """
    chance = random.Random(4)
    people = [_person(number) for number in range(HOT_CLAIMS)]
    true, n_said = [0] * HOT_CLAIMS, [0] * HOT_CLAIMS
    for number in range(n):
        who = chance.randrange(HOT_CLAIMS)
        if flapping:
            value = n_said[who] // 3 % 2
            n_said[who] += 1
        else:
            if chance.random() < 1 / MOVE_EVERY:
                true[who] = chance.randrange(len(VALUES))
            value = chance.randrange(len(VALUES)) if chance.random() < NOISE else true[who]
        claim, subject = people[who]
        at = START + number * DAY_MS // HOT_CLAIMS
        yield observation(number, claim, subject, VALUES[value], at, f"session-{number // 20}")


def hot(n: int) -> Iterator[Batch]:
    """200 claims that are spoken of all the time."""
    return batches(spoken(n))


def cold(n: int) -> Iterator[Batch]:
    """Every observation is the first of its claim."""
    return batches(_strangers(n))


def _strangers(n: int) -> Iterator[Observation]:
    for number in range(n):
        claim, subject = _person(number)
        value = VALUES[number % len(VALUES)]
        yield observation(number, claim, subject, value, START + number * 1000, f"session-{number // 20}")


def late(n: int) -> Iterator[Batch]:
    """The hot load, where one observation in twenty arrives up to 30 days after it was made."""
    chance = random.Random(5)
    arriving: list[tuple[int, Observation]] = []
    for made in spoken(n):
        delay = chance.randrange(LATE_DAYS * DAY_MS) if chance.random() < LATE_SHARE else 0
        arriving.append((made.statement.observed_at + delay, made))
    arriving.sort(key=lambda item: item[0])
    return batches(made for _, made in arriving)


def _made(n: int) -> dict[str, Callable[[], Iterable[Batch]]]:
    return {
        "hot": partial(hot, n),
        "cold": partial(cold, n),
        "flapping": lambda: batches(spoken(n, flapping=True)),
        "late": partial(late, n),
    }


def _loads(sizes: Sizes) -> list[Figure]:
    """The loads drawn by chance."""
    figures = [_figure(name, _median_run(make, sizes.runs)) for name, make in _made(sizes.load).items()]
    show_speed(f"Loads, median of {sizes.runs}", figures)
    return figures


# -- real input -----------------------------------------------------------------------------


def _real(sizes: Sizes) -> list[Figure]:
    """LoCoMo and BirthPlaces: first the door, then the engine with what the door let in."""
    figures: list[Figure] = []
    for name in ("locomo", "birthplaces"):
        file = f"{name}_observations.jsonl"
        lines = real_input(file)
        if lines is None:
            leave_out(missing(file))
            continue
        through: list[float] = []
        for _ in range(sizes.runs):
            started = time.perf_counter()
            usable = _through_the_door(lines)
            through.append(time.perf_counter() - started)
        run = _median_run(partial(batches, usable), sizes.runs)
        n_claims, n_refused = len(run.tables.claims), len(lines) - len(usable)
        about = f"{n_claims:,} claims; {run.n_facts / run.n:.3f} facts, {run.n_changes / run.n:.2f} events"
        figures.append(_figure(name, run, f"{about} per observation"))
        note = f"bytes to statements (state.validation.read); {n_refused} refused"
        figures.append(Figure(f"engine/{name}/door", len(lines), median(through), note=note))
    if figures:
        show_speed(f"Real input, median of {sizes.runs}", figures)
    return figures


def _through_the_door(lines: Sequence[bytes]) -> list[Observation]:
    usable = []
    for line in lines:
        try:
            found = read(line, recorded_at=RECORDED_AT)
        except BadInput:
            continue
        if isinstance(found, Observation):
            usable.append(found)
    return usable


# -- growth ---------------------------------------------------------------------------------


def history(
    n: int, *, moves: bool = True, n_documents: int | None = None, new_values: bool = False
) -> Iterator[Observation]:
    """One claim, a statement an hour, each of a document of its own; a tenth is wrong.

    `moves`: the true value changes every 40 statements or so; otherwise it never does. `n_documents`: so
    many take turns, and go on for ever. `new_values`: no value is ever said twice.
    """
    chance = random.Random(6)
    claim, subject = _person(0)
    true = 0
    for number in range(n):
        if moves and chance.random() < 1 / MOVE_EVERY:
            true = chance.randrange(len(VALUES))
        value = VALUES[chance.randrange(len(VALUES)) if chance.random() < NOISE else true]
        if new_values:
            value = "Street " + "".join("abcdefghij"[int(digit)] for digit in str(number))
        at = START + number * 3_600_000
        document = f"session-{number if n_documents is None else number % n_documents}"
        yield observation(number, claim, subject, value, at, document)


def one_claim(n: int, *, n_documents: int | None = None, new_values: bool = False) -> Iterator[Batch]:
    """A history as it arrives in order."""
    return batches(history(n, n_documents=n_documents, new_values=new_values))


HARDER: dict[str, Callable[[int], Iterable[Batch]]] = {
    "20-documents": partial(one_claim, n_documents=20),
    "new-values": partial(one_claim, new_values=True),
}
"""Histories that a claim has no bound for by itself: documents without end, and values without end."""


def _growth(sizes: Sizes) -> list[Figure]:
    """Time per observation of one claim, by the length of its history, and the size of its value."""
    figures = _grown("growth", one_claim, sizes.growth, sizes, budget_s=inf)
    show_speed("Growth: one claim", figures)
    for name, make in HARDER.items():
        harder = _grown(f"growth-{name}", make, sizes.harder_growth, sizes, budget_s=BUDGET_S)
        show_speed(f"Growth, harder: {name.replace('-', ' ')}", harder)
        figures += harder
    return figures


def _grown(
    name: str,
    make: Callable[[int], Iterable[Batch]],
    lengths: Sequence[int],
    sizes: Sizes,
    *,
    budget_s: float,
) -> list[Figure]:
    """Two figures for each length, of all of it and of its last tenth; a length cut off is the last."""
    figures: list[Figure] = []
    for n in lengths:
        n_runs = sizes.runs if n < sizes.one_run_from else 1
        run = _median_run(partial(make, n), n_runs, budget_s=budget_s)
        (value,) = run.tables.claims.values()
        stored = run.tables.n_bytes()
        note = f"its value {len(value):,} bytes; {stored / run.n:,.0f} bytes stored per observation"
        if run.n < n:
            note += f"; cut off after {budget_s:.0f} s"
        more = {"value_bytes": len(value), "stored_bytes": stored}
        figures.append(_figure(f"{name}/{n}", run, note, more))
        n_last, seconds = run.last_tenth()
        figures.append(Figure(f"engine/{name}/{n}/last-tenth", n_last, seconds))
        if run.n < n:
            break
    return figures


# -- a million claims -----------------------------------------------------------------------


def _claims(sizes: Sizes) -> list[Figure]:
    """Time and memory of many claims with one observation each, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        figure = process.submit(many_claims, sizes.claims).result()
    show_speed("Many claims, one observation each", [figure])
    return [figure]


def many_claims(n: int) -> Figure:
    """Take in `n` claims and look at the memory of this process, which should have done nothing else."""
    measure(hot(2_000))
    gc.collect()
    before = psutil.Process().memory_info().rss
    run = measure(cold(n))
    gc.collect()
    rss = psutil.Process().memory_info().rss - before
    stored = run.tables.n_bytes()
    note = (
        f"{stored / n:,.0f} bytes stored per claim, {rss / n:,.0f} of memory; {rss / 2**20:,.0f} MiB in all"
    )
    more = {"stored_bytes_per_claim": stored / n, "memory_bytes_per_claim": rss / n}
    return _figure(f"claims/{n}", run, note, more)


# -- late observations ----------------------------------------------------------------------


def _late(sizes: Sizes) -> list[Figure]:
    """Late observations in a long history: time of each; and are the facts those of the sorted order?"""
    figures: list[Figure] = []
    wrong: list[str] = []
    for name, moves in (("one-long-fact", False), ("moves", True)):
        known = list(history(sizes.history, moves=moves))
        arriving = late_among(known, sizes.n_late)
        tables, seen = Tables(), dict[str, Change]()
        for batch in batches(known):
            see(seen, tables.apply(batch))
        times: list[float] = []
        n_changes = 0
        for made in arriving:
            started = time.perf_counter()
            changes = tables.apply([made])
            times.append(time.perf_counter() - started)
            n_changes += len(changes)
            see(seen, changes)
            if sum(times) > BUDGET_S:
                break
        n = len(times)
        same = facts_seen(seen) == facts_of([*known, *arriving[:n]])
        if not same:
            wrong.append(name)
        note = (
            f"{sum(times) / n * 1e3:,.2f} ms each, {max(times) * 1e3:,.2f} at most, "
            f"{n_changes / n:.1f} events each; "
            f"facts {'equal' if same else 'DIFFER FROM'} those of the sorted order"
        )
        if n < len(arriving):
            note += f"; cut off after {BUDGET_S:.0f} s, {len(arriving) - n} were left"
        ms = {"ms_per_late_observation": sum(times) / n * 1e3, "ms_at_most": max(times) * 1e3}
        figures.append(Figure(f"engine/late-into-{sizes.history}/{name}", n, sum(times), ms, note))
    show_speed(f"Late observations, one by one, into one claim of {sizes.history:,}", figures)
    if wrong:
        raise SystemExit(f"The facts differ from those of the sorted order: {', '.join(wrong)}.")
    return figures


def late_among(known: Sequence[Observation], n: int) -> list[Observation]:
    """`n` observations spread evenly over a history, each half an hour behind one of it, in mixed order.

    Every other one says what the one before it says, the others say something else.
    """
    found = []
    for number in range(n):
        beside = known[(2 * number + 1) * len(known) // (2 * n)].statement
        index = VALUES.index(str(beside.spelling)) + number % 2
        found.append(
            observation(
                len(known) + number, known[0].claim, beside.subject, VALUES[index % len(VALUES)],
                beside.effective_at + 1_800_000, f"late-{number}",
            )
        )  # fmt: skip
    random.Random(7).shuffle(found)
    return found


def see(seen: dict[str, Change], changes: Iterable[Change]) -> None:
    """Keep of each fact what its newest event says, as a consumer of all events does."""
    for change in changes:
        known = seen.get(change.fact.fact_id)
        assert change.version == (known.version if known else 0) + 1, "versions rise by one"
        seen[change.fact.fact_id] = change


def facts_seen(seen: dict[str, Change]) -> dict[str, Fact]:
    """The facts that a consumer holds now, by id, without the ids that they name as examples."""
    return {
        change.fact.fact_id: _without_examples(change.fact)
        for change in seen.values()
        if change.fact.reason != "withdrawn"
    }


def facts_of(observations: Iterable[Observation]) -> dict[str, Fact]:
    """The facts that all of the evidence of one claim gives when it is folded at once, in order."""
    ordered = sorted(observations, key=lambda made: order(made.statement))
    predicate = packaged().get(PREDICATE)
    about = About(ordered[0].claim, ordered[0].namespace, predicate.declared)
    folded = fold([made.statement for made in ordered], predicate, Policy(), {})
    facts = [build(about, episode) for episode in folded.episodes]
    return {fact.fact_id: _without_examples(fact) for fact in facts}


def _without_examples(fact: Fact) -> Fact:
    return msgspec.structs.replace(fact, supported_by=(), dissented_by=())
