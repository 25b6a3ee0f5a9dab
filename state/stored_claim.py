"""The stored form of a claim: what a host keeps under the claim's id, in every format that was ever written.

Decides nothing. What is kept apart from it, because it is long, is `state.strands`, `state.chunks` and
`state.tail`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from state.decided import Closing
from state.errors import FactdriftError
from state.fold_state import BEFORE_ALL
from state.forms import Forms
from state.identity import ClaimId
from state.instants import Instant
from state.predicates import Predicate
from state.replacing import Replacing
from state.stored_strand import Strand

OWN: Final = "own"
"""The layout of claims in which each assertion is a fact, and a strand, of its own (`state.own_facts`)."""
IN_MANY: Final = ("multi", OWN)
"""The layouts with strands by what statements say: which it is, is remembered by a statement's id."""
PLAIN: Final = ("single", "multi")
"""The layouts whose strands the fold walks statement by statement."""
STORED_FORMAT: Final = 2
_READ_FORMATS: Final = (1, 2)


class Claim(msgspec.Struct, kw_only=True, array_like=True, gc=False):
    """The stored form of a claim.

    `layout` is how its strands are cut ("single", "multi", "never", "own"); it follows the registry, as
    `policy_version` follows the settings: where one differs, the claim is folded anew. `horizon` is
    the greatest observed_at of its statements with an object, `horizon_bare` of those without. `strands`
    holds the strands by name: "" for statements without object, else the cluster, or "*" for all of a
    single-valued claim; where each assertion is a fact of its own its name. `apart` are the names of strands
    stored under keys of their own, `due` when a strand has something coming. `retracted` are ids that count
    as never said, whether they have arrived or not. `forms` are what its objects are called, and which of
    them mean the same. `discarded` are keys of pieces that nothing points to any more. `closings` are what
    decisions closed. `replacing` are the documents that replace each other and what this ends, None where
    none does, which is nearly always.
    `is_unswept`: something was forgotten, and what the claim before needed is still there (`state.sweeping`).
    """

    format: int = STORED_FORMAT
    claim: ClaimId
    namespace: str
    subject: str
    predicate: str
    layout: str = "single"
    policy_version: str = ""
    epoch: int = -1
    horizon: Instant = BEFORE_ALL
    horizon_bare: Instant = BEFORE_ALL
    strands: dict[str, Strand] = {}
    n_apart: int = 0
    due: dict[str, Instant] = {}
    retracted: list[str] = []
    forms: Forms = msgspec.field(default_factory=Forms)
    discarded: list[bytes] = []
    closings: list[Closing] = []
    is_unswept: bool = False
    replacing: Replacing | None = None


class StoredFormatUnknown(FactdriftError):
    """A claim that another release stored, in a form that this one cannot read."""


def layout_of(predicate: Predicate) -> str:
    """How the strands of a predicate's claims are cut."""
    if predicate.is_explicit:
        return OWN
    if predicate.is_multi:
        return "multi"
    return "never" if predicate.never_changes else "single"


def emptied(claim: ClaimId) -> Claim:
    """What is stored of a claim whose subject was forgotten: that there was one.

    The key stays, since a host tells by it that records of before were applied and must not be again.
    """
    return Claim(claim=claim, namespace="", subject="", predicate="")


def is_emptied(claim: Claim) -> bool:
    """Whether nothing is left of a claim but its id; no subject has an empty name."""
    return claim.subject == ""


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Claim)


def encode(claim: Claim) -> bytes:
    """The stored form of a claim."""
    return _encoder.encode(claim)


def decode(stored: bytes) -> Claim:
    """A claim from its stored form. Raises StoredFormatUnknown where another release wrote it."""
    try:
        found = _decoder.decode(stored)
    except msgspec.ValidationError as error:
        raise StoredFormatUnknown(_REMEDY) from error
    if found.format not in _READ_FORMATS:
        raise StoredFormatUnknown(
            f"It has format {found.format}, this release reads {_READ_FORMATS}. {_REMEDY}"
        )
    return found


_REMEDY: Final = (
    "A stored claim was written by another release of factdrift. Start that release, or let this one build "
    "its tables anew: replay the observations into a new --data, or start workers with a new "
    "FACTDRIFT_KAFKA_GROUP."
)
