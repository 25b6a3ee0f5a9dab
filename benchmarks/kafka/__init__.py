"""The Kafka host beside others on one broker: rate, processor, memory, latency, restart, two workers."""

from __future__ import annotations

from benchmarks import Options
from benchmarks.record import Figure

PARTS = ("hot", "cold", "locomo", "latency", "restart", "scale")


def run(options: Options) -> list[Figure]:
    """Measure the parts asked for on a broker of their own, and print a table of each."""
    from benchmarks.kafka import parts  # needs what only tests need: imported where it is asked for

    return parts.run(options)
