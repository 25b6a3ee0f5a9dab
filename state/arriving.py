"""What arrives at a claim, and what of it is there already: by ids, contents and retracts.

A statement is entered once, whoever sends it again; of two contents under one id the one with the smaller
hash stays. Folds nothing: `state.claim` does, once it is known what comes in and what goes out.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

import msgspec

from state.decided import opening_of, retracted_by
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.statements import ObservationId, Statement
from state.stored_claim import IN_MANY, Claim
from state.strands import Strands


class Duplicate(msgspec.Struct, frozen=True, gc=False):
    """A statement that lost its id to another with a smaller content hash: a dead letter."""

    lost: Statement
    kept_hash: str


class Arriving(Strands):
    """A claim that takes a batch in: `added` is what it did not have, `removed` what it no longer has."""

    def __init__(self, claim: Claim, *, predicate: Predicate, policy: Policy) -> None:
        super().__init__(claim, predicate=predicate, policy=policy)
        self.added: dict[str, Statement] = {}
        self.removed: dict[str, tuple[str, Statement]] = {}
        self.duplicates: list[Duplicate] = []
        self.has_decision = False
        self.has_successor = False

    def _begin(self) -> None:
        """Nothing has arrived yet."""
        self.added, self.removed, self.duplicates = {}, {}, []
        self.has_decision = self.has_successor = False

    def may_have_held(self, observation_id: str, shelf: Shelf) -> bool:
        """Whether an observation is here, or was and is taken back. Of the latter nothing more is known."""
        self.renew(shelf, epoch=self.claim.epoch)
        return observation_id in self.claim.retracted or self._stored(observation_id) is not None

    def form_of(self, observation_id: str) -> str | None:
        """The form of a statement that is stored, or None. Within one use."""
        stored = self._stored(observation_id)
        return None if stored is None else stored[1].form

    def _retract(self, ids: Iterable[str]) -> bool:
        """Remember that the ids count as never said, and take out what is there; says whether one is new."""
        changed = False
        for observation_id in ids:
            if observation_id in self.claim.retracted:
                continue
            insort(self.claim.retracted, observation_id)
            changed = True
            self._take_out(observation_id)
            self._take_out(opening_of(observation_id), only_decision=True)
        return changed

    def _arrive(self, statement: Statement) -> None:
        """Enter a statement unless its id is there already, or retracted."""
        observation_id = statement.observation_id
        if self.claim.retracted and retracted_by(statement) in self.claim.retracted:
            return
        other = self._held(observation_id)
        if other is not None:
            if other.content_hash == statement.content_hash:
                return
            if other.content_hash < statement.content_hash:
                self.duplicates.append(Duplicate(statement, other.content_hash))
                return
            self.duplicates.append(Duplicate(other, statement.content_hash))
            self._take_out(observation_id)
        self.added[observation_id] = statement
        if statement.verdict:
            self.has_decision = True
        elif statement.supersedes is not None:
            self.has_successor = True

    def _held(self, observation_id: str) -> Statement | None:
        """The statement with this id as of now, or None."""
        added = self.added.get(observation_id)
        if added is not None or observation_id in self.removed:
            return added
        stored = self._stored(observation_id)
        return None if stored is None else stored[1]

    def _stored(self, observation_id: str) -> tuple[str, Statement] | None:
        """The statement with this id as it is stored, with its strand's name."""
        claim = self.claim
        names: Iterable[str] = ("*", "")
        if claim.layout in IN_MANY:
            name = self.shelf.get(self._name_key(observation_id))
            names = () if name is None else (name.decode("utf-8"),)
        for candidate in names:
            # A batch that died before the claim was stored left names of strands that may never have been.
            strand = self.strand_there(candidate)
            found = None if strand is None else strand.find(ObservationId(observation_id))
            if found is not None:
                return candidate, found
        return None

    def _take_out(self, observation_id: str, *, only_decision: bool = False) -> None:
        if self.added.pop(observation_id, None) is None and observation_id not in self.removed:
            stored = self._stored(observation_id)
            if stored is not None and (stored[1].verdict or not only_decision):
                self.removed[observation_id] = stored
