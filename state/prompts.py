"""What a language model is asked, and how its answer is read: the part that all questions share.

Decides how the words of others are quoted, so that they stay data, and which text is one JSON object. What
is asked, and what an answer may say, is `state.triples` and `state.extraction`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from state.errors import FactdriftError
from state.refinement import Outcome

ANSWER_CHARACTERS_MAX: Final = 32_768
_BYTES_PER_TOKEN: Final = 3  # few tokens are shorter: an estimate that is too high keeps a budget

# What may stand for something else than it shows: control characters, marks that reorder or hide text, tags,
# halves of surrogate pairs. The joiners U+200C and U+200D are part of words and emoji.
UNSAFE_CHARACTERS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_FENCED: Final = re.compile(r"```[a-zA-Z]*\s*(.*?)\s*```", re.DOTALL)


class BadAnswer(FactdriftError):
    """An answer that is not what was asked for. The message says why."""


class UnsafeAnswer(BadAnswer):
    """An answer of the right form that must not be used."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question: the rules, the words they are about, and how long the answer may be."""

    system: str
    user: str
    answer_tokens_max: int

    @property
    def tokens_at_most(self) -> int:
        """About how many tokens the question and its answer cost together, rather too many than too few."""
        n_bytes = len(self.system.encode("utf-8", "replace")) + len(self.user.encode("utf-8", "replace"))
        return n_bytes // _BYTES_PER_TOKEN + self.answer_tokens_max


@dataclass(frozen=True, slots=True)
class Answer:
    """The text that a model wrote."""

    text: str


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is none: one of the outcomes of failure, and a sentence for a log."""

    outcome: Outcome
    reason: str


Reply = Answer | NoAnswer


def quoted(fields: Mapping[str, Any]) -> str:
    """The fields as one JSON object that no text in it can leave.

    Quotes and line ends are escaped by JSON itself. "<" and "[" are escaped too: what servers read as a
    border between two speakers ("<|im_end|>", "[INST]") begins with one of them. `fields` holds no list.
    """
    written = json.dumps(fields, ensure_ascii=False)
    written = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return written.replace("<", "\\u003c").replace("[", "\\u005b")


def object_in(answer: str) -> dict[str, Any]:
    """The one JSON object that an answer is, perhaps within a fence. Raises BadAnswer.

    A name that stands twice is refused: readers differ in which of the two counts.
    """
    if len(answer) > ANSWER_CHARACTERS_MAX:
        raise BadAnswer(f"The answer has {len(answer)} characters, at most {ANSWER_CHARACTERS_MAX} are read.")
    text = answer.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        found = json.loads(
            fenced[1] if fenced else text, object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise BadAnswer("The answer is not JSON.") from error
    if not isinstance(found, dict):
        raise BadAnswer("The answer is JSON, but no object.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadAnswer("The answer names a field twice.")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def short_text(value: object, name: str, *, characters_max: int) -> str:
    """The text, if it is one that may be used. Raises BadAnswer, or UnsafeAnswer for what it holds."""
    if not isinstance(value, str):
        raise BadAnswer(f"{name} is no text.")
    if len(value) > characters_max:
        raise UnsafeAnswer(f"{name} has {len(value)} characters, at most {characters_max} are taken.")
    if UNSAFE_CHARACTERS.search(value):
        raise UnsafeAnswer(f"{name} holds a control character, or one that hides or reorders text.")
    return value.strip()


_DIGITS: Final = re.compile(r"\d+")


def figures(text: str) -> set[str]:
    """The runs of digits in a text, without leading zeros and without separators between thousands."""
    joined = re.sub(r"(?<=\d)[,'\u00a0\u202f](?=\d{3}(?!\d))", "", text)
    return {str(int(run)) if len(run) <= 64 else run for run in _DIGITS.findall(joined)}
