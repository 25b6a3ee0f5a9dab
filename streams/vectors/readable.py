"""What every source of vectors does with a text before a model sees it.

Decides which texts are too long to compare, and that no text can break a tokenizer or a request.
"""

from __future__ import annotations

from typing import Final

# Means of long texts are near each other whatever they say, and transformers read only the first some hundred
# tokens. Such a text is its own cluster; this also bounds the memory and the price of one text.
CHARACTERS_MAX: Final = 2_000


def readable(text: str) -> str:
    """The text as models get it; "" where a model must have no idea of it. Never raises."""
    if len(text) > CHARACTERS_MAX:
        return ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def zero(dimension: int) -> bytes:
    """The vector of a text of which a model has no idea."""
    return bytes(4 * dimension)
