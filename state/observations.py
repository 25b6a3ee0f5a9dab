"""What a producer's record says, once it has been found usable.

The form in which an observation travels inside: normalised claim, typed statement, verbatim content.
Reading records is `state.validation`; nothing here can fail.
"""

from __future__ import annotations

import msgspec

from state.corrections import Forget, Invalidate, Relate, Supersede
from state.forgotten import Redacted, Sweep
from state.identity import ClaimId
from state.instants import Instant
from state.refinement import Refinement
from state.statements import Statement


class Observation(msgspec.Struct, frozen=True, kw_only=True, tag="observation", omit_defaults=True, gc=False):
    """One usable observation. `subject` and `predicate` are normal forms; the statement spells them.

    `written_predicate` is what its source called the predicate, where that is an alias (`state.aliases`);
    the statement then has the name that is meant. `refinement` is there where a language model was asked
    about the triple, whatever came of it (`state.triples`).
    """

    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    statement: Statement
    content: str | None = None
    written_predicate: str | None = None
    refinement: Refinement | None = None


class Retract(msgspec.Struct, frozen=True, kw_only=True, tag="retract", omit_defaults=True, gc=False):
    """A permanent statement that an observation shall count as never made (DESIGN 4.10).

    `namespace` and `subject` (normal form) are None where the record left them out: it then means every
    observation under that id. Only a host that keeps an index of ids can do that. `recorded_at` is the log's
    timestamp of the correction; None on records of releases that did not keep it.
    """

    observation_id: str
    namespace: str | None = None
    subject: str | None = None
    reason: str | None = None
    recorded_at: Instant | None = None


class Recluster(msgspec.Struct, frozen=True, kw_only=True, tag="recluster", omit_defaults=True):
    """A wish that the texts of a claim are compared again: vectors were missing, or are of another model.

    Stands in the log, so that a replay compares at the same place. `subject` and `predicate` are normal
    forms.
    """

    claim: ClaimId
    namespace: str
    subject: str
    predicate: str


Usable = Observation | Retract | Recluster | Supersede | Invalidate | Relate | Forget | Sweep | Redacted
