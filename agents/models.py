"""Which model of vectors the tables of a log were built with, and whether today's may go on with them.

Decides once, before the first record is handled: cosines of two models say nothing about each other, and a
worker that went on would cluster old claims by one and new claims by the other, without a word.
"""

from __future__ import annotations

import logging
from typing import Final

from state.errors import FactdriftError
from state.similarity import Vectors
from streams.embedded import EmbeddedStore
from streams.host import Mark

MARK: Final = "model"
NO_MODEL: Final = "none"

_log = logging.getLogger(__name__)


class ModelChanged(FactdriftError):
    """The tables were built with another model of vectors. `code` is stable; the message says what to do."""

    code: Final = "model_changed"

    def __init__(self, where: str, built_with: str, today: str) -> None:
        super().__init__(
            f"{self.code}: the tables {where} were built with the vectors {built_with}, and the settings "
            f"name {today}. Set FACTDRIFT_VECTORS… as before, or start once with --accept-model-change: "
            "claims are then compared anew when they are next touched, or all at once by factdrift recluster."
        )
        self.built_with = built_with
        self.today = today


def identity_of(vectors: Vectors | None) -> str:
    """What names the model of today, for which a model from a hub is loaded. Raises VectorsUnavailable."""
    return NO_MODEL if vectors is None else vectors.model.identity


def mark(identity: str, *, accept_change: bool) -> Mark:
    """The mark of the model of today, for a host that notes it with each of its partitions.

    Meeting another one raises ModelChanged; with `accept_change` it is said once, and gone on with.
    """
    told = set[str]()

    def met(where: str, built_with: str) -> None:
        if not accept_change:
            raise ModelChanged(where, built_with, identity)
        if built_with not in told:
            told.add(built_with)
            _log.warning(
                "The tables %s were built with the vectors %s and go on with %s: each claim is compared anew "
                "when it is next touched, and its facts say so.", where, built_with, identity,
            )  # fmt: skip

    return Mark(MARK, identity, met)


def agree(store: EmbeddedStore, identity: str, *, accept_change: bool) -> None:
    """Compare the model of today with that of the tables, and note it where they may be one.

    A store that has no mark gets one: it is new, or of a release that kept none. Raises ModelChanged.
    """
    with store.transaction():
        built_with = store.mark(MARK)
        if built_with == identity:
            return
        if built_with is not None and not accept_change:
            raise ModelChanged(f"in {store.path.parent}", built_with, identity)
        store.set_mark(MARK, identity)
