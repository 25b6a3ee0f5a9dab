"""Which records the Kafka host handles: those of this assignment, in order, from the expected one on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from state.errors import OutOfOrder
from streams.host import Agent, Effects, Record, State
from streams.kafka.consolidation_app import ConsolidationApp
from streams.kafka.metrics import Metrics
from streams.kafka.store import memory_stores
from streams.settings import KafkaSettings
from streams.topics import Topic

GENERATION = 3


class Applied(Exception):
    """An agent was given a record."""


def apply(_state: State, records: Sequence[Record]) -> Effects:
    raise Applied(records[0].offset)


def outcomes(folder: Path, given: Sequence[tuple[int, int]], *, committed: int | None) -> list[BaseException]:
    """What becomes of records (offset, generation) after an assignment that goes on at `committed`."""

    async def scenario() -> list[BaseException]:
        halts: list[BaseException] = []
        app = ConsolidationApp(
            KafkaSettings(),
            Agent("count", (Topic.BY_CLAIM,), (), apply),
            metrics=Metrics(),
            open_store=memory_stores(),
            services=[],
            halt=halts.append,
            ready=print,
            data=str(folder),
        )
        app.consumer_generation_id = GENERATION
        app.begin_assignment()
        app.begin_at({} if committed is None else {0: committed})
        for offset, generation in given:
            await app._take(message(app.source_topic, offset, generation))
        return [halt.__cause__ or halt for halt in halts]

    return asyncio.run(scenario())


def message(topic: str, offset: int, generation: int) -> Any:
    return ConsumerMessage(
        topic, 0, offset, 0.0, 0, [], b"k", b"v", None, 1, 1, TP(topic, 0), generation_id=generation
    )


def test_the_expected_record_is_handled(tmp_path: Path) -> None:
    (outcome,) = outcomes(tmp_path, [(5, GENERATION)], committed=5)

    assert isinstance(outcome, Applied)


@pytest.mark.parametrize("committed", [0, 5])
def test_a_first_record_behind_the_expected_one_stops_the_worker(tmp_path: Path, committed: int) -> None:
    (outcome,) = outcomes(tmp_path, [(committed + 1, GENERATION)], committed=committed)

    assert isinstance(outcome, OutOfOrder)
    assert f"Offset {committed + 1} came where {committed} was expected" in str(outcome)


def test_a_record_that_was_read_before_the_partitions_were_given_out_anew_is_let_go(tmp_path: Path) -> None:
    assert outcomes(tmp_path, [(9, GENERATION - 1)], committed=5) == []
    (outcome,) = outcomes(tmp_path, [(9, GENERATION - 1), (5, GENERATION)], committed=5)
    assert isinstance(outcome, Applied), "it leaves no trace in what is expected"
