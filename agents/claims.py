"""Reading one claim from the tables of an embedded log: its evidence, its forms, what it is called.

Finds a claim by any spelling of its subject and predicate, and says which names are near where there is
none. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

import msgspec

from agents import composition
from agents.consolidation import CLAIMS_TABLE, PIECES_TABLE, SUBJECTS_TABLE, Subject
from agents.trust_snapshots import decided_by
from state import stored_claim as claims
from state.aliases import names_of
from state.claim import LiveClaim
from state.clusters import Form
from state.errors import FactdriftError
from state.fold_state import Cluster
from state.identity import claim_id
from state.names import normalise, normalise_predicate
from state.policy import Policy
from state.predicates import Predicate
from state.shelf import Shelf
from state.similarity import model_of
from state.statements import Statement
from state.stored_claim import OWN, Claim, layout_of
from streams.embedded import EmbeddedStore
from streams.settings import Settings

DEFAULT_NAMESPACE = "default"
NEAR_MAX = 5  # names that a message suggests
_decode_key = msgspec.json.Decoder(tuple[str, str]).decode
_decode_subject = msgspec.msgpack.Decoder(Subject).decode


class NoSuchClaim(FactdriftError):
    """No claim has this subject and predicate; the message names what is near."""


@dataclass(frozen=True, slots=True)
class ClaimRead:
    """A claim with all of its evidence.

    `predicate` is declared as the claim is stored, which a registry that changed since then does not
    alter. `forms` are its objects as they are compared, with the vectors that are stored; `threshold` is
    that of their model. `cluster_of` has every form of the evidence.
    """

    claim: Claim
    predicate: Predicate
    policy: Policy
    statements: list[Statement]
    cluster_of: dict[str, Cluster]
    forms: dict[str, Form]
    threshold: float


def read_claim(
    store: EmbeddedStore, settings: Settings, *, subject: str, predicate: str, namespace: str | None
) -> ClaimRead:
    """The claim about a subject and a predicate, each in any spelling; an alias stands for what it means.

    Without `namespace` it is that of the namespace "default", else of the only one that has such a claim.
    Raises NoSuchClaim, with near names, where there is none or where several namespaces have one.
    """
    registry = composition.registry(settings.predicates)
    found = (
        _find(store, normalise(subject), name, namespace) for name in names_of(predicate, registry.aliases)
    )
    stored = next((one for one in found if one is not None), None)
    if stored is None:
        raise NoSuchClaim(_nothing_found(store, subject, predicate, namespace))
    claim = claims.decode(stored)
    model = model_of(claim.forms.model)  # the one that decided, whatever is set today
    declared = _as_stored(registry.get(claim.predicate), claim)
    policy = decided_by(store.get, claim, composition.policy(settings))
    live = LiveClaim(claim, predicate=declared, policy=policy, model=model)
    live.shelf = Shelf(lambda piece: store.get(PIECES_TABLE, piece))
    statements = live.everything()
    return ClaimRead(
        claim=claim,
        predicate=declared,
        policy=policy,
        statements=statements,
        cluster_of={form: claim.forms.cluster(form) for form in sorted({s.form for s in statements})},
        forms=live.clustering.compared(live.shelf),
        threshold=1.0 if model is None else model.threshold,
    )


def _as_stored(predicate: Predicate, claim: Claim) -> Predicate:
    if layout_of(predicate) == claim.layout:
        return predicate
    if claim.layout == OWN:
        return replace(predicate, arbitration="explicit")
    return Predicate(
        predicate.name,
        cardinality="multi" if claim.layout == "multi" else "single",
        change="never" if claim.layout == "never" else "any",
        declared=predicate.declared,
    )


def _find(store: EmbeddedStore, subject: str, predicate: str, namespace: str | None) -> bytes | None:
    stored = _stored(store, namespace or DEFAULT_NAMESPACE, subject, predicate)
    if stored is not None or namespace is not None:
        return stored
    found = {
        where: stored
        for where, name, _ in _subjects(store)
        if name == subject and (stored := _stored(store, where, subject, predicate)) is not None
    }
    if len(found) > 1:
        raise NoSuchClaim(
            f"{subject} / {predicate} is known in the namespaces {', '.join(sorted(found))}. "
            "Say which: --namespace NAME."
        )
    return next(iter(found.values()), None)


def _stored(store: EmbeddedStore, namespace: str, subject: str, predicate: str) -> bytes | None:
    stored = store.get(CLAIMS_TABLE, claim_id(namespace, subject, predicate).encode("ascii"))
    return None if stored is None or claims.is_emptied(claims.decode(stored)) else stored


def _subjects(store: EmbeddedStore) -> Iterator[tuple[str, str, bytes]]:
    """Namespace, normal form and stored value of every subject."""
    for key, stored in store.items(SUBJECTS_TABLE):
        yield (*_decode_key(key), stored)


def _nothing_found(store: EmbeddedStore, subject: str, predicate: str, namespace: str | None) -> str:
    """One sentence on what is missing, and one on what is near or what to do."""
    where = "" if namespace is None else f" in the namespace {namespace}"
    wanted = normalise(subject)
    known = [(ns, name, stored) for ns, name, stored in _subjects(store) if namespace in (None, ns)]
    same = [(ns, stored) for ns, name, stored in known if name == wanted]
    if same:
        asked = normalise_predicate(predicate)
        names = sorted({name for ns, stored in same for name in _predicates(store, stored)})
        near = get_close_matches(asked, names, n=NEAR_MAX) or names
        return (
            f"Nothing was heard about {subject} / {predicate}{where}. "
            f"Known of {subject}: {_few(near, len(names))}."
        )
    near = get_close_matches(wanted, sorted({name for _, name, _ in known}), n=NEAR_MAX, cutoff=0.7)
    if near:
        return f"Nothing was heard about {subject}{where}. Near: {', '.join(near)}."
    return (
        f"Nothing was heard about {subject}{where}, nor about a name like it. What was heard: factdrift "
        "watch --data DIR --from-start --once"
    )


def _predicates(store: EmbeddedStore, subject: bytes) -> Iterator[str]:
    for claim in _decode_subject(subject).claims:
        stored = store.get(CLAIMS_TABLE, claim.encode("ascii"))
        if stored is not None:
            yield claims.decode(stored).predicate


def _few(names: list[str], n_all: int) -> str:
    shown = names[:NEAR_MAX]
    left = n_all - len(shown)
    return ", ".join(shown) + (f" and {left} more" if left else "")
