"""Turning a file of messages into observations: in order, a bounded number of questions at once.

Every line is accounted for: a message with its observations, one that says nothing, one without an answer, or
a line that cannot be read. Decides nothing about them; that is `state.messages` and `state.extraction`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from state import extraction
from state.errors import BadInput, FactdriftError
from state.extraction import Extracted
from state.messages import Message, read_message
from state.prompts import Answer, NoAnswer, Reply
from state.refinement import Outcome
from streams.language_model import LanguageModel
from streams.settings import LanguageModelSettings

ROUNDS: Final = 4  # messages at hand at one time, as a multiple of the questions at once
_GOOD: Final = frozenset((Outcome.REFINED, Outcome.UNCHANGED))


class BadAnswers(FactdriftError):
    """A file of answers that cannot be read or written."""


@dataclass(slots=True)
class Report:
    """What became of the lines: `n_messages` + `n_unreadable` are all that are not blank.

    `outcomes` counts messages; `n_refused` are statements of answers that were not taken.
    """

    n_messages: int = 0
    n_unreadable: int = 0
    n_observations: int = 0
    n_refused: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def is_complete(self) -> bool:
        """Whether every line was read and every message has an answer."""
        return self.n_unreadable == 0 and self.outcomes.keys() <= _GOOD


class KeptAnswers:
    """Answers in a file, a JSON line each, so that a second run asks nothing again; without one, in memory.

    A last line that a killed run left unfinished is written over. Raises BadAnswers, before anything is
    written, for a file that holds anything else.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._end = 0  # bytes of the file that are whole lines
        self._kept: dict[str, str] = {}
        if path is None or not path.exists():
            return
        try:
            whole, _, unfinished = b"".join((b"\n", path.read_bytes())).rpartition(b"\n")
        except OSError as error:
            raise BadAnswers(f"{path} cannot be read: {error.strerror}.") from error
        self._end = len(whole)
        for number, line in enumerate(whole.split(b"\n")[1:], start=1):
            self._take(line, number)
        if not unfinished.startswith(_BEGINNING[: len(unfinished)]):
            raise self._strange(self._path, whole.count(b"\n") + 1)

    def _take(self, line: bytes, number: int) -> None:
        try:
            kept = json.loads(line)
            key, text = kept["key"], kept["answer"]
            if not isinstance(key, str) or not isinstance(text, str):
                raise TypeError("no text")
        except (ValueError, KeyError, TypeError) as error:
            raise self._strange(self._path, number) from error
        self._kept[key] = text

    @staticmethod
    def _strange(path: Path | None, number: int) -> BadAnswers:
        return BadAnswers(
            f"{path}:{number} is no answer that factdrift wrote. Give another file to --answers."
        )

    def get(self, key: str) -> str | None:
        """The text of an answer, or None."""
        return self._kept.get(key)

    def put(self, found: Iterable[tuple[str, str]]) -> None:
        """Keep answers, in the file before anything comes of them."""
        new = {key: text for key, text in found if key not in self._kept}
        self._kept.update(new)
        if self._path is None or not new:
            return
        lines = "".join(json.dumps({"key": key, "answer": text}) + "\n" for key, text in new.items())
        written = lines.encode("utf-8")
        try:
            self._path.touch()
            with self._path.open("r+b") as file:
                file.truncate(self._end)
                file.seek(self._end)
                file.write(written)
        except OSError as error:
            raise BadAnswers(f"{self._path} cannot be written: {error.strerror}.") from error
        self._end += len(written)


_BEGINNING: Final = b'{"key": "'


def extract(
    stream: BinaryIO,
    model: LanguageModel,
    settings: LanguageModelSettings,
    *,
    namespace: str,
    answers: KeptAnswers,
    report: Report,
    told: Callable[[int, str], None] = lambda _number, _why: None,
    progressed: Callable[[int], None] = lambda _n_bytes: None,
) -> Iterator[dict[str, Any]]:
    """The observations in the messages of a stream, in its order; `report` is filled as they are taken.

    `told` is called with the number of a line and a sentence, for each that has no good answer and each
    statement that was refused. No message waits longer than its question may take.
    """
    numbered = enumerate(stream, start=1)
    while window := list(islice(numbered, settings.at_once_max * ROUNDS)):
        messages: list[tuple[int, Message]] = []
        for number, line in window:
            progressed(len(line))
            if not line.strip():
                continue
            try:
                messages.append((number, read_message(line, namespace=namespace)))
            except BadInput as bad:
                report.n_unreadable += 1
                told(number, f"{bad.code}: {bad.message}")
        replies = _replies([message for _, message in messages], model, settings, answers)
        for (number, message), reply in zip(messages, replies, strict=True):
            found = _extracted(reply, message)
            report.n_messages += 1
            report.outcomes[found.outcome] += 1
            report.n_observations += len(found.observations)
            report.n_refused += len(found.refused)
            for why in found.refused:
                told(number, f"a statement was refused: {why}")
            if found.why:
                told(number, f"{found.outcome.value}: {found.why}")
            yield from found.observations


def _replies(
    messages: list[Message], model: LanguageModel, settings: LanguageModelSettings, answers: KeptAnswers
) -> list[Reply]:
    """A reply for each message; what is kept is not asked, and equal questions are asked once."""
    prompts = [extraction.prompt_of(message) for message in messages]
    keys = [extraction.cache_key(prompt, model.name) for prompt in prompts]
    wanted = dict(zip(keys, prompts, strict=True))
    missing = [key for key in wanted if answers.get(key) is None]
    rounds = math.ceil(len(missing) / settings.at_once_max)
    made = dict(
        zip(
            missing,
            model.ask([wanted[key] for key in missing], within_s=rounds * settings.timeout_s),
            strict=True,
        )
    )
    good = [
        (key, reply.text)
        for key, message in zip(keys, messages, strict=True)
        if isinstance(reply := made.get(key), Answer) and _extracted(reply, message).outcome in _GOOD
    ]
    answers.put(good)
    return [made[key] if key in made else Answer(answers.get(key) or "") for key in keys]


def _extracted(reply: Reply, message: Message) -> Extracted:
    if isinstance(reply, NoAnswer):
        return Extracted(reply.outcome, why=reply.reason)
    return extraction.extract(reply.text, message)
