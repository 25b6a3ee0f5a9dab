"""The embedded host: one process, no server, one SQLite file, exactly once."""

from streams.embedded.host import PARTITION, EmbeddedHost
from streams.embedded.store import EmbeddedLocked, EmbeddedStore, Progress, StoreFormat

__all__ = ["PARTITION", "EmbeddedHost", "EmbeddedLocked", "EmbeddedStore", "Progress", "StoreFormat"]
