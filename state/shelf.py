"""Where the pieces of a claim lie: keys and values, and what a batch changes about them.

A claim with a long history is stored in pieces, so that a batch reads and writes only those that it
touches. `Shelf` is that store as the core sees it: a view with the changes made so far on top.
"""

from __future__ import annotations

from collections.abc import Callable


class Shelf:
    """Reads through `get`, keeps what was put in `changes` (None: deleted), and reads that first."""

    __slots__ = ("_get", "changes")

    def __init__(self, get: Callable[[bytes], bytes | None]) -> None:
        self._get = get
        self.changes: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, or None."""
        changes = self.changes
        return changes[key] if key in changes else self._get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """Set a key."""
        self.changes[key] = value

    def delete(self, key: bytes) -> None:
        """Remove a key."""
        self.changes[key] = None
