"""Learnt trust for the benchmarks: weights from all statements, what the host holds, and drawn sources.

Learns from statements alone and never sees a truth; whoever calls compares with it. On drawn sources the
constants of `state.trust_learning` were chosen: claims that never change, with sources of different worth,
some of whom copy, and wrong values of which one is popular.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean

import msgspec

from agents import composition
from agents.logs import EmbeddedLog
from agents.models import NO_MODEL
from agents.reclustering import due, request
from agents.replay import replay
from benchmarks.record import Figure, show
from state.instants import Instant, parse_instant
from state.majority import fold_never_changing
from state.names import normalise
from state.observations import Observation
from state.policy import Policy
from state.statements import ObservationId, Statement
from state.trust import Trust
from state.trust_counts import Counts, add, compared, stands_of
from state.trust_learning import learn
from state.validation import read
from streams.embedded import EmbeddedHost
from streams.settings import Settings
from streams.topics import Topic

NAMESPACE = "birthplaces"
Held = Mapping[str, str]
"""The value held of each subject, by the subject's normal form."""


def learnt(claims: Iterable[Sequence[Statement]], namespace: str = NAMESPACE) -> Policy:
    """The policy with the weights that follow from all claims together."""
    counts: Counts = {}
    for statements in claims:
        add(counts, compared(stands_of(statements, lambda form: form, namespace)))
    return Policy().trusting(Trust(namespace, 1, learn(counts)))


def arrived(lines: Sequence[bytes]) -> tuple[Held, Held]:
    """What the embedded host holds after a replay of a file, and after votes were weighed again behind it.

    Without vectors, so that texts mean the same only where their normal forms are equal.
    """
    with tempfile.TemporaryDirectory(prefix="factdrift-bench-") as folder:
        host = composition.embedded(Settings(links="off", vectors="none", trust="learned"), Path(folder))
        try:
            stream = io.BytesIO(b"".join(line.rstrip(b"\r\n") + b"\n" for line in lines))
            replay(host, None, stream, batch_max=500)
            as_it_came, log = _held(host), EmbeddedLog(host)
            for _ in request(log, due(log, NO_MODEL), batch_max=500):
                pass
            return as_it_came, _held(host)
        finally:
            host.store.close()


def _held(host: EmbeddedHost) -> Held:
    facts = (json.loads(value) for _, value in host.store.latest(Topic.FACTS))
    return {normalise(fact["subject"]): str(fact["object"]) for fact in facts if fact["reason"] is None}


# -- sources that are drawn -----------------------------------------------------------------

WORTH = {
    "calm": (0.99, 0.97, 0.95, 0.90),
    "rough": (0.97, 0.90, 0.80, 0.70, 0.60),
    "poor": (0.90, 0.70, 0.50, 0.30),
    "alike": (0.70,),
}
"""The shares of right statements that sources draw from."""
COPIES = (0.0, 0.2, 0.5)  # share of sources that mostly repeat another one
CLAIMS = {12: 60, 40: 60, 200: 60, 1_000: 15}  # how many claims, and how many seeds of so many
QUICK_SEEDS = 3
WRONG, POPULAR_SHARE, COVERAGE, COPIED_SHARE = 6, 0.4, 0.5, 0.9


@dataclass(frozen=True, slots=True)
class _Source:
    worth: float
    copied: int | None


def drawn_sources(*, quick: bool) -> list[Figure]:
    """Print how often the plain and the weighed majority are right, and how often weights did harm."""
    figures, rows = [], []
    for worth, shares in WORTH.items():
        for copies in COPIES:
            for n_claims, n_seeds in CLAIMS.items():
                seeds = range(QUICK_SEEDS if quick else n_seeds)
                pairs = [
                    _compare(n_claims, shares, copies, f"{worth}/{copies}/{n_claims}/{s}") for s in seeds
                ]
                plain, weighed = (100 * mean(pair[side] for pair in pairs) for side in (0, 1))
                n_worse = sum(after < before - 0.005 for before, after in pairs)
                name = f"{worth}, {round(100 * copies)} % copy, {n_claims:,} claims"
                more = {"right_percent": plain, "weighed_right_percent": weighed, "worse": float(n_worse)}
                figures.append(Figure(f"drawn-sources/{name}", len(pairs), more=more))
                rows.append((name, f"{plain:.2f} %", f"{weighed:.2f} %", f"{n_worse} of {len(pairs)}"))
    show("Drawn sources: majority over all documents", ("", "plain", "weighed", "worse by over 0.5"), rows)
    return figures


def _compare(n_claims: int, shares: Sequence[float], copies: float, seed: str) -> tuple[float, float]:
    """The share of right values by the plain and by the weighed majority; value "0" is the true one."""
    claims = _claims(n_claims, shares, copies, Random(seed))
    plain, weighed = Policy(), learnt(claims)
    return mean(_is_right(c, plain) for c in claims), mean(_is_right(c, weighed) for c in claims)


def _is_right(claim: Sequence[Statement], policy: Policy) -> bool:
    return fold_never_changing(claim, lambda s: s.form, policy)[0].cluster == "0"


def _claims(n_claims: int, shares: Sequence[float], copies: float, chance: Random) -> list[list[Statement]]:
    """Claims of which five to nine sources speak, each with one statement, in an order that is drawn once."""
    sources: list[_Source] = []
    for _ in range(chance.randint(5, 9)):
        originals = [number for number, source in enumerate(sources) if source.copied is None]
        copied = chance.choice(originals) if originals and chance.random() < copies else None
        sources.append(_Source(chance.choice(shares), copied))
    order = chance.sample(range(len(sources)), len(sources))
    found: list[list[Statement]] = []
    while len(found) < n_claims:
        said = _said(sources, chance)
        if said:
            found.append([_statement(source, said[source], order.index(source)) for source in sorted(said)])
    return found


def _said(sources: Sequence[_Source], chance: Random) -> dict[int, int]:
    popular = chance.randint(1, WRONG)
    said: dict[int, int] = {}
    for number, source in enumerate(sources):
        if source.copied is not None:
            if source.copied in said and chance.random() < COPIED_SHARE:
                said[number] = said[source.copied]
        elif chance.random() < COVERAGE:
            is_right, is_popular = chance.random() < source.worth, chance.random() < POPULAR_SHARE
            said[number] = 0 if is_right else popular if is_popular else chance.randint(1, WRONG)
    return said


_LINE = {
    "observation_id": "o",
    "namespace": NAMESPACE,
    "subject": "somebody",
    "predicate": "born_in",
    "object": "0",
    "observed_at": "2024-01-01T00:00:00Z",
    "source": {"id": "s", "document": "page"},
}
_READ = read(json.dumps(_LINE).encode(), recorded_at=parse_instant("2025-01-01T00:00:00Z"))
assert isinstance(_READ, Observation)
_ONE = _READ.statement


def _statement(source: int, value: int, place: int) -> Statement:
    at = Instant(_ONE.observed_at + place)
    return msgspec.structs.replace(
        _ONE,
        observation_id=ObservationId(f"o{source}"),
        form=str(value),
        source=f"source {source}",
        observed_at=at,
        effective_at=at,
    )
