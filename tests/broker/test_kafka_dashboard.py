"""The dashboard of `factdrift api` over a real broker: what workers folded, and how far behind it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.served import Served, said
from tests.broker.cluster import Cluster
from tests.parts.processes import wait_until

pytestmark = [pytest.mark.broker, pytest.mark.long]

HTML = {"Accept": "text/html"}


def test_pages_show_what_workers_folded_and_the_lag_goes_to_nothing(
    kafka_worker: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kafka_worker(partitions=2, n=1)
    served = Served(tmp_path / "api", command="api", **cluster.environment)
    try:
        served.learn(said("kim", "Oslo", "2024-01-10"), said("kim", "Bergen", "2024-02-10"))

        def shown(page: str, *wanted: str) -> bool:
            found = served.client.get(f"/dashboard/{page}", headers=HTML)
            assert found.status_code == 200
            return all(text in found.text for text in wanted)

        wait_until(lambda: shown("entity?subject=kim", "Oslo", "Bergen"), timeout_s=180, what="both facts")
        wait_until(
            lambda: shown("health", "records behind&lt;/dt&gt;&lt;dd&gt;0&lt;/dd&gt;", "factdrift dlq list"),
            timeout_s=180,
            what="a lag of nothing",
        )
    finally:
        served.end()
