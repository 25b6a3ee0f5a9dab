"""An observation that comes a second time stays in the claim that it went to first, whatever a model says.

A batch of public records may be read again after a crash, and a producer may send one twice. Without a model
both copies are the same, and their claim recognises the id. A model may name another predicate the second
time, and so another claim: the copy would be a second vote. Both lie in one partition, because no answer
changes a subject; there the first in the log wins, so a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from state.identity import ClaimId, derive
from state.observations import Observation
from streams.host import Tables

TABLE: Final = "claim-pieces"
"""Beside the pieces of claims, whose keys begin with the id of one."""

_PREFIX: Final = b"refined/"


def is_elsewhere(tables: Tables, observation: Observation, lives: Callable[[ClaimId], bool]) -> bool:
    """Whether the same observation went to another claim before; where not, it is noted that it is here.

    `lives` says whether a claim is still there: one that was forgotten holds nothing any more. Asks and notes
    only where a model was asked, so that nobody else pays for it. The note is a hash and an id: no words.
    """
    if observation.refinement is None:
        return False
    said = observation.statement
    about = (observation.namespace, observation.subject, said.observation_id, said.content_hash)
    key = _PREFIX + derive("refined", *about).encode("ascii")
    stored = tables.get(TABLE, key)
    here = observation.claim.encode("ascii")
    if stored == here:
        return False
    if stored is not None and lives(ClaimId(stored.decode("ascii"))):
        return True
    tables.put(TABLE, key, here)
    return False
