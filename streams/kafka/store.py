"""Where one partition of a table lies on this machine: in RocksDB, or in memory.

Knows keys, values and one number: the offset of the last changelog record that it holds. That number is
written in the same step as the values, so that after a crash the two always belong together. Knows
nothing of Kafka and nothing of what a value means.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    BottommostLevelCompaction,
    Cache,
    CompactOptions,
    Options,
    Rdict,
    WriteBatch,
    WriteBufferManager,
)

_OFFSET_KEY: Final = b"\x00offset"  # no key of a table begins with a zero byte
_MIB: Final = 1024 * 1024
_WRITE_BUFFER_BYTES: Final = 16 * _MIB  # per partition and table, and of all of them together at most:
_WRITE_BUFFERS_BYTES: Final = 64 * _MIB  # hundreds of partitions and tables would hold gigabytes otherwise
_CACHE_BYTES: Final = 128 * _MIB  # shared by all partitions and tables of a process, write buffers included
_BLOOM_BITS: Final = 10  # about 1 % of look-ups for a key that is not there touch the disk


class PartitionStore(Protocol):
    """One partition of one table."""

    @property
    def offset(self) -> int | None:
        """The last changelog record that is held, or None where there is none."""
        ...

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        ...

    def compact(self) -> None:
        """Rewrite the files, so that none holds what was deleted or overwritten any more."""
        ...

    def write(self, changes: Mapping[bytes, bytes | None], offset: int) -> None:
        """Apply changes (None deletes) and move the offset, in one step."""
        ...

    def clear(self) -> None:
        """Forget everything, the offset too."""
        ...

    def close(self) -> None:
        """Let go of files and locks. Nothing else may be called afterwards."""
        ...


OpenStore = Callable[[str, int], PartitionStore]
"""Opens the store of (table, partition)."""


class MemoryStore:
    """A partition in memory; it is restored from the changelog at every start."""

    def __init__(self) -> None:
        self.offset: int | None = None
        self._values: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        return self._values.get(key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        yield from sorted((key, value) for key, value in self._values.items() if key.startswith(prefix))

    def compact(self) -> None:
        """There are no files."""

    def write(self, changes: Mapping[bytes, bytes | None], offset: int) -> None:
        """Apply changes (None deletes) and move the offset."""
        for key, value in changes.items():
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
        self.offset = offset

    def clear(self) -> None:
        """Forget everything, the offset too."""
        self._values.clear()
        self.offset = None

    def close(self) -> None:
        """Let go of the memory."""
        self._values.clear()


class RocksStore:
    """A partition in a RocksDB folder of its own. One process at a time can have it open."""

    def __init__(self, folder: Path, cache: Cache, buffers: WriteBufferManager) -> None:
        self._folder = folder
        self._cache = cache
        self._buffers = buffers
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._open()

    def _open(self) -> None:
        self._db = Rdict(
            str(self._folder),
            options=_options(self._cache, self._buffers),
            access_type=AccessType.read_write(),
        )
        stored: Any = self._db.get(_OFFSET_KEY)
        self.offset: int | None = None if stored is None else int.from_bytes(stored, "big")

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        found: bytes | None = self._db.get(key)
        return found

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All (key, value) whose key begins with `prefix`, in order of the key."""
        found: Iterator[tuple[Any, Any]] = self._db.items(from_key=prefix or None)
        for key, value in found:
            if not key.startswith(prefix):
                return
            if key != _OFFSET_KEY:
                yield key, value

    def compact(self) -> None:
        """Rewrite all files: also those of the last level, which RocksDB would leave as they are.

        The manifest names the first and last key of every file that there ever was, until it is opened anew.
        """
        self._db.flush()
        options = CompactOptions()
        options.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        self._db.compact_range(None, None, options)
        self._db.close()
        self._open()

    def write(self, changes: Mapping[bytes, bytes | None], offset: int) -> None:
        """Apply changes (None deletes) and move the offset, in one step."""
        batch = WriteBatch(raw_mode=True)
        for key, value in changes.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        batch.put(_OFFSET_KEY, offset.to_bytes(8, "big"))
        self._db.write(batch)
        self.offset = offset

    def clear(self) -> None:
        """Forget everything, the offset too."""
        self._db.close()
        shutil.rmtree(self._folder)
        self._open()

    def close(self) -> None:
        """Let go of files and locks."""
        self._db.close()


def memory_stores() -> OpenStore:
    """Stores in memory."""
    return lambda _table, _partition: MemoryStore()


def rocks_stores(folder: Path) -> OpenStore:
    """Stores below a folder that belongs to this process alone; they share one cache and its memory."""
    cache = Cache(_CACHE_BYTES)
    buffers = write_buffers(cache)
    return lambda table, partition: RocksStore(folder / table / str(partition), cache, buffers)


def write_buffers(cache: Cache) -> WriteBufferManager:
    """What bounds the memory of all stores' latest writes together; it is taken from the cache's."""
    return WriteBufferManager.new_write_buffer_manager_with_cache(_WRITE_BUFFERS_BYTES, False, cache)


def _options(cache: Cache, buffers: WriteBufferManager) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_write_buffer_manager(buffers)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    blocks.set_bloom_filter(_BLOOM_BITS, block_based=False)
    options.set_block_based_table_factory(blocks)
    return options
