"""A claim as a host keeps it: stored bytes, a table of pieces, and what its consumers have seen."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from state import stored_claim as claims
from state.changes import Change, Published
from state.claim import LiveClaim
from state.clusters import Form, partition
from state.corrections import Invalidate, Refusal, Supersede
from state.facts import About, Fact, build
from state.fold_state import ASIDE
from state.identity import claim_id
from state.objects import type_object
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.similarity import Vectors
from state.statements import Statement
from state.stored_claim import Claim
from state.timeline import fold

DEFAULT = Policy()
NAMES = ("default", "kim", "p")


class KeptClaim:
    """Applies batches to one claim. It is read anew from its bytes every third batch, else kept in use."""

    def __init__(
        self, predicate: Predicate, vectors: Vectors | None = None, policy: Policy = DEFAULT
    ) -> None:
        self.predicate = predicate
        self.policy = policy
        self.vectors = vectors
        self.pieces: dict[bytes, bytes] = {}
        namespace, subject, name = NAMES
        claim = Claim(
            claim=claim_id(*NAMES),
            namespace=namespace,
            subject=subject,
            predicate=name,
            layout=claims.layout_of(predicate),
        )
        self.stored = claims.encode(claim)
        self.epoch = 0
        self.n_embedded = 0
        self.seen: dict[str, Published] = {}
        self._live: LiveClaim | None = None

    def redeclare(self, predicate: Predicate) -> None:
        """From now on the registry says something else of the predicate."""
        self.predicate = predicate
        self._live = None

    def apply(self, arrivals: Sequence[Statement], retracted: Sequence[str] = ()) -> list[Change]:
        """Apply one batch; checks that versions rise by one."""
        self.epoch += 1
        if self._live is None or self.epoch % 3 == 0:
            model = None if self.vectors is None else self.vectors.model
            self._live = LiveClaim(
                claims.decode(self.stored), predicate=self.predicate, policy=self.policy, model=model
            )
        shelf = Shelf(self.pieces.get)
        wanted = self._live.wanted(arrivals, shelf)
        vectors = {}
        if wanted and self.vectors is not None:
            vectors = dict(zip(wanted, self.vectors.embed(list(wanted.values())), strict=True))
            self.n_embedded += len(wanted)
        changes = self._live.apply(arrivals, retracted, shelf, epoch=self.epoch, vectors=vectors).changes
        for key, value in shelf.changes.items():
            if value is None:
                self.pieces.pop(key, None)
            else:
                self.pieces[key] = value
        self.stored = claims.encode(self._live.claim)
        for change in changes:
            known = self.seen.get(change.fact.fact_id)
            assert change.version == (known.version if known else 0) + 1
            self.seen[change.fact.fact_id] = Published(change.fact, change.version)
        return changes

    def judge(
        self, decision: Supersede | Invalidate, heard: Sequence[Statement]
    ) -> list[Statement] | Refusal:
        """The statements of a decision, after those of the same batch in `heard`; or why it is refused."""
        live = LiveClaim(claims.decode(self.stored), predicate=self.predicate, policy=self.policy)
        return live.entering(decision, heard, Shelf(self.pieces.get))

    def crash(
        self, arrivals: Sequence[Statement], retracted: Sequence[str], *, n_written: int
    ) -> list[Change]:
        """Apply a batch whose events went out, but of which only some pieces were written, not the claim."""
        pieces, stored, seen = dict(self.pieces), self.stored, dict(self.seen)
        self._live = None
        changes = self.apply(arrivals, retracted)
        changed = [key for key in {*pieces, *self.pieces} if self.pieces.get(key) != pieces.get(key)]
        changed = sorted(changed, reverse=n_written % 2 == 1)[:n_written]
        after = {**pieces, **{key: self.pieces[key] for key in changed if key in self.pieces}}
        for key in changed:
            if key not in self.pieces:
                del after[key]  # deletions are durable one by one as well
        self.pieces = after
        self.stored, self.seen, self._live = stored, seen, None
        self.epoch -= 1
        return changes

    def facts(self) -> list[dict[str, object]]:
        """What a consumer of every event holds, without what was withdrawn."""
        return contents(p.fact for p in self.seen.values() if p.fact.reason != "withdrawn")


def contents(facts: object) -> list[dict[str, object]]:
    """All of some facts but the ids that they name as examples, in a fixed order."""
    return sorted((content(fact) for fact in facts), key=repr)  # type: ignore[attr-defined]


def content(fact: Fact) -> dict[str, object]:
    """All of a fact but the ids that it names as examples: they may be those of an older event."""
    found = msgspec.structs.asdict(fact)
    del found["supported_by"], found["dissented_by"]
    return found


def facts_of(
    statements: Sequence[Statement],
    predicate: Predicate,
    vectors: Vectors | None = None,
    policy: Policy = DEFAULT,
) -> list[dict[str, object]]:
    """The facts that all of the evidence gives when it is clustered and folded at once."""
    about = About(claim_id(*NAMES), NAMES[0], predicate.declared)
    clusters = {} if vectors is None else clusters_of(statements, vectors)
    folded = fold(statements, predicate, policy, clusters)
    return contents(build(about, episode) for episode in folded.episodes)


def clusters_of(statements: Sequence[Statement], vectors: Vectors) -> dict[str, str]:
    """The cluster of every form, from all statements at once."""
    said: dict[str, set[str]] = {}
    for statement in statements:
        if statement.votes and statement.form:
            said.setdefault(statement.form, set()).add(str(statement.spelling))
    typed = {form: type_object(min(spellings)) for form, spellings in said.items()}
    forms = {form: Form(t, vectors.embed([t.text])[0]) for form, t in typed.items()}
    found = partition(forms, threshold=vectors.model.threshold)
    return {**found.cluster_of, **dict.fromkeys(found.aside, ASIDE)}
