"""The composition root: settings in, declared agents and hosts out. The only place that knows both."""

from __future__ import annotations

import gc
import time
from pathlib import Path

from agents.consolidation import consolidation
from agents.intake import intake
from state.errors import BadPredicates
from state.instants import Instant
from state.periods import Policy
from state.predicates import Registry, packaged
from state.similarity import Vectors
from state.votes import ALL_VOTES
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.host import Agent
from streams.settings import Settings
from streams.vectors import packaged as packaged_vectors


def registry(path: Path | None) -> Registry:
    """The packaged registry of predicates, extended by a user's file. Raises BadPredicates."""
    if path is None:
        return packaged()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPredicates(f"{path} cannot be read: {error}.") from error
    return packaged().extended(text, origin=str(path))


def policy(settings: Settings) -> Policy:
    """The policy of the fold, with a version that names what differs from the default."""
    window = settings.vote_window if isinstance(settings.vote_window, int) else ALL_VOTES
    contested_above = round(settings.contested_above * 100)
    default = Policy()
    version = default.version
    if (window, contested_above) != (default.window, default.contested_above):
        version = f"{version}+window={settings.vote_window},contested={contested_above}"
    return Policy(window=window, contested_above=contested_above, version=version)


def agents(settings: Settings, *, keeps_index: bool) -> list[Agent]:
    """Every agent, in the order in which data flows. `keeps_index` as in `agents.intake.intake`."""
    return [
        intake(
            batch_bytes_max=settings.batch_bytes_max,
            record_bytes_max=settings.record_bytes_max,
            keeps_index=keeps_index,
        ),
        consolidation(
            predicate_of=registry(settings.predicates).get, policy=policy(settings), vectors=vectors(settings)
        ),
    ]


def vectors(settings: Settings) -> Vectors | None:
    """What says which texts mean the same. Nothing is loaded before the first text needs it."""
    return packaged_vectors() if settings.vectors == "packaged" else None


def collect_rarely() -> None:
    """Let the garbage collector look less often; called once, when a process starts.

    Evidence is many small objects that live long and hold no cycles. The default looks at the young ones
    every 700 allocations and, often, at all of them, which halves the rate of new claims
    (benchmarks/README.md).
    """
    gc.set_threshold(50_000, 20, 100)


def wall_clock() -> Instant:
    """Now. The embedded host is its own broker, so its clock is the log's."""
    return Instant(time.time_ns() // 1_000_000)


def embedded(settings: Settings, folder: Path) -> EmbeddedHost:
    """The embedded host on the store in `folder`, which is created if it is not there."""
    store = EmbeddedStore(folder)
    return EmbeddedHost(store, agents(settings, keeps_index=True), clock=wall_clock)
