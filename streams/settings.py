"""Settings: everything that can be configured, read from the environment (`FACTDRIFT_…`).

Names, defaults and meaning are here and nowhere else; the reference in the docs is generated from it.
Secrets are never printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, PrivateAttr, SecretStr, field_validator
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
    group_instance_id: str | None = Field(
        None,
        description="Name of this worker that survives its restart, different for each worker: one that is "
        "back within the session keeps its partitions, and nothing moves.",
    )
    _state: int = PrivateAttr(default=0)

    @property
    def state(self) -> int:
        """Which state of the tables is meant: 0 is the first, a later one bears when a reset began it."""
        return self._state

    def with_state(self, state: int) -> KafkaSettings:
        """The same settings, for another state of the tables."""
        copied = self.model_copy()
        copied._state = state  # noqa: SLF001 it is our own
        return copied


class VectorSettings(BaseSettings):
    """Which model makes vectors, for every source but none. A source ignores what it does not use."""

    model_config = SettingsConfigDict(env_prefix="FACTDRIFT_VECTORS_", extra="ignore")

    model: str | None = Field(
        None,
        description="The model: a hub name or a folder for sentence-transformers, BAAI/bge-small-en-v1.5 "
        "where not set; for openai the name that the endpoint knows, text-embedding-3-small where not set.",
    )
    revision: str | None = Field(
        None,
        description="Its revision on the hub; for an endpoint, a name of yours for what it serves. Part of "
        "the model's identity.",
    )
    threshold: float | None = Field(
        None, gt=0, le=1,
        description="The cosine from which two texts mean the same. Some models bring one along; for "
        "others see `factdrift calibrate`.",
    )  # fmt: skip
    dimension: int | None = Field(
        None, ge=1, description="How many numbers an endpoint's vectors have; known for OpenAI's own models."
    )
    device: str = Field(
        "auto",
        description="Where sentence-transformers computes: cpu, cuda, mps; auto: the best there is.",
    )
    batch_max: int = Field(64, ge=1, description="Texts embedded at once, and sent in one request.")
    url: str = Field(
        "https://api.openai.com/v1", description="The endpoint, up to what stands before /embeddings."
    )
    api_key: SecretStr | None = Field(None, description="The endpoint's key. Never printed.")
    timeout_s: float = Field(
        20.0, gt=0,
        description="Bound on the vectors of one batch from an endpoint, with all tries; keep it well "
        "below FACTDRIFT_KAFKA_REQUEST_TIMEOUT_S.",
    )  # fmt: skip
    rest_s: float = Field(
        10.0, ge=0, description="How long an endpoint is left alone after it failed, in seconds."
    )
    kept_max: int = Field(20_000, ge=0, description="Texts whose vectors are kept in memory.")


class LanguageModelSettings(BaseSettings):
    """Which language model is asked, where `triple_source` is llm, and by `factdrift extract`."""

    model_config = SettingsConfigDict(env_prefix="FACTDRIFT_LLM_", extra="ignore")

    model: str | None = Field(None, description="The model, by the name that the endpoint knows.")
    url: str = Field(
        "https://api.openai.com/v1", description="The endpoint, up to what stands before /chat/completions."
    )
    api_key: SecretStr | None = Field(None, description="The endpoint's key. Never printed.")
    timeout_s: float = Field(
        10.0, gt=0, description="Bound on one question with all its tries, in seconds; then the given triple."
    )
    batch_timeout_s: float = Field(
        25.0, gt=0,
        description="Bound on all questions of one batch: what has no answer by then keeps the given triple. "
        "Keep it well below FACTDRIFT_KAFKA_REQUEST_TIMEOUT_S.",
    )  # fmt: skip
    at_once_max: int = Field(16, ge=1, description="Questions under way at one time.")
    batch_max: int = Field(
        64, ge=1, description="Observations in one batch where each is a question: a few rounds of them."
    )
    rest_s: float = Field(
        10.0, ge=0,
        description="How long the endpoint is left alone after as many failures in a row as there are "
        "questions at once, in seconds.",
    )  # fmt: skip
    budget_calls: int | None = Field(
        None, ge=0,
        description="Requests that one process sends in one span, tries among them; beyond it, the given "
        "triple. Not set: no bound.",
    )  # fmt: skip
    budget_tokens: int | None = Field(
        None, ge=0, description="Tokens, of questions and answers, in one span. Not set: no bound."
    )
    budget_s: float = Field(86_400.0, gt=0, description="How long a span of the budget lasts, in seconds.")
    kept_max: int = Field(
        50_000, ge=0, description="Answers kept, so that equal content is asked about once."
    )


class ApiSettings(BaseSettings):
    """The HTTP API of `factdrift serve` and `factdrift api`: where it listens, who may ask, how much."""

    model_config = SettingsConfigDict(env_prefix="FACTDRIFT_API_", extra="ignore")

    host: str = Field(
        "127.0.0.1", description="Address to listen on. Any other than this machine's own needs a token."
    )
    port: int = Field(8600, ge=0, description="Port to listen on; 0 is any free one.")
    tokens: SecretStr | None = Field(
        None,
        description="Bearer tokens, separated by commas; whoever has one may read and write everything. "
        "Never printed. Not set: no token is asked for, and only this machine is listened to.",
    )
    token_file: Path | None = Field(None, description="File with further tokens, one on each line.")
    cors_origins: str = Field(
        "",
        description="Origins of web pages that may ask, separated by commas, as https://example.org; "
        "empty: none.",
    )
    body_bytes_max: int = Field(
        8 * 1024 * 1024, ge=1024, description="Bytes in the body of one request; one more is refused."
    )
    lines_max: int = Field(10_000, ge=1, description="Observations in one request.")
    body_timeout_s: float = Field(
        30.0, gt=0, description="How long a request may take to arrive with its body, in seconds."
    )
    rate_per_s: float = Field(
        500.0, ge=0,
        description="Requests per second of each token, or of each address where none is asked for, over "
        "time; 0: no limit.",
    )  # fmt: skip
    rate_burst: int = Field(1_000, ge=1, description="Requests of each at once, before the rate counts.")
    streams_max: int = Field(100, ge=0, description="Streams of changes that are followed at one time.")
    heartbeat_s: float = Field(
        15.0, gt=0, description="How often a stream of changes that is silent says that it lives, in seconds."
    )
    outcome_timeout_s: float = Field(
        10.0, ge=0,
        description="How long a correction on Kafka waits for its outcome before it is answered with where "
        "to look for it, in seconds.",
    )  # fmt: skip


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
    read_model_url: SecretStr | None = Field(
        None,
        description="Database of the read model: postgresql://user:password@host/database. May hold a "
        "password. Not set: an SQLite file in the data folder.",
    )
    predicates: Path | None = Field(
        None, description="TOML file that declares or overrides predicates, and names their aliases."
    )
    webhooks: Path | None = Field(
        None,
        description="TOML file of webhooks, for `factdrift webhooks`; `factdrift serve` and `factdrift api` "
        "deliver them too where it is set.",
    )
    batch_max: int = Field(500, ge=1, description="Observations in one batch.")
    batch_bytes_max: int = Field(512 * 1024, ge=1024, description="Bytes in one internal record.")
    batch_linger_ms: int = Field(20, ge=0, description="How long intake waits for a batch to fill, in ms.")
    record_bytes_max: int = Field(256 * 1024, ge=1024, description="Bytes in one public record.")
    vote_window: int | Literal["all", "cycle"] = Field(
        5,
        description="How many of the newest votes decide, 1 or more; with `all` every vote of the period "
        "does, and the state of a claim grows with the number of its voters; with `cycle` only the votes "
        "since the last tick do, and a share above `contested_above` alone retires a fact.",
    )
    contested_above: float = Field(
        0.40, ge=0, le=1, description="Share of the newest votes against a fact above which it is contested."
    )
    trust: Literal["off", "learned"] = Field(
        "off",
        description="What the vote of a document weighs where a value never changes: the same for all, or as "
        "much as its source has proved worth, learnt from how sources agree. Set it alike for all workers.",
    )
    vectors: Literal["packaged", "sentence-transformers", "openai", "none"] = Field(
        "packaged",
        description="What says which texts mean the same: the packaged static vectors, a model that "
        "sentence-transformers loads, an OpenAI-compatible endpoint, or nothing.",
    )
    vector: VectorSettings = Field(default_factory=VectorSettings)
    triple_source: Literal["given", "llm"] = Field(
        "given",
        description="Whose predicate and object count: the given ones, or what a language model makes of "
        "them, see FACTDRIFT_LLM_….",
    )
    llm: LanguageModelSettings = Field(default_factory=LanguageModelSettings)
    tick_s: float = Field(
        60.0, gt=0, description="How often a cycle is closed while there is input, in seconds."
    )
    links: Literal["explicit", "all", "off"] = Field(
        "explicit",
        description="Where relations between what documents assert are noticed and published: for predicates "
        "with `arbitration = explicit`, for all of them (each disagreement of two documents is then a "
        "record), or nowhere.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="What is logged.")
    log_format: Literal["auto", "text", "json"] = Field(
        "auto",
        description="How a long-running command writes its log: text, or a JSON object on each line. auto: "
        "text on a terminal, JSON elsewhere.",
    )
    tracing: Literal["off", "on"] = Field(
        "off",
        description="Whether OpenTelemetry traces are recorded and sent, to where the standard OTEL_… "
        "variables say. A traceparent that a publisher sends is passed on in either case.",
    )
    health_port: int | None = Field(
        None,
        description="Port on which a worker serves /healthz, /readyz and /metrics; 0 is any free one, which "
        "its first line names. Not set: none.",
    )
    health_host: str = Field(
        "127.0.0.1", description="Address of that port. There is no password: keep it off open networks."
    )
    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    api: ApiSettings = Field(default_factory=ApiSettings)

    @property
    def intake_batch_max(self) -> int:
        """Observations in one batch of public input; fewer where each is a question that is waited for."""
        return self.batch_max if self.triple_source == "given" else min(self.batch_max, self.llm.batch_max)

    @field_validator("vote_window", mode="before")
    @classmethod
    def _check_vote_window(cls, value: object) -> object:
        """A number, "all" or "cycle". Raises BadSetting, which no caller takes for a fault of ours."""
        text = str(value)
        if text in ("all", "cycle") or (text.isascii() and text.isdigit() and int(text) >= 1):
            return value
        raise BadSetting(
            f"FACTDRIFT_VOTE_WINDOW is {text!r}, expected a number of votes from 1 on, all or cycle."
        )
