"""How clients reach a broker, and what its refusals mean to a person.

Turns settings into the arguments that every aiokafka client takes, and every aiokafka error into one of
ours. Retries nothing: a client that is already connected does that itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import Iterator
from typing import Any, Final

from aiokafka import errors as kafka_errors
from aiokafka.conn import create_conn
from aiokafka.protocol.metadata import MetadataRequest

from state.errors import FactdriftError
from streams.kafka.closed_connections import tell_closed_connections
from streams.kafka.errors import BrokerFailed, BrokerRefused, BrokerUnreachable
from streams.settings import KafkaSettings

tell_closed_connections()

FIRST_ANSWER_S: Final = 10.0  # a healthy broker answers in milliseconds, one across the world within seconds

_RIGHTS: Final = "Give the user the right to do this, or set FACTDRIFT_KAFKA_USERNAME to one who has it."
_LISTENER: Final = (
    "Set FACTDRIFT_KAFKA_SECURITY_PROTOCOL, or the port of the right listener in FACTDRIFT_KAFKA_BOOTSTRAP."
)
_LOGIN: Final = (
    "Set FACTDRIFT_KAFKA_USERNAME, FACTDRIFT_KAFKA_PASSWORD and FACTDRIFT_KAFKA_SASL_MECHANISM as the broker "
    "has them."
)
_AUTHORITY: Final = (
    "Set FACTDRIFT_KAFKA_CA_FILE to the authority that signed the broker's certificate, and name the host in "
    "FACTDRIFT_KAFKA_BOOTSTRAP as the certificate does."
)
_REFUSALS: Final[dict[type[BaseException], tuple[str, str]]] = {
    kafka_errors.UnsupportedSaslMechanismError: ("unknown_mechanism", _LOGIN),
    kafka_errors.IllegalSaslStateError: ("wrong_protocol", _LISTENER),
    kafka_errors.AuthenticationMethodNotSupported: ("unknown_mechanism", _LOGIN),
    kafka_errors.SaslAuthenticationFailed: ("wrong_credentials", _LOGIN),
    kafka_errors.AuthenticationFailedError: ("wrong_credentials", _LOGIN),
    ssl.SSLCertVerificationError: ("untrusted_broker", _AUTHORITY),
    ssl.SSLError: ("wrong_protocol", _LISTENER),
    kafka_errors.TopicAuthorizationFailedError: ("not_allowed", _RIGHTS),
    kafka_errors.GroupAuthorizationFailedError: ("not_allowed", _RIGHTS),
    kafka_errors.ClusterAuthorizationFailedError: ("not_allowed", _RIGHTS),
    kafka_errors.TransactionalIdAuthorizationFailed: ("not_allowed", _RIGHTS),
    kafka_errors.PolicyViolationError: ("not_allowed", _RIGHTS),
}
"""What an error means and what to do; of several that fit, the first one counts."""
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
                "FACTDRIFT_KAFKA_PASSWORD.",
                code="credentials_missing",
            )
        options["sasl_mechanism"] = kafka.sasl_mechanism
        options["sasl_plain_username"] = kafka.username
        options["sasl_plain_password"] = kafka.password.get_secret_value()
    return options


def _ssl_context(kafka: KafkaSettings) -> ssl.SSLContext:
    with _usable(f"FACTDRIFT_KAFKA_CA_FILE={kafka.ca_file}", "the authorities that sign the brokers"):
        context = ssl.create_default_context(cafile=kafka.ca_file)
    if kafka.cert_file is not None:
        pair = f"FACTDRIFT_KAFKA_CERT_FILE={kafka.cert_file} with FACTDRIFT_KAFKA_KEY_FILE={kafka.key_file}"
        with _usable(pair, "the client's certificate, and to its key without a password"):
            # Without a password OpenSSL would ask for one at the terminal; "" is wrong for every such key.
            context.load_cert_chain(kafka.cert_file, kafka.key_file, password="")
    return context


@contextlib.contextmanager
def _usable(named: str, wanted: str) -> Iterator[None]:
    """Name the settings and their files: OpenSSL only says that something is wrong with one."""
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        raise BrokerRefused(
            f"{named} cannot be used: {error.strerror or error}. It must be a PEM file with {wanted}.",
            code="bad_tls_files",
        ) from error


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
    """Connect to one server, ask it something that only those let in may ask, and leave again."""
    with translated(kafka):
        try:
            async with asyncio.timeout(FIRST_ANSWER_S):
                connection = await create_conn(host, port, **options)
                try:
                    await connection.send(MetadataRequest([]))
                finally:
                    connection.close()
        # Both mean that somebody took the connection and then closed it.
        except (ConnectionResetError, kafka_errors.KafkaConnectionError) as error:
            asks = kafka.security_protocol.endswith("SSL") and kafka.cert_file is None
            certificate = " Where it asks for a client's certificate, set FACTDRIFT_KAFKA_CERT_FILE."
            raise BrokerRefused(
                f"Kafka at {host}:{port} closed the connection, as a listener does that speaks something "
                f"else than {kafka.security_protocol}. {_LISTENER}{certificate if asks else ''}",
                code="wrong_protocol",
            ) from error


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
    except tuple(_REFUSALS) as error:
        code, advice = next(told for kind, told in _REFUSALS.items() if isinstance(error, kind))
        raise BrokerRefused(
            f"Kafka at {kafka.bootstrap} refuses {kafka.security_protocol}"
            f"{f' as {kafka.username}' if kafka.username else ''}: {_said(error)}. {advice}",
            code=code,
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
    text = re.sub(r"^\[Error \d+\] ", "", str(error)).strip().rstrip(".")
    name = type(error).__name__
    return text if text.startswith(name) else f"{name}: {text}" if text else name
