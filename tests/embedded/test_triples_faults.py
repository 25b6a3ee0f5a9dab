"""Many observations against a language model that fails, hangs and lies: all of them are accounted for."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import composition
from agents.replay import fact_lines, records, replay
from state.instants import INSTANT_MAX
from state.observations import Observation
from streams import language_model
from streams.codec import decode_batch
from streams.embedded import EmbeddedHost
from streams.settings import LanguageModelSettings, Settings
from streams.topics import Topic
from tests.parts import unreliable
from tests.parts.language import LanguageServer, environment, serving, status

N = 400  # `python -m benchmarks triples` does 10,000
TIMEOUT_S = 3.0  # long enough that only what hangs reaches it


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with serving(unreliable.right) as found:
        unreliable.make_unreliable(found)
        yield found


def host(server: LanguageServer, folder: Path) -> EmbeddedHost:
    llm = LanguageModelSettings(model="m", url=server.url, timeout_s=TIMEOUT_S, batch_timeout_s=600.0)
    return composition.embedded(Settings(triple_source="llm", llm=llm), folder)


def observations(found: EmbeddedHost) -> list[Observation]:
    logged = [decode_batch(record.value) for record in records(found.store, Topic.BY_CLAIM)]
    said = [entry.usable for batch in logged for entry in batch.entries]
    return [one for one in said if isinstance(one, Observation)]


def test_every_observation_has_the_outcome_that_its_server_deserves_and_a_replay_asks_nobody(
    server: LanguageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_model, "PAUSE_FIRST_S", 0.001)
    expected = {f"o{n}": unreliable.outcome(f"message {n}") for n in range(N)}
    assert len(Counter(expected.values())) >= 6, "too few kinds of faults were drawn"
    made = host(server, tmp_path / "log")

    report = replay(made, None, io.BytesIO(b"\n".join(unreliable.lines(N))), batch_max=200, ticks=False)

    assert (report.n_lines, report.n_dead) == (N, 0)
    said = observations(made)
    assert [one.statement.observation_id for one in said] == [f"o{n}" for n in range(N)]
    assert {
        one.statement.observation_id: one.refinement.outcome for one in said if one.refinement is not None
    } == expected
    assert {one.subject for one in said} == {f"person {n // 40 % 50}" for n in range(N)}
    assert {one.namespace for one in said} == {"default"}

    n_requests = server.n_requests
    again = host(server, tmp_path / "replayed")
    again.publish(
        Topic.BY_CLAIM, [(r.key, r.value, r.recorded_at) for r in records(made.store, Topic.BY_CLAIM)]
    )

    assert server.n_requests == n_requests
    facts = fact_lines(made.store, now=INSTANT_MAX)
    assert fact_lines(again.store, now=INSTANT_MAX) == facts
    assert sum(fact["observations"] for fact in facts) > 0
    made.store.close()
    again.store.close()


def test_a_warning_of_the_model_is_not_among_what_a_program_reads(
    server: LanguageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.down = status(400)
    for name, value in environment(server).items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "said.jsonl"
    file.write_bytes(unreliable.line(1) + b"\n")

    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "replay", str(file), "--facts", "-"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip

    (fact,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert fact["predicate"] == "was living in"
    assert "triples as given" in done.stderr
