"""Where commands and assistants ask: a folder with an embedded log, or a running API by its URL.

Both give the same answers, since both end in `agents.answers`; a desk only says how the question gets there.
Words that mean an instant are understood where the log is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from agents import answers, listings
from agents.answers import Asked, Fields
from agents.composition import wall_clock
from agents.logs import EmbeddedLog, open_log
from agents.proving import Words
from agents.read_model import catch_up, folding_of, open_read_model
from agents.replay import now_of
from state.errors import FactdriftError
from streams.settings import Settings

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 60.0  # a question about a large claim's past takes some seconds


class NoDesk(FactdriftError):
    """Neither a folder nor a URL was given, or there is nothing there."""


class Answered(FactdriftError):
    """What the API said instead of an answer. `code` is that of its problem."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Desk(Protocol):
    """Where questions are asked and corrections are given in."""

    def ask(self, question: str, **wanted: Any) -> Fields:
        """The answer to one of `_QUESTIONS`, by its name. Raises FactdriftError."""
        ...

    def correct(self, fields: Mapping[str, Any]) -> Fields:
        """What became of a correction. Raises Refused, Answered."""
        ...

    def search(self, words: Sequence[str]) -> Fields:
        """What a search for words in everything that is kept has found. Raises NoWords, Answered."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class LocalDesk:
    """The embedded log in a folder. Belongs to the thread that made it."""

    def __init__(self, settings: Settings, log: EmbeddedLog, folder: Path) -> None:
        self._log = log
        self._settings, self._folder = settings, folder
        self._folding = folding_of(settings)
        self._model = open_read_model(settings, folder)

    def ask(self, question: str, **wanted: Any) -> Fields:
        """Bring the read model up to date, and ask it."""
        asked = _QUESTIONS[question][0]
        catch_up(self._model, self._log.host.store)
        now = now_of(self._log.host.store, wall_clock())
        with self._model.reading() as connection:
            found: Fields = asked(Asked(connection, self._folding, now), **wanted)
            return found

    def correct(self, fields: Mapping[str, Any]) -> Fields:
        """Publish it and say what it did."""
        from agents.api.commands import refuse_unknown_fields
        from agents.api.embedded_service import correct

        refuse_unknown_fields(fields)
        catch_up(self._model, self._log.host.store)
        found = correct(self._log.host, self._model, fields, settings=self._settings, folder=self._folder)
        catch_up(self._model, self._log.host.store)
        return found

    def search(self, words: Sequence[str]) -> Fields:
        """Look into the log, the read model and every file of the folder."""
        from agents.forget import verify_embedded

        store = self._log.host.store
        return verify_embedded(store, self._folder, Words(words), settings=self._settings).fields()

    def close(self) -> None:
        """Close the log and the read model."""
        self._model.close()
        self._log.close()


class RemoteDesk:
    """An API that runs somewhere."""

    def __init__(self, url: str, token: str | None) -> None:
        import httpx  # only who asks over HTTP needs it

        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._url = url.rstrip("/")
        self._client: httpx.Client = httpx.Client(base_url=self._url, headers=headers, timeout=TIMEOUT_S)

    def ask(self, question: str, **wanted: Any) -> Fields:
        """Ask the address of the question."""
        path = _QUESTIONS[question][1]
        given = {name: value for name, value in wanted.items() if value is not None}
        names = [name for name in given if f"{{{name}}}" in path]
        for name in names:
            path = path.replace(f"{{{name}}}", _quoted(str(given.pop(name))))
        return self._answer("GET", path, params={n: _parameter(value) for n, value in given.items()})

    def correct(self, fields: Mapping[str, Any]) -> Fields:
        """Send it, and wait as long as the API does."""
        return self._answer("POST", "/v1/corrections", json=dict(fields))

    def search(self, words: Sequence[str]) -> Fields:
        """Ask for it."""
        return self._answer("GET", "/v1/forgotten", params={"text": list(words)})

    def _answer(self, method: str, path: str, **sent: Any) -> Fields:
        import httpx

        try:
            response = self._client.request(method, path, **sent)
            found = msgspec.json.decode(response.content, type=dict[str, Any])
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoDesk(f"{self._url} does not answer: {error}. Start it with: factdrift serve") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NoDesk(f"{self._url} answers, but is no API of factdrift.") from error
        if response.is_error:
            raise Answered(str(found.get("code")), str(found.get("detail", response.status_code)))
        return found

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


_QUESTIONS: Final[dict[str, tuple[Any, str]]] = {
    "facts": (answers.facts, "/v1/facts"),
    "fact": (answers.fact, "/v1/facts/{fact_id}"),
    "history": (answers.history, "/v1/history"),
    "why": (answers.why, "/v1/why"),
    "unstable": (listings.unstable, "/v1/unstable"),
    "links": (listings.links, "/v1/links"),
    "assertions": (listings.assertions, "/v1/assertions"),
}
"""What a desk can be asked: the function, and where the API answers it. Parameters have the same names."""


def open_desk(
    settings: Settings,
    *,
    data: Path | None,
    url: str | None,
    token_file: Path | None = None,
    create: bool = False,
) -> Desk:
    """The desk at a URL or in a folder; without both, in the folder of the settings if it holds a log.

    Raises NoDesk, NoSuchLog.
    """
    if url is not None:
        if data is not None:
            raise NoDesk("Give --data or --url, not both.")
        return RemoteDesk(url, _token(settings, token_file))
    folder = settings.data if data is None else data
    log = open_log(settings, folder, create=create)
    assert isinstance(log, EmbeddedLog)
    with contextlib.ExitStack() as stack:
        stack.callback(log.close)
        desk = LocalDesk(settings, log, folder)
        stack.pop_all()
    return desk


def _token(settings: Settings, token_file: Path | None) -> str | None:
    from agents.api.tokens import tokens_in

    if token_file is not None:
        found = tokens_in(token_file)
        return found[0] if found else None
    if settings.api.tokens is not None:
        return settings.api.tokens.get_secret_value().split(",")[0].strip() or None
    return None


def _parameter(value: Any) -> Any:
    """A value as it is written in a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
