"""Keys and partitions: the same partition as Java's producers, and keys that no value can forge."""

from __future__ import annotations

import json

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka
from hypothesis import given
from hypothesis import strategies as st

from streams.keys import key, murmur2, partition_of, subject_key


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_the_one_that_java_publishes(data: bytes, hashed: int) -> None:
    unsigned = murmur2(data)

    assert 0 <= unsigned < 2**32
    assert unsigned - (2**32 if unsigned >= 2**31 else 0) == hashed


@given(st.binary(max_size=64))
def test_the_hash_agrees_with_that_of_aiokafka(data: bytes) -> None:
    assert murmur2(data) == murmur2_of_aiokafka(data) & 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 200))
def test_the_partition_is_the_one_that_a_default_producer_chooses(data: bytes, n_partitions: int) -> None:
    partitions = list(range(n_partitions))

    assert partition_of(data, n_partitions) == DefaultPartitioner()(data, partitions, partitions)


@pytest.mark.parametrize(
    ("namespace", "subject", "partition"),
    [("default", "kim", 5), ("default", "sam", 11), ("world", "kim", 5), ("default", "東京", 0)],
)
def test_the_partition_of_a_subject_is_one_that_no_release_may_change(
    namespace: str, subject: str, partition: int
) -> None:
    assert partition_of(subject_key(namespace, subject), 12) == partition


def test_one_partition_takes_every_key() -> None:
    assert {partition_of(bytes([number]), 1) for number in range(256)} == {0}


# -- keys -----------------------------------------------------------------------------------

SEPARATORS = '|,/:"\\[]\x00\n '
texts = st.text(st.one_of(st.sampled_from(SEPARATORS), st.characters(codec="utf-8")), max_size=6)
parts = st.lists(texts, min_size=1, max_size=4)


@given(parts, parts)
def test_two_lists_of_parts_have_one_key_only_if_they_are_equal(left: list[str], right: list[str]) -> None:
    assert (key(*left) == key(*right)) == (left == right)


@given(parts, st.sampled_from(SEPARATORS))
def test_no_part_can_forge_a_separator(found: list[str], separator: str) -> None:
    assert (key(separator.join(found)) == key(*found)) == (len(found) == 1)


@given(parts)
def test_a_key_can_be_read_back_by_anything_that_reads_json(found: list[str]) -> None:
    assert json.loads(key(*found)) == found


@given(texts, texts)
def test_the_key_of_a_subject_is_that_of_its_two_parts(namespace: str, subject: str) -> None:
    assert subject_key(namespace, subject) == key(namespace, subject)


def test_keys_are_readable_in_a_console() -> None:
    assert subject_key("default", "東京") == '["default","東京"]'.encode()
    assert key("a|b", "c") == b'["a|b","c"]'
    assert key("a", "b|c") == b'["a","b|c"]'
