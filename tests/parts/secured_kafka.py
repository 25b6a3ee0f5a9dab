"""A real Kafka broker that asks who is there: TLS, SASL PLAIN and SCRAM, client certificates.

Beside its plain listener, which only the parts use to see that it answers, the broker offers SASL_SSL, and
SSL for those who show a certificate. The authority, its certificates and the users are made for the run.
"""

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tests.parts.kafka import JvmBroker, MoreListeners, start_kafka_on_jvm

USER = "kim"
PASSWORD = "correct horse"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULES = "org.apache.kafka.common.security"
_PLAIN_SETTING = "listener.name.sasl_ssl.plain.sasl.jaas.config"


@dataclass(frozen=True)
class Certificates:
    """PEM files: our authority, a client's certificate and key from it, and an authority nobody knows."""

    ca_file: Path
    cert_file: Path
    key_file: Path
    other_ca_file: Path
    server_file: Path


@dataclass(frozen=True)
class SecuredKafka:
    """A broker with secured listeners: `sasl_ssl` and `ssl` are bootstrap addresses."""

    broker: JvmBroker
    certificates: Certificates

    @property
    def sasl_ssl(self) -> str:
        """TLS, and a user with a password by any of `MECHANISMS`."""
        return self.broker.addresses["SASL_SSL"]

    @property
    def ssl(self) -> str:
        """TLS with a client's certificate from our authority."""
        return self.broker.addresses["SSL"]

    def change_plain_password(self, password: str) -> None:
        """Let PLAIN know the user by another password; the broker is started anew."""
        self.broker.stop()
        self.broker.change(_PLAIN_SETTING, _plain(password))
        self.broker.start()


def start_secured_kafka(tmp: Path) -> SecuredKafka:
    """Return a secured broker that answers; everything goes below `tmp`. Raises `PartMissing`."""
    certificates = make_certificates(tmp / "certificates")
    return SecuredKafka(start_kafka_on_jvm(tmp, _listeners(certificates)), certificates)


def make_certificates(folder: Path) -> Certificates:
    """Write an authority, a server's and a client's certificate from it, and another authority."""
    folder.mkdir(parents=True)
    found = Certificates(*(folder / f"{name}.pem" for name in ("ca", "client", "key", "other-ca", "server")))
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1", "localhost")
    client = authority.issue_cert("kim@example.org")
    authority.cert_pem.write_to_path(found.ca_file)
    trustme.CA().cert_pem.write_to_path(found.other_ca_file)
    client.cert_chain_pems[0].write_to_path(found.cert_file)
    client.private_key_pem.write_to_path(found.key_file)
    # Kafka reads keys in PKCS #8 only.
    key = load_pem_private_key(server.private_key_pem.bytes(), password=None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    found.server_file.write_bytes(pem + b"".join(blob.bytes() for blob in server.cert_chain_pems))
    return found


def _listeners(certificates: Certificates) -> MoreListeners:
    scram = f"{_MODULES}.scram.ScramLoginModule required;"
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.server_file.as_posix(),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca_file.as_posix(),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        _PLAIN_SETTING: _plain(PASSWORD),
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": scram,
    }
    users = [
        option
        for mechanism in MECHANISMS
        if mechanism.startswith("SCRAM")
        for option in ("--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]")
    ]
    return MoreListeners(("SASL_SSL", "SSL"), settings, users)


def _plain(password: str) -> str:
    return f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{password}";'
