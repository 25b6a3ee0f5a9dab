"""The facts of a claim in words: what `factdrift why` says to a person.

Turns what `state.why` found into sentences and short lists. Decides nothing. A line that begins with
"- " is an item of a list, an empty one ends a paragraph. What became of a value is `agents.telling_values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.telling_trust import majority_by, weighed
from agents.wording import Words, count, few, joined, more, sentence, text, votes, word
from state.decided import retracted_by
from state.episodes import Reason
from state.explanation import Apart, Explained, Explanation, How
from state.fold_state import Side
from state.instants import Instant
from state.statements import Statement
from state.trace import Choice, Duel, Weighing, votes_needed

FACTS_SHOWN = 8  # the newest; a claim that flaps has hundreds

APART = {
    Apart.FED_BACK: ("came out of factdrift itself and never votes",) * 2,
    Apart.DECISION: ("is a decision, which is no vote", "are decisions, which are no votes"),
    Apart.VOID: (
        "was said before a decision closed this value",
        "were said before a decision closed their value",
    ),
    Apart.REPLACED: (
        "was replaced: a newer document does not say it any more",
        "were replaced: newer documents do not say them any more",
    ),
    Apart.DENIAL: ("denies, which ends no assertion", "deny, which ends no assertion"),
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
"""Why a statement counts nowhere, said of one and of several."""


class Telling(Words):
    """Tells one claim. `retracted` are ids that count as never said."""

    def __init__(
        self, explanation: Explanation, name: str, *, now: Instant, retracted: Sequence[str] = ()
    ) -> None:
        super().__init__(explanation, name, now=now)
        self.retracted = retracted

    # -- the whole claim --------------------------------------------------------------------

    def claim(self, places: Sequence[int] | None = None) -> list[str]:
        """The story of the claim: where it stands, its facts in order of time, what counts nowhere.

        `places` are the indices of the facts to tell; None for all. Of many only the newest are told.
        """
        facts = self.explanation.facts
        chosen = range(len(facts)) if places is None else places
        lines = []
        if not facts:
            lines += [f"{self.name} has no fact."]
        if len(facts) > 1:
            lines += [self.where_it_stands(), ""]
        if len(chosen) > FACTS_SHOWN:
            lines += [f"The newest {word(FACTS_SHOWN)} of {len(chosen)} facts, in order of time:", ""]
        told: set[int] = set()
        for place in chosen[-FACTS_SHOWN:]:
            lines += [*self.fact(place, told=told), ""]
            told.add(place)
        apart = [] if places is not None else self._counted_nowhere()
        return [*lines, *apart] if apart else lines[:-1] if lines[-1] == "" else lines

    def where_it_stands(self) -> str:
        """What holds now, in one sentence."""
        holding = [fact for fact in self.explanation.facts if self.holds(fact) and fact.episode.cluster]
        if not holding:
            last = self.explanation.facts[-1]
            return f"{self.name} has no value now. The last was {self.value(last)}, {self.span(last)}."
        named = [f"{self.value(fact)} ({self.span(fact)})" for fact in holding]
        return f"{self.name} is {few(named, n=FACTS_SHOWN)}."

    def fact(self, place: int, *, told: set[int] | frozenset[int] = frozenset()) -> list[str]:
        """One fact: what it is, how it began, how it ended or where it stands, who is for and against it.

        `told` are facts that the reader knows already: what is said there is not said again.
        """
        fact = self.explanation.facts[place]
        lines = [self._headline(fact), *self._beginning(fact, place, told), *self._ending(fact)]
        if fact.standing is not None:
            lines += self._standing(fact, fact.standing)
        return [*lines, *self._voices(fact)]

    def _headline(self, fact: Explained) -> str:
        episode = fact.episode
        lo, hi = episode.lo, episode.hi
        if lo is not None and lo.at > self.now:
            verb = "will be"
        else:
            verb = "has been" if hi is None or hi.at > self.now else "was"
        against = votes(episode.dissent).partition(" ")[0] if episode.dissent else "none"
        counted = f"{votes(episode.support)} for it, {against} against"
        return f"{self.name} {verb} {self.value(fact)} {self.span(fact)} ({counted})."

    # -- how a fact began -------------------------------------------------------------------

    def _beginning(self, fact: Explained, place: int, told: set[int] | frozenset[int]) -> Iterator[str]:
        opening = fact.opening
        by = self.sources(reversed(opening.votes))
        if opening.how is How.DECIDED:
            yield f"It was decided, {self._taken(opening.votes[0])}. A decision is no vote."
            return
        if fact.against is not None:
            yield f"This goes against a decision, {self._taken(fact.against)}: it was said again since."
        if opening.how is How.MAJORITY:
            yield f"This never changes, so there is one fact, by {majority_by(self.explanation.policy)}."
            return
        if opening.how is How.REPORTED:
            yield f"Nothing was heard of it at the time: that it ended then was said afterwards, by {by}."
            return
        if opening.how is How.WON:
            yield from self._won(fact, place, told)
            return
        if opening.how is How.SCHEDULED:
            yield f"It was announced by {by}. An announcement needs no vote and has none."
        elif opening.how is How.AFTER_END:
            yield f"It had been said by {by} while the fact before it still held, and opened at its end."
        elif opening.how is How.AFTER_DENIAL:
            yield f"The fact before it was denied, and {by} had said this since."
        else:
            predicate = self.explanation.predicate
            alone = "" if predicate.is_multi or predicate.is_explicit else "; nothing else held then"
            yield f"It opened with {by}{alone}."
            yield from self._choice(fact, opening.choice)
        yield from self._dated(fact)

    def _won(self, fact: Explained, place: int, told: set[int] | frozenset[int]) -> Iterator[str]:
        before = [n for n, other in enumerate(self.explanation.facts) if other.follower == place]
        assert before, "a fact that won has won against one"
        loser = self.explanation.facts[before[0]]
        decision = fact.opening.decision
        if before[0] in told or decision is None:
            yield f"It took the place of {self.value(loser)}, see there."
            return
        yield f"It outvoted {self.value(loser)}, {self._count(decision)}."
        yield from self._dated(fact)

    def _dated(self, fact: Explained) -> Iterator[str]:
        """Who gives the start, where that is not when it was said."""
        lo = fact.episode.lo
        dated = fact.lo_set_by[0] if fact.lo_set_by else None
        if lo is None or dated is None or dated.effective_at != lo.at:
            return
        if self.day(dated.observed_at) != self.day(lo.at):
            yield f"Its start is the one that {self.source(dated)} gives, said {self.day(dated.observed_at)}."

    def _choice(self, fact: Explained, choice: Choice | None) -> Iterator[str]:
        """What there was beside it at the instant at which it opened."""
        for candidate in () if choice is None else choice.candidates:
            n_for, n_denied = len(candidate.affirmed.votes), len(candidate.denied.votes)
            if candidate.affirmed.side[0] != fact.episode.cluster:
                yield f"{text(candidate.affirmed.spelling)} was said at the same instant and was no stronger."
            elif n_denied:
                yield f"It stood with {votes(n_for)} against {count(n_denied, 'denial')}."

    # -- how it ended -----------------------------------------------------------------------

    def _ending(self, fact: Explained) -> Iterator[str]:
        episode = fact.episode
        if episode.hi is None:
            return
        at, by = self.when(episode.hi.at, episode.hi.granularity), self.sources(fact.hi_set_by)
        ends = "It ends" if episode.hi.at > self.now else "It ended"
        if fact.closed_by is not None:
            yield f"{ends} on {at} by a decision, {self._taken(fact.closed_by)}."
            return
        if episode.replaced_by is not None:
            yield f"{ends} on {at}: {by} is newer than what said so, and does not say it."
            return
        if episode.ballot is None:
            if any(s.valid_to == episode.hi.at for s in fact.hi_set_by):
                yield f"{ends} on {at} as stated by {by}; nobody says that it goes on."
            else:
                yield f"{ends} on {at}, from when on another value is announced by {by}."
            return
        if fact.decision is None:
            yield f"{ends} on {at}, from when on it is denied in advance by {by}."
            return
        duel = fact.decision.duels[0]
        denied = episode.reason is Reason.DENIED
        verb = "denied" if denied else f"outvoted by {self.rival(duel)}"
        yield f"It was {verb}, {self._count(fact.decision)}."
        yield from self.items(duel.counted)
        yield (
            f"The change is dated {at}, by the first to {'deny it' if denied else f'say {self.rival(duel)}'} "
            f"after the last who said {self.value(fact)}: {by}."
        )
        if self.day(fact.decision.at) != self.day(episode.hi.at):
            yield f"It was decided by what was said for {self.day(fact.decision.at)}."

    def _taken(self, decision: Statement) -> str:
        """A decision: when it was taken, its id, and the reason that was given."""
        name = retracted_by(decision)
        reason = f": “{decision.reason}”" if decision.reason else ""
        return f"taken {self.day(decision.observed_at)} ({name}{reason})"

    def _count(self, weighing: Weighing) -> str:
        """Why the top rival won, in numbers."""
        duel = weighing.duels[0]
        numbers = f"{duel.n_for} to {duel.n_held} {self.of_newest(duel.n_for + duel.n_held)}"
        held = text(weighing.held.spelling)
        if duel.n_for >= duel.n_held + self.explanation.policy.lead:
            return f"{numbers}; {word(self.explanation.policy.lead)} ahead is enough"
        if duel.fresh is None or weighing.last is None:
            return numbers
        all_of = {1: "its vote is", 2: "both are"}.get(duel.n_for, f"all {word(duel.n_for)} are")
        return (
            f"{numbers}. That is a clean switch: {all_of} later than the last for {held} "
            f"({self.day(weighing.last[0])}), and {self.source(duel.fresh)} began to say so while {held} held"
        )

    # -- where an open fact stands ----------------------------------------------------------

    def _standing(self, fact: Explained, standing: Weighing) -> Iterator[str]:
        if not standing.duels:
            yield "No rival stands against it now." if fact.dissent else "Nothing speaks against it."
            return
        contested = fact.episode.contested
        if self.explanation.predicate.never_changes:
            shares = [f"{self.rival(duel)} has {duel.n_for}" for duel in standing.duels]
            yield f"It has {votes(len(standing.held.votes))}; {joined(shares)}."
            trust, more_or_as_many = self.explanation.policy.trust, "has more, or as many"
            if trust is not None:
                yield from weighed(trust, standing, [self.value(fact), *map(self.rival, standing.duels)])
                more_or_as_many = "weighs more, or as much"
            if contested:
                yield f"It is contested, and stays because no value {more_or_as_many} and was said before."
            return
        counted = zip(standing.duels, standing.seats[1:], strict=True)
        shares = [f"{n} {'says' if n == 1 else 'say'} {self.rival(duel)}" for duel, n in counted if n]
        n_own = standing.seats[0]
        own = f"{n_own} {'says' if n_own == 1 else 'say'} {self.value(fact)}"
        of = self.of_newest(sum(standing.seats))
        if contested:
            yield f"It is contested: {of}, {joined([*shares, own])}."
            yield from self.items(standing.counted)
        else:
            yield f"It is not contested: {of}, {joined([own, *shares])}."
        yield self._stays(fact, standing, standing.duels[0])

    def _stays(self, fact: Explained, standing: Weighing, duel: Duel) -> str:
        rival, held = self.rival(duel), self.value(fact)
        lead = duel.n_for - duel.n_held
        if duel.decides:
            why = f"a fact ends only where somebody votes for its rival, and {rival} has come so far since"
        elif lead < 0:
            why = f"{rival} has {duel.n_for} to {duel.n_held} {self.of_newest(duel.n_for + duel.n_held)}"
        elif fact.opened_by is not None:
            why = f"a decision opened it, and {rival} is not {word(self.explanation.policy.lead)} ahead"
        else:
            ahead = f"is only {word(lead)} ahead" if lead else f"has only as many as {held}"
            behind = f"not all of its votes are later than the last for {held}"
            if duel.is_later:
                behind = f"none of its documents began to say so while {held} held"
            why = f"{rival} {ahead}, and {behind}"
        n_needed = votes_needed(standing, duel, self.explanation.policy)
        needed = "" if n_needed is None else f"; {more(n_needed)} for {rival} would decide"
        return f"It stays because {why}{needed}."

    # -- who says what ----------------------------------------------------------------------

    def _voices(self, fact: Explained) -> Iterator[str]:
        if fact.support:
            yield f"For it: {self.listed(fact.support)}."
        if len(fact.episode.spellings) > 1:
            spelled = sorted({text(c.spelling) for c in fact.episode.spellings} - {self.value(fact)})
            yield f"Also written {few(spelled)}."
        against: dict[Side, list[Statement]] = {}
        for s in fact.dissent:
            against.setdefault((self.explanation.cluster(s.form), s.affirmed), []).append(s)
        for side, said in against.items():
            yield f"Against it, {self.side(side, said[-1].spelling)}: {self.listed(said)}."

    def _counted_nowhere(self) -> list[str]:
        """What is neither for nor against a fact, so that no statement goes unmentioned."""
        lines: list[str] = []
        aside = self.explanation.aside()
        for why, texts in APART.items():
            found = [p.statement for p in aside if p.why is why]
            if found:
                said = f"{count(len(found), 'statement')} {texts[len(found) > 1]}"
                lines.append(f"- {sentence(said)}: {self.ids(found)}")
        repeats = [f"{p.statement.observation_id} repeats {p.repeats}" for p in self.explanation.duplicates()]
        if repeats:
            said = f"{count(len(repeats), 'statement')} of a document under a second id"
            lines.append(f"- {sentence(said)}: {few(repeats)}")
        if self.retracted:
            lines.append(f"- Retracted from this subject, as if never said: {few(self.retracted)}")
        return ["Counted nowhere:", *lines] if lines else []
