"""How many different outcomes the same observations have in 50 orders and batchings.

The outcome is what a system holds for true of every claim in the end, now and in the past: values and bounds.
One stream with all that `benchmarks.answers.stream` puts into it; its lines are shuffled and cut into batches
by chance, each time otherwise. All lines are recorded at the time of the last arrival, so that none comes
before it was said. One outcome is right: what happened does not depend on how it was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from benchmarks import Options
from benchmarks.answers.stream import Arrival, generate
from benchmarks.answers.suite import systems
from benchmarks.answers.systems import System
from benchmarks.answers.truth import ClaimName, TrueClaim
from benchmarks.record import Figure, show
from state.instants import Instant

ORDERS, ORDERS_QUICK = 50, 5
SIZE, REGIME, SEED = "tiny", "sparse-rough", "invariance"
BATCH_SIZES = (
    1,
    7,
    50,
    500,
    5_000,
)  # greatest sizes: those of one order's batches lie between 1 and one of these


def run(options: Options) -> list[Figure]:
    """Count the outcomes of every system, and the claims about which its outcomes differ."""
    stream = generate(SIZE, REGIME, SEED)
    n_orders = ORDERS_QUICK if options.quick else ORDERS
    last = Instant(max(arrival.recorded_at for arrival in stream.disordered))
    lines = [arrival.line for arrival in stream.disordered]
    figures, rows = [], []
    for name, make in systems().items():
        outcomes: list[dict[ClaimName, object]] = []
        for number in range(n_orders):
            chance = Random(f"{SEED}/{number}")
            arrivals = [Arrival(last, line) for line in chance.sample(lines, len(lines))]
            outcomes.append(_outcome(make(), arrivals, list(stream.claims.values()), chance))
        n_outcomes = len({repr(sorted(outcome.items())) for outcome in outcomes})
        differing = [claim for claim in outcomes[0] if len({repr(o[claim]) for o in outcomes}) > 1]
        more = {
            "orders": n_orders,
            "distinct_outcomes": n_outcomes,
            "claims": len(outcomes[0]),
            "claims_that_differ": len(differing),
        }
        figures.append(Figure(f"invariance/{name}", len(lines), more=more))
        rows.append((name, str(n_outcomes), f"{len(differing)} of {len(outcomes[0])}"))
    show(
        f"Invariance: {len(lines):,} lines in {n_orders} orders and batchings",
        ("", "distinct outcomes", "claims that differ"),
        rows,
    )
    return figures


def _outcome(
    system: System, arrivals: Sequence[Arrival], claims: Sequence[TrueClaim], chance: Random
) -> dict[ClaimName, object]:
    """What a system holds for true in the end, in a form that can be compared."""
    try:
        at_most = chance.choice(BATCH_SIZES)
        start = 0
        while start < len(arrivals):
            size = chance.randint(1, at_most)
            system.take(arrivals[start : start + size])
            start += size
        return {
            claim.name: sorted((claim.key_of(s.form), s.lo, s.hi or 0) for s in system.spans(claim.name))
            for claim in claims
        }
    finally:
        system.close()
