"""Who may ask: bearer tokens, and addresses to listen on.

Tokens are kept as keyed hashes and compared in constant time, all of them each time, so that neither memory
nor the time of an answer tells one. There are no rights to tell apart: a token may read and write everything.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from state.errors import FactdriftError
from streams.settings import ApiSettings

TOKEN_CHARACTERS_MIN: Final = 16  # fewer can be guessed
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class UnsafeApi(FactdriftError):
    """Settings by which anybody on a network could read and write. `code` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Tokens:
    """The tokens that are let in; none of them: everybody is."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._key = secrets.token_bytes(32)  # so that a hash in a memory dump tells nothing elsewhere
        self._hashes = [self._hashed(token) for token in dict.fromkeys(tokens)]

    @classmethod
    def of(cls, settings: ApiSettings) -> Tokens:
        """The tokens of the settings and of their file. Raises UnsafeApi."""
        found: list[str] = []
        if settings.tokens is not None:
            found += settings.tokens.get_secret_value().split(",")
        if settings.token_file is not None:
            found += tokens_in(settings.token_file)
        tokens = [token for token in (one.strip() for one in found) if token]
        if any(len(token) < TOKEN_CHARACTERS_MIN or not token.isascii() for token in tokens):
            raise UnsafeApi(
                "weak_token",
                f"A token has fewer than {TOKEN_CHARACTERS_MIN} characters, or some beyond ASCII. Make one "
                "with: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
            )
        asked = settings.tokens is not None or settings.token_file is not None
        if asked and not tokens:
            raise UnsafeApi("no_token", "Tokens are to be asked for, but none is given: the list is empty.")
        return cls(tokens)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def admits(self, authorization: bytes | None) -> str | None:
        """A name for whoever sent this Authorization header, None where the token is not known.

        The name is a hash: it tells callers apart and nothing about their token.
        """
        scheme, _, token = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        asked = self._hashed(token.strip().decode("latin-1"))
        matches = [hmac.compare_digest(asked, known) for known in self._hashes]
        return asked[:8].hex() if any(matches) else None

    def _hashed(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode("utf-8"), hashlib.sha256)


def tokens_in(path: Path) -> list[str]:
    """The lines of a file of tokens; empty ones and those that begin with # are none. Raises UnsafeApi."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnsafeApi("no_token", f"The file of tokens {path} cannot be read: {error}.") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_unsafe(host: str, tokens: Tokens) -> None:
    """Raise UnsafeApi `token_required` where others than this machine could ask without a token."""
    if not tokens and not is_loopback(host):
        raise UnsafeApi(
            "token_required",
            f"Whoever reaches {host} could read and change everything. Give a token by FACTDRIFT_API_TOKENS "
            "or --token-file, or listen on 127.0.0.1.",
        )


def names_this_machine(host_header: bytes | None) -> bool:
    """Whether a Host header names this machine; a page could otherwise ask by rebinding its own name."""
    text = (host_header or b"").decode("latin-1")
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    return name.casefold() in _LOOPBACK_NAMES or is_loopback(name)
