"""Settings: everything that can be configured, read from the environment (`FACTDRIFT_…`).

Names, defaults and meaning are here and nowhere else; the reference in the docs is generated from it.
Secrets are never printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from state.errors import FactdriftError


class BadSetting(FactdriftError):
    """A setting with a value that it cannot have; the message names it and what it may be."""


class KafkaSettings(BaseSettings):
    """How to reach Kafka, and how the topics are laid out."""

    model_config = SettingsConfigDict(env_prefix="FACTDRIFT_KAFKA_", extra="ignore")

    bootstrap: str = Field("localhost:9092", description="Bootstrap servers, separated by commas.")
    prefix: str = Field("", description="Put before every topic and group name, where a cluster is shared.")
    partitions: int = Field(4, ge=1, description="Partitions of the topics that factdrift creates.")
    replication: int = Field(1, ge=1, description="Replication factor of the topics that factdrift creates.")
    group: str = Field("factdrift", description="Consumer group of the workers.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="How the connection is secured."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        "SCRAM-SHA-512", description="SASL mechanism, where the protocol uses SASL."
    )
    username: str | None = Field(None, description="SASL user.")
    password: SecretStr | None = Field(None, description="SASL password. Never printed.")
    ca_file: Path | None = Field(None, description="PEM file with the authorities that sign the brokers.")
    cert_file: Path | None = Field(None, description="PEM file with the client's certificate.")
    key_file: Path | None = Field(None, description="PEM file with the client's key.")
    request_timeout_s: float = Field(60.0, gt=0, description="Bound on one request to a broker, in seconds.")
    session_timeout_s: float = Field(
        30.0, gt=0, description="A worker silent this long loses its partitions."
    )
    commit_interval_s: float = Field(
        1.0, gt=0, description="How often a worker commits what is done, in seconds."
    )


class Settings(BaseSettings):
    """What is the same on every host."""

    model_config = SettingsConfigDict(env_prefix="FACTDRIFT_", extra="ignore")

    data: Path = Field(Path(".factdrift"), description="Folder of the embedded log, or of a worker's tables.")
    table_store: Literal["rocksdb", "memory"] = Field(
        "rocksdb", description="Where a worker keeps its tables; in memory they are restored at every start."
    )
    redis_url: SecretStr = Field(
        SecretStr("redis://localhost:6379/0"), description="Redis of the drift counter. May hold a password."
    )
    predicates: Path | None = Field(None, description="TOML file that declares or overrides predicates.")
    batch_max: int = Field(500, ge=1, description="Observations in one batch.")
    batch_bytes_max: int = Field(512 * 1024, ge=1024, description="Bytes in one internal record.")
    batch_linger_ms: int = Field(20, ge=0, description="How long intake waits for a batch to fill, in ms.")
    record_bytes_max: int = Field(256 * 1024, ge=1024, description="Bytes in one public record.")
    vote_window: int | Literal["all"] = Field(
        5,
        description="How many of the newest votes decide, 1 or more; with `all` every vote of the period "
        "does, and the state of a claim grows with the number of its voters.",
    )
    contested_above: float = Field(
        0.40, ge=0, le=1, description="Share of the newest votes against a fact above which it is contested."
    )
    vectors: Literal["packaged", "none"] = Field(
        "packaged",
        description="What says which texts mean the same: the packaged static vectors, or nothing.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What is logged.")
    kafka: KafkaSettings = Field(default_factory=KafkaSettings)

    @field_validator("vote_window", mode="before")
    @classmethod
    def _check_vote_window(cls, value: object) -> object:
        """A number of votes or "all". Raises BadSetting, which no caller takes for a fault of ours."""
        if value == "cycle":
            raise BadSetting(
                "FACTDRIFT_VOTE_WINDOW=cycle is not available: this release has no cycles whose votes could "
                "be counted. Set a number of votes, such as 5, or all."
            )
        text = str(value)
        if text == "all" or (text.isascii() and text.isdigit() and int(text) >= 1):
            return value
        raise BadSetting(f"FACTDRIFT_VOTE_WINDOW is {text!r}, expected a number of votes from 1 on, or all.")
