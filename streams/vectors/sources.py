"""From settings to a source of vectors: the one place that knows all of them.

Decides which threshold and dimension a model has where the settings leave them out. Loads nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from state.similarity import ModelId, Vectors
from streams.settings import BadSetting, Settings, VectorSettings
from streams.vectors import static, transformer
from streams.vectors.cache import CachedVectors
from streams.vectors.transformer import TransformerChoice, TransformerVectors

if TYPE_CHECKING:
    from streams.vectors.endpoint import EndpointVectors

THRESHOLDS: Final = {
    transformer.DEFAULT: 0.88,
    "sentence-transformers/all-MiniLM-L6-v2": 0.90,
}
"""Thresholds of models that need none in the settings; how each was found is in docs/meaning.md."""

ENDPOINT_DEFAULT: Final = "text-embedding-3-small"
DIMENSIONS: Final = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
SOURCES: Final = ("packaged", "sentence-transformers", "openai")
ANY_THRESHOLD: Final = 1.0  # for measuring: `factdrift calibrate` finds the threshold, it needs none


def vectors_of(settings: Settings, *, to_measure: bool = False) -> Vectors | None:
    """The source that the settings name, with its cache; None for none. Nothing is loaded or asked yet.

    `to_measure` lets a model be without a threshold. Raises BadSetting where a setting that the source needs
    is missing, and VectorsUnavailable where the packaged vectors are not installed.
    """
    chosen = settings.vector
    match settings.vectors:
        case "none":
            return None
        case "packaged":
            source: Vectors = static.packaged(chosen.threshold)
        case "sentence-transformers":
            source = TransformerVectors(_transformer(chosen, to_measure=to_measure))
        case "openai":
            source = _endpoint(chosen, to_measure=to_measure)
    return CachedVectors(source, kept_max=chosen.kept_max)


def _transformer(chosen: VectorSettings, *, to_measure: bool) -> TransformerChoice:
    name = chosen.model or transformer.DEFAULT
    if Path(name).expanduser().is_dir():
        name = str(Path(name).expanduser())
    return TransformerChoice(
        name=name,
        revision=chosen.revision,
        device=None if chosen.device == "auto" else chosen.device,
        threshold=_threshold(chosen, name, f"sentence-transformers:{name}", to_measure=to_measure),
        batch_max=chosen.batch_max,
    )


def _endpoint(chosen: VectorSettings, *, to_measure: bool) -> EndpointVectors:
    from streams.vectors.endpoint import Endpoint, EndpointVectors  # its client takes a tenth of a second

    name = chosen.model or ENDPOINT_DEFAULT
    dimension = chosen.dimension or DIMENSIONS.get(name)
    if dimension is None:
        raise BadSetting(
            f"FACTDRIFT_VECTORS_DIMENSION is not set, and the dimension of {name} is not known here. Set it "
            "to how many numbers the model gives for one text."
        )
    revision = (chosen.revision or "served").replace("/", "-").replace("@", "-")
    threshold = _threshold(chosen, name, f"openai:{name}", to_measure=to_measure)
    return EndpointVectors(
        ModelId(name, revision, dimension, threshold, "served"),
        Endpoint(
            url=chosen.url,
            api_key=None if chosen.api_key is None else chosen.api_key.get_secret_value(),
            timeout_s=chosen.timeout_s,
            batch_max=chosen.batch_max,
            rest_s=chosen.rest_s,
        ),
    )


def _threshold(chosen: VectorSettings, name: str, measured_as: str, *, to_measure: bool) -> float:
    found = chosen.threshold or THRESHOLDS.get(name) or (ANY_THRESHOLD if to_measure else None)
    if found is None:
        raise BadSetting(
            f"FACTDRIFT_VECTORS_THRESHOLD is not set, and no threshold of {name} is known here. Find one: "
            f"factdrift calibrate --model {measured_as}"
        )
    return found
