"""Says what a vector of a text is, who makes them, and how near two of them are.

Decides nothing about meaning: `state.clusters` asks for a cosine and compares it with the threshold of the
model (DESIGN 4.3). Never makes a vector and never needs more than the standard library.

A cosine must come out the same wherever a claim is folded again. The stored bytes of a vector are the only
thing here that depends on a machine: a model may differ in its last bit, so vectors are kept and not made
again. All that follows from the bytes is single IEEE operations in a fixed order and sums that are rounded
once (`math.fsum`; the built-in `sum` rounds differently from Python 3.12 on), then six decimals. Those also
absorb what 32 bits lost: (0.88, 0.475) meets the threshold 0.88 although the nearest float lies below it.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Final, Protocol

from state.errors import FactdriftError

COSINE_DECIMALS: Final = 6
_UNITS_KEPT: Final = 2_048  # eight claims at the limit of forms; about 17 MB at 256 dimensions
_COMPONENT_BYTES: Final = 4


class VectorsUnavailable(FactdriftError):
    """No vector can be had now; the message says what to do. Callers go on with exact and typed matching."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """A model of vectors.

    Vectors of two spaces are never compared. `threshold` is the cosine from which two texts mean the same by
    this model, above 0 and at most 1. `revision` and `pooling` hold neither "@" nor "/", so that an identity
    can be read again; a name may.
    """

    name: str
    revision: str
    dimension: int
    threshold: float
    pooling: str

    def __post_init__(self) -> None:
        """Raises ValueError for what could not be read again, and for a threshold outside 0..1."""
        if not self.name or not self.revision or not self.pooling or self.dimension < 1:
            raise ValueError(f"a model has a name, a revision, a pooling and a dimension: {self}")
        if {"@", "/"} & {*self.revision, *self.pooling}:
            raise ValueError(f'a revision and a pooling hold neither "@" nor "/": {self}')
        if not 0 < self.threshold <= 1:
            raise ValueError(f"a threshold is above 0 and at most 1, not {self.threshold}")

    @property
    def space(self) -> str:
        """What must be equal for two vectors to be comparable: name@revision/dimension/pooling."""
        return f"{self.name}@{self.revision}/{self.dimension}/{self.pooling}"

    @property
    def identity(self) -> str:
        """All that a decision by this model depends on: the space, then /threshold."""
        return f"{self.space}/{self.threshold!r}"


def model_of(identity: str) -> ModelId | None:
    """The model with this identity; None for a text that is none, such as one of an older release."""
    match identity.rsplit("/", 3):
        case [named, dimension, pooling, threshold] if "@" in named:
            name, _, revision = named.rpartition("@")
            try:
                return ModelId(name, revision, int(dimension), float(threshold), pooling)
            except ValueError:
                return None
    return None


class Vectors(Protocol):
    """What makes vectors of texts."""

    @property
    def model(self) -> ModelId:
        """The model that `embed` uses; it does not change during the life of the object."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector per text, in order; called once per batch.

        Each is `model.dimension` little-endian 32-bit floats of unit length, or all zeros for a text of which
        the model has no idea. Raises VectorsUnavailable, and nothing else, when it cannot answer.
        """


def unit(stored: bytes) -> tuple[float, ...] | None:
    """Return a stored vector as floats of unit length; None for one that is all zeros or not finite.

    Raises ValueError for bytes that are no whole number of 32-bit floats.
    """
    return _unit_kept(stored)


def length(vector: Sequence[float]) -> float:
    """Return the Euclidean length."""
    return math.sqrt(math.fsum(map(mul, vector, vector)))


def cosine(total: Sequence[float], total_length: float, vector: Sequence[float]) -> float:
    """Return the cosine between a sum of vectors, of known length, and a unit vector, to six decimals.

    A mean points where its sum points, so a centroid is never divided by its count. Raises ValueError if the
    dimensions differ.
    """
    if len(total) != len(vector):
        raise ValueError(
            f"vectors of {len(total)} and {len(vector)} dimensions come from two models and have no cosine"
        )
    if total_length == 0:
        return 0.0  # opposite vectors cancelled out
    return round(math.fsum(map(mul, total, vector)) / total_length, COSINE_DECIMALS)


def _unit(stored: bytes) -> tuple[float, ...] | None:
    n_components, rest = divmod(len(stored), _COMPONENT_BYTES)
    if rest:
        raise ValueError(
            f"a stored vector has {len(stored)} bytes, which is no whole number of 32-bit floats"
        )
    vector = struct.unpack(f"<{n_components}f", stored)
    norm = length(vector)  # squares of 32-bit floats neither overflow nor vanish in 64 bits
    if norm == 0 or not math.isfinite(norm):
        return None
    return tuple([component / norm for component in vector])


_unit_kept = lru_cache(maxsize=_UNITS_KEPT)(_unit)
