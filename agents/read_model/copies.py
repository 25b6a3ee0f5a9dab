"""Copies of an observation that a language model put into another claim than the first: no evidence there.

The same rule as `agents.refined_once`, which lets consolidation pass over them: the first in the log counts,
as long as its claim was not forgotten. Asked only about observations that a model saw.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from agents.read_model import schema
from agents.read_model.batch import Batch, Row


def evidence_of(connection: Connection, batch: Batch) -> list[Row]:
    """The evidence of a batch, in its order, without copies of what is in another claim already."""
    if not batch.refined:
        return batch.evidence
    found: list[Row] = []
    first: dict[tuple[str, str, str, str], str] = {}
    for row in batch.evidence:
        name = batch.refined.get((row["claim_id"], row["observation_id"], row["content_hash"]))
        if name is not None:
            said = (*name, row["observation_id"], row["content_hash"])
            claim_id = first.get(said) or _claim_of(connection, *said) or row["claim_id"]
            first[said] = claim_id
            if claim_id != row["claim_id"]:
                continue
        found.append(row)
    return found


def _claim_of(
    connection: Connection, namespace: str, subject: str, observation_id: str, content_hash: str
) -> str | None:
    """The claim of a subject that holds this very observation, or None."""
    claims, evidence = schema.claims.c, schema.evidence.c
    question = (
        select(evidence.claim_id)
        .join_from(schema.claims, schema.evidence, claims.claim_id == evidence.claim_id)
        .where(claims.namespace == namespace, claims.subject == subject)
        .where(evidence.observation_id == observation_id, evidence.content_hash == content_hash)
        .limit(1)
    )
    return connection.execute(question).scalar_one_or_none()
