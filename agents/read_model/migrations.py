"""How a database gets the newest schema: numbered steps, forward only, each written down once and for ever.

A step is never edited after its release; `schema` says what all of them together must give, and a test holds
the two against each other. All missing steps are one transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, delete, insert, inspect, select, text, update

from agents.read_model import schema
from agents.read_model.errors import ReadModelError

_DOCUMENT: Final = (
    "id {text} NOT NULL PRIMARY KEY, namespace {text} NOT NULL, subject {text} NOT NULL, "
    "recorded_at BIGINT NOT NULL"
)

STEPS: Final[Mapping[int, tuple[str, ...]]] = {
    1: (
        "CREATE TABLE meta (name {text} NOT NULL PRIMARY KEY, value {text} NOT NULL)",
        "CREATE TABLE applied_offsets (topic {text} NOT NULL, partition BIGINT NOT NULL, "
        "next_offset BIGINT NOT NULL, PRIMARY KEY (topic, partition))",
        "CREATE TABLE subjects (namespace {text} NOT NULL, subject {text} NOT NULL, spelled {text} NOT NULL, "
        "spelled_at BIGINT NOT NULL, PRIMARY KEY (namespace, subject))",
        "CREATE TABLE claims (claim_id {text} NOT NULL PRIMARY KEY, namespace {text} NOT NULL, "
        "subject {text} NOT NULL, predicate {text} NOT NULL, spelled_subject {text} NOT NULL, "
        "spelled_predicate {text} NOT NULL, spelled_at BIGINT NOT NULL)",
        "CREATE UNIQUE INDEX ix_claims_name ON claims (namespace, subject, predicate)",
        "CREATE TABLE evidence (claim_id {text} NOT NULL, observation_id {text} NOT NULL, "
        "content_hash {text} NOT NULL, source {text}, recorded_at BIGINT NOT NULL, "
        'partition BIGINT NOT NULL, "offset" BIGINT NOT NULL, cycle BIGINT NOT NULL, body {blob} NOT NULL, '
        "PRIMARY KEY (claim_id, observation_id, content_hash))",
        "CREATE TABLE clocks (partition BIGINT NOT NULL PRIMARY KEY, cycle BIGINT NOT NULL)",
        "CREATE INDEX ix_evidence_recorded ON evidence (claim_id, recorded_at, observation_id)",
        "CREATE TABLE corrections (correction_id {text} NOT NULL PRIMARY KEY, op {text} NOT NULL, "
        "namespace {text} NOT NULL, subject {text} NOT NULL, target {text} NOT NULL, "
        'recorded_at BIGINT NOT NULL, partition BIGINT NOT NULL, "offset" BIGINT NOT NULL, '
        "body {blob} NOT NULL)",
        "CREATE INDEX ix_corrections_subject ON corrections (namespace, subject)",
        "CREATE TABLE fact_versions (seq BIGINT NOT NULL PRIMARY KEY, fact_id {text} NOT NULL, "
        "version BIGINT NOT NULL, claim_id {text} NOT NULL, event_id {text} NOT NULL, event {text} NOT NULL, "
        "revision {text} NOT NULL, recorded_at BIGINT NOT NULL, partition BIGINT NOT NULL, "
        '"offset" BIGINT NOT NULL, cycle BIGINT NOT NULL, lo BIGINT NOT NULL, hi BIGINT NOT NULL, '
        "body {blob} NOT NULL)",
        "CREATE UNIQUE INDEX ix_fact_versions_fact ON fact_versions (fact_id, version)",
        'CREATE INDEX ix_fact_versions_claim ON fact_versions (claim_id, "offset", version, seq)',
        "CREATE TABLE facts (fact_id {text} NOT NULL PRIMARY KEY, version BIGINT NOT NULL, "
        "seq BIGINT NOT NULL, claim_id {text} NOT NULL, namespace {text} NOT NULL, subject {text} NOT NULL, "
        "predicate {text} NOT NULL, form {text} NOT NULL, shown_form {text}, lo BIGINT NOT NULL, "
        "hi BIGINT NOT NULL, reason {text} NOT NULL, contested BOOLEAN NOT NULL)",
        "CREATE INDEX ix_facts_name ON facts (namespace, subject, predicate, lo, fact_id)",
        "CREATE INDEX ix_facts_claim ON facts (claim_id)",
        "CREATE INDEX ix_facts_form ON facts (form)",
        "CREATE INDEX ix_facts_shown_form ON facts (shown_form)",
        f"CREATE TABLE links ({_DOCUMENT}, kind {{text}} NOT NULL, claim_id {{text}} NOT NULL, "
        "from_id {text} NOT NULL, to_id {text} NOT NULL, body {blob} NOT NULL)",
        "CREATE INDEX ix_links_claim ON links (claim_id)",
        "CREATE INDEX ix_links_from ON links (from_id)",
        "CREATE INDEX ix_links_to ON links (to_id)",
        "CREATE INDEX ix_links_recorded ON links (recorded_at, id)",
        f"CREATE TABLE drift_alerts ({_DOCUMENT}, state {{text}} NOT NULL, cycle BIGINT NOT NULL, "
        "body {blob} NOT NULL)",
        "CREATE INDEX ix_drift_alerts_subject ON drift_alerts (namespace, subject, recorded_at, cycle)",
        "CREATE INDEX ix_drift_alerts_recorded ON drift_alerts (recorded_at, id)",
        f"CREATE TABLE cycles ({_DOCUMENT}, cycle BIGINT NOT NULL, body {{blob}} NOT NULL)",
        "CREATE INDEX ix_cycles_recorded ON cycles (recorded_at, id)",
        f"CREATE TABLE rule_events ({_DOCUMENT}, rule_id {{text}} NOT NULL, event {{text}} NOT NULL, "
        "state {text} NOT NULL, seq BIGINT NOT NULL, body {blob} NOT NULL)",
        "CREATE INDEX ix_rule_events_rule ON rule_events (rule_id, seq)",
        "CREATE INDEX ix_rule_events_recorded ON rule_events (recorded_at, id)",
    ),
    2: (
        # What a cycle did, and which claims have forgotten a part of their past.
        "CREATE INDEX ix_fact_versions_cycle ON fact_versions (cycle, seq)",
        "CREATE TABLE erasures (claim_id {text} NOT NULL PRIMARY KEY, erased_at BIGINT NOT NULL)",
    ),
    3: (
        # What is to be forgotten, and what was.
        'CREATE TABLE wishes (partition BIGINT NOT NULL, "offset" BIGINT NOT NULL, '
        "correction_id {text} NOT NULL, scope {text} NOT NULL, namespace {text} NOT NULL, subject {text}, "
        "observation_id {text}, source {text}, recorded_at BIGINT NOT NULL, is_done BOOLEAN NOT NULL, "
        'PRIMARY KEY (partition, "offset"))',
        "CREATE INDEX ix_wishes_correction ON wishes (correction_id)",
    ),
    4: (
        # The few contested facts among the many.
        "CREATE INDEX ix_facts_contested ON facts (namespace, subject, predicate, lo, fact_id) "
        "WHERE contested = {true}",
    ),
    5: (
        # What sources weigh, where that is learnt.
        "CREATE TABLE trust_snapshots (namespace {text} NOT NULL, number BIGINT NOT NULL, "
        "body {blob} NOT NULL, PRIMARY KEY (namespace, number))",
    ),
    6: (
        # A subject in whichever namespace.
        "CREATE INDEX ix_claims_subject ON claims (subject, predicate)",
        "CREATE INDEX ix_facts_subject ON facts (subject, predicate)",
    ),
}  # fmt: skip
NEWEST: Final = max(STEPS)
assert sorted(STEPS) == list(range(1, NEWEST + 1))

_UNFINISHED: Final = "rebuild"
_LOG: Final = "log"
_TYPES: Final = {
    "sqlite": {"text": "TEXT", "blob": "BLOB", "true": "1"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "blob": "BYTEA", "true": "true"},
}


def migrate(connection: Connection, *, to: int = NEWEST) -> None:
    """Bring the database to schema version `to`; one that is there already is left alone.

    The caller's transaction holds the lock of a writer. Raises ReadModelError `read_model_newer` where a
    later release was here, `read_model_foreign` where the tables are somebody else's.
    """
    found = version_of(connection)
    if found > NEWEST:
        raise ReadModelError(
            "read_model_newer",
            f"The read model has schema version {found}, this release knows {NEWEST}. Start the newer "
            "factdrift, or give this one a database of its own with FACTDRIFT_READ_MODEL_URL.",
        )
    types = _TYPES[connection.dialect.name]
    for number in range(found + 1, to + 1):
        for statement in STEPS[number]:
            connection.execute(text(statement.format(**types)))
        if number == 1:
            connection.execute(insert(schema.meta).values(name="generation", value=secrets.token_hex(4)))
            connection.execute(insert(schema.meta).values(name="schema", value="1"))
        else:
            connection.execute(
                update(schema.meta).where(schema.meta.c.name == "schema").values(value=str(number))
            )


def version_of(connection: Connection) -> int:
    """The schema version of the database; 0 where it is empty. Raises ReadModelError `read_model_foreign`."""
    names = set(inspect(connection).get_table_names())
    if not names & set(schema.metadata.tables):
        return 0
    if {"meta", "applied_offsets"} <= names:
        found = connection.execute(select(schema.meta.c.value).where(schema.meta.c.name == "schema")).scalar()
        if found is not None and found.isdigit():
            return int(found)
    taken = ", ".join(sorted(names & set(schema.metadata.tables)))
    raise ReadModelError(
        "read_model_foreign",
        f"The database has tables of other makers under the names {taken}. Give factdrift a database, or a "
        "schema, of its own with FACTDRIFT_READ_MODEL_URL.",
    )


def generation(connection: Connection) -> str:
    """What tells this read model from the one before the last rebuild."""
    return str(
        connection.execute(select(schema.meta.c.value).where(schema.meta.c.name == "generation")).scalar_one()
    )


def empty(connection: Connection) -> None:
    """Delete every row, and begin another generation. What was forgotten stays known as forgotten."""
    for table in reversed(schema.metadata.sorted_tables):
        if table not in (schema.meta, schema.erasures, schema.wishes):
            connection.execute(table.delete())
    connection.execute(delete(schema.wishes).where(schema.wishes.c.is_done.is_(False)))
    connection.execute(delete(schema.meta).where(schema.meta.c.name == _LOG))
    connection.execute(
        update(schema.meta).where(schema.meta.c.name == "generation").values(value=secrets.token_hex(4))
    )


def refuse_other_log(connection: Connection, log: str | None) -> None:
    """Make sure that what was applied so far, if anything, comes from this log; None is an empty one.

    Raises ReadModelError `read_model_other_log`.
    """
    if _log_of(connection) not in (None, log):
        raise ReadModelError(
            "read_model_other_log",
            "The read model holds another log, or one that was replaced since. Build it anew with factdrift "
            "rebuild read-model, or give this log a database of its own with FACTDRIFT_READ_MODEL_URL.",
        )


def note_log(connection: Connection, log: str) -> None:
    """Remember which log is applied. Raises ReadModelError `read_model_other_log`."""
    refuse_other_log(connection, log)
    if _log_of(connection) is None:
        connection.execute(insert(schema.meta).values(name=_LOG, value=log))


def _log_of(connection: Connection) -> str | None:
    return connection.execute(select(schema.meta.c.value).where(schema.meta.c.name == _LOG)).scalar()


def note_unfinished(connection: Connection, *, unfinished: bool) -> None:
    """Say whether a rebuild has begun that must be ended before anything else is applied."""
    connection.execute(delete(schema.meta).where(schema.meta.c.name == _UNFINISHED))
    if unfinished:
        connection.execute(insert(schema.meta).values(name=_UNFINISHED, value="unfinished"))


def refuse_unfinished(connection: Connection) -> None:
    """Raise ReadModelError `read_model_unfinished` after a rebuild that was interrupted."""
    found = select(schema.meta.c.value).where(schema.meta.c.name == _UNFINISHED)
    if connection.execute(found).first() is not None:
        raise ReadModelError(
            "read_model_unfinished",
            "A rebuild of the read model was interrupted, so it has a gap. Run it again: "
            "factdrift rebuild read-model",
        )
