"""How clients reach a broker, and what its refusals mean to a person.

Turns settings into the arguments that every aiokafka client takes, and every aiokafka error into one of
ours. Retries nothing: a client that is already connected does that itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from typing import Any, Final

from aiokafka import errors as kafka_errors
from aiokafka.conn import create_conn

from state.errors import FactdriftError
from streams.kafka.errors import BrokerFailed, BrokerRefused, BrokerUnreachable
from streams.settings import KafkaSettings

FIRST_ANSWER_S: Final = 10.0  # a healthy broker answers in milliseconds, one across the world within seconds

_REFUSALS: Final = (
    kafka_errors.AuthenticationFailedError,
    kafka_errors.AuthenticationMethodNotSupported,
    kafka_errors.SaslAuthenticationFailed,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.IllegalSaslStateError,
    kafka_errors.TopicAuthorizationFailedError,
    kafka_errors.GroupAuthorizationFailedError,
    kafka_errors.ClusterAuthorizationFailedError,
    kafka_errors.PolicyViolationError,
    ssl.SSLError,
)
_SILENCES: Final = (
    kafka_errors.KafkaConnectionError,
    kafka_errors.KafkaTimeoutError,
    kafka_errors.NoBrokersAvailable,
    kafka_errors.NodeNotReadyError,
    kafka_errors.RequestTimedOutError,
    TimeoutError,
    OSError,
)


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """The arguments with which an aiokafka consumer, producer or admin client reaches the broker."""
    return {
        "bootstrap_servers": kafka.bootstrap,
        "request_timeout_ms": round(kafka.request_timeout_s * 1000),
        **security_options(kafka),
    }


def security_options(kafka: KafkaSettings) -> dict[str, Any]:
    """The part of `client_options` that is about TLS and SASL. Raises BrokerRefused on unusable files."""
    options: dict[str, Any] = {"security_protocol": kafka.security_protocol}
    if kafka.security_protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL"):
        if kafka.username is None or kafka.password is None:
            raise BrokerRefused(
                f"{kafka.security_protocol} needs a user and a password. Set FACTDRIFT_KAFKA_USERNAME and "
                "FACTDRIFT_KAFKA_PASSWORD."
            )
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.username
        options["sasl_plain_password"] = kafka.password.get_secret_value()
    return options


def _ssl_context(kafka: KafkaSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=kafka.ca_file)
        if kafka.cert_file is not None:
            context.load_cert_chain(kafka.cert_file, kafka.key_file)
    except OSError as error:  # ssl.SSLError is one
        raise BrokerRefused(
            f"The TLS files cannot be used: {error}. Check FACTDRIFT_KAFKA_CA_FILE, "
            "FACTDRIFT_KAFKA_CERT_FILE and FACTDRIFT_KAFKA_KEY_FILE."
        ) from error
    return context


async def reach(kafka: KafkaSettings) -> None:
    """Return when one of the bootstrap servers lets us in.

    Clients do this themselves, but tell a wrong password and a wrong address apart only in their log.
    Raises BrokerUnreachable or BrokerRefused, whatever the last server said; takes at most
    `FIRST_ANSWER_S` for each server.
    """
    options = client_options(kafka)
    bootstrap = options.pop("bootstrap_servers")
    options["request_timeout_ms"] = round(min(kafka.request_timeout_s, FIRST_ANSWER_S) * 1000)
    last: FactdriftError | None = None
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            await _knock(kafka, host.strip("[]") or "localhost", _port(kafka, port), options)
        except FactdriftError as error:
            last = error
        else:
            return
    assert last is not None
    raise last


async def _knock(kafka: KafkaSettings, host: str, port: int, options: dict[str, Any]) -> None:
    """Connect to one server and leave again."""
    with translated(kafka):
        try:
            async with asyncio.timeout(FIRST_ANSWER_S):
                connection = await create_conn(host, port, **options)
        except ConnectionResetError as error:
            raise BrokerRefused(
                f"Kafka at {host}:{port} closed the connection, as a listener does that speaks something "
                f"else than {kafka.security_protocol}. Set FACTDRIFT_KAFKA_SECURITY_PROTOCOL, or the port of "
                "the right listener in FACTDRIFT_KAFKA_BOOTSTRAP."
            ) from error
        connection.close()


def _port(kafka: KafkaSettings, port: str) -> int:
    if not port.isdigit():
        raise BrokerUnreachable(
            f'"{kafka.bootstrap}" names no port. Set FACTDRIFT_KAFKA_BOOTSTRAP to host:port,'
            " several with commas."
        )
    return int(port)


@contextlib.contextmanager
def translated(kafka: KafkaSettings) -> Iterator[None]:
    """Errors of aiokafka and of the network as ours, with what a person can do."""
    try:
        yield
    except _REFUSALS as error:
        raise BrokerRefused(
            f"Kafka at {kafka.bootstrap} refuses {kafka.security_protocol}"
            f"{f' as {kafka.username}' if kafka.username else ''}: {_said(error)}. Check the user's rights, "
            "FACTDRIFT_KAFKA_SECURITY_PROTOCOL, _SASL_MECHANISM, _USERNAME, _PASSWORD and _CA_FILE."
        ) from error
    except _SILENCES as error:
        raise BrokerUnreachable(
            f"Kafka at {kafka.bootstrap} ({kafka.security_protocol}) does not answer: {_said(error)}. "
            "Start it (`docker compose up`), or set FACTDRIFT_KAFKA_BOOTSTRAP."
        ) from error
    except kafka_errors.KafkaError as error:
        raise BrokerFailed(
            f"Kafka at {kafka.bootstrap} answered with an error: {_said(error)}. Its log says more."
        ) from error


def _said(error: BaseException) -> str:
    text = str(error).strip().rstrip(".")
    name = type(error).__name__
    return text if text.startswith(name) else f"{name}: {text}" if text else name
