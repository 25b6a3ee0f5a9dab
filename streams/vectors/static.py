"""Makes the default vectors: the static ones that `wordllama` carries inside its wheel (DESIGN 10).

Decides how a text becomes a vector, and from which cosine on two of these vectors mean the same. Never goes
to the network: the package's own loader does, as it looks for its files in another folder, and is not used.

A vector is the mean of the vectors of the text's tokens, at unit length. Word order is lost, negation
and opposites hardly show: that is what `state.guards` is for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from state.similarity import ModelId, Vectors, VectorsUnavailable
from streams.vectors.readable import readable, zero

if TYPE_CHECKING:
    from typing import Any

    import numpy

_PACKAGE: Final = "wordllama"
_WEIGHTS: Final = "l2_supercat_256.safetensors"
_TOKENIZER: Final = "l2_supercat_tokenizer_config.json"
_DIMENSION: Final = 256
_REMEDY: Final = 'Install it with: pip install "wordllama==0.4.*" numpy safetensors tokenizers'

# Of the packaged pairs (`factdrift calibrate`; 251 of one value, 433 of two), 146 and 5 join at 0.84. What
# joins wrongly is nearly the same word (glass/glasses: 0.948), which only a threshold tells apart that loses
# some of the rest (0.88: 134 and 3). Lower, one other word in a longer text joins (nurse/doctor at a
# hospital: 0.819); 0.84 keeps clear of those and still joins other spellings (counselor/counsellor: 0.849).
THRESHOLD: Final = 0.84

_ZERO: Final = zero(_DIMENSION)


def packaged(threshold: float | None = None) -> Vectors:
    """Return the packaged vectors; their 16 MB are read once, when the first text comes.

    `threshold` takes the place of the measured one. Raises VectorsUnavailable if the package or what reads it
    is not installed, and says what to install.
    """
    try:
        installed = metadata.distribution(_PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise VectorsUnavailable(f"The package {_PACKAGE} is not installed. {_REMEDY}") from error
    files = {file.name: Path(str(installed.locate_file(file))) for file in installed.files or ()}
    missing = [name for name in (_WEIGHTS, _TOKENIZER) if name not in files or not files[name].is_file()]
    if missing:
        raise VectorsUnavailable(
            f"The package {_PACKAGE} {installed.version} has no file {missing[0]}. {_REMEDY}"
        )
    model = ModelId(
        "wordllama-l2-supercat-256", installed.version, _DIMENSION, threshold or THRESHOLD, "mean"
    )
    return StaticVectors(model, weights=files[_WEIGHTS], tokenizer=files[_TOKENIZER])


class StaticVectors:
    """Means of token vectors from a table of 16-bit floats."""

    def __init__(self, model: ModelId, *, weights: Path, tokenizer: Path) -> None:
        self._model = model
        self._weights = weights
        self._tokenizer_file = tokenizer
        self._loading = threading.Lock()
        self._loaded: tuple[Any, numpy.ndarray] | None = None

    @property
    def model(self) -> ModelId:
        """The model, with the version of the package as its revision."""
        return self._model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector per text, as `Vectors.embed`; zeros for one that is empty or over 2,000 characters.

        Give the normal form (`TypedObject.text`): capitals change the tokens. The same text gives the same
        bytes in any batch: 16-bit floats are summed in 64 bits, which is exact in any order.
        """
        tokenizer, table = self._load()
        # One by one: encoding as a batch starts threads, which gain nothing on short texts and mind a fork.
        return [
            _mean(table, tokenizer.encode(readable(text), add_special_tokens=False).ids) for text in texts
        ]

    def _load(self) -> tuple[Any, numpy.ndarray]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._read()
            return self._loaded

    def _read(self) -> tuple[Any, numpy.ndarray]:
        # Imported here: a host without vectors needs none of them, and they take a quarter of a second.
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise VectorsUnavailable(f"Vectors need the package {error.name}. {_REMEDY}") from error
        try:
            tables = list(load_file(self._weights).values())
            tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
        except Exception as error:  # both libraries raise bare Exception
            raise VectorsUnavailable(
                f"The vectors in {self._weights.parent.parent} cannot be read: {error}. {_REMEDY}"
            ) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        expected = (tokenizer.get_vocab_size(), self._model.dimension)
        if len(tables) != 1 or tables[0].shape != expected:
            found = [table.shape for table in tables]
            raise VectorsUnavailable(f"{self._weights.name} holds {found}, expected {expected}. {_REMEDY}")
        return tokenizer, tables[0]


def _mean(table: numpy.ndarray, tokens: list[int]) -> bytes:
    """The unit vector of a text with these tokens; a sum points where the mean points."""
    total = table[tokens].sum(axis=0, dtype="float64") if tokens else None
    if total is None or not total.any():
        return _ZERO
    unit: bytes = (total / float(total @ total) ** 0.5).astype("<f4").tobytes()
    return unit
