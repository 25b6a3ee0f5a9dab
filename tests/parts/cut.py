"""A connection that is cut at the worst moment: the broker has the record, the producer never hears of it."""

from __future__ import annotations

import asyncio
import contextlib
import struct

_PRODUCE = 0  # Kafka's number of the request that carries records
_LENGTH = struct.Struct(">i")
_KIND = struct.Struct(">h")


class CutConnection:
    """A proxy in front of a broker, at `port`. Passes everything on, except the answer to `n_cuts` requests
    that carry records: instead of it, the connection ends.
    """

    def __init__(self, host: str, port: int, *, n_cuts: int = 1) -> None:
        self._broker = (host, port)
        self._left = n_cuts
        self.n_cut = 0
        self.port = 0

    async def __aenter__(self) -> CutConnection:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Listen no more."""
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, requests = await asyncio.open_connection(*self._broker)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                request = await _frame(reader)
                requests.write(request)
                cut = self._left > 0 and _KIND.unpack_from(request, _LENGTH.size)[0] == _PRODUCE
                answer = await _frame(answers)
                if cut:
                    self._left -= 1
                    self.n_cut += 1
                    break
                writer.write(answer)
        requests.close()
        writer.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(_LENGTH.size)
    return head + await reader.readexactly(_LENGTH.unpack(head)[0])
