"""One worker process: starts everything, says when it is ready, and stops as it was told.

A worker ends in one of three ways: asked (SIGTERM or SIGINT: the batch under way is finished and committed,
the groups are left), asked twice (at once; what was not committed is done again at the next start), or by a
failure, which is raised as one sentence.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final

import uvloop

from state.errors import FactdriftError
from streams.host import Agent
from streams.kafka.admin import check_topics
from streams.kafka.consolidation_app import ConsolidationApp
from streams.kafka.deadline import Deadline
from streams.kafka.errors import KafkaTrouble, TopicMismatch
from streams.kafka.folders import WorkerFolder
from streams.kafka.intake_service import IntakeService
from streams.kafka.producer import Producer
from streams.kafka.store import memory_stores, rocks_stores
from streams.settings import Settings

_log = logging.getLogger(__name__)
STOP_S: Final = 60.0  # docker-compose.yml gives a container 75 s
FAILED_STOP_S: Final = 10.0  # after a failure there is nothing to finish, only groups to leave
EXIT_AT_ONCE: Final = 130
_NOISY: Final = ("faust", "mode", "aiokafka", "asyncio")


def run_worker(settings: Settings, intake: Agent, consolidation: Agent) -> None:
    """Run a worker until it is told to stop. Blocks; owns the process's signals.

    Prints `factdrift worker ready partitions=[…]` whenever it has its partitions and their tables.
    Raises FactdriftError with one sentence for a person when it had to stop by itself.
    """
    _set_up_logging(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_Worker(settings, intake, consolidation).run())


class _Worker:
    def __init__(self, settings: Settings, intake: Agent, consolidation: Agent) -> None:
        self._settings = settings
        self._intake_agent = intake
        self._agent = consolidation
        self._ended: asyncio.Future[BaseException | None] = asyncio.get_event_loop_policy().new_event_loop().create_future()

    async def run(self) -> None:
        raise NotImplementedError
