"""Names, times, counts and lists, as the explanations of a claim write them.

Decides how things are written and nothing else; `agents.telling` makes the sentences. Lists are cut
where a reader has seen enough: the JSON has all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from state.explanation import Explained, Explanation
from state.facts import as_text, shown_spelling
from state.fold_state import Side
from state.instants import DAY_MS, Instant, format_instant
from state.statements import Spelling, Statement
from state.trace import Duel

ITEMS_SHOWN = 5  # of any list of statements; the newest five votes are what decides by default

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CUTS: dict[str | None, int] = {"decade": 4, "year": 4, "quarter": 7, "month": 7}  # characters of a date


class Words:
    """The words for one claim. `name` is what it is about, `now` the instant at which it is told."""

    def __init__(self, explanation: Explanation, name: str, *, now: Instant) -> None:
        self.explanation = explanation
        self.name = name
        self.now = now
        self.window = explanation.policy.window
        edges = {e.at for fact in explanation.facts for e in (fact.episode.lo, fact.episode.hi) if e}
        self._with_time = len({at // DAY_MS for at in edges}) < len(edges)

    # -- values -----------------------------------------------------------------------------

    def value(self, fact: Explained) -> str:
        """How a fact's value is shown."""
        episode = fact.episode
        spellings = episode.spellings
        return text(shown_spelling(spellings, form=episode.form) if spellings else episode.form)

    def rival(self, duel: Duel) -> str:
        """What a rival says: a value, or "not" the fact's own."""
        return self.side(duel.rival.side, duel.rival.spelling)

    def side(self, side: Side, spelling: Spelling | None) -> str:
        """A value or its denial."""
        return text(spelling) if side[1] else f"not {text(spelling)}"

    # -- times ------------------------------------------------------------------------------

    def when(self, at: Instant, granularity: str | None) -> str:
        """An instant as finely as its evidence gave it."""
        return format_instant(at)[: _CUTS[granularity]] if granularity in _CUTS else self.day(at)

    def day(self, at: Instant) -> str:
        """An instant as a day; with its time where days do not tell the claim's facts apart."""
        written = format_instant(at)
        return written[:16].replace("T", " ") if self._with_time and at % DAY_MS else written[:10]

    def span(self, fact: Explained) -> str:
        """When a fact holds."""
        lo, hi = fact.episode.lo, fact.episode.hi
        since = "" if lo is None else self.when(lo.at, lo.granularity)
        until = "" if hi is None else self.when(hi.at, hi.granularity)
        if not until:
            return f"since {since}" if since else "for an unknown time"
        return f"from {since} until {until}" if since else f"until {until}, since when is not known"

    def holds(self, fact: Explained) -> bool:
        """Whether a fact holds now."""
        lo, hi = fact.episode.lo, fact.episode.hi
        return (lo is None or lo.at <= self.now) and (hi is None or hi.at > self.now)

    # -- statements -------------------------------------------------------------------------

    def source(self, statement: Statement) -> str:
        """Who says so: the document, else the source, else the statement itself."""
        if statement.document is not None:
            inside = statement.source is None or statement.source in statement.document
            return statement.document if inside else f"{statement.source} {statement.document}"
        return statement.source or statement.observation_id

    def sources(self, statements: Iterable[Statement]) -> str:
        """Several sources, each once."""
        return few(list(dict.fromkeys(map(self.source, statements))), n=3)

    def items(self, statements: Sequence[Statement]) -> Iterator[str]:
        """Votes as items of a list, one on each line."""
        shown = statements[: max(ITEMS_SHOWN, min(self.window, 2 * ITEMS_SHOWN))]
        said = [self.side((s.form, s.affirmed), s.spelling) for s in shown]
        width = max(map(len, said), default=0)
        for s, what in zip(shown, said, strict=True):
            details = [] if s.observation_id == self.source(s) else [s.observation_id]
            yield f"- {self.day(s.effective_at)}  {what:<{width}}  {self._cited(s, details)}"
        if len(statements) > len(shown):
            yield f"- and {len(statements) - len(shown)} more"

    def listed(self, statements: Iterable[Statement]) -> str:
        """Statements in a sentence, newest first."""
        newest = sorted(statements, key=lambda s: s.place, reverse=True)
        found = []
        for s in newest[: ITEMS_SHOWN + 1]:
            details = [] if s.observation_id == self.source(s) else [s.observation_id]
            found.append(self._cited(s, [*details, self.day(s.effective_at)]))
        return few(found, n_all=len(newest))

    def _cited(self, statement: Statement, details: Sequence[str]) -> str:
        """A source with its details in brackets; when it was said only where that is another day."""
        if self.day(statement.observed_at) != self.day(statement.effective_at):
            details = [*details, f"said {self.day(statement.observed_at)}"]
        return self.source(statement) + (f" ({', '.join(details)})" if details else "")

    def ids(self, statements: Sequence[Statement]) -> str:
        """Statements by their ids."""
        return few([s.observation_id for s in statements])

    def of_newest(self, n: int) -> str:
        """Which votes a count is about: all there are, or the newest of more."""
        return f"of the newest {word(n)} votes" if n >= self.window else "of all votes"


def text(spelling: Spelling | None) -> str:
    """A value in a sentence; "so" where a statement has none."""
    return as_text(spelling) or "so"


def word(n: int) -> str:
    """A small number as a word."""
    return _COUNTS[n] if n < len(_COUNTS) else str(n)


def votes(n: int) -> str:
    """A number of votes."""
    return f"{n} vote" if n == 1 else f"{n} votes"


def count(n: int, what: str) -> str:
    """A number of things, in words."""
    return f"{word(n)} {what}" if n == 1 else f"{word(n)} {what}s"


def more(n: int) -> str:
    """A number of votes that are missing."""
    return f"{word(n)} more {'vote' if n == 1 else 'votes'}"


def sentence(words: str) -> str:
    """A sentence that begins with a capital, where its first word is one of ours."""
    first = words.split(" ", 1)[0]
    return words[0].upper() + words[1:] if first in _COUNTS else words


def joined(parts: Sequence[str]) -> str:
    """Parts of a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def few(parts: Sequence[str], *, n: int = ITEMS_SHOWN, n_all: int | None = None) -> str:
    """The first parts, and how many of all are left."""
    left = (len(parts) if n_all is None else n_all) - n
    return joined(parts) if left <= 0 else ", ".join(parts[:n]) + f" and {left} more"
