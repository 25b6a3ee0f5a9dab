"""Numbers of webhooks and of a language model, beside those of the API and of `factdrift webhooks run`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from state.refinement import Outcome
from streams.kafka.metrics import Metrics
from tests.api.conftest import Serve
from tests.api.served import ROOT, said
from tests.parts.language import environment, serving, status, tidy
from tests.parts.processes import start_process, wait_until
from tests.parts.receiver import SECRET, SECRET_NAME, receiving, write_config

Numbers = dict[tuple[str, ...], float]
"""By name and values of labels; that of `webhook` comes first."""


def numbers(text: str) -> Numbers:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items(), reverse=True))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def wait_for(read: Callable[[], Numbers], what: str, condition: Callable[[Numbers], bool]) -> Numbers:
    return wait_until(lambda: condition(found := read()) and found, timeout_s=60, what=what)


def moves(subject: str, n: int) -> list[dict[str, object]]:
    return [said(subject, f"place {number}", f"2024-03-{number:02d}") for number in range(1, n + 1)]


def test_serve_counts_webhooks_that_are_delivered_retried_and_given_up(serve: Serve, tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.answers += [500, 204, 400]
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver})
        served = serve(FACTDRIFT_WEBHOOKS=str(config), **{SECRET_NAME: SECRET})
        served.learn(*moves("kim", 4))

        def read() -> Numbers:
            return numbers(served.client.get("/metrics").text)

        delivered = ("factdrift_webhook_calls_total", "a", "delivered")
        found = wait_for(read, "two deliveries", lambda n: n.get(delivered, 0) >= 2)

        assert found["factdrift_webhook_dead_letters_total", "a", "refused"] == 1
        assert found["factdrift_webhook_calls_total", "a", "refused"] == 1
        assert sum(n for key, n in found.items() if key[0] == "factdrift_webhook_calls_total") == 4
        assert ("factdrift_api_observations_total", "accepted") in found

        receiver.answer_of = lambda _call: 503
        served.learn(*moves("li", 4))
        away = wait_for(read, "events to wait", lambda n: n["factdrift_webhook_pending_seconds", "a"] > 0.5)
        assert away["factdrift_webhook_waiting", "a"] == 3


def test_webhooks_alone_count_the_same(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    served.learn(*moves("kim", 3))
    with receiving() as receiver:
        receiver.answers += [410]
        config = write_config(tmp_path / "webhooks.toml", {"a": receiver}, begin="start")
        process = start_process(
            [sys.executable, "-m", "agents.main", "webhooks", "run", "--data", served.folder,
             "--config", config, "--health-port", "0"],
            name="factdrift webhooks run",
            log=tmp_path / "webhooks.log",
            environment={**os.environ, SECRET_NAME: SECRET},
            folder=ROOT,
        )  # fmt: skip
        try:
            url = process.wait_for_line(r"health=(http://\S+)", 60)[1]
            found = wait_for(
                lambda: numbers(httpx.get(f"{url}/metrics").text),
                "the dead letter to be counted",
                lambda n: ("factdrift_webhook_dead_letters_total", "a", "gone") in n,
            )
        finally:
            process.kill()

    assert found["factdrift_webhook_calls_total", "a", "gone"] == 1
    assert found["factdrift_webhook_away", "a"] == 1


def test_serve_counts_what_became_of_questions_to_a_language_model(serve: Serve) -> None:
    with serving(tidy) as model:
        served = serve(**environment(model))
        before = numbers(served.client.get("/metrics").text)
        served.learn(
            {**said("kim", "the city of Oslo", "2024-03-01"), "predicate": "was living in"},
            {**said("kim", "the city of Oslo", "2024-03-01"), "predicate": "was living in"},
            said("li", "Rome", "2024-03-02"),
        )
        model.down = status(400)
        served.learn(said("max", "Bonn", "2024-03-03"))
        after = numbers(served.client.get("/metrics").text)

    assert {key[1] for key in before if key[0] == "factdrift_llm_observations_total"} == set(Outcome)
    asked = [n for key, n in before.items() if re.fullmatch("factdrift_llm_.*_total", key[0])]
    assert asked
    assert not any(asked)
    assert after["factdrift_llm_observations_total", "refined"] == 2
    assert after["factdrift_llm_observations_total", "unchanged"] == 1
    assert after["factdrift_llm_observations_total", "unavailable"] == 1
    assert after["factdrift_llm_kept_total",] == 1
    assert after["factdrift_llm_calls_total",] == model.n_requests


def test_a_worker_without_a_language_model_counts_none() -> None:
    assert not re.search("factdrift_llm", Metrics().text().decode())
