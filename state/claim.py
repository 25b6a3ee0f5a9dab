"""A claim: what a batch of arrivals changes about its facts.

One claim is the slot (namespace, subject, predicate). Its evidence lies in strands (`state.strand`); this
module finds the strand of each arrival, recognises what is already there, and keeps what all strands of a
claim share. Nothing depends on the order of arrival, except versions and which of two contradicting
records under one id came second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from state.arriving import Arriving, Duplicate
from state.changes import Change, diff
from state.corrections import Invalidate, Refusal, Supersede
from state.decided import closings_of, refused, resolve, retracted_by, statements_of
from state.first_word import begin, is_first_word
from state.fold_state import BEFORE_ALL
from state.forms import Clustering
from state.instants import Instant
from state.own_decisions import judged
from state.own_facts import DECISIONS, NO_DECISIONS, Decisions, ended_by_name
from state.own_folding import OwnFolding
from state.policy import Policy
from state.predicates import Predicate
from state.replacing import Replaced, replacing_of
from state.shelf import Shelf
from state.similarity import ModelId
from state.statements import ObservationId, Statement, voter
from state.stored_claim import IN_MANY, OWN, PLAIN, STORED_FORMAT, Claim
from state.stored_strand import Strand
from state.tail import encode_statement


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What a batch did to one claim: the events, the dead letters, and whether anything is to be stored.

    `arrived` are the ids that the claim had not heard of, in order: each is among them once and for all.
    """

    changes: list[Change]
    duplicates: list[Duplicate]
    changed: bool
    arrived: Sequence[ObservationId] = ()


class LiveClaim(Arriving):
    """A claim in use. May be kept between batches, as long as what is stored is what it stored last.

    `model` is that of the vectors, None where texts are compared by their normal form alone.
    """

    def __init__(
        self, claim: Claim, *, predicate: Predicate, policy: Policy, model: ModelId | None = None
    ) -> None:
        super().__init__(claim, predicate=predicate, policy=policy)
        self.clustering = Clustering(claim.forms, self.prefix, model)
        self.decided: Decisions | None = None
        self.ended: Mapping[str, Replaced] | None = None

    def wanted(
        self, arrivals: Iterable[Statement], shelf: Shelf, *, recluster: bool = False
    ) -> dict[str, str]:
        """Texts for which `apply` should be given vectors: form key to text. Usually none."""
        found = self.clustering.wanted(arrivals, shelf)
        return {**self.clustering.wanted_again(shelf), **found} if recluster else found

    def apply(
        self,
        arrivals: Iterable[Statement],
        retracted: Iterable[str],
        shelf: Shelf,
        *,
        epoch: int,
        vectors: Mapping[str, bytes] | None = None,
        recluster: bool = False,
        rebuild: bool = False,
    ) -> Outcome:
        """Take a batch in (`claim` is modified, as is the shelf) and say what changed.

        `epoch` rises with every batch; pieces written by a batch that did not reach the claim itself are
        recognised by it. `vectors` answer `wanted`, as far as they could be had; without them texts are
        clusters of their own and the claim says that it is degraded. With `recluster` texts are compared, and
        votes weighed, again although nothing arrived, as far as that is due. With `rebuild` everything is
        derived anew from what is left, and the claim waits for a sweep (`state.sweeping`). A second delivery
        of the same batch changes nothing and yields nothing.
        """
        self.renew(shelf, epoch=epoch)
        self._begin()
        self.decided = self.ended = None
        tombstones_changed = self._retract(retracted)
        for statement in arrivals:
            self._arrive(statement)
        due = recluster and (bool(vectors) or self.clustering.is_outdated() or self._is_outdated())
        if not self.added and not self.removed and not due and not rebuild:
            return Outcome([], self.duplicates, changed=tombstones_changed)
        self._delete_discarded()
        compared_by, was_degraded = self.claim.forms.model, bool(self.claim.forms.degraded)
        gone = [statement for _, statement in self.removed.values()]
        moved = self._enter_forms(gone, vectors or {})
        moved = self._follow_settings() or moved or rebuild
        moved = self._follow_decisions() or moved
        moved = self._follow_documents(moved=moved) or moved
        forms = self.claim.forms
        # Facts say what their texts were compared by, so all of them are told where that is another now.
        anew = compared_by not in ("", forms.model) or (was_degraded and not forms.degraded)
        for folding in self.folding.values():
            self._set_clusters(folding)
        before = self.claim.horizon
        self._move_horizons(gone)
        changes = self._rebuild(anew=anew) if moved or anew else self._fold(before)
        self.claim.epoch = epoch
        self.claim.is_unswept = self.claim.is_unswept or rebuild
        arrived = [s.observation_id for key, s in self.added.items() if key not in self.removed]
        return Outcome(changes, self.duplicates, changed=True, arrived=arrived)

    def _delete_discarded(self) -> None:
        """Delete what no stored claim points to any more: the one stored now is the one at hand."""
        for key in self.claim.discarded:
            self.shelf.delete(key)
        self.claim.discarded.clear()
        self.claim.format = STORED_FORMAT

    def _enter_forms(self, gone: Sequence[Statement], vectors: Mapping[str, bytes]) -> bool:
        """Take the forms of the batch in and out; says whether a form that was there changed its cluster."""
        if gone and self.claim.forms.has_overflowed:
            left = [s for s in self.everything() if s.observation_id not in self.removed]
            self.clustering.recollect([*left, *self.added.values()], vectors, self.shelf)
            return True
        return self.clustering.enter(self.added.values(), gone, vectors, self.shelf)

    def _follow_settings(self) -> bool:
        """Take over the policy and the layout of today; says whether evidence was folded by others."""
        outdated = self._is_outdated()
        self.claim.layout, self.claim.policy_version = self.layout_today, self.policy.version
        return outdated

    def _is_outdated(self) -> bool:
        """Whether what is there was folded by another policy or layout than those of today."""
        claim = self.claim
        is_as_today = claim.layout == self.layout_today and claim.policy_version == self.policy.version
        return bool(claim.strands) and not is_as_today

    def _follow_decisions(self) -> bool:
        """Take over what decisions of the batch closed, or no longer close; says whether there are any.

        They make statements void wherever these lie, so the claim is folded anew: decisions are few.
        """
        if not self.removed and not self.has_decision:
            return False
        gone = {s.observation_id for _, s in self.removed.values() if s.verdict}
        if not gone and not self.has_decision:
            return False
        held = [s for s in self.everything() if s.verdict and s.observation_id not in gone]
        self.claim.closings = closings_of([*held, *self.added.values()])
        return True

    def _follow_documents(self, *, moved: bool) -> bool:
        """Take over what newer documents end; says whether that is another now.

        Asked of all the evidence where a document says whom it replaces, or one that does speaks again.
        """
        claim = self.claim
        if claim.replacing is None and not self.has_successor:
            return False
        if claim.replacing is not None and not (moved or self.has_successor):
            known = set(claim.replacing.documents)
            spoken = (*self.added.values(), *(s for _, s in self.removed.values()))
            if not any(voter(s) in known for s in spoken):
                return False
        left = [s for s in self.everything() if s.observation_id not in self.removed]
        before = [] if claim.replacing is None else claim.replacing.ended
        claim.replacing = replacing_of([*left, *self.added.values()], claim.forms.cluster)
        return before != ([] if claim.replacing is None else claim.replacing.ended)

    def entering(
        self, decision: Supersede | Invalidate, heard: Iterable[Statement], shelf: Shelf
    ) -> list[Statement] | Refusal:
        """The statements by which a decision enters the evidence, or why it cannot be taken.

        `heard` are statements of the batch that came before it: of use where it may name one document's
        word. None are returned for what is there already under the decision's id.
        """
        if self.layout_today != OWN:
            closes = self.closed_by(decision, shelf)
            return closes if isinstance(closes, Refusal) else statements_of(decision, closes)
        known = self.evidence(shelf)
        fresh = [s for s in heard if retracted_by(s) not in self.claim.retracted]
        return judged(decision, [*known, *fresh], predicate=self.predicate, forms=self.claim.forms)

    def closed_by(self, decision: Supersede | Invalidate, shelf: Shelf) -> str | Refusal:
        """The form that a decision closes, or why it cannot be taken; "" is that of no object."""
        self.renew(shelf, epoch=self.claim.epoch)
        applied = self._stored(decision.correction_id)
        if applied is not None and applied[1].content_hash == decision.content_hash:
            return applied[1].form  # sent again: its statements are recognised by their ids
        if applied is not None:
            return refused(decision, "correction_id_taken")
        facts = [known.fact for known in self.published().values()]
        return resolve(decision, facts, self.form_of, self.claim.forms.cluster)

    # -- the fold ---------------------------------------------------------------------------

    def _fold(self, horizon_before: Instant) -> list[Change]:
        """Fold what arrived, strand by strand."""
        claim = self.claim
        if self.is_new and len(self.added) == 1 and not claim.strands:
            told = self._fold_first_word(*self.added.values())
            if told is not None:
                return told
        added: dict[str, list[Statement]] = {}
        removed: dict[str, list[Statement]] = {}
        for statement in self.added.values():
            added.setdefault(self._enter_name(statement), []).append(statement)
        for name, statement in self.removed.values():
            removed.setdefault(name, []).append(statement)
        touched = sorted({*added, *removed})
        changes: list[Change] = []
        for name in [*touched, *self._due(touched, horizon_before)] if claim.due else touched:
            changes += self._fold_strand(name, added.get(name, []), removed.get(name, []))
        return changes

    def _fold_first_word(self, statement: Statement) -> list[Change] | None:
        """The same for a new claim that hears one statement, with no strand in use; None where it is not so.

        Such a claim is not kept in use either (`agents.consolidation.LiveClaims`).
        """
        claim, forms = self.claim, self.claim.forms
        if claim.layout not in PLAIN or claim.closings or claim.replacing or forms.cluster_of or forms.aside:
            return None
        strand = Strand(epoch=self.epoch, horizon=claim.horizon)
        if not is_first_word(strand, statement, self.policy):
            return None
        strand.tail.append(encode_statement(statement))
        claim.strands[self._enter_name(statement)] = strand
        return begin(strand, statement, self.about, self.withdrawn)

    def _due(self, touched: Sequence[str], horizon_before: Instant) -> list[str]:
        """The strands without arrivals in which something has come, or no longer has."""
        claim, horizon = self.claim, self.claim.horizon
        if claim.layout == OWN:
            horizon = max(horizon, claim.horizon_bare)
        return [
            name
            for name, at in sorted(claim.due.items())
            if name and name not in touched and (at <= horizon or claim.horizon < horizon_before)
        ]

    def _enter_name(self, statement: Statement) -> str:
        """The strand of a new statement; a claim with many remembers it by the statement's id."""
        name = self.name_of(statement)
        if self.claim.layout in IN_MANY:
            self.shelf.put(self._name_key(statement.observation_id), name.encode("utf-8"))
        return name

    def _fold_strand(
        self, name: str, added: Sequence[Statement], removed: Sequence[Statement]
    ) -> list[Change]:
        claim, folding = self.claim, self.strand(name)
        horizon = claim.horizon if name else claim.horizon_bare
        if isinstance(folding, OwnFolding):
            horizon = max(claim.horizon, claim.horizon_bare)
            self._tell(name, folding)
        changes = folding.apply(added, removed, horizon=horizon)
        if claim.layout in IN_MANY:
            if folding.strand.due_at is not None:
                claim.due[name] = folding.strand.due_at
            else:
                claim.due.pop(name, None)
        if name not in claim.strands:
            self._store_apart(name, folding.strand)
        return changes

    def _tell(self, name: str, folding: OwnFolding) -> None:
        """Let the strand of an assertion know what of the rest of the claim ends it."""
        claim = self.claim
        if self.ended is None:
            self.ended = {} if claim.replacing is None else ended_by_name(claim.replacing.ended)
        if name == DECISIONS:
            return
        if self.decided is None:
            taken = self.strand(DECISIONS) if claim.closings else None
            self.decided = taken.decisions() if isinstance(taken, OwnFolding) else NO_DECISIONS
        folding.know(self.decided, self.ended.get(name))

    def _rebuild(self, *, anew: bool) -> list[Change]:
        """Fold the whole claim again, since forms moved from one cluster to another (DESIGN 4.3).

        Facts keep their versions: what was published is handed over to whichever strand now has the fact.
        With `anew` the claim's texts were compared by something else: each fact says so.
        """
        claim = self.claim
        statements = [s for s in self.everything() if s.observation_id not in self.removed]
        statements += self.added.values()
        apart = list(self._names_apart())
        self.withdrawn.handed = {
            fact_id: msgspec.structs.replace(published, is_compared_anew=anew)
            for fact_id, published in self.published().items()
        }
        for name in [*claim.strands, *apart]:
            self.strand(name).forget_documents()
            self.strand(name).discard()
        claim.strands.clear()
        claim.due.clear()
        claim.n_apart = 0
        self.folding.clear()
        self.pages, self.is_rebuilt = {}, True
        groups: dict[str, list[Statement]] = {}
        for statement in statements:
            groups.setdefault(self._enter_name(statement), []).append(statement)
        changes: list[Change] = []
        for name in sorted(groups):
            changes += self._fold_strand(name, groups[name], [])
        for name in set(apart).difference(self._names_apart()):
            self.claim.discarded.append(self._strand_key(name))
        gone, withdrawals = diff(self.withdrawn.handed, (), horizon=claim.horizon)
        for published in gone.values():
            self.withdrawn.keep(published)
        self.withdrawn.handed = {}
        return changes + withdrawals

    def _move_horizons(self, gone: Sequence[Statement]) -> None:
        """The greatest observed_at after the batch; asked of all evidence where the greatest is taken out."""
        claim = self.claim
        if gone:
            heard = [s for s in gone if s.votes or s.verdict]
            if any(s.form and s.observed_at >= claim.horizon for s in heard):
                claim.horizon = self._greatest(valued=True)
            if any(not s.form and s.observed_at >= claim.horizon_bare for s in heard):
                claim.horizon_bare = self._greatest(valued=False)
        for statement in self.added.values():
            if not (statement.votes or statement.verdict):
                continue
            if statement.form and statement.observed_at > claim.horizon:
                claim.horizon = statement.observed_at
            elif not statement.form and statement.observed_at > claim.horizon_bare:
                claim.horizon_bare = statement.observed_at

    def _greatest(self, *, valued: bool) -> Instant:
        left = (s for s in self.everything() if s.observation_id not in self.removed)
        heard = (s.observed_at for s in left if (s.votes or s.verdict) and bool(s.form) is valued)
        return max(heard, default=BEFORE_ALL)
