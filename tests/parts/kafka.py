"""A real Kafka broker for the tests (DESIGN 10): the user's, one in Docker, or one on the local JVM.

The broker of the last two rungs is a single node (KRaft, broker and controller in one) with the same
settings, so that a test sees the same Kafka whichever rung gave it. On the JVM the jars come from Maven by
deploy/kafka/pom.xml, once, into .cache/kafka/<version>/libs. A test makes topics with names of its own: the
user's broker may hold anything.
"""

import asyncio
import base64
import contextlib
import fcntl
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from tests.parts import NotOurs, RungMissing, climb, named_in_environment, require_docker, silent
from tests.parts.processes import Process, ProcessEnded, free_ports, start_process, wait_until

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

VARIABLE = "FACTDRIFT_TEST_KAFKA"
HOW_TO_GET_ONE = (
    f"set {VARIABLE} to the bootstrap servers (host:port, without TLS) of a broker that you run; or start "
    "Docker; or install Java 17 or newer and Maven (the first run then downloads 45 MB)."
)

HOW_TO_GET_A_JVM_ONE = "install Java 17 or newer and Maven (the first run then downloads 45 MB)."

REPOSITORY = Path(__file__).resolve().parents[2]
POM = REPOSITORY / "deploy" / "kafka" / "pom.xml"
JAVA_OLDEST = 17  # Kafka 4 brokers do not start on less

READY_S = 60  # measured: 3 s on two idle cores
ANSWER_MS = 5_000  # one look, within READY_S
DOWNLOAD_S = 600
PORTS_ATTEMPTS = 3

# One broker, so every internal topic has one replica; few partitions, since making 50 of each costs seconds.
# What a broker does by the clock is quick enough for a test to wait for it.
SETTINGS: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",  # so that a test may have a killed worker missed soon
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    # After a SIGKILL the controller refuses the broker until the session of its former life has run out:
    # measured 11 s with the default of 9 s, 5 s with this.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


@dataclass(frozen=True)
class MoreListeners:
    """What a broker on the JVM offers beside its plain listener.

    `protocols` are names such as "SASL_SSL", each on a port of its own; `settings` go into the broker's file,
    `format_options` to the tool that prepares its data folder.
    """

    protocols: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    format_options: Sequence[str] = ()


class KafkaBroker:
    """A broker that answers at `bootstrap` (host:port, several with commas; no TLS).

    `origin` is "environment", "docker" or "jvm"; `version` is "unknown" for the user's, because the protocol
    does not tell it. `pid` is None unless the broker is a running process of this test run.
    """

    origin = "environment"

    def __init__(self, bootstrap: str, *, version: str = "unknown") -> None:
        """Name a broker that somebody else runs; see `start_kafka`."""
        self.bootstrap = bootstrap
        self.version = version

    @property
    def pid(self) -> int | None:
        """The id of the broker's process."""
        return None

    def describe(self) -> str:
        """Say in a few words what this is, for a test report."""
        return f"Kafka at {self.bootstrap} ({VARIABLE})"

    def stop(self) -> None:
        """End the broker for good; harmless when repeated. The user's broker is left alone."""

    def kill(self) -> None:
        """End the broker as a crash would, without a last word to anybody. Raises `NotOurs`."""
        raise NotOurs(self._not_ours("kill"))

    def restart(self) -> None:
        """Bring the broker back, on the same data and address, and return when it answers.

        One that still runs is asked to end first. Blocks for seconds: from a coroutine call it in a thread.
        Raises `NotOurs`.
        """
        raise NotOurs(self._not_ours("restart"))

    def _not_ours(self, verb: str) -> str:
        return f"The tests will not {verb} {self.describe()}. Unset {VARIABLE} to give them their own broker."


def start_kafka(tmp: Path) -> KafkaBroker:
    """Return a broker that answers, from the first rung that is there; data and logs go below `tmp`.

    Call `stop` when done. Blocks for seconds. Raises `PartMissing`.
    """
    rungs: list[tuple[str, Callable[[], KafkaBroker]]] = [
        (VARIABLE, _find_in_environment),
        ("Docker", _start_in_docker),
        ("local JVM", partial(_start_on_jvm, tmp, MoreListeners())),
    ]
    return climb("Kafka", rungs, how_to_get_one=HOW_TO_GET_ONE)


def start_kafka_on_jvm(tmp: Path, more: MoreListeners) -> "JvmBroker":
    """Return a broker with further listeners, or one that a test may kill; below `tmp`, as `start_kafka`.

    Only on the JVM: what another rung's broker offers is not ours to say.
    """
    rungs = [("local JVM", partial(_start_on_jvm, tmp, more))]
    return climb("Kafka on the local JVM", rungs, how_to_get_one=HOW_TO_GET_A_JVM_ONE)


def pinned_version(pom: Path = POM) -> str:
    """Return the Kafka version of the pom, which docker-compose.yml shares."""
    version = ElementTree.parse(pom).findtext(".//{*}properties/{*}kafka.version")
    assert version, f"{pom} has no property kafka.version"
    return version


# --- the user's -----------------------------------------------------------------------------------


def _find_in_environment() -> KafkaBroker:
    bootstrap = named_in_environment(VARIABLE)
    if _describe(bootstrap) is None:
        silent(VARIABLE, bootstrap, "no broker that is in service (host:port, without TLS)")
    return KafkaBroker(bootstrap)


# --- Docker ---------------------------------------------------------------------------------------

_CONTAINER_PORT = 9092
_CONTAINER_START = "/factdrift-start.sh"


class _DockerBroker(KafkaBroker):
    origin = "docker"

    def __init__(self, container: "DockerContainer", bootstrap: str) -> None:
        super().__init__(bootstrap, version=pinned_version())
        self._container = container
        self._stopped = False

    def describe(self) -> str:
        return f"Apache Kafka {self.version} in Docker"

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._container.stop()

    def kill(self) -> None:
        self._container.get_wrapped_container().kill()

    def restart(self) -> None:
        # The same container: its files and the port it was given stay.
        self._container.get_wrapped_container().restart(timeout=15)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        try:
            what = f"Kafka on {self.bootstrap} to be ready"
            wait_until(lambda: _describe(self.bootstrap), timeout_s=READY_S, what=what)
        except TimeoutError as error:
            out, err = self._container.get_logs()
            message = f"{error}. The end of its log:\n{(out + err).decode(errors='replace')[-4000:]}"
            raise TimeoutError(message) from None


def _start_in_docker() -> KafkaBroker:
    require_docker()
    from testcontainers.core.container import DockerContainer

    image = f"apache/kafka:{pinned_version()}"
    # The broker must announce the address that clients use, known only once the container runs; so it waits
    # for a script that carries it. The Kafka module of testcontainers serves Confluent's images only.
    command = f"while [ ! -f {_CONTAINER_START} ]; do sleep 0.1; done; exec bash {_CONTAINER_START}"
    container = (
        DockerContainer(image)
        .with_bind_ports(_CONTAINER_PORT, free_ports(1)[0])
        .with_envs(**_container_environment())
        .with_command(["bash", "-c", command])
    )
    try:
        container.start()
        host, port = container.get_container_host_ip(), container.get_exposed_port(_CONTAINER_PORT)
        bootstrap = f"{host}:{port}"
        script = f"export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://{bootstrap}\nexec /etc/kafka/docker/run\n"
        container.copy_into_container(script.encode(), _CONTAINER_START)
        broker = _DockerBroker(container, bootstrap)
        broker.wait_until_ready()
    # docker-py, requests and testcontainers share no parent; pulling the image alone can fail in all of them.
    except Exception as error:
        with contextlib.suppress(Exception):
            container.stop()
        reason = f"{image} did not start: {error}"
        raise RungMissing(reason) from error
    return broker


def _container_environment() -> dict[str, str]:
    settings = {
        **SETTINGS,
        "listeners": f"PLAINTEXT://:{_CONTAINER_PORT},CONTROLLER://localhost:9093",
        "controller.quorum.voters": "1@localhost:9093",
        "log.dirs": "/var/lib/kafka/data",
    }
    variables = {f"KAFKA_{key.upper().replace('.', '_')}": value for key, value in settings.items()}
    return {**variables, "CLUSTER_ID": _new_cluster_id(), "KAFKA_HEAP_OPTS": "-Xmx512m"}


# --- the local JVM --------------------------------------------------------------------------------


class JvmBroker(KafkaBroker):
    """A broker of our own on this machine; `addresses` are those of its further listeners, by protocol."""

    origin = "jvm"

    def __init__(self, java: str, libs: Path, folder: Path, more: MoreListeners) -> None:
        """Choose ports and write the settings; `format` and `start` do the rest."""
        port, controller_port, *more_ports = free_ports(2 + len(more.protocols))
        super().__init__(f"127.0.0.1:{port}", version=pinned_version())
        # Without ExitOnOutOfMemoryError a broker short of memory lingers, half alive, until a deadline.
        options = [
            "-Xmx512m",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            "-Dlog4j2.level=INFO",
        ]
        self._java = [java, *options, "-cp", f"{libs}/*"]
        self._settings = folder / "server.properties"
        self._log = folder / "broker.log"
        self._cluster_id = _new_cluster_id()
        self._format_options = more.format_options
        self._process: Process | None = None
        self.addresses = {
            protocol: f"127.0.0.1:{number}"
            for protocol, number in zip(more.protocols, more_ports, strict=True)
        }
        offered = {"PLAINTEXT": self.bootstrap, **self.addresses}
        advertised = ",".join(f"{protocol}://{address}" for protocol, address in offered.items())
        protocols = ",".join(f"{protocol}:{protocol}" for protocol in offered)
        settings = {
            **SETTINGS,
            **more.settings,
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": advertised,
            "listener.security.protocol.map": f"{protocols},CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "log.dirs": (folder / "data").as_posix(),
        }
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.running else None

    def describe(self) -> str:
        return f"Apache Kafka {self.version} on the local JVM"

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def pause(self) -> None:
        """Let the broker stand still, as a frozen machine does: connections stay, nothing answers."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.resume()

    def restart(self) -> None:
        self.stop()
        self.start()

    def change(self, setting: str, value: str) -> None:
        """Give a setting another value from the next start on."""
        lines = self._settings.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(f"{setting}=")]
        assert len(kept) == len(lines) - 1, f"{setting} is not set"
        self._settings.write_text("\n".join([*kept, f"{setting}={value}", ""]))

    def format(self) -> None:
        """Prepare the empty data folder; KRaft refuses to start on one that is not formatted."""
        options = ["--standalone", "--cluster-id", self._cluster_id, "--config", str(self._settings)]
        command = [*self._java, "kafka.tools.StorageTool", "format", *options, *self._format_options]
        tool = start_process(command, name="StorageTool", log=self._log.with_name("format.log"))
        try:
            exit_code = tool.wait_for_exit(READY_S)
        finally:
            tool.kill()
        if exit_code != 0:
            message = f"StorageTool could not format the data folder:\n{tool.log_tail()}"
            raise ProcessEnded(message)

    def start(self) -> None:
        process = start_process([*self._java, "kafka.Kafka", self._settings], name="Kafka", log=self._log)
        self._process = process

        def ready() -> bool:
            cluster = _describe(self.bootstrap)
            # Somebody else's broker may have taken the port since it was chosen.
            return cluster is not None and cluster["cluster_id"] == self._cluster_id

        try:
            process.wait_for(ready, READY_S, what=f"Kafka on {self.bootstrap} to be ready")
        except (TimeoutError, ProcessEnded):
            process.kill()
            raise


def _start_on_jvm(tmp: Path, more: MoreListeners) -> JvmBroker:
    java = _find_java()
    libs = fetch_jars(REPOSITORY / ".cache" / "kafka" / pinned_version())
    tmp.mkdir(parents=True, exist_ok=True)
    reason = ""
    for _ in range(PORTS_ATTEMPTS):
        broker = JvmBroker(java, libs, Path(tempfile.mkdtemp(prefix="kafka-", dir=tmp)), more)
        try:
            broker.format()
            broker.start()
        except (TimeoutError, ProcessEnded) as error:
            reason = str(error)
            if "Address already in use" not in reason:
                break
        else:
            return broker
    raise RungMissing(reason)


def _find_java() -> str:
    """Return the path of a Java that can run the broker. Raises `RungMissing`."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise RungMissing("no java in JAVA_HOME or on PATH")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=READY_S, check=False)
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < JAVA_OLDEST:
        said = answer.stderr.strip() or answer.stdout.strip()
        reason = f"{java} is no Java {JAVA_OLDEST} or newer, it says: {said}"
        raise RungMissing(reason)
    return java


def fetch_jars(cache: Path) -> Path:
    """Return a folder below `cache` with all jars of the broker, through Maven unless they are there already.

    The folder appears complete or not at all, whoever else asks for it at the same time, and is renewed when
    the pom has changed. Raises `RungMissing`.
    """
    libs = cache / "libs"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / ".gitignore").write_text("*\n")
    with _only_one(cache / "lock"):
        copied_pom = libs / POM.name
        if copied_pom.exists() and copied_pom.read_bytes() == POM.read_bytes():
            return libs
        mvn = shutil.which("mvn")
        if mvn is None:
            raise RungMissing("no mvn on PATH to fetch the jars of the broker")
        fresh = Path(tempfile.mkdtemp(prefix="libs-", dir=cache))
        try:
            _copy_dependencies(mvn, fresh, log=cache / "mvn.log")
            shutil.copyfile(POM, fresh / POM.name)
            shutil.rmtree(libs, ignore_errors=True)
            fresh.rename(libs)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return libs


def _copy_dependencies(mvn: str, folder: Path, *, log: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    maven = start_process([mvn, "-q", "-B", "-f", POM, *goal], name="mvn", log=log)
    try:
        if maven.wait_for_exit(DOWNLOAD_S) == 0:
            return
    except TimeoutError:
        maven.kill()
    reason = f"mvn could not fetch the jars of the broker:\n{maven.log_tail()}"
    raise RungMissing(reason)


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Let one process at a time pass. The lock goes with the process that holds it, even a killed one."""
    with lock.open("w") as held:

        def take() -> bool:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        wait_until(take, timeout_s=DOWNLOAD_S, what=f"another test run to fetch Kafka (lock {lock})")
        yield


# --- readiness ------------------------------------------------------------------------------------


def _new_cluster_id() -> str:
    # 16 bytes, as Kafka wants them; of letters and digits, so that it cannot begin like an option, with "-".
    return base64.urlsafe_b64encode(secrets.token_hex(8).encode()).decode().rstrip("=")


def _describe(bootstrap: str) -> dict[str, Any] | None:
    """Return what the broker says about its cluster, or None when no broker is in service there."""
    if not any(_listens(address) for address in bootstrap.split(",")):
        return None  # the client would log an error each time
    # In a thread, because the caller may be inside an event loop of its own.
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, _ask_for_cluster(bootstrap)).result()


def _listens(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_MS / 1000).close()
    except (OSError, ValueError):
        return False
    return True


async def _ask_for_cluster(bootstrap: str) -> dict[str, Any] | None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=ANSWER_MS)
    try:
        async with asyncio.timeout(ANSWER_MS / 1000):
            await admin.start()
            cluster: dict[str, Any] = await admin.describe_cluster()
    except (KafkaError, OSError, TimeoutError):
        return None
    finally:
        await admin.close()
    return cluster if cluster["brokers"] else None
