"""Vectors from a model that sentence-transformers can load: a name on a hub, or a folder.

Decides how such a model is loaded, what identifies it, and of which texts it has no idea. Needs the extra
`sentence-transformers`, which brings PyTorch; nothing of it is imported before the model is needed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from state.similarity import ModelId, VectorsUnavailable
from streams.vectors.readable import readable, zero

if TYPE_CHECKING:
    import numpy

DEFAULT: Final = "BAAI/bge-small-en-v1.5"
_REMEDY: Final = 'Install it with: pip install "factdrift[sentence-transformers]"'
_DIGEST_LENGTH: Final = 12  # hexadecimal digits; enough to tell revisions of one model apart
_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class TransformerChoice:
    """Which model, and how it runs.

    `name` is a hub name or a folder. `revision` is one of the hub, None for the newest. `device` is what
    PyTorch calls one ("cpu", "cuda", "mps"), None for the best there is. `threshold` belongs to the model.
    """

    name: str
    revision: str | None
    device: str | None
    threshold: float
    batch_max: int


class TransformerVectors:
    """Vectors of a sentence-transformers model. Safe in several threads; one of them embeds at a time."""

    def __init__(self, choice: TransformerChoice) -> None:
        self._choice = choice
        self._using = threading.Lock()
        self._loaded: tuple[Any, ModelId] | None = None

    @property
    def model(self) -> ModelId:
        """The model with what identifies it, for which it is loaded. Raises VectorsUnavailable."""
        with self._using:
            return self._load()[1]

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector per text, as `Vectors.embed`; zeros for one that the model would read only in part.

        Two long texts with one beginning would otherwise be one value. Blocks its thread and lets others
        run: PyTorch computes outside Python's lock. The last bit may differ between batches and machines.
        """
        with self._using:
            model, identity = self._load()
            try:
                found = self._embed(model, [readable(text) for text in texts])
            except Exception as error:  # out of memory, a lost device: PyTorch raises RuntimeError for all
                raise VectorsUnavailable(
                    f"The model {self._choice.name} failed: {_first_line(error)}. Set "
                    "FACTDRIFT_VECTORS_DEVICE=cpu, or a smaller FACTDRIFT_VECTORS_BATCH_MAX."
                ) from error
        nothing = zero(identity.dimension)
        return [nothing if vector is None else vector for vector in found]

    def _embed(self, model: Any, texts: Sequence[str]) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(texts)
        places = [place for place, text in enumerate(texts) if text.strip()]
        if places:
            n_tokens = [len(ids) for ids in model.tokenizer([texts[p] for p in places])["input_ids"]]
            limit = model.max_seq_length
            places = [p for p, n in zip(places, n_tokens, strict=True) if limit is None or n <= limit]
        if places:
            made = model.encode(
                [texts[p] for p in places],
                batch_size=self._choice.batch_max,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
            for place, vector in zip(places, made, strict=True):
                found[place] = _unit(vector)
        return found

    def _load(self) -> tuple[Any, ModelId]:
        if self._loaded is None:
            self._loaded = self._read()
        return self._loaded

    def _read(self) -> tuple[Any, ModelId]:
        choice = self._choice
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            raise VectorsUnavailable(
                f"Vectors of {choice.name} need the package {error.name}. {_REMEDY}"
            ) from error
        disable_progress_bar()  # standard error is for people and for the log
        try:
            model = SentenceTransformer(choice.name, revision=choice.revision, device=choice.device)
            dimension = int(model.encode(["x"], show_progress_bar=False).shape[1])
        except Exception as error:  # the hub, the file system and PyTorch raise what they like
            raise VectorsUnavailable(
                f"The model {choice.name} cannot be loaded: {_first_line(error)}. Give "
                "FACTDRIFT_VECTORS_MODEL a name on the hub or a folder that holds one, or set "
                "FACTDRIFT_VECTORS=packaged."
            ) from error
        folder = Path(choice.name)
        name = folder.resolve().name if folder.is_dir() else choice.name
        revision = digest_of(folder) if folder.is_dir() else _hub_revision(model, choice)
        return model, ModelId(name, revision, dimension, choice.threshold, _pooling(model))


def digest_of(folder: Path) -> str:
    """What tells two folders with models apart: a digest over the names and the bytes of their files."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
            whole.update(relative.as_posix().encode("utf-8", "surrogateescape") + b"\0" + digest)
    return whole.hexdigest()[:_DIGEST_LENGTH]


def _hub_revision(model: Any, choice: TransformerChoice) -> str:
    """The commit that was loaded, where the loader tells; else what was asked for."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    found = getattr(config, "_commit_hash", None) or choice.revision or _UNKNOWN
    return str(found).replace("/", "-").replace("@", "-")


def _pooling(model: Any) -> str:
    """How token vectors become one: an attribute in newer releases of the package, a method in older ones."""
    for module in model:
        mode = getattr(module, "pooling_mode", None) or getattr(module, "get_pooling_mode_str", None)
        if mode is not None:
            return str(mode() if callable(mode) else mode).replace("/", "-").replace("@", "-")
    return _UNKNOWN


def _unit(vector: numpy.ndarray) -> bytes | None:
    """A vector at unit length; None for one that is zero or not finite."""
    norm = float((vector.astype("float64") ** 2).sum() ** 0.5)
    if not 0 < norm < float("inf"):
        return None
    made: bytes = (vector.astype("float64") / norm).astype("<f4").tobytes()
    return made


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")
