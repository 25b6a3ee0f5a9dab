"""The numbers of the API for Prometheus, in a registry of its own."""

from __future__ import annotations

from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """What is counted. Safe to use from several threads."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "factdrift_api_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "factdrift_api_request_seconds", "How long an answer took.", ["route"], buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip
        self._observations = Counter(
            "factdrift_api_observations", "Observations sent, by what became of them.", ["result"],
            registry=registry,
        )  # fmt: skip
        self._corrections = Counter(
            "factdrift_api_corrections", "Corrections sent, by kind and outcome.", ["op", "outcome"],
            registry=registry,
        )  # fmt: skip
        self.streams = Gauge("factdrift_api_streams", "Streams of changes being followed.", registry=registry)
        self.changes = Counter("factdrift_api_changes", "Changes sent on streams.", registry=registry)

    def request(self, scope: Any, status: int, seconds: float) -> None:
        """One request was answered."""
        route = str(getattr(scope.get("route"), "path", "other"))
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def observation(self, code: str) -> None:
        """One observation was accepted, or refused with a code."""
        self._observations.labels(code).inc()

    def correction(self, op: str, outcome: str) -> None:
        """One correction was answered; `outcome` is that of the answer, or the code of its refusal."""
        self._corrections.labels(op, outcome).inc()

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return bytes(generate_latest(self.registry))


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
