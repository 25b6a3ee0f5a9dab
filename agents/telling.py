"""Explanations in words: what `factdrift why` says about a claim to a person.

Turns what `state.why` and `state.why_not` found into sentences and short lists, and leaves nothing out but
the ends of long lists, which the JSON has. Decides nothing. A line that begins with "- " is an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from state.episodes import Reason, Role
from state.facts import as_text, shown_spelling
from state.fold_state import Side
from state.instants import DAY_MS, Instant, format_instant
from state.statements import Spelling, Statement
from state.trace import Choice, Duel, Weighing, votes_needed
from state.why import Apart, Explained, Explanation, How
from state.why_not import Bout, Verdict

FACTS_SHOWN = 8  # the newest; a claim that flaps has hundreds
ITEMS_SHOWN = 5  # of any list of statements

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_APART = {
    Apart.FED_BACK: ("came out of factdrift itself and never votes",) * 2,
    Apart.FITS_SEVERAL: (
        "is a coarse date that fits several others, and takes no side",
        "are coarse dates that fit several others, and take no side",
    ),
    Apart.LATE_REPORT: (
        "says afterwards that something ended which did not hold then",
        "say afterwards that something ended which did not hold then",
    ),
    Apart.NOTHING_TO_DENY: ("denies what did not hold then", "deny what did not hold then"),
    Apart.NO_FACT_THEN: ("took effect when no fact held",) * 2,
}
"""What is said of one statement, and of several."""


class Telling:
    """The words for one explained claim. `name` is what the claim is about, as people spell it."""

    def __init__(
        self, explanation: Explanation, name: str, *, now: Instant, retracted: Sequence[str]
    ) -> None:
        self.explanation = explanation
        self.name = name
        self.now = now
        self.retracted = retracted
        self.window = explanation.policy.window
        self._with_time = _needs_times(explanation)

    # -- the whole claim --------------------------------------------------------------------

    def claim(self, facts: Sequence[int] | None = None) -> list[str]:
        """The story of the claim: where it stands, then its facts in order of time.

        `facts` are the indices of those to tell; None for all, of which only the newest are shown.
        """
        chosen = list(range(len(self.explanation.facts))) if facts is None else list(facts)
        if not self.explanation.facts:
            return [f"{self.name} has no fact.", *self._apart()]
        lines = []
        if facts is None and len(chosen) > 1:
            lines += [self._where_it_stands(), ""]
        if len(chosen) > FACTS_SHOWN:
            lines += [f"{len(chosen)} facts; the newest {FACTS_SHOWN} of them:", ""]
        for place in chosen[-FACTS_SHOWN:]:
            lines += [*self.fact(place), ""]
        return [*lines[:-1], *self._apart()] if facts is None else lines[:-1]

    def _where_it_stands(self) -> str:
        holding = [fact for fact in self.explanation.facts if self._holds(fact) and fact.episode.cluster]
        if not holding:
            last = self.explanation.facts[-1]
            return f"{self.name} has no value now. The last was {self.value(last)}, {self._span(last)}."
        named = [f"{self.value(fact)}, {self._span(fact)}" for fact in holding]
        return f"{self.name} is {'; '.join(named)}."

    def _holds(self, fact: Explained) -> bool:
        lo, hi = fact.episode.lo, fact.episode.hi
        return (lo is None or lo.at <= self.now) and (hi is None or hi.at > self.now)

    def fact(self, place: int) -> list[str]:
        """One fact: what it is, how it began, how it ended or where it stands, who is against it."""
        fact = self.explanation.facts[place]
        lines = [self._headline(fact), *self._beginning(fact), *self._ending(fact)]
        if fact.standing is not None:
            lines += self._standing(fact, fact.standing)
        return [*lines, *self._voices(fact)]

    def _headline(self, fact: Explained) -> str:
        episode = fact.episode
        votes = f"{_votes(episode.support)} for it, {episode.dissent or 'none'} against"
        lo, hi = episode.lo, episode.hi
        if lo is not None and lo.at > self.now:
            verb = "will be"
        elif hi is None or hi.at > self.now:
            verb = "has been"
        else:
            verb = "was"
        what = f"{self.name} {verb} {self.value(fact)}" if episode.cluster else f"{self.name} {verb} so"
        return f"{what} {self._span(fact)} ({votes})."

    def _span(self, fact: Explained) -> str:
        lo, hi = fact.episode.lo, fact.episode.hi
        since = "" if lo is None else self.when(lo.at, lo.granularity)
        until = "" if hi is None else self.when(hi.at, hi.granularity)
        if hi is None:
            return f"since {since}" if since else "for an unknown time"
        return f"from {since} until {until}" if since else f"until {until}, since when is not known"

    # -- how a fact began -------------------------------------------------------------------

    def _beginning(self, fact: Explained) -> Iterator[str]:
        opening, lo = fact.opening, fact.episode.lo
        first = self.sources(reversed(opening.votes))
        if opening.how is How.MAJORITY:
            yield "Such a value never changes, so the most documents decide, of all time."
        elif opening.how is How.REPORTED:
            yield f"Nobody said so at the time: that it ended then was said afterwards, by {first}."
        elif opening.how is How.SCHEDULED:
            yield f"It was announced: {first} gave its start in advance. An announcement casts no vote."
        elif opening.how is How.AFTER_END:
            yield f"It opened when the fact before it ended, since it had been said meanwhile by {first}."
        elif opening.how is How.AFTER_DENIAL:
            yield f"It opened because the fact before it was denied; of what had been said since, by {first}."
        elif opening.how is How.WON and opening.decision is not None:
            yield f"It outvoted {self._held(opening.decision)}: {self._count(opening.decision.duels[0])}."
        else:
            yield f"It opened, as nothing else held, with what was said by {first}."
            yield from self._choice(fact, opening.choice)
        if lo is not None and fact.lo_set_by and opening.how not in (How.REPORTED, How.MAJORITY):
            dated = fact.lo_set_by[0]
            if dated.effective_at == lo.at and dated.observed_at != dated.effective_at:
                yield f"Its start is given by {self.source(dated)}, said on {self.day(dated.observed_at)}."

    def _choice(self, fact: Explained, choice: Choice | None) -> Iterator[str]:
        """What there was beside it at the instant at which it opened."""
        for candidate in () if choice is None else choice.candidates:
            side = candidate.affirmed.side
            if side[0] == fact.episode.cluster:
                if candidate.denied.votes:
                    yield (
                        f"It stood with {_votes(len(candidate.affirmed.votes))} against "
                        f"{_count(len(candidate.denied.votes), 'denial')} since the fact before it."
                    )
            else:
                yield f"{_text(candidate.affirmed.spelling)} was said at the same instant and was not stronger."

    # -- how it ended -----------------------------------------------------------------------

    def _ending(self, fact: Explained) -> Iterator[str]:
        episode = fact.episode
        if episode.hi is None:
            return
        by = self.sources(fact.hi_set_by)
        at = self.when(episode.hi.at, episode.hi.granularity)
        if episode.ballot is None:
            gives = "give" if len(fact.hi_set_by) > 1 else "gives"
            own = [s for s in fact.hi_set_by if s.valid_to == episode.hi.at]
            will = "It will end" if episode.hi.at > self.now else "It ended"
            if own:
                yield f"{will} as stated: {by} {gives} {at} as its end, and nobody says that it goes on."
            else:
                yield f"{will} on {at}, from when on {by} {gives} another value."
            return
        if fact.decision is None:
            yield f"{by} said in advance that it no longer holds from {at} on."
            return
        duel = fact.decision.duels[0]
        decided = fact.decision.at
        verb = "A denial closed it" if episode.reason is Reason.DENIED else f"{self.side(duel)} outvoted it"
        yield f"{verb}: {self._count(duel)}."
        yield from self._items(duel.counted)
        dated = f"It ends on {at}, with what was said first after its own last statement: {by}."
        yield dated if decided == episode.hi.at else f"{dated} The count was decided on {self.day(decided)}."

    def _count(self, duel: Duel) -> str:
        """Why a rival won, in numbers."""
        n = duel.n_for + duel.n_held
        numbers = f"{duel.n_for} to {duel.n_held}{self._of_newest(n)}"
        if duel.fresh is None or duel.n_held == 0:
            return numbers
        last = "all later than the last statement for what held"
        if duel.n_for >= duel.n_held + self.explanation.policy.lead:
            return numbers
        return f"{numbers}, {last}, and {self.source(duel.fresh)} had begun to say so only then"

    def _of_newest(self, n: int) -> str:
        return f" of the newest {_word(n)} votes" if n >= self.window else f" votes"

    # -- where an open fact stands ----------------------------------------------------------

    def _standing(self, fact: Explained, standing: Weighing) -> Iterator[str]:
        if not standing.duels:
            yield "Nothing is said against it in its time."
            return
        if self.explanation.predicate.never_changes:
            shares = [f"{len(d.rival.votes)} for {self.side(d)}" for d in standing.duels]
            contested = " It is contested." if fact.episode.contested else ""
            yield f"{_votes(len(standing.held.votes))} for it; {', '.join(shares)}.{contested}"
            return
        shares = [
            f"{n} {'say' if n > 1 else 'says'} {self.side(duel)}"
            for duel, n in zip(standing.duels, standing.seats[1:], strict=True)
            if n
        ]
        of = self._of_newest(sum(standing.seats)).removeprefix(" ") or "votes"
        said = (
            f"{_join(shares)} and {standing.seats[0]} {self.value(fact)}" if shares else "none is against it"
        )
        if fact.episode.contested:
            yield f"It is contested: {of}, {said}."
            yield from self._items(standing.counted)
        else:
            yield f"It is not contested: {of}, {said}."
        yield self._stays(fact, standing, standing.duels[0])

    def _stays(self, fact: Explained, standing: Weighing, duel: Duel) -> str:
        rival, held = self.side(duel), self.value(fact)
        n_needed = votes_needed(standing, duel, self.explanation.policy)
        if duel.decides:
            why = f"{rival} is ahead far enough, but a fact ends only when somebody votes for its rival"
        elif duel.n_for < duel.n_held:
            why = f"{rival} has {duel.n_for} of the newest votes for either and {held} {duel.n_held}"
        else:
            lead = duel.n_for - duel.n_held
            ahead = f"is only {_word(lead)} ahead" if lead else f"has only as many votes as {held}"
            behind = (
                "none of its documents began to say so while the fact held"
                if duel.is_later
                else f"not all of its votes are later than the last for {held}"
            )
            why = f"{rival} {ahead}, and {behind}"
        if n_needed is None:
            return f"It stays because {why}."
        return f"It stays because {why}; {_more(n_needed)} for {rival} would decide."

    # -- who says what ----------------------------------------------------------------------

    def _voices(self, fact: Explained) -> Iterator[str]:
        if fact.support:
            yield f"For it: {self._list(fact.support)}."
        against: dict[Side, list[Statement]] = {}
        for s in fact.dissent:
            against.setdefault((self.explanation.cluster(s.form), s.affirmed), []).append(s)
        for side, said in against.items():
            yield f"Against it, for {self._side(side, said[-1].spelling)}: {self._list(said)}."
        if fact.closing and fact.decision is None:
            yield f"Denied by {self._list(fact.closing)}."

    def _apart(self) -> list[str]:
        """Everything that is neither for nor against a fact, so that no statement goes unmentioned."""
        lines: list[str] = []
        for why, texts in _APART.items():
            found = [p.statement for p in self.explanation.aside() if p.why is why]
            if found:
                lines.append(
                    f"- {_count(len(found), 'statement')} {texts[len(found) > 1]}: {self._ids(found)}"
                )
        duplicates = self.explanation.duplicates()
        if duplicates:
            repeats = [f"{p.statement.observation_id} repeats {p.repeats}" for p in duplicates]
            lines.append(
                f"- {_count(len(duplicates), 'statement')} of a document under a second id: {_few(repeats)}"
            )
        if self.retracted:
            lines.append(f"- retracted from this subject, as if never said: {_few(self.retracted)}")
        return ["", "Counted nowhere:", *lines] if lines else []

    # -- one value --------------------------------------------------------------------------

    def verdict(self, verdict: Verdict) -> list[str]:
        """Why a value is no fact, or what became of it when it was one."""
        value = _text(verdict.spelling)
        if not verdict.is_heard:
            return [*self._never_heard(verdict), *self._kin(verdict), *self._instead(verdict)]
        lines: list[str] = []
        if not verdict.facts:
            lines += [f"{self.name} was never {value}.", *self._said(verdict), *self._fell_short(verdict)]
        else:
            current = [n for n in verdict.facts if self._holds(self.explanation.facts[n])]
            if not current:
                lines += [f"{self.name} is not {value} now; it was once.", ""]
            for place in verdict.facts:
                lines += [*self.fact(place), ""]
            if not current and verdict.strongest is not None:
                lines += self._fell_short(verdict)
            elif lines[-1] == "":
                lines.pop()
        return [*lines, *self._kin(verdict), *self._denials(verdict), *self._instead(verdict)]

    def _never_heard(self, verdict: Verdict) -> Iterator[str]:
        yield f"Nobody ever said that {self.name} is {_text(verdict.spelling)}."
        if verdict.heard:
            heard = [f"{_text(h.spelling)} ({_count(h.n_statements, 'statement')})" for h in verdict.heard]
            yield f"What was said: {_few(heard, n=ITEMS_SHOWN * 2)}."

    def _said(self, verdict: Verdict) -> Iterator[str]:
        """How often it was said, by how many voices, and what of it did not count."""
        value = _text(verdict.spelling)
        counting = [
            p for p in verdict.placed if p.role in (Role.SUPPORT, Role.DISSENT, Role.ASIDE) and not p.why
        ]
        voices = {(p.statement.source, p.statement.document or p.statement.observation_id) for p in counting}
        if counting:
            times = _count(len(counting), "statement")
            if len(voices) < len(counting):
                yield (
                    f"{times} of {_count(len(voices), 'document')} said so, and a document has one vote "
                    f"however often it repeats itself: {self._list([p.statement for p in counting])}."
                )
            else:
                yield f"{times} said so: {self._list([p.statement for p in counting])}."
        for why, texts in _APART.items():
            found = [p.statement for p in verdict.placed if p.why is why]
            if found:
                yield f"{_count(len(found), 'statement')} for {value} {texts[len(found) > 1]}: {self._ids(found)}."
        repeats = [p for p in verdict.placed if p.role is Role.DUPLICATE]
        if repeats:
            named = [f"{p.statement.observation_id} repeats {p.repeats}" for p in repeats]
            yield f"{_count(len(repeats), 'statement')} under a second id counts nowhere: {_few(named)}."
        yield from self._announced(verdict)

    def _announced(self, verdict: Verdict) -> Iterator[str]:
        for p in verdict.placed:
            s = p.statement
            if s.votes and s.effective_at > self.explanation.horizon:
                yield (
                    f"{self.source(s)} announces it for {self.when(s.effective_at, s.lo_granularity)}, "
                    "after everything observed: an announcement casts no vote."
                )

    def _fell_short(self, verdict: Verdict) -> Iterator[str]:
        """The nearest that it came, and what it lacked."""
        if verdict.strongest is not None:
            yield self._bout(verdict, verdict.strongest)
        for choice in verdict.lost[-1:]:
            yield from self._lost(verdict, choice)

    def _bout(self, verdict: Verdict, bout: Bout) -> str:
        duel, value = bout.duel, _text(verdict.spelling)
        held = "what held" if bout.fact is None else self.value(self.explanation.facts[bout.fact])
        numbers = f"it had {_votes(duel.n_for)} and {held} {duel.n_held}"
        if not self.explanation.predicate.never_changes:
            numbers += self._of_newest(duel.n_for + duel.n_held).removesuffix(" votes") or ""
            when = f", on {self.day(bout.weighing.at)},"
        else:
            when = ""
        top = bout.weighing.duels[0]
        behind = ""
        if top.rival.side != duel.rival.side:
            behind = f", and {self.side(top)} was the stronger rival"
        needed = (
            ""
            if bout.n_needed is None
            else f" {_more(bout.n_needed).capitalize()} for {value} would have decided."
        )
        return f"At its strongest{when} {numbers}{behind}.{needed}"

    def _lost(self, verdict: Verdict, choice: Choice) -> Iterator[str]:
        mine = next(c for c in choice.candidates if c.affirmed.side[0] == verdict.cluster)
        value, on = _text(verdict.spelling), self.day(choice.at)
        if not mine.stands:
            yield (
                f"On {on} no fact held, and {value} did not stand: {_votes(len(mine.affirmed.votes))} for it, "
                f"{_count(len(mine.denied.votes), 'denial')} since then at least as many and as late."
            )
        elif choice.best is not None:
            best = next(c for c in choice.candidates if c.affirmed.side[0] == choice.best)
            yield (
                f"On {on} there was a choice, and {_text(best.affirmed.spelling)} was chosen: more votes, or "
                f"later ones, or the smaller key ({len(best.affirmed.votes)} to {len(mine.affirmed.votes)})."
            )

    def _denials(self, verdict: Verdict) -> Iterator[str]:
        if verdict.denied_by:
            yield f"It was denied by {self._list(verdict.denied_by)}."

    def _kin(self, verdict: Verdict) -> Iterator[str]:
        for kin in verdict.same:
            near = "" if kin.cosine is None else f" (cosine {kin.cosine:.2f})"
            yield f"It counts as one value with {_text(kin.spelling)}{near}."
        for kin in verdict.apart:
            near = (
                "although they look alike" if kin.cosine is None else f"despite a cosine of {kin.cosine:.2f}"
            )
            yield f"It is another value than {_text(kin.spelling)}, {near}: the guard “{kin.guard}” keeps them apart."

    def _instead(self, verdict: Verdict) -> Iterator[str]:
        if verdict.current is None or verdict.current in verdict.facts:
            return
        fact = self.explanation.facts[verdict.current]
        now = f"What holds is {self.value(fact)}, {self._span(fact)}"
        if verdict.n_needed_now is None:
            yield f"{now}."
        else:
            yield f"{now}; {_more(verdict.n_needed_now)} for {_text(verdict.spelling)} would change that."

    # -- names and times --------------------------------------------------------------------

    def value(self, fact: Explained) -> str:
        """How a fact's value is shown."""
        episode = fact.episode
        return (
            _text(shown_spelling(episode.spellings, form=episode.form)) if episode.spellings else episode.form
        )

    def side(self, duel: Duel) -> str:
        """What a rival says: a value, or "not" the fact's own."""
        return self._side(duel.rival.side, duel.rival.spelling)

    def _side(self, side: Side, spelling: Spelling | None) -> str:
        return _text(spelling) if side[1] else f"not {_text(spelling)}"

    def _held(self, weighing: Weighing) -> str:
        return _text(weighing.held.spelling)

    def source(self, statement: Statement) -> str:
        """Who says so: the document, else the source, else the statement itself."""
        if statement.document is not None:
            inside = statement.source is None or statement.source in statement.document
            return statement.document if inside else f"{statement.source} {statement.document}"
        return statement.source or f"statement {statement.observation_id}"

    def sources(self, statements: Iterable[Statement]) -> str:
        """Several sources, each once."""
        return _few(list(dict.fromkeys(map(self.source, statements))), n=3)

    def _items(self, statements: Sequence[Statement]) -> Iterator[str]:
        shown = statements[: max(ITEMS_SHOWN, self.window if self.window <= 2 * ITEMS_SHOWN else 0)]
        width = max(len(self._side((s.form, s.affirmed), s.spelling)) for s in shown)
        for s in shown:
            what = self._side((s.form, s.affirmed), s.spelling)
            yield f"- {self.day(s.effective_at)}  {what:<{width}}  {self._cited(s)}"
        if len(statements) > len(shown):
            yield f"- and {len(statements) - len(shown)} more"

    def _cited(self, s: Statement) -> str:
        said = "" if s.observed_at == s.effective_at else f", said {self.day(s.observed_at)}"
        source = self.source(s)
        return f"{source}{said}" if s.observation_id in source else f"{source} ({s.observation_id}{said})"

    def _list(self, statements: Sequence[Statement]) -> str:
        """Statements, newest first, shortened."""
        newest = sorted(statements, key=lambda s: s.place, reverse=True)
        return _few([f"{self._cited(s)} {self.day(s.effective_at)}" for s in newest], n=ITEMS_SHOWN)

    def _ids(self, statements: Sequence[Statement]) -> str:
        return _few([s.observation_id for s in statements])

    def when(self, at: Instant, granularity: str | None) -> str:
        """An instant as finely as its evidence gave it."""
        text = format_instant(at)
        if granularity in _CUTS:
            return text[: _CUTS[granularity]]
        return self.day(at)

    def day(self, at: Instant) -> str:
        """An instant as a day; with its time where days do not tell the claim's facts apart."""
        text = format_instant(at)
        return text[:16].replace("T", " ") if self._with_time and at % DAY_MS else text[:10]


_CUTS: dict[str | None, int] = {"decade": 4, "year": 4, "quarter": 7, "month": 7}


def _needs_times(explanation: Explanation) -> bool:
    edges = {e.at for fact in explanation.facts for e in (fact.episode.lo, fact.episode.hi) if e is not None}
    return len({at // DAY_MS for at in edges}) < len(edges)


def _text(spelling: Spelling | None) -> str:
    return as_text(spelling) or "so"


def _votes(n: int) -> str:
    return f"{n} vote" if n == 1 else f"{n} votes"


def _word(n: int) -> str:
    return _COUNTS[n] if n < len(_COUNTS) else str(n)


def _count(n: int, what: str) -> str:
    return f"{_word(n)} {what}" if n == 1 else f"{_word(n)} {what}s"


def _more(n: int) -> str:
    return f"{_word(n)} more vote" if n == 1 else f"{_word(n)} more votes"


def _join(parts: Sequence[str]) -> str:
    return ", ".join(parts)


def _few(parts: Sequence[str], *, n: int = ITEMS_SHOWN) -> str:
    """The first parts, and how many are left."""
    left = len(parts) - n
    return ", ".join(parts[:n]) + (f", and {left} more" if left > 0 else "")
