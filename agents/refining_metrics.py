"""What became of observations that a language model was asked about, as Prometheus reads it.

Reads what `agents.refining` counts; counts nothing itself. From any thread: each number is read once.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.refining import Refiner
from state.refinement import OUTCOMES


class RefinerNumbers(Collector):
    """The numbers of one refiner. Every outcome is there from the start, so that a rise from 0 is seen."""

    def __init__(self, refiner: Refiner) -> None:
        self._refiner = refiner

    def collect(self) -> Iterator[Metric]:
        """Observations by outcome, those with a kept answer, and requests that were sent."""
        observations = CounterMetricFamily(
            "factdrift_llm_observations",
            "Observations that a language model was asked about, by what became of the question.",
            labels=("outcome",),
        )
        for outcome in OUTCOMES:
            observations.add_metric((outcome.value,), self._refiner.outcomes[outcome])
        kept = CounterMetricFamily(
            "factdrift_llm_kept",
            "Those of them whose answer was kept from an earlier question, or is that of their batch.",
            value=self._refiner.n_kept,
        )
        calls = CounterMetricFamily(
            "factdrift_llm_calls", "Requests sent to the language model, tries among them.",
            value=self._refiner.n_calls,
        )  # fmt: skip
        yield from (observations, kept, calls)
