"""What is published: the same records for every engine, as a producer would send them.

Each record is keyed by its subject, so that an engine which keeps its state by record key needs no second
topic. Decides what arrives, and never who takes it in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from benchmarks import real_input
from benchmarks.engine import cold, hot
from state.names import normalise
from state.observations import Observation
from streams.keys import subject_key
from streams.wire import observation_fields, to_json

LOCOMO = "locomo_observations.jsonl"
WARM_UP = "warm-up"  # a namespace of its own: what it leaves behind is not looked at

Line = tuple[bytes, bytes]
"""Key and value of one record."""


@dataclass(frozen=True, slots=True)
class Load:
    """A load by name; `lines(n)` are its first `n` records."""

    name: str
    lines: Callable[[int], list[Line]]


def loads() -> dict[str, Load]:
    """The loads that this machine has input for."""
    found = {
        "hot": Load("hot", lambda n: _published(chain.from_iterable(hot(n)), "bench")),
        "cold": Load("cold", lambda n: _published(chain.from_iterable(cold(n)), "bench")),
    }
    real = real_input(LOCOMO)
    if real is not None:
        found["locomo"] = Load("locomo", partial(_copies, real))
    return found


def warm_up(n: int) -> list[Line]:
    """Records that let an engine load what it loads at the first of them."""
    return _published(chain.from_iterable(hot(n)), WARM_UP)


def _published(observations: Iterable[Observation], namespace: str) -> list[Line]:
    return [
        (subject_key(namespace, made.subject), to_json(observation_fields(namespace, made.statement)))
        for made in observations
    ]


def _copies(real: list[bytes], n: int) -> list[Line]:
    """Real conversations, as many times as it takes, each time in namespaces of their own."""

    def lines() -> Iterable[Line]:
        for copy in range(n // len(real) + 1):
            for line in real:
                record = json.loads(line)
                record["namespace"] = f"{record.get('namespace', 'default')}-{copy}"
                yield (
                    subject_key(record["namespace"], normalise(str(record.get("subject", "")))),
                    json.dumps(record, ensure_ascii=False).encode(),
                )

    return list(islice(lines(), n))
