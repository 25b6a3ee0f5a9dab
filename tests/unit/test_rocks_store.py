"""The stores of a Kafka worker on RocksDB, beside what the tests of the hosts show of them."""

from __future__ import annotations

import random
from pathlib import Path

from rocksdict import Cache

from streams.kafka.store import RocksStore, write_buffers
from tests.parts.processes import wait_until

MIB = 1024 * 1024
N_STORES = 24  # tables and partitions; a worker has some hundreds
EACH = 6 * MIB  # less than what makes one store write its buffer to the disk


def unwritten(store: RocksStore) -> int:
    return store._db.property_int_value("rocksdb.cur-size-all-mem-tables") or 0


def test_what_many_stores_have_not_written_to_the_disk_yet_is_bounded_for_all_of_them(tmp_path: Path) -> None:
    cache = Cache(128 * MIB)
    buffers = write_buffers(cache)
    stores = [RocksStore(tmp_path / str(number), cache, buffers) for number in range(N_STORES)]
    chance = random.Random(1)
    value_bytes, n_rounds = 64 * 1024, EACH // (64 * 1024)

    try:
        for number in range(n_rounds):
            for store in stores:
                store.write({b"k%d" % number: chance.randbytes(value_bytes)}, number)

        assert 2 * buffers.get_buffer_size() < N_STORES * EACH
        wait_until(
            lambda: sum(map(unwritten, stores)) <= buffers.get_buffer_size(),
            timeout_s=60,
            what="what is above the bound to be written",
        )
        assert all(len(store.get(b"k0") or b"") == value_bytes for store in stores)
        assert {store.offset for store in stores} == {n_rounds - 1}
    finally:
        for store in stores:
            store.close()
