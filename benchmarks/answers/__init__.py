"""How often factdrift and what people would use instead are right, on streams of which the truth is known."""

from benchmarks.answers.suite import PARTS, run

__all__ = ["PARTS", "run"]
