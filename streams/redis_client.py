"""How Redis is reached: one URL for a single server, a server behind Sentinel, or a cluster.

    redis://[user:password@]host:port/0                        rediss:// with TLS
    redis+sentinel://[user:password@]host:port,…/service/0     rediss+sentinel://
    redis+cluster://[user:password@]host:port,…                rediss+cluster://

Options of redis-py follow a question mark, such as ?ssl_ca_certs=/etc/ca.pem. Nothing here prints a password.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from streams.settings import BadSetting

ANSWER_S: Final = 5.0
"""How long one answer may take. A server that is slower counts as away; whoever asked asks again."""

_Sentinel: Any = Sentinel  # redis-py leaves these without types
_ClusterNode: Any = ClusterNode
_parse_url: Any = redis.connection.parse_url

AnyClient = redis.Redis | RedisCluster
_SENTINEL_PORT: Final = 26379
_PORT: Final = 6379


def connect(url: str, *, answer_s: float = ANSWER_S) -> AnyClient:
    """A client for this URL. Raises BadSetting; a cluster is asked for its nodes at once, or RedisError."""
    scheme, _, rest = url.partition("://")
    transport, _, kind = scheme.partition("+")
    if kind not in ("", "sentinel", "cluster") or not rest or (kind and transport not in ("redis", "rediss")):
        raise _bad(url, f"begins with {scheme}://")
    options: dict[str, Any] = {
        "socket_timeout": answer_s,
        "socket_connect_timeout": answer_s,
        "retry": Retry(NoBackoff(), 1),  # a connection that has gone stale is replaced, no more
        "health_check_interval": 0,
    }
    try:
        if not kind:
            client: redis.Redis = redis.Redis.from_url(url, **options)
            return client
        nodes, login, path, query = _parts(rest)
        given = _given(f"{transport}://{login}{nodes[0][0]}:{nodes[0][1]}/{query}")
    except ValueError as error:
        raise _bad(url, f"cannot be read ({error})") from None
    if transport == "rediss":
        given["ssl"] = True
    if kind == "cluster":
        cluster_nodes = [_ClusterNode(host, port or _PORT) for host, port in nodes]
        cluster: RedisCluster = RedisCluster(startup_nodes=cluster_nodes, **{**given, **options})
        return cluster
    service, _, database = path.partition("/")
    if not service:
        raise _bad(url, "names no service of Sentinel")
    sentinel = _Sentinel(
        [(host, port or _SENTINEL_PORT) for host, port in nodes],
        sentinel_kwargs={k: v for k, v in {**given, **options}.items() if k not in ("username", "password")},
        db=int(database or 0),
        **{**given, **options},
    )
    master: redis.Redis = sentinel.master_for(service)
    return master


def _parts(rest: str) -> tuple[list[tuple[str, int]], str, str, str]:
    """Nodes, login with its @, path without slash, query with its ? of what follows the scheme."""
    main, mark, query = rest.partition("?")
    hosts, _, path = main.partition("/")
    login, at, addresses = hosts.rpartition("@")
    nodes = []
    for address in addresses.split(","):
        parts = urlsplit(f"//{address}")
        if not parts.hostname:
            raise ValueError("a node has no name")
        nodes.append((parts.hostname, parts.port or 0))
    return nodes, login + at, path.strip("/"), mark + query


def _given(url: str) -> dict[str, Any]:
    """The options in a URL of one node, as redis-py reads them, without its address."""
    options: dict[str, Any] = _parse_url(url)
    return {name: v for name, v in options.items() if name not in ("host", "port", "connection_class", "db")}


def _bad(url: str, why: str) -> BadSetting:
    address = url.rpartition("@")[2].partition("?")[0]
    return BadSetting(
        f"FACTDRIFT_REDIS_URL (…{address}) {why}. Write redis://host:6379/0, rediss:// for TLS, "
        "redis+sentinel://host:26379,…/service/0 or redis+cluster://host:6379,…."
    )
