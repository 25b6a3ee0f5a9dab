"""Reads the record that asks for a claim's texts to be compared again.

Decides only what such a record must say. What follows from it is `state.claim`: nothing, unless vectors were
missing or are of another model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from state.fields import blank, not_blank, refuse_control_characters, require, text
from state.identity import claim_id
from state.names import normalise, normalise_predicate
from state.observations import Recluster

OP: Final = "recluster"
DEFAULT_NAMESPACE: Final = "default"


def recluster_of(fields: Mapping[str, Any]) -> Recluster:
    """The wish in a record whose `op` is `recluster`: subject, predicate, and namespace or "default".

    Raises BadInput with a dead-letter code.
    """
    require(fields, "subject", "predicate")
    subject, predicate = text(fields, "subject") or "", text(fields, "predicate") or ""
    namespace = not_blank(text(fields, "namespace"), "namespace") or DEFAULT_NAMESPACE
    refuse_control_characters(fields, ("subject", "predicate", "namespace"))
    subject_key, predicate_key = normalise(subject), normalise_predicate(predicate)
    if not subject_key:
        raise blank("subject", subject)
    if not predicate_key:
        raise blank("predicate", predicate)
    return Recluster(
        claim=claim_id(namespace, subject_key, predicate_key),
        namespace=namespace,
        subject=subject_key,
        predicate=predicate_key,
    )
