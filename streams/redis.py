"""The projection of drift in Redis, shared by all workers and readers (DESIGN 5).

Each subject has five keys in one hash slot, changed by one script as one step; it remembers how far it is,
so a batch may come again after any failure. How far the whole is stands in a key of its own that is written
after them: what is lost together with it is made again. An index by namespace lies in other slots, holds a
name rather too long than too short, and is corrected by whoever reads the subject.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib import resources
from typing import Any, Final

import msgspec
import redis
from redis.cluster import RedisCluster

from state.drift import KEPT_MAX, KEPT_MS, WINDOW_MS, Entity, Retirement
from state.drift_causes import AlertKind, Cause
from state.drift_news import Bearing
from state.identity import FactId
from state.instants import Instant
from streams.drift import Batch, DriftStoreEmptied, DriftUnavailable, Kept, Place, Progress, Update
from streams.keys import subject_key
from streams.redis_client import AnyClient, connect
from streams.topics import Topic

PIPELINE_MAX: Final = 1_000  # subjects in one round trip: bounds memory on both sides
_SCRIPT: Final = resources.files("streams").joinpath("drift.lua").read_text(encoding="utf-8")
_LIMITS: Final = (KEPT_MS, KEPT_MAX, KEPT_MS)
"""What the script is told: what it lets go by age and by number, and when keys go by themselves: a subject
that was left alone for so long has nothing in a window. Its count and its state stay."""


# Takes a new generation where there is none, or where that is asked for. Later ones are greater.
_BEGIN: Final = """
if ARGV[2] == '1' then redis.call('DEL', KEYS[1]) end
if redis.call('HEXISTS', KEYS[1], 'generation') == 0 then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'generation', string.format('%012d%06d-%s', time[1], time[2], ARGV[1]))
end
return redis.call('HGETALL', KEYS[1])
"""

# Moves the positions on, unless another generation has begun or the store is behind where they start.
_ADVANCE: Final = """
if redis.call('HGET', KEYS[1], 'generation') ~= ARGV[1] then return 0 end
for i = 3, #ARGV, 3 do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or ARGV[i + 1]) < tonumber(ARGV[i + 1]) then return 0 end
end
for i = 3, #ARGV, 3 do
  local held = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '0')
  if tonumber(ARGV[i + 2]) > held then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
end
local now = redis.call('HGET', KEYS[1], 'now')
if ARGV[2] ~= '' and (not now or tonumber(ARGV[2]) > tonumber(now)) then
  redis.call('HSET', KEYS[1], 'now', ARGV[2])
end
return 1
"""

SUBJECTS_TOGETHER: Final = 20  # in one run of the script, which nobody else of a single server interrupts

_pack: Final = msgspec.msgpack.Encoder().encode
_encode_cause: Final = msgspec.json.Encoder().encode
_decode_cause: Final = msgspec.json.Decoder(Cause).decode
Call = tuple[str, bytes]
"""The key of a subject, and what the script is to do to it."""


class RedisDriftStore:
    """A `DriftStore` at a URL (`streams.redis_client`). `prefix` keeps several systems on one Redis apart.

    The connection is made when it is first needed, and again whenever it was lost.
    """

    def __init__(self, url: str, *, prefix: str = "", client: AnyClient | None = None) -> None:
        self._url = url
        self._prefix = f"{prefix}factdrift:drift:"
        self._made = client

    @property
    def _client(self) -> Any:
        # redis-py answers with unions of values and awaitables: nothing is gained by its types.
        if self._made is None:
            self._made = connect(self._url)
        return self._made

    @property
    def _is_cluster(self) -> bool:
        return isinstance(self._made, RedisCluster)

    def close(self) -> None:
        """Close all connections."""
        if self._made is not None:
            with contextlib.suppress(redis.RedisError):
                self._made.close()

    # -- progress ---------------------------------------------------------------------------

    def begin(self) -> Progress:
        """How far the store is; one that holds nothing takes a new generation."""
        fields = self._begin(anew=False)
        positions: dict[Place, int] = {}
        for name, value in fields.items():
            topic, slash, partition = name.rpartition("/")
            if slash:
                positions[Topic(topic), int(partition)] = int(value)
        now = fields.get("now")
        return Progress(fields["generation"], positions, None if now is None else Instant(int(now)))

    def clear(self) -> None:
        """Delete every key of the projection, then begin a new generation.

        Whatever a worker writes meanwhile belongs to the old one: it notices, and begins again.
        """
        with self._translated():
            escaped = "".join(f"[{c}]" if c in "*?[" else "\\\\" if c == "\\" else c for c in self._prefix)
            pending: list[bytes] = []
            for found in self._client.scan_iter(match=f"{escaped}*", count=1_000):
                if found != self._meta.encode():
                    pending.append(found)
                if len(pending) == PIPELINE_MAX:
                    self._unlink(pending)
                    pending = []
            self._unlink(pending)
        self._begin(anew=True)

    def _begin(self, *, anew: bool) -> dict[str, str]:
        with self._translated():
            answer = self._client.eval(_BEGIN, 1, self._meta, uuid.uuid4().hex, int(anew))
        # Redis answers a script with a list; redis-py makes a dict only of a command that it knows.
        return dict(zip(*[iter(part.decode() for part in answer)] * 2, strict=True))

    def _unlink(self, keys: Sequence[bytes]) -> None:
        with self._client.pipeline(transaction=False) as pipe:
            for found in keys:
                pipe.unlink(found)
            pipe.execute()

    # -- writing ----------------------------------------------------------------------------

    def apply(self, generation: str, batch: Batch) -> None:
        """Take a batch in: subjects first, then the index, then how far it reaches."""
        calls = self._calls(batch.updates)
        with self._translated():
            for start in range(0, len(calls), PIPELINE_MAX):
                self._run(generation, calls[start : start + PIPELINE_MAX])
            self._note_names(batch)
            arguments: list[str | int] = [generation, "" if batch.now is None else batch.now]
            for (topic, partition), (start, end) in batch.reached.items():
                arguments += [f"{topic.value}/{partition}", start, end]
            if not self._client.eval(_ADVANCE, 1, self._meta, *arguments):
                raise DriftStoreEmptied("Redis lost the projection of drift, or it is being made anew.")

    def _calls(self, updates: Sequence[Update]) -> list[Call]:
        found: dict[tuple[str, str], list[tuple[str | int, ...]]] = {}
        for update in updates:
            found.setdefault((update.namespace, update.name), []).append(_written(update))
        return [(self._key(*about), _pack((*about, written))) for about, written in found.items()]

    def _run(self, generation: str, calls: Sequence[Call]) -> None:
        client = self._client
        if not self._is_cluster:
            self._run_on(client, generation, calls, together=SUBJECTS_TOGETHER)
            return
        by_node: dict[str, list[Call]] = {}
        for call in calls:
            node = client.get_node_from_key(call[0])
            by_node.setdefault(node.name, []).append(call)
        for name, there in by_node.items():
            node = client.get_redis_connection(client.get_node(node_name=name))
            try:
                self._run_on(node, generation, there, together=1)  # two subjects are seldom in one slot
            except (redis.exceptions.MovedError, redis.exceptions.AskError):
                # Slots are moving: the client of the cluster follows them, a call at a time.
                for key, written in there:
                    client.eval(_SCRIPT, 1, key, generation, *_LIMITS, written)

    def _run_on(self, node: Any, generation: str, calls: Sequence[Call], *, together: int) -> None:
        digest = node.script_load(_SCRIPT)
        with node.pipeline(transaction=False) as pipe:
            for start in range(0, len(calls), together):
                keys, written = zip(*calls[start : start + together], strict=True)
                pipe.evalsha(digest, len(keys), *keys, generation, *_LIMITS, *written)
            pipe.execute()

    def _note_names(self, batch: Batch) -> None:
        newest: dict[str, dict[str, int]] = {}
        flux: dict[tuple[str, str], bool] = {}
        for update in batch.updates:
            news = update.news
            if news is not None and news.at is not None and news.bearing is not Bearing.LEAVES:
                names = newest.setdefault(update.namespace, {})
                names[update.name] = max(news.at, names.get(update.name, news.at))
            elif update.kind is not None:
                signal = _SIGNAL[update.kind]
                flux[update.namespace, f"{signal}:{update.name}"] = update.since is not None
        namespaces = {*newest, *(namespace for namespace, _ in flux)}
        if not namespaces:
            return
        with self._client.pipeline(transaction=False) as pipe:
            pipe.sadd(f"{self._prefix}namespaces", *namespaces)
            for namespace, names in newest.items():
                pipe.zadd(self._index("newest", namespace), names, gt=True)
                if batch.now is not None:
                    pipe.zremrangebyscore(self._index("newest", namespace), "-inf", batch.now - KEPT_MS)
            for (namespace, member), is_on in flux.items():
                change = pipe.sadd if is_on else pipe.srem
                change(self._index("flux", namespace), member)
            pipe.execute()

    def forget(self, namespace: str, name: str) -> None:
        """Delete what is known about a subject, by its normal form."""
        key = self._key(namespace, name)
        with self._translated(), self._client.pipeline(transaction=False) as pipe:
            for held in (key, f"{key}:facts"):
                pipe.unlink(held)
            pipe.zrem(self._index("newest", namespace), name)
            for signal in sorted(set(_SIGNAL.values())):
                pipe.srem(self._index("flux", namespace), f"{signal}:{name}")
            pipe.execute()

    # -- reading ----------------------------------------------------------------------------

    def entity(self, namespace: str, name: str) -> Kept | None:
        """What is known about a subject, by its normal form."""
        key = self._key(namespace, name)
        with self._translated(), self._client.pipeline(transaction=False) as pipe:
            pipe.hgetall(key)
            pipe.hgetall(f"{key}:facts")
            fields, facts = pipe.execute()
        if not fields:
            return None
        found = Entity(
            {FactId(fact.decode()): _retirement(value) for fact, value in facts.items()},
            int(fields[b"lifetime"]),
            _instant(fields[b"unstable"]),
            _instant(fields[b"churning"]),
        )
        return Kept(namespace, name, fields[b"spelling"].decode(), found, int(fields[b"said"]))

    def names(self, namespace: str | None, now: Instant) -> list[tuple[str, str]]:
        """(namespace, name) of all that are in flux or may have something in a window at `now`, in order."""
        with self._translated():
            if namespace is None:
                everywhere = [n.decode() for n in self._client.smembers(f"{self._prefix}namespaces")]
            else:
                everywhere = [namespace]
            found: set[tuple[str, str]] = set()
            for one in everywhere:
                recent = self._client.zrangebyscore(self._index("newest", one), f"({now - WINDOW_MS}", "+inf")
                found.update((one, name.decode()) for name in recent)
                flux = self._client.smembers(self._index("flux", one))
                found.update((one, member.decode().partition(":")[2]) for member in flux)
        return sorted(found)

    # -- keys -------------------------------------------------------------------------------

    @property
    def _meta(self) -> str:
        return f"{self._prefix}progress"

    def _index(self, what: str, namespace: str) -> str:
        return f"{self._prefix}{what}:{namespace}"

    def _key(self, namespace: str, name: str) -> str:
        """The key of a subject. A digest in the braces, as a name may hold braces of its own."""
        tag = blake2b(subject_key(namespace, name), digest_size=16).hexdigest()
        return f"{self._prefix}{{{tag}}}"

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (redis.RedisError, OSError) as error:
            raise DriftUnavailable(
                f"The Redis of drift cannot be used: {type(error).__name__}: {error}. Facts go on without "
                "it; it is caught up when it answers. Start it, or set FACTDRIFT_REDIS_URL."
            ) from error


_SIGNAL: Final = {
    AlertKind.UNSTABLE: "unstable",
    AlertKind.STABLE: "unstable",
    AlertKind.CHURNING: "churning",
    AlertKind.SETTLED: "churning",
}


def _written(update: Update) -> tuple[str | int, ...]:
    """An update as the script reads it."""
    head = (
        update.topic.value, update.offset, update.spelling, update.kind.value if update.kind else "",
        "" if update.since is None else str(update.since), update.lifetime,
    )  # fmt: skip
    news = update.news
    if news is None:
        return head
    at = "" if news.at is None else str(news.at)
    told, declared = "1" if news.told else "0", "1" if news.declared else "0"
    cause = _encode_cause(news.cause).decode()
    return (*head, news.fact_id, str(news.version), news.bearing.value, told, at, declared, cause)


def _retirement(value: bytes) -> Retirement:
    is_in, told_by, dated_by, counted, at, place, declared, cause = value.split(b"|", 7)
    return Retirement(
        is_in == b"1",
        int(told_by),
        int(dated_by),
        int(counted),
        Instant(int(at)) if at else None,
        Instant(int(place)),
        declared == b"1",
        _decode_cause(cause),
    )


def _instant(value: bytes) -> Instant | None:
    return Instant(int(value)) if value else None
