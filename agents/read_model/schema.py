"""The tables of the read model as they are at the newest schema version.

Says what each table holds and by what it is found; how a database gets there is `migrations`. Texts compare
by code point on both databases, so that pages have one order everywhere. Instants are milliseconds since
1970; bounds that are not known are `BEGINNING` and `END`, so that a comparison needs no special case.

Everything here is derived from the log: any of it may be deleted and built again.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, LargeBinary, MetaData, Table, Text, true
from sqlalchemy.dialects import postgresql

from state.instants import INSTANT_END, INSTANT_MIN

BEGINNING: Final = -(2**53)
"""The lower bound of a fact whose start is not known."""
END: Final = 2**53
"""The upper bound of a fact whose end is not known."""
assert BEGINNING < INSTANT_MIN < INSTANT_END < END

_text: Final = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_whole: Final = BigInteger()

metadata: Final = MetaData()


def _name(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(name, _text, primary_key=primary_key, nullable=nullable)


def _number(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[int]:
    return Column(name, _whole, primary_key=primary_key, nullable=nullable, autoincrement=False)


def _body() -> Column[bytes]:
    return Column("body", LargeBinary, nullable=False)


meta: Final = Table("meta", metadata, _name("name", primary_key=True), _name("value"))
"""The version of the schema, and the generation: another one after each rebuild."""

offsets: Final = Table(
    "applied_offsets",
    metadata,
    _name("topic", primary_key=True),
    _number("partition", primary_key=True),
    _number("next_offset"),
)
"""Where the projection goes on reading; moves in the transaction that applies the records before it."""

subjects: Final = Table(
    "subjects",
    metadata,
    _name("namespace", primary_key=True),
    _name("subject", primary_key=True),
    _name("spelled"),
    _number("spelled_at"),
)
"""Every subject by its normal form, spelled as its newest statement spells it."""

claims: Final = Table(
    "claims",
    metadata,
    _name("claim_id", primary_key=True),
    _name("namespace"),
    _name("subject"),
    _name("predicate"),
    _name("spelled_subject"),
    _name("spelled_predicate"),
    _number("spelled_at"),
    Index("ix_claims_name", "namespace", "subject", "predicate", unique=True),
    Index("ix_claims_subject", "subject", "predicate"),
)
"""Every claim by its normal forms."""

evidence: Final = Table(
    "evidence",
    metadata,
    _name("claim_id", primary_key=True),
    _name("observation_id", primary_key=True),
    _name("content_hash", primary_key=True),
    _name("source", nullable=True),
    _number("recorded_at"),
    _number("partition"),
    _number("offset"),
    _number("cycle"),
    _body(),
    Index("ix_evidence_recorded", "claim_id", "recorded_at", "observation_id"),
)
"""Every statement that arrived, those that lost their id to another and those retracted later among them.

`body` is the statement and its verbatim content, in MessagePack; `offset` that of the internal record that
brought it first, `cycle` the one in which that was.
"""

clocks: Final = Table("clocks", metadata, _number("partition", primary_key=True), _number("cycle"))
"""The cycle under way in each partition of the internal topic."""

corrections: Final = Table(
    "corrections",
    metadata,
    _name("correction_id", primary_key=True),
    _name("op"),
    _name("namespace"),
    _name("subject"),
    _name("target"),
    _number("recorded_at"),
    _number("partition"),
    _number("offset"),
    _body(),
    Index("ix_corrections_subject", "namespace", "subject"),
)
"""Retracts, and every other decision of a person. `target` is what it is about: an observation, a fact."""

fact_versions: Final = Table(
    "fact_versions",
    metadata,
    _number("seq", primary_key=True),
    _name("fact_id"),
    _number("version"),
    _name("claim_id"),
    _name("event_id"),
    _name("event"),
    _name("revision"),
    _number("recorded_at"),
    _number("partition"),
    _number("offset"),
    _number("cycle"),
    _number("lo"),
    _number("hi"),
    _body(),
    Index("ix_fact_versions_fact", "fact_id", "version", unique=True),
    Index("ix_fact_versions_claim", "claim_id", "offset", "version", "seq"),
    Index("ix_fact_versions_cycle", "cycle", "seq"),
)
"""Every event of the change feed; nothing in it is ever changed. `seq` rises in the order of application.

`body` is the event as it was published.
"""

facts: Final = Table(
    "facts",
    metadata,
    _name("fact_id", primary_key=True),
    _number("version"),
    _number("seq"),
    _name("claim_id"),
    _name("namespace"),
    _name("subject"),
    _name("predicate"),
    _name("form"),
    _name("shown_form", nullable=True),
    _number("lo"),
    _number("hi"),
    _name("reason"),
    Column("contested", Boolean, nullable=False),
    Index("ix_facts_name", "namespace", "subject", "predicate", "lo", "fact_id"),
    Index("ix_facts_subject", "subject", "predicate"),
    Index("ix_facts_claim", "claim_id"),
    Index("ix_facts_form", "form"),
    Index("ix_facts_shown_form", "shown_form"),
)
"""The newest version of every fact, as far as it is asked by; `seq` leads to the rest.

`subject` and `predicate` are normal forms. `shown_form` is that of the spelling shown, where it is not the
fact's own.
"""
_CONTESTED: Final = facts.c.contested == true()
Index(
    "ix_facts_contested",
    *(facts.c[name] for name in ("namespace", "subject", "predicate", "lo", "fact_id")),
    sqlite_where=_CONTESTED,
    postgresql_where=_CONTESTED,
)


def _documents(name: str, *columns: Column[str] | Column[int] | Index) -> Table:
    """A table of published records that are kept as they are, with the keys to find them by."""
    return Table(
        name,
        metadata,
        _name("id", primary_key=True),
        _name("namespace"),
        _name("subject"),
        _number("recorded_at"),
        *columns,
        _body(),
    )


links: Final = _documents(
    "links",
    _name("kind"),
    _name("claim_id"),
    _name("from_id"),
    _name("to_id"),
    Index("ix_links_claim", "claim_id"),
    Index("ix_links_from", "from_id"),
    Index("ix_links_to", "to_id"),
    Index("ix_links_recorded", "recorded_at", "id"),
)
"""Links between assertions (`fact-links`)."""

drift_alerts: Final = _documents(
    "drift_alerts",
    _name("state"),
    _number("cycle"),
    Index("ix_drift_alerts_subject", "namespace", "subject", "recorded_at", "cycle"),
    Index("ix_drift_alerts_recorded", "recorded_at", "id"),
)
"""Transitions to unstable and back (`drift-alerts`)."""

cycles: Final = _documents(
    "cycles",
    _number("cycle"),
    Index("ix_cycles_recorded", "recorded_at", "id"),
)
"""Audit records, one for each cycle of a namespace (`consolidation-cycles`)."""

rule_events: Final = _documents(
    "rule_events",
    _name("rule_id"),
    _name("event"),
    _name("state"),
    _number("seq"),
    Index("ix_rule_events_rule", "rule_id", "seq"),
    Index("ix_rule_events_recorded", "recorded_at", "id"),
)
"""What happened to rules (`rule-events`). `seq` rises in the order of application."""

trust_snapshots: Final = Table(
    "trust_snapshots",
    metadata,
    _name("namespace", primary_key=True),
    _number("number", primary_key=True),
    _body(),
)
"""What sources weigh from the end of a cycle on, where that is learnt; `body` is the snapshot itself."""

erasures: Final = Table(
    "erasures",
    metadata,
    _name("claim_id", primary_key=True),
    _number("erased_at"),
)
"""Claims whose text before an instant was forgotten: what is said of that past is incomplete."""

wishes: Final = Table(
    "wishes",
    metadata,
    _number("partition", primary_key=True),
    _number("offset", primary_key=True),
    _name("correction_id"),
    _name("scope"),
    _name("namespace"),
    _name("subject", nullable=True),
    _name("observation_id", nullable=True),
    _name("source", nullable=True),
    _number("recorded_at"),
    Column("is_done", Boolean, nullable=False),
    Index("ix_wishes_correction", "correction_id"),
)
"""Wishes to forget, by the place of their internal record, and whether these tables have fulfilled them.

A subject is named only until then.
"""
