"""One call to a receiver: what is sent, to which addresses, for how long, how little of the answer counts.

Follows no redirect (it would carry an event to where nobody sent it), keeps no cookies, asks no proxy, reads
of an answer its status and `retry-after` only. Where a name leads is judged each time it is resolved, so that
a name that comes to mean an address of our own network is not called. Logs nothing: whoever asks is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from state.instants import Instant
from state.webhooks import headers, retry_after_ms
from streams.trace_headers import TRACEPARENT
from streams.webhook_config import BadWebhooks, Receiver, unfit

USER_AGENT: Final = "factdrift-webhooks"
_BODY_MAX: Final = 64 * 1024  # of an answer that is read, so that the connection can be used again
_KEPT_S: Final = 30.0  # a connection without calls


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: a status or none, in words for a log, and the rest that was asked for."""

    status: int | None
    said: str
    rest_ms: int = 0


class Unfit(OSError):
    """A name that leads to an address which may not be called."""


class _Resolver(AbstractResolver):
    """The machine's resolver, without the addresses that may not be called."""

    def __init__(self, receiver: Receiver) -> None:
        self._inner = aiohttp.ThreadedResolver()
        self._allow_private = receiver.allow_private
        self._is_plain = urlsplit(receiver.url).scheme == "http"

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name; raises Unfit where none of them may be called."""
        found = await self._inner.resolve(host, port, family)
        why: str | None = None
        fit = []
        for one in found:
            address = ipaddress.ip_address(one["host"].partition("%")[0])
            said = unfit(address, allow_private=self._allow_private, is_plain=self._is_plain)
            if said is None:
                fit.append(one)
            why = why or said
        if not fit:
            raise Unfit(None, f"its name leads to {why or 'no address'}")
        return fit

    async def close(self) -> None:
        """Nothing is held."""
        await self._inner.close()


class Client:
    """Calls one receiver. For one event loop; opened by `start`, closed by `stop`."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Get ready to call. Raises BadWebhooks where the file of authorities cannot be used."""
        receiver = self._receiver
        connector = aiohttp.TCPConnector(
            limit=receiver.at_once,
            resolver=_Resolver(receiver),
            use_dns_cache=False,  # its ten seconds would outlive a change that matters
            keepalive_timeout=_KEPT_S,
            ssl=_tls(receiver),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=receiver.timeout_s),
            headers={"user-agent": USER_AGENT},
            trust_env=False,
            auto_decompress=False,
        )

    async def stop(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(
        self, topic: str, event_id: str, body: bytes, *, now: Instant, trace: bytes | None = None
    ) -> Answer:
        """Post one event and say what came of it; raises nothing for whatever the receiver does.

        `now` is the wall clock: it is signed, so that a copy of the call is of no use later. `trace` goes
        along as the header `traceparent`, and is not signed.
        """
        assert self._session is not None, "the client is not started"
        receiver = self._receiver
        sent = {**headers(receiver.keys, topic, event_id, now // 1000, body)}
        if trace is not None:
            sent[TRACEPARENT] = trace.decode("ascii")
        try:
            async with self._session.post(
                receiver.url,
                data=body,
                headers=sent,
                allow_redirects=False,
            ) as response:
                answer = Answer(
                    response.status,
                    f"it answered {response.status}",
                    retry_after_ms(response.headers.get("retry-after"), now=now),
                )
                with contextlib.suppress(aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError):
                    if not await _drained(response):
                        response.close()
                return answer
        except TimeoutError:
            return Answer(None, f"it did not answer within {receiver.timeout_s:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(None, _said(error))


async def _drained(response: aiohttp.ClientResponse) -> bool:
    """Read a short rest of the answer, so that the connection can be used again; False for a long one."""
    n_bytes = 0
    async for chunk in response.content.iter_any():
        n_bytes += len(chunk)
        if n_bytes > _BODY_MAX:
            return False
    return True


def _said(error: BaseException) -> str:
    """What happened, without the address: that of a receiver may hold a token."""
    causes = [error, error.__cause__, getattr(error, "os_error", None)]
    unfit_one = next((one for one in causes if isinstance(one, Unfit)), None)
    if unfit_one is not None:
        return str(unfit_one.strerror)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "its certificate is not trusted, or it speaks no TLS"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name cannot be resolved"
    if isinstance(error, aiohttp.ClientConnectorError):
        code = error.os_error.errno  # the error's own words name the address
        return f"it cannot be reached: {os.strerror(code).lower() if code else 'no connection'}"
    return f"the connection failed: {type(error).__name__}"


def _tls(receiver: Receiver) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=receiver.ca_file)
    except OSError as error:
        raise BadWebhooks(
            f"[webhooks.{receiver.name}]: ca_file {receiver.ca_file} cannot be used: "
            f"{error.strerror or 'it is no PEM file'}."
        ) from error
