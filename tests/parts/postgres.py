"""A real PostgreSQL for the tests: the user's, or from Docker, or from the programs on PATH.

Own servers listen on 127.0.0.1 only, on a port and in a folder of their own. A test gets a database of its
own on whichever server it is, and drops it: the user's PostgreSQL may hold anything.
"""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tests.parts import RungMissing, climb, named_in_environment, require_docker, silent
from tests.parts.processes import Process, ProcessEnded, free_ports, start_process, wait_until

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

VARIABLE = "FACTDRIFT_TEST_POSTGRES"
IMAGE = "postgres:17-alpine"
HOW_TO_GET_ONE = (
    f"set {VARIABLE} to the URL (postgresql://user:password@host/database) of a PostgreSQL that you run, as "
    "a user that may create databases; or start Docker; or put postgres and initdb on PATH. And install "
    "psycopg: pip install 'factdrift[postgres]'."
)

READY_S = 60
PORTS_ATTEMPTS = 3
PASSWORD = "factdrift"


class PostgresServer:
    """A PostgreSQL that answers at `url`. `origin` is "environment", "docker" or "path"."""

    origin = "environment"

    def __init__(self, url: URL, *, version: str = "") -> None:
        """Name a server that somebody else runs; see `start_postgres`."""
        self.url = url
        self.version = version

    def describe(self) -> str:
        """Say in a few words what this is, for a test report; never a password."""
        return f"PostgreSQL {self.version} at {self.url.host}:{self.url.port or 5432} ({VARIABLE})"

    def stop(self) -> None:
        """End the server for good; harmless when repeated. The user's server is left alone."""

    @contextlib.contextmanager
    def database(self) -> Iterator[URL]:
        """A new empty database, which is gone afterwards."""
        name = f"factdrift_test_{uuid.uuid4().hex[:12]}"
        self._run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            yield self.url.set(database=name)
        finally:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                connection.execute(text(statement))
        finally:
            engine.dispose()


def start_postgres(tmp: Path) -> PostgresServer:
    """Return a PostgreSQL that answers, from the first rung that is there; its log goes below `tmp`.

    Call `stop` when done. Raises `PartMissing`.
    """
    rungs: list[tuple[str, Callable[[], PostgresServer]]] = [
        (VARIABLE, _find_in_environment),
        ("Docker", _start_in_docker),
        ("postgres and initdb on PATH", partial(_start_from_path, tmp)),
    ]
    return climb("PostgreSQL", rungs, how_to_get_one=HOW_TO_GET_ONE)


def _require_psycopg() -> None:
    if importlib.util.find_spec("psycopg") is None:
        reason = "the package psycopg is not installed"
        raise RungMissing(reason)


# --- the user's -----------------------------------------------------------------------------------


def _find_in_environment() -> PostgresServer:
    address = named_in_environment(VARIABLE)
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
        return PostgresServer(url, version=_ask(url))
    except (ArgumentError, SQLAlchemyError, ImportError) as error:
        silent(VARIABLE, address.rpartition("@")[2], error)


# --- Docker ---------------------------------------------------------------------------------------


class _DockerPostgres(PostgresServer):
    origin = "docker"

    def __init__(self) -> None:
        port = free_ports(1)[0]
        super().__init__(_local_url(port, password=PASSWORD))
        self._port = port
        self._container: DockerContainer | None = None

    def describe(self) -> str:
        return f"PostgreSQL {self.version} in Docker"

    def start(self) -> None:
        from testcontainers.core.container import DockerContainer

        self._container = (
            DockerContainer(IMAGE).with_bind_ports(5432, self._port).with_env("POSTGRES_PASSWORD", PASSWORD)
        )
        self._container.start()
        self.url = self.url.set(host=self._container.get_container_host_ip())
        self.version = wait_until(
            lambda: _answer(self.url), timeout_s=READY_S, what="PostgreSQL in Docker to answer"
        )

    def stop(self) -> None:
        if self._container is not None:
            self._container.stop()
            self._container = None


def _start_in_docker() -> PostgresServer:
    _require_psycopg()
    require_docker()
    server = _DockerPostgres()
    try:
        server.start()
    # docker-py, requests and testcontainers share no parent; pulling the image alone can fail in all of them.
    except Exception as error:
        with contextlib.suppress(Exception):
            server.stop()
        reason = f"{IMAGE} did not start: {error}"
        raise RungMissing(reason) from error
    return server


# --- programs on this machine ---------------------------------------------------------------------


class _LocalPostgres(PostgresServer):
    origin = "path"

    def __init__(self, folder: Path, log: Path, as_user: Sequence[str]) -> None:
        port = free_ports(1)[0]
        super().__init__(_local_url(port))
        self._port = port
        self._folder = folder
        self._log = log
        self._as_user = as_user
        self._process: Process | None = None

    def describe(self) -> str:
        return f"PostgreSQL {self.version} from PATH"

    def start(self) -> None:
        data = self._folder / "data"
        options = [
            *self._as_user,
            "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run(
            [*map(str, options), "--locale=C"], check=True, capture_output=True, timeout=READY_S, cwd="/"
        )
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self._port,
            "unix_socket_directories": "",
            "fsync": "off",  # nothing of it survives the tests
            "shared_buffers": "128MB",
        }
        command = [*self._as_user, "postgres", "-D", str(data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        self._process = start_process(command, name="PostgreSQL", log=self._log, folder=Path("/"))
        try:
            self.version = self._process.wait_for(
                lambda: _answer(self.url), READY_S, what=f"PostgreSQL on port {self._port} to answer"
            )
        except (TimeoutError, ProcessEnded):
            self.stop()
            raise

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)


def _start_from_path(tmp: Path) -> PostgresServer:
    _require_psycopg()
    for program in ("postgres", "initdb"):
        if shutil.which(program) is None:
            reason = f"{program} not found"
            raise RungMissing(reason)
    tmp.mkdir(parents=True, exist_ok=True)
    reason = ""
    for _ in range(PORTS_ATTEMPTS):
        as_user, owner = _unprivileged()
        # Not below the folder of pytest, which other users may not enter.
        folder = Path(tempfile.mkdtemp(prefix="factdrift-postgres-"))
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        server = _LocalPostgres(folder, tmp / "postgres.log", as_user)
        try:
            server.start()
        except subprocess.CalledProcessError as error:
            server.stop()
            reason = f"initdb failed: {error.stderr.decode(errors='replace')[-500:]}"
            break
        except (OSError, ProcessEnded, subprocess.TimeoutExpired) as error:  # TimeoutError is an OSError
            server.stop()
            reason = str(error)
        else:
            return server
    raise RungMissing(reason)


def _unprivileged() -> tuple[list[str], pwd.struct_passwd | None]:
    """How to start a program that refuses to run as root, and who then owns its files.

    Raises `RungMissing` where a test run by root cannot become somebody else.
    """
    if os.geteuid() != 0:
        return [], None
    if shutil.which("setpriv") is None:
        reason = "PostgreSQL does not run as root, and there is no setpriv to start it as somebody else"
        raise RungMissing(reason)
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            owner = pwd.getpwnam(name)
            return [
                "setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"
            ], owner  # fmt: skip
    reason = "PostgreSQL does not run as root, and there is neither a user postgres nor nobody"
    raise RungMissing(reason)


# --- readiness ------------------------------------------------------------------------------------


def _local_url(port: int, *, password: str | None = None) -> URL:
    return URL.create(
        "postgresql+psycopg", username="postgres", password=password, host="127.0.0.1", port=port,
        database="postgres",
    )  # fmt: skip


def _answer(url: URL) -> str | None:
    try:
        return _ask(url)
    except SQLAlchemyError:
        return None


def _ask(url: URL) -> str:
    engine = create_engine(url, connect_args={"connect_timeout": 5})
    try:
        with engine.connect() as connection:
            return str(connection.execute(text("SHOW server_version")).scalar_one()).split()[0]
    finally:
        engine.dispose()
