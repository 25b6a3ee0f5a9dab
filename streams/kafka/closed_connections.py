"""A connection that is gone is an error of Kafka's client, also on uvloop.

aiokafka learns that a connection is gone from `OSError`, as asyncio raises it. uvloop refuses to write on a
handle that was closed meanwhile with `RuntimeError`; that ended the client's task that keeps its metadata
fresh, and whatever it sent afterwards to a broker that had restarted waited for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import KafkaConnectionError

Send = Callable[..., Any]


def tell_closed_connections() -> None:
    """Let every client of this process hear of them; more than once does nothing."""
    if not hasattr(AIOKafkaConnection.send, "__wrapped__"):
        AIOKafkaConnection.send = _telling(AIOKafkaConnection.send)


def _telling(send: Send) -> Send:
    @functools.wraps(send)
    def told(self: AIOKafkaConnection, *args: Any, **kwargs: Any) -> Any:
        try:
            return send(self, *args, **kwargs)
        except RuntimeError as error:
            self.close(reason=CloseReason.CONNECTION_BROKEN, exc=error)
            raise KafkaConnectionError(f"Connection at {self.host}:{self.port} is closed: {error}") from error

    return told
