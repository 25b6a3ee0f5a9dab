"""Vector sources, behind `state.similarity.Vectors`: packaged, sentence-transformers, an endpoint."""

from streams.vectors.sources import ANY_THRESHOLD, SOURCES, vectors_of
from streams.vectors.static import THRESHOLD, StaticVectors, packaged

__all__ = ["ANY_THRESHOLD", "SOURCES", "THRESHOLD", "StaticVectors", "packaged", "vectors_of"]
