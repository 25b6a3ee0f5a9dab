"""Refining a batch of observations: one question for each, answers are kept, the given triple else.

Puts together what is decided elsewhere: `state.triples` says what is asked and which answers may be used,
`streams.language_model` asks. Nothing is lost and nobody waits longer than the batch may: what has no good
answer by then stays as its source sent it, and says so.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
import structlog

from state import triples
from state.observations import Observation
from state.prompts import Answer, NoAnswer, Reply
from state.refinement import ANSWERED, Outcome
from state.triples import Judged
from streams.host import State, Write

if TYPE_CHECKING:
    from streams.language_model import LanguageModel

log = structlog.get_logger()

ANSWERS_TABLE: Final = "triple-answers"
_RANGE_KEY: Final = b"range"


class Answers(Protocol):
    """Answers of a model that are kept, by `state.triples.cache_key`."""

    def get(self, key: bytes) -> str | None:
        """The text of an answer, or None."""
        ...

    def put(self, key: bytes, text: str) -> None:
        """Keep an answer; the oldest makes room."""
        ...

    def clear(self) -> None:
        """Keep nothing: somebody asked for words to be forgotten, and these may be among them."""
        ...


class MemoryAnswers:
    """Answers for as long as the process lives: what workers keep, whose disks hold no words of others.

    A wish to forget reaches the worker that reads it, and no disk of another one.
    """

    def __init__(self, *, kept_max: int) -> None:
        self._kept_max = kept_max
        self._kept: OrderedDict[bytes, str] = OrderedDict()

    def get(self, key: bytes) -> str | None:
        """The text of an answer, or None."""
        return self._kept.get(key)

    def put(self, key: bytes, text: str) -> None:
        """Keep an answer; the oldest makes room."""
        self._kept.setdefault(key, text)
        while len(self._kept) > self._kept_max:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()


class TableAnswers:
    """Answers in a table of the host, numbered in the order in which they came, so that the oldest is known.

    Good for one call on one state; `writes` is what the call has changed.
    """

    def __init__(self, state: State, *, kept_max: int) -> None:
        self._state = state
        self._kept_max = kept_max
        self._changes: dict[bytes, bytes | None] = {}
        stored = state.get(ANSWERS_TABLE, _RANGE_KEY)
        self._first, self._next = (0, 0) if stored is None else _decode_range(stored)

    def get(self, key: bytes) -> str | None:
        """The text of an answer, or None."""
        stored = self._get(b"a" + key)
        return None if stored is None else stored.decode("utf-8")

    def put(self, key: bytes, text: str) -> None:
        """Keep an answer; the oldest makes room."""
        if self._kept_max == 0 or self._get(b"a" + key) is not None:
            return
        self._changes[b"a" + key] = text.encode("utf-8")
        self._changes[_numbered(self._next)] = key
        self._next += 1
        while self._next - self._first > self._kept_max:
            oldest = self._get(_numbered(self._first))
            assert oldest is not None, "every number from the first on has a key"
            self._changes[b"a" + oldest] = self._changes[_numbered(self._first)] = None
            self._first += 1
        self._changes[_RANGE_KEY] = _encode((self._first, self._next))

    def clear(self) -> None:
        """Keep nothing."""
        self._changes = {key: None for key, _ in self._state.scan(ANSWERS_TABLE, b"")}
        self._first = self._next = 0

    def writes(self) -> list[Write]:
        """What was changed."""
        return [Write(ANSWERS_TABLE, key, value) for key, value in sorted(self._changes.items())]

    def _get(self, key: bytes) -> bytes | None:
        return self._changes[key] if key in self._changes else self._state.get(ANSWERS_TABLE, key)


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_range: Final = msgspec.msgpack.Decoder(tuple[int, int]).decode


def _numbered(number: int) -> bytes:
    return b"n" + number.to_bytes(8, "big")


class Refiner:
    """Refines observations by one model.

    `outcomes` counts what became of all of them since the start, `n_kept` those that needed no question of
    their own: the answer was kept, or equal content came in the same batch.
    """

    def __init__(self, model: LanguageModel, *, batch_timeout_s: float, kept_max: int) -> None:
        self._model = model
        self._batch_timeout_s = batch_timeout_s
        self.kept_max = kept_max
        self.memory = MemoryAnswers(kept_max=kept_max)
        self.outcomes: Counter[Outcome] = Counter()
        self.n_kept = 0

    @property
    def n_calls(self) -> int:
        """Requests that were sent since the start, tries among them."""
        return self._model.n_calls

    def refine(self, observations: Sequence[Observation], answers: Answers) -> list[Observation]:
        """The same observations in the same order, each refined or said to be as it was given.

        Asks at most once for equal content, blocks at most as long as a batch may, and raises nothing that an
        observation or a server could cause. The caller's event loop must not wait for it.
        """
        prompts = [triples.prompt_of(one) if triples.is_asked(one) else None for one in observations]
        keys = [None if p is None else triples.cache_key(p, self._model.name) for p in prompts]
        wanted = {key: p for key, p in zip(keys, prompts, strict=True) if key is not None and p is not None}
        replies: dict[bytes, Reply] = {
            key: Answer(kept) for key in wanted if (kept := answers.get(key)) is not None
        }
        missing = [key for key in wanted if key not in replies]
        made = self._model.ask([wanted[key] for key in missing], within_s=self._batch_timeout_s)
        replies.update(zip(missing, made, strict=True))
        self.n_kept += sum(key is not None for key in keys) - len(missing)
        refined = []
        told: Counter[Outcome] = Counter()
        for one, key in zip(observations, keys, strict=True):
            if not triples.is_asked(one):
                refined.append(one)
                continue
            reply = None if key is None else replies[key]
            judged = _judged(reply, one)
            if key is not None and isinstance(reply, Answer) and triples.may_be_kept(judged):
                answers.put(key, reply.text)
            told[judged.outcome] += 1
            refined.append(triples.refined(one, judged, model=self._model.name))
        self._tell(told, [reply for reply in made if isinstance(reply, NoAnswer)])
        return refined

    def _tell(self, told: Counter[Outcome], failed: Sequence[NoAnswer]) -> None:
        self.outcomes += told
        as_given = {outcome.value: n for outcome, n in sorted(told.items()) if outcome not in ANSWERED}
        if as_given:
            log.warning("triples as given", **as_given, reason=failed[0].reason if failed else "")


def _judged(reply: Reply | None, observation: Observation) -> Judged:
    match reply:
        case None:
            return Judged(Outcome.TOO_LONG)
        case NoAnswer(outcome=outcome, reason=reason):
            return Judged(outcome, why=reason)
        case Answer(text=text):
            return triples.judge(text, observation)
