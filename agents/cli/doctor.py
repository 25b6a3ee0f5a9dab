"""`factdrift doctor`: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from agents import composition
from agents.cli.output import Json, for_programs, out, table, write_json
from state.errors import FactdriftError
from streams.embedded.store import FILE_NAME, EmbeddedStore
from streams.settings import Settings

FREE_MIN = 1 << 30  # bytes; a log that cannot grow stops
PACKAGES = ("factdrift", "faust-streaming", "aiokafka", "rocksdict", "redis", "pydantic", "msgspec")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `advice` is what to do where it is not well; "" where it is."""

    what: str
    found: str
    well: bool
    advice: str = ""


def command(
    data: Annotated[Path | None, typer.Option("--data", help="Folder of an embedded log to look at.")] = None,
    embedded: Annotated[bool, typer.Option("--embedded", help="Leave out Kafka and Redis.")] = False,
    json: Json = False,
) -> None:
    """Check versions, disk, settings, the broker, its topics and Redis; exit code 4 where one is not well."""
    settings = Settings()
    checks: list[Callable[[], Iterator[Finding]]] = [
        _versions,
        lambda: _settings(settings),
        lambda: _disk(settings, data),
    ]
    if not embedded:
        checks += [lambda: _broker(settings), lambda: _redis(settings)]
    findings = [finding for check in checks for finding in check()]
    if for_programs(json):
        for finding in findings:
            write_json(asdict(finding))
    else:
        rows = [("ok" if f.well else "!!", f.what, f.found, f.advice) for f in findings]
        out.print(table("factdrift doctor", ("", "what", "found", "what to do"), rows))
    if not all(finding.well for finding in findings):
        raise typer.Exit(4)


def _versions() -> Iterator[Finding]:
    yield Finding("Python", sys.version.split()[0], sys.version_info >= (3, 11), "")
    for name in PACKAGES:
        try:
            yield Finding(name, importlib.metadata.version(name), well=True)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "not installed", well=False, advice="pip install factdrift")


def _settings(settings: Settings) -> Iterator[Finding]:
    try:
        n_declared = len(composition.registry(settings.predicates).declared)
    except FactdriftError as error:
        yield Finding("predicates", str(settings.predicates), well=False, advice=str(error))
        return
    yield Finding("predicates", f"{n_declared} declared", well=True)
    yield Finding("policy", f"version {composition.policy(settings).version}", well=True)


def _disk(settings: Settings, data: Path | None) -> Iterator[Finding]:
    folder = data or settings.data
    existing = next(p for p in (folder, *folder.resolve().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    yield Finding(
        f"free disk at {folder}", f"{free / (1 << 30):.1f} GiB", free >= FREE_MIN,
        "" if free >= FREE_MIN else "Free some space, or set FACTDRIFT_DATA to another disk.",
    )  # fmt: skip
    if data is not None and (data / FILE_NAME).is_file():
        try:
            EmbeddedStore(data).close()
        except FactdriftError as error:
            yield Finding(f"log in {data}", "unusable", well=False, advice=str(error))
        else:
            yield Finding(f"log in {data}", "readable", well=True)


def _broker(settings: Settings) -> Iterator[Finding]:
    from streams.kafka import broker_version, check_topics

    try:
        version = asyncio.run(broker_version(settings))
    except FactdriftError as error:
        yield Finding(f"Kafka at {settings.kafka.bootstrap}", "no answer", well=False, advice=str(error))
        return
    yield Finding(f"Kafka at {settings.kafka.bootstrap}", version, well=True)
    problems = asyncio.run(check_topics(settings))
    for problem in problems:
        yield Finding("topics", "differ", well=False, advice=str(problem))
    if not problems:
        yield Finding("topics", "as they should be", well=True)


def _redis(settings: Settings) -> Iterator[Finding]:
    import redis

    url = settings.redis_url.get_secret_value()
    shown = url.rsplit("@", 1)[-1].removeprefix("redis://").removeprefix("rediss://")
    client = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
    try:
        version = client.info("server")["redis_version"]
    except redis.RedisError as error:
        yield Finding(
            f"Redis at {shown}", f"no answer: {error}", well=False,
            advice="docker compose up -d redis, or set FACTDRIFT_REDIS_URL. Without it drift is not counted.",
        )  # fmt: skip
        return
    finally:
        client.close()
    yield Finding(f"Redis at {shown}", str(version), well=True)
