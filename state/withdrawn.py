"""Facts that no evidence carries any more, kept under keys of their own for the sake of their versions.

A withdrawn fact may come back: the same id, and then the next version. It belongs to the claim and not to a
strand, because the clusters of the claim may have moved meanwhile.
"""

from __future__ import annotations

from typing import Final

import msgspec

from state.changes import Published
from state.identity import FactId
from state.shelf import Shelf

FACTS: Final = b"/w"
"""Between the id of the claim and that of the fact."""

encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Published).decode


class Withdrawn:
    """The withdrawn facts of one claim.

    `handed` are facts that were published by strands which are being folded anew: whoever now holds such a
    fact takes it from there, and what nobody takes is withdrawn.
    """

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self.shelf = Shelf(lambda _key: None)
        self.handed: dict[FactId, Published] = {}

    def take(self, fact_id: FactId) -> Published | None:
        """What was last published of a fact that is published no more, or None.

        Its key stays: a batch that is applied again after a crash must find it again, and nobody asks for
        a fact that is published.
        """
        handed = self.handed.pop(fact_id, None)
        if handed is not None:
            return handed
        stored = self.shelf.get(self._key(fact_id))
        return None if stored is None else decode(stored)

    def keep(self, published: Published) -> None:
        """Remember a fact that was withdrawn."""
        self.shelf.put(self._key(published.fact.fact_id), encode(published))

    def _key(self, fact_id: FactId) -> bytes:
        return self._prefix + FACTS + fact_id.encode("ascii")
