"""The composition root: settings in, declared agents and hosts out. The only place that knows both."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable
from pathlib import Path

from agents import aliasing, models
from agents.audit import audit
from agents.clock import clock
from agents.consolidation import consolidation
from agents.cycles import CycleParts
from agents.drift import Drift
from agents.following import Follower
from agents.intake import intake
from agents.linking import Linking
from agents.refining import Refiner
from agents.replay import LIVE_MARK
from agents.trust_counting import TrustCounting
from agents.trust_snapshots import Trusting
from state.errors import BadPredicates
from state.instants import Instant
from state.policy import Policy
from state.predicates import Registry, packaged
from state.similarity import Vectors
from state.votes import ALL_VOTES
from streams.drift import DriftStore
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.embedded.drift import SqliteDriftStore
from streams.host import Agent, Mark
from streams.settings import Settings
from streams.tracing import OFF, Tracing
from streams.vectors import vectors_of

WAITING_SOURCES = frozenset(("sentence-transformers", "openai"))  # the packaged vectors take milliseconds


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
    by_cycle = settings.vote_window == "cycle"
    window = settings.vote_window if isinstance(settings.vote_window, int) else ALL_VOTES
    contested_above = round(settings.contested_above * 100)
    default = Policy()
    version = default.version
    if (window, contested_above) != (default.window, default.contested_above):
        version = f"{version}+window={settings.vote_window},contested={contested_above}"
    return Policy(window=window, contested_above=contested_above, version=version, by_cycle=by_cycle)


def agents(settings: Settings, *, keeps_index: bool) -> list[Agent]:
    """Every agent, in the order in which data flows. `keeps_index` as in `agents.intake.intake`."""
    return agents_with(settings, vectors(settings), keeps_index=keeps_index)


def agents_with(
    settings: Settings,
    source: Vectors | None,
    *,
    keeps_index: bool,
    is_live: Callable[[], bool] = lambda: True,
) -> list[Agent]:
    """As `agents`, with these vectors, whatever the settings name. `is_live` as in `agents.drift.Drift`."""
    known, decides = registry(settings.predicates), policy(settings)
    predicate_of = known.get
    every = settings.links == "all"
    linking = Linking(predicate_of, policy_version=decides.version, every_predicate=every)
    links = [] if settings.links == "off" else [linking]
    learns = settings.trust == "learned"
    trust = [TrustCounting()] if learns else []
    # The last one counts what those before it publish.
    followers: list[Follower] = [Drift(is_live), *links, *trust, CycleParts(learns_trust=learns)]
    early = [*CycleParts.early, *(Linking.early if links else ()), *(TrustCounting.early if trust else ())]
    folding = consolidation(
        predicate_of=predicate_of,
        policy=decides,
        vectors=source,
        trusting=Trusting(decides) if learns else None,
        followers=followers,
        early=early,
    )
    return [
        intake(
            batch_bytes_max=settings.batch_bytes_max,
            record_bytes_max=settings.record_bytes_max,
            keeps_index=keeps_index,
            aliases=known.aliases,
            refiner=refiner(settings),
        ),
        dataclasses.replace(folding, may_wait=settings.vectors in WAITING_SOURCES),
    ]


def for_worker(settings: Settings, *, accept_model_change: bool) -> tuple[list[Agent], list[Mark]]:
    """The agents of a worker, and what their tables are built with. Raises VectorsUnavailable."""
    source = vectors(settings)
    return agents_with(settings, source, keeps_index=False), [
        models.mark(models.identity_of(source), accept_change=accept_model_change),
        aliasing.mark(registry(settings.predicates).aliases),
    ]


def single_agents(settings: Settings | None = None) -> list[Agent]:
    """The agents that run once for all partitions: the clock, and the audit of cycles with the rules."""
    return [clock(), audit(learns_trust=settings is not None and settings.trust == "learned")]


def refiner(settings: Settings) -> Refiner | None:
    """What refines triples; None where the given ones count. Nothing is loaded or asked yet.

    Raises BadSetting where a setting that it needs is missing.
    """
    if settings.triple_source == "given":
        return None
    from streams.language_model import language_model_of  # nobody else needs it

    return Refiner(
        language_model_of(settings.llm),
        batch_timeout_s=settings.llm.batch_timeout_s,
        kept_max=settings.llm.kept_max,
    )


def vectors(settings: Settings) -> Vectors | None:
    """What says which texts mean the same; None where only equal texts do. Nothing is loaded yet."""
    return vectors_of(settings)


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


def embedded(settings: Settings, folder: Path, *, tracing: Tracing = OFF) -> EmbeddedHost:
    """The embedded host on the store in `folder`, which is created if it is not there."""
    store = EmbeddedStore(folder)
    source, aliases = vectors(settings), aliasing.mark(registry(settings.predicates).aliases)

    def agree(accept: bool) -> None:
        models.agree(store, models.identity_of(source), accept_change=accept)
        aliasing.agree(store, aliases)

    def is_live() -> bool:
        return store.mark(LIVE_MARK) is not None

    return EmbeddedHost(
        store,
        [*agents_with(settings, source, keeps_index=True, is_live=is_live), *single_agents(settings)],
        clock=wall_clock,
        agree=agree,
        tracing=tracing,
    )


def drift_store(settings: Settings, folder: Path | None) -> DriftStore:
    """Where readers ask about drift: beside the embedded log in `folder`; without one, the workers' Redis.

    Raises DriftUnavailable, BadSetting.
    """
    if folder is not None:
        return SqliteDriftStore(folder)
    from streams.redis import RedisDriftStore  # nobody without a cluster needs it

    return RedisDriftStore(settings.redis_url.get_secret_value(), prefix=settings.kafka.prefix)
