"""What was believed: a claim folded again from what was recorded by an instant (DESIGN 6, 9).

Takes every statement of the claim that the log had learnt by then, drops those retracted by then, lets the
smallest content hash keep an id that two had by then, adds the decisions taken by then, and folds the whole
by the same pure function that made today's facts. Nothing later can shine through: it is not read.

Registry, policy and model are those of today. Forms are clustered anew, from the statements of then alone, by
vectors of today's model; so the answer is what a replay of only what was recorded by then would give now, and
differs from what was published then where settings have changed since. Published versions are `history`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, select

from agents import composition
from agents.claims import ClaimRead
from agents.read_model import schema
from agents.read_model.heard import STATEMENTS_MAX, Heard, Name, heard
from agents.read_model.trust import policy_then
from state import decided
from state.aliases import Aliases
from state.corrections import Invalidate, Refusal, Supersede
from state.facts import About, Fact, build
from state.forms import Clustering, Forms
from state.identity import ClaimId
from state.instants import Instant
from state.names import normalise_predicate
from state.own_decisions import judged
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.similarity import Vectors, VectorsUnavailable
from state.statements import Statement
from state.stored_claim import Claim, layout_of
from state.timeline import fold
from streams.settings import Settings


@dataclass(frozen=True, slots=True)
class Folding:
    """By what a claim is folded again: today's registry, policy and vectors; and which names are aliases."""

    predicate_of: Callable[[str], Predicate]
    policy: Policy
    vectors: Vectors | None = None
    aliases: Aliases = field(default_factory=dict)

    def meant(self, predicate: str | None) -> str | None:
        """The name that a predicate means, in any spelling; what is no alias is left as it is written."""
        return None if predicate is None else self.aliases.get(normalise_predicate(predicate), predicate)


def folding_of(settings: Settings) -> Folding:
    """Folding as the settings say. Raises BadPredicates."""
    registry = composition.registry(settings.predicates)
    return Folding(
        predicate_of=registry.get,
        policy=composition.policy(settings),
        vectors=composition.vectors(settings),
        aliases=registry.aliases,
    )


@dataclass(slots=True)
class Budget:
    """How many statements an answer may still fold."""

    left: int = STATEMENTS_MAX
    spent: int = field(default=0, init=False)

    def spend(self, n_statements: int) -> None:
        """Take some off."""
        self.left -= n_statements
        self.spent += n_statements


def claim_then(
    connection: Connection, folding: Folding, name: Name, *, known_at: Instant | None
) -> ClaimRead:
    """A claim with its evidence as of `known_at`, ready to be folded and explained (`state.why`).

    None as `known_at` is everything recorded so far. Raises ReadModelError `too_much_evidence`.
    """
    found = heard(connection, name, known_at=known_at, by_cycle=folding.policy.by_cycle)
    return read_of(weighing(connection, folding, name, known_at=known_at), name, found)


def weighing(connection: Connection, folding: Folding, name: Name, *, known_at: Instant | None) -> Folding:
    """Folding by what was known of sources when the claim was decided, where votes are weighed."""
    predicate = folding.predicate_of(name.predicate)
    policy = policy_then(connection, folding.policy, predicate, name, known_at=known_at)
    return folding if policy is folding.policy else replace(folding, policy=policy)


def read_of(folding: Folding, name: Name, found: Heard) -> ClaimRead:
    """A claim from what was heard of it; decisions have become statements."""
    statements = [statement for _, statement in found.statements]
    retracted = {observation_id for _, observation_id in found.retracts}
    taken = _taken(folding, name, found)
    return _read(folding, name, counting([*statements, *(s for _, s in taken)], retracted), retracted)


def _taken(folding: Folding, name: Name, found: Heard) -> list[tuple[int, Statement]]:
    """The statements by which decisions entered, each as its target was resolved when it came.

    What a decision closes depends on the facts as they stood before its record, so each costs one fold. Where
    it may name one document's word, what its own record says counts as said before.
    """
    taken: list[tuple[int, Statement]] = []
    since = 1 if folding.predicate_of(name.predicate).is_explicit else 0
    for offset, decision in found.decisions:
        before = [s for at, s in (*found.statements, *taken) if at < offset + since]
        retracted = {observation_id for at, observation_id in found.retracts if at < offset}
        read = _read(folding, name, counting(before, retracted), retracted)
        entered = entering(read, decision)
        if not isinstance(entered, Refusal):
            taken += [(offset, statement) for statement in entered]
    return taken


def entering(read: ClaimRead, decision: Supersede | Invalidate) -> list[Statement] | Refusal:
    """The statements of a decision, or why it is not taken: as `LiveClaim.entering` has it."""
    if read.predicate.is_explicit:
        forms = read.claim.forms
        return judged(decision, read.statements, predicate=read.predicate, forms=forms)
    closes = _closed_by(read, decision)
    return closes if isinstance(closes, Refusal) else decided.statements_of(decision, closes)


def _closed_by(read: ClaimRead, decision: Supersede | Invalidate) -> str | Refusal:
    """The form that a decision closes, or why it is not taken: as `LiveClaim.closed_by` decides it."""
    said: dict[str, Statement] = {s.observation_id: s for s in read.statements}
    applied = said.get(decision.correction_id)
    if applied is not None and applied.content_hash == decision.content_hash:
        return applied.form
    if applied is not None:
        return decided.refused(decision, "correction_id_taken")
    if not read.statements:
        return decided.unknown_target(decision)

    def form(observation_id: str) -> str | None:
        statement = said.get(observation_id)
        return None if statement is None else statement.form

    return decided.resolve(decision, facts_of(read), form, read.claim.forms.cluster)


def counting(statements: Iterable[Statement], retracted: set[str]) -> list[Statement]:
    """The statements that are evidence: not retracted, and of several under one id the smallest hash."""
    kept: dict[str, Statement] = {}
    for statement in statements:
        if decided.retracted_by(statement) in retracted:
            continue
        other = kept.get(statement.observation_id)
        if other is None or statement.content_hash < other.content_hash:
            kept[statement.observation_id] = statement
    return list(kept.values())


def _read(folding: Folding, name: Name, statements: Sequence[Statement], retracted: set[str]) -> ClaimRead:
    """A claim from its evidence: its forms, and what means the same among them."""
    predicate = folding.predicate_of(name.predicate)
    claim = Claim(
        claim=ClaimId(name.claim_id),
        namespace=name.namespace,
        subject=name.subject,
        predicate=name.predicate,
        layout=layout_of(predicate),
        policy_version=folding.policy.version,
        retracted=sorted(retracted),
        forms=Forms(),
    )
    shelf = Shelf(lambda _key: None)
    model = None if folding.vectors is None else folding.vectors.model
    clustering = Clustering(claim.forms, name.claim_id.encode("ascii"), model)
    clustering.enter(statements, (), _embedded(folding, clustering.wanted(statements, shelf)), shelf)
    return ClaimRead(
        claim=claim,
        predicate=predicate,
        policy=folding.policy,
        statements=list(statements),
        cluster_of={form: claim.forms.cluster(form) for form in sorted({s.form for s in statements})},
        forms=clustering.compared(shelf),
        threshold=1.0 if model is None else model.threshold,
    )


def _embedded(folding: Folding, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """Vectors for texts; none where the model cannot be asked: the claim then says that it is degraded."""
    if not wanted or folding.vectors is None:
        return {}
    texts = sorted(set(wanted.values()))
    try:
        vector_of = dict(zip(texts, folding.vectors.embed(texts), strict=True))
    except VectorsUnavailable:
        return {}
    return {form: vector_of[text] for form, text in wanted.items()}


def facts_of(read: ClaimRead) -> list[Fact]:
    """The facts that follow from a claim's evidence."""
    claim, predicate = read.claim, read.predicate
    about = About(claim.claim, claim.namespace, predicate.declared)
    folded = fold(read.statements, predicate, read.policy, read.cluster_of)
    return [build(about, episode) for episode in folded.episodes]


def is_incomplete(connection: Connection, claim_ids: Sequence[str], *, known_at: Instant | None) -> bool:
    """Whether text that was known of one of these claims at an instant has been forgotten since."""
    if known_at is None or not claim_ids:
        return False
    columns = schema.erasures.c
    question = select(columns.claim_id).where(columns.claim_id.in_(claim_ids), columns.erased_at > known_at)
    return connection.execute(question.limit(1)).first() is not None
