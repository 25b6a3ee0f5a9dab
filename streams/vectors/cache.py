"""Keeps the newest vectors in memory, so that a text that many claims use is embedded once.

Decides nothing about a text. What is kept here is only there to save time: claims store the vectors that
they were compared by.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from state.similarity import ModelId, Vectors


class CachedVectors:
    """A source with the vectors of the `kept_max` texts that were asked for last. Safe in several threads."""

    def __init__(self, source: Vectors, *, kept_max: int) -> None:
        self._source = source
        self._kept_max = kept_max
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def model(self) -> ModelId:
        """The model of the source."""
        return self._source.model

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """As `Vectors.embed`; the source is asked once, for what is not at hand, and not for nothing."""
        found: dict[str, bytes] = {}
        with self._lock:
            for text in texts:
                if text in self._kept:
                    self._kept.move_to_end(text)
                    found[text] = self._kept[text]
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            made = dict(zip(missing, self._source.embed(missing), strict=True))
            found.update(made)
            self._keep(made)
        return [found[text] for text in texts]

    def _keep(self, made: dict[str, bytes]) -> None:
        with self._lock:
            self._kept.update(made)
            while len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)
