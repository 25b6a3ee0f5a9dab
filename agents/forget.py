"""Forgetting from outside: asking the log for it, erasing what the host can rewrite, and proving it.

The one place that the command line, REST and MCP go through. On an embedded log everything is gone when
`forget_embedded` returns. On Kafka the workers do their part as they read the wish; `forget_kafka` does the
rest, and what append-only topics hold leaves with their retention.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select

from agents.composition import drift_store
from agents.erasing import ERASED_MARK, Erased, erase, is_letter_about
from agents.proving import Found, Proof, TopicSearch, Words, look_into_files, prove_embedded
from agents.read_model import (
    ReadModel,
    Scope,
    catch_up,
    follow_kafka,
    open_read_model,
    rebuild_embedded,
    schema,
    wishes,
)
from agents.read_model import erase as erase_rows
from agents.read_model.database import FILE_NAME as READ_MODEL_FILE
from agents.read_model.erasing import note_erased
from agents.read_model.wishes import Wish
from state.corrections import Forget
from state.errors import BadInput, FactdriftError, Refused
from state.instants import Instant
from state.validation import read
from streams.drift import DriftUnavailable
from streams.embedded import EmbeddedHost, EmbeddedStore
from streams.embedded.drift import DRIFT_FILE, SqliteDriftStore
from streams.host import Record
from streams.keys import Offset, Partition
from streams.settings import Settings
from streams.topics import CHANGE_FEED, SPEC_OF, Topic
from streams.wire import to_json

Fields = dict[str, Any]


class FileInUse(FactdriftError):
    """Another process kept the bytes of what was erased from leaving the file. `code` is stable."""

    code = "file_in_use"


def wish_of(fields: Mapping[str, Any], *, now: Instant) -> tuple[Forget, bytes]:
    """The wish that these fields are, and its record. Raises Refused, with the code."""
    value = to_json({"op": "forget", **{k: v for k, v in fields.items() if v is not None and k != "op"}})
    try:
        found = read(value, recorded_at=now)
    except BadInput as bad:
        raise Refused(bad.code, bad.message) from bad
    assert isinstance(found, Forget)
    return found, value


# -- an embedded log ------------------------------------------------------------------------


def forget_embedded(
    host: EmbeddedHost, settings: Settings, folder: Path, fields: Mapping[str, Any]
) -> Fields:
    """Forget, and erase it from the log, the tables, the read model and the projection of drift.

    Returns what was withdrawn and erased. Raises Refused, FileInUse, ReadModelError. Whatever was
    interrupted is done by doing it again.
    """
    _, value = wish_of(fields, now=host.clock())
    outputs = host.publish(Topic.CORRECTIONS, [(None, value, None)])
    told = [msgspec.json.decode(o.value) for o in outputs if o.topic in CHANGE_FEED]
    erased = erase_everything(host, settings, folder)
    return {
        "withdrawn": sum(event["reason"] == "withdrawn" for event in told),
        "events": len(told),
        "erased": erased.rows,
    }


def erase_everything(
    host: EmbeddedHost, settings: Settings, folder: Path, *, model: ReadModel | None = None
) -> Erased:
    """Erase what the wishes of an embedded log name and no one has erased yet, wherever it is kept.

    `model` is its read model where the caller has it open. Raises FileInUse, ReadModelError.
    """
    with contextlib.ExitStack() as stack:
        if model is None and (settings.read_model_url is not None or (folder / READ_MODEL_FILE).is_file()):
            model = stack.enter_context(contextlib.closing(open_read_model(settings, folder)))
        if model is not None:
            catch_up(model, host.store)  # while the wishes still say what they are about
        erased = erase(host.store)
        is_free = True
        if model is not None:
            _erase_model(model, host.store, erased)
            is_free = model.reclaim()
    if (folder / DRIFT_FILE).is_file():
        drift = drift_store(settings, folder)
        assert isinstance(drift, SqliteDriftStore)
        try:
            drift.begin()
            drift.clear()  # filled again from what the log holds now
            drift.reclaim()
        finally:
            drift.close()
    if not (host.store.reclaim() and is_free):
        raise FileInUse(
            f"Another process reads the files in {folder}, so they still hold bytes of what was erased. Stop "
            "it, and give the same command again."
        )
    return erased


def _erase_model(model: ReadModel, store: EmbeddedStore, erased: Erased) -> None:
    """Erase from a read model; where something was said since, it is built anew from the log that is left."""
    end = int(store.mark(ERASED_MARK) or 0)
    with model.writing() as connection:
        for wish in wishes.pending(connection):
            if wish.place.offset < end:
                wishes.note_done(connection, wish)
    if not erased.is_newest:
        rebuild_embedded(model, store)
        at = max(wish.recorded_at for wish in erased.wishes)
        with model.writing() as connection:
            note_erased(connection, sorted(erased.claims), at)
        return
    catch_up(model, store)
    for forget in erased.wishes:
        erase_from(model, forget)


def erase_from(model: ReadModel, wish: Forget) -> None:
    """Erase from a read model what a wish names; the model must have applied what the wish did.

    What was said of a subject, or by a source, since then goes too: do it before more is said.
    """
    scope = Scope(
        namespace=wish.namespace, subject=wish.subject, observation_id=wish.observation_id, source=wish.source
    )
    with model.writing() as connection:
        erase_rows(connection, scope, erased_at=wish.recorded_at)
        for noted in wishes.pending(connection):
            if noted.correction_id == wish.correction_id:
                wishes.note_done(connection, noted)


def verify_embedded(
    store: EmbeddedStore, folder: Path, words: Words, *, settings: Settings | None = None
) -> Proof:
    """Look for words in an embedded log, in every file of its folder, and in a read model elsewhere."""
    proof = prove_embedded(store, folder, words)
    _look_into_server(settings, words, proof)
    return proof


def _look_into_server(settings: Settings | None, words: Words, proof: Proof) -> None:
    """Look into a read model whose files are on a server: row by row."""
    if settings is None or settings.read_model_url is None:
        return
    with contextlib.closing(open_read_model(settings, Path())) as model, model.reading() as connection:
        for table in schema.metadata.sorted_tables:
            n_found = n_rows = 0
            for row in connection.execute(select(table).execution_options(yield_per=1_000)):
                n_rows += 1
                n_found += any(words.are_in(held) for held in _written(row))
            where = f"read model {table.name}"
            proof.looked_in[where] = n_rows
            if n_found:
                proof.left.append(Found(where, n_found))


def _written(row: Iterable[Any]) -> Iterator[bytes]:
    for value in row:
        if isinstance(value, str):
            yield value.encode("utf-8")
        elif isinstance(value, bytes | memoryview):
            yield bytes(value)


# -- topics on Kafka ------------------------------------------------------------------------


async def forget_kafka(settings: Settings, fields: Mapping[str, Any], *, now: Instant) -> Fields:
    """Ask the workers to forget, and take dead letters out of their topic; returns when both are durable.

    A subject leaves the projection of drift as well, where that answers; `drift` says whether it did. A
    second call is harmless. Raises Refused, BrokerUnreachable, BrokerFailed.
    """
    from streams.kafka import publish
    from streams.kafka.searching import erase_letters
    from streams.keys import subject_key

    wish, value = wish_of(fields, now=now)
    key = None if wish.subject is None else subject_key(wish.namespace, wish.subject)
    await publish(settings, Topic.CORRECTIONS, [(key, value)])
    n_letters = await erase_letters(settings, lambda letter: bool(letter) and is_letter_about(letter, wish))
    return {"asked": True, "letters": n_letters, "drift": _forget_drift(settings, wish)}


def _forget_drift(settings: Settings, wish: Forget) -> bool:
    """Take a subject out of the projection of drift; says whether there is nothing of it left there."""
    if wish.scope != "subject" or wish.subject is None:
        return True
    try:
        store = drift_store(settings, None)
        try:
            store.forget(wish.namespace, wish.subject)
        finally:
            store.close()
    except DriftUnavailable:
        return False
    return True


async def erase_fulfilled(model: ReadModel, settings: Settings) -> int:
    """Erase from a read model over Kafka what wishes name that the workers have carried out.

    Returns how many wishes are left, to be asked about again. What was said after a wish stays. Raises
    ReadModelError, BrokerUnreachable, BrokerRefused, BrokerFailed.
    """
    from streams.kafka import progress, topic_name

    waiting = await asyncio.to_thread(_pending, model)
    if not waiting:
        return 0
    internal = topic_name(settings.kafka, Topic.BY_CLAIM)
    committed = {p.partition: p.committed for p in await progress(settings) if p.topic == internal}
    fulfilled = [wish for wish in waiting if wish.place.offset < committed.get(wish.place.partition, 0)]
    if fulfilled:
        # A commit says that whatever follows from a record is on its topic: read up to there, then erase.
        await follow_kafka(model, settings, to_end=True)
        await asyncio.to_thread(_erase_fulfilled, model, fulfilled)
    return len(waiting) - len(fulfilled)


def _pending(model: ReadModel) -> list[Wish]:
    with model.reading() as connection:
        return wishes.pending(connection)


def _erase_fulfilled(model: ReadModel, fulfilled: list[Wish]) -> None:
    with model.writing() as connection:
        for wish in fulfilled:
            erase_rows(connection, wish.scope, erased_at=wish.recorded_at, by=wish.place)
            wishes.note_done(connection, wish)
    model.reclaim()


async def verify_kafka(settings: Settings, words: Words, folders: list[Path]) -> Proof:
    """Look for words in every topic, and in the files of workers and read models in these folders."""
    from streams.kafka import topic_name
    from streams.kafka.searching import everything, names_of, retentions

    proof = Proof()
    topic_of = {topic_name(settings.kafka, topic): topic for topic in SPEC_OF}
    search = TopicSearch(words, proof, await retentions(settings))
    async for batch in everything(settings, await names_of(settings)):
        known = [held for held in batch if held[0] in topic_of]
        search.look([_record(topic_of[held[0]], held) for held in known])
        search.look_into_changelogs([held for held in batch if held[0] not in topic_of])
    search.close()
    for folder in folders:
        look_into_files(folder, words, proof)
    await asyncio.to_thread(_look_into_server, settings, words, proof)
    return proof


def _record(topic: Topic, held: tuple[str, int, int, bytes, bytes, int]) -> Record:
    _, partition, offset, key, value, at = held
    return Record(topic, Partition(partition), Offset(offset), key, value, Instant(at))
