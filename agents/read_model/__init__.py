"""The read model: what the log says, in SQL, for questions that the log itself cannot answer quickly.

A projection keeps it up to date; the queries are plain functions of a connection. It may be deleted at any
time and built again from the log (DESIGN 9).
"""

from agents.read_model.database import ReadModel, open_read_model, open_url
from agents.read_model.erasing import erase
from agents.read_model.errors import CODES, ReadModelError
from agents.read_model.facts import fact, facts
from agents.read_model.following import apply, catch_up, follow_kafka
from agents.read_model.listing import corrections, cycles, drift_alerts, links, rule_events, rules, unstable
from agents.read_model.naming import claim, claims, subjects
from agents.read_model.past import Folding, folding_of
from agents.read_model.projection import applied_offsets, project
from agents.read_model.reading import (
    changes,
    claim_read,
    evidence,
    fact_evidence,
    history,
    how_far,
    newest_change,
)
from agents.read_model.rebuilding import rebuild_embedded, rebuild_kafka
from agents.read_model.records import (
    ClaimRow,
    Document,
    Erased,
    EvidenceRow,
    FactBody,
    FactEvidence,
    FactFilter,
    FactRead,
    FactVersion,
    Page,
    Scope,
    SubjectRow,
    Valid,
)

__all__ = [
    "CODES",
    "ClaimRow",
    "Document",
    "Erased",
    "EvidenceRow",
    "FactBody",
    "FactEvidence",
    "FactFilter",
    "FactRead",
    "FactVersion",
    "Folding",
    "Page",
    "ReadModel",
    "ReadModelError",
    "Scope",
    "SubjectRow",
    "Valid",
    "applied_offsets",
    "apply",
    "catch_up",
    "changes",
    "claim",
    "claim_read",
    "claims",
    "corrections",
    "cycles",
    "drift_alerts",
    "erase",
    "evidence",
    "fact",
    "fact_evidence",
    "facts",
    "folding_of",
    "follow_kafka",
    "history",
    "how_far",
    "links",
    "newest_change",
    "open_read_model",
    "open_url",
    "project",
    "rebuild_embedded",
    "rebuild_kafka",
    "rule_events",
    "rules",
    "subjects",
    "unstable",
]
