"""How pages ask and decide: the same functions as REST, of the same service, in a thread of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio.to_thread

from agents.answers import Asked
from agents.api.commands import refuse_unknown_fields
from agents.api.metrics import Metrics
from agents.api.problems import problem_of
from agents.api.service import Service
from state.errors import FactdriftError

Result = TypeVar("Result")
Fields = dict[str, Any]


class NotThere(FactdriftError):
    """An address that names nothing that is known."""


class Questions:
    """What a page asks of a service."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self.service = service
        self.metrics = metrics

    async def ask(self, question: Callable[[Asked], Result]) -> Result:
        """Ask one state of the read model. Raises what the question raises, all of it FactdriftError."""

        def asked() -> Result:
            with self.service.model.reading() as connection:
                return question(Asked(connection, self.service.folding, self.service.now()))

        return await anyio.to_thread.run_sync(asked)

    async def correct(self, fields: Mapping[str, Any]) -> Fields:
        """Publish a correction, as `POST /v1/corrections` does. Raises FactdriftError."""
        op = str(fields.get("op"))
        try:
            refuse_unknown_fields(fields)
            _, answer = await self.service.correct(fields)
        except FactdriftError as error:
            self.metrics.correction(op, problem_of(error).code)
            raise
        self.metrics.correction(op, answer["outcome"])
        return answer
