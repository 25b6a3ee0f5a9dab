"""One value in words: why it is no fact, or what became of it.

Turns what `state.why_not` found into sentences; see `agents.telling` for the shape of lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.telling import APART, FACTS_SHOWN, Telling
from agents.wording import ITEMS_SHOWN, count, few, more, sentence, text, votes, word
from state.episodes import Role
from state.trace import Choice
from state.why_not import Bout, Verdict


class ValueTelling(Telling):
    """Tells what became of a value."""

    def verdict(self, verdict: Verdict) -> list[str]:
        """Why a value is no fact; where it is or was one, that fact, and why it holds no more."""
        value = text(verdict.spelling)
        lines: list[str] = []
        if not verdict.is_heard:
            lines += self._never_heard(verdict)
        elif not verdict.facts:
            lines += [f"{self.name} was never {value}.", *self._said(verdict), *self._fell_short(verdict)]
        else:
            holds = any(self.holds(self.explanation.facts[place]) for place in verdict.facts)
            if not holds:
                lines += [f"{self.name} is not {value} now. {self._instead(verdict)}".rstrip(), ""]
            lines += self._episodes(verdict)
            lines.pop()
        rest = [*self._kin(verdict), *self._denials(verdict)]
        if not verdict.facts and (instead := self._instead(verdict)):
            rest.append(instead)
        return [*lines, *rest]

    def _episodes(self, verdict: Verdict) -> list[str]:
        """Every fact that the value was, each with an empty line behind it; of many the newest."""
        lines: list[str] = []
        n_facts = len(verdict.facts)
        if n_facts > FACTS_SHOWN:
            value = text(verdict.spelling)
            lines += [f"It was {value} in {n_facts} episodes; these are the newest {word(FACTS_SHOWN)}.", ""]
        for place in verdict.facts[-FACTS_SHOWN:]:
            lines += [*self.fact(place), ""]
        return lines

    def _never_heard(self, verdict: Verdict) -> Iterator[str]:
        yield f"Nobody ever said that {self.name} is {text(verdict.spelling)}."
        if verdict.heard:
            heard = [f"{text(h.spelling)} ({h.n_statements})" for h in verdict.heard]
            yield f"What was said, and how often: {few(heard, n=2 * ITEMS_SHOWN)}."

    # -- what was said of it ----------------------------------------------------------------

    def _said(self, verdict: Verdict) -> Iterator[str]:
        """How often it was said and by how many, and what of that does not count, with the reason."""
        said = [p.statement for p in verdict.placed if p.role is Role.DISSENT]
        if said:
            n_voices = len({(s.source, s.document or s.observation_id) for s in said})
            times = count(len(said), "statement")
            if n_voices < len(said):
                times += f" of {count(n_voices, 'document')}"
            yield sentence(f"{times} said so: {self.listed(said)}.")
            if n_voices < len(said):
                yield "A document has one vote, however often it repeats itself."
        for why, texts in APART.items():
            found = [p.statement for p in verdict.placed if p.why is why]
            if found:
                one = f"{count(len(found), 'statement')} of it {texts[len(found) > 1]}"
                yield sentence(f"{one}: {self.listed(found)}.")
        repeats = [p for p in verdict.placed if p.role is Role.DUPLICATE]
        if repeats:
            named = [f"{p.statement.observation_id} repeats {p.repeats}" for p in repeats]
            one = f"{count(len(repeats), 'statement')} of a document under a second id"
            yield sentence(f"{one}, counted nowhere: {few(named)}.")
        for p in verdict.placed:
            s = p.statement
            if s.votes and s.effective_at > self.explanation.horizon:
                yield f"{self.source(s)} announces it for {self.when(s.effective_at, s.lo_granularity)}."

    def _denials(self, verdict: Verdict) -> Iterator[str]:
        if verdict.denied_by:
            yield f"{text(verdict.spelling)} is denied by {self.listed(verdict.denied_by)}."

    # -- what it lacked ---------------------------------------------------------------------

    def _fell_short(self, verdict: Verdict) -> Iterator[str]:
        """The nearest that it came to being a fact."""
        if verdict.strongest is not None:
            yield self._bout(verdict, verdict.strongest)
        for choice in verdict.lost[-1:]:
            yield from self._lost(verdict, choice)

    def _bout(self, verdict: Verdict, bout: Bout) -> str:
        duel, value = bout.duel, text(verdict.spelling)
        held = text(bout.weighing.held.spelling)
        numbers = f"{duel.n_for} and {held} {duel.n_held}"
        if self.explanation.predicate.never_changes:
            told = f"It has {numbers} of all votes, and the majority decides"
        else:
            told = f"At its strongest, on {self.day(bout.weighing.at)}, it had {numbers} "
            told += self.of_newest(duel.n_for + duel.n_held)
        top = bout.weighing.duels[0]
        if top.rival.side != duel.rival.side:
            told += f", and {self.rival(top)} was the stronger rival"
        if bout.n_needed is None:
            return f"{told}."
        return f"{told}; {more(bout.n_needed)} for {value} would have decided."

    def _lost(self, verdict: Verdict, choice: Choice) -> Iterator[str]:
        """Where nothing held and it was said, and yet did not open a fact."""
        mine = next(c for c in choice.candidates if c.affirmed.side[0] == verdict.cluster)
        value, on, n_for = text(verdict.spelling), self.day(choice.at), len(mine.affirmed.votes)
        if not mine.stands:
            denials = count(len(mine.denied.votes), "denial")
            yield (
                f"On {on} nothing held, but {value} did not stand: {votes(n_for)} for it and {denials}, "
                "which are more, or as many and no earlier."
            )
            return
        best = next((c for c in choice.candidates if c.affirmed.side[0] == choice.best), None)
        if best is not None:
            yield (
                f"On {on} nothing held, and {text(best.affirmed.spelling)} was chosen, "
                f"{len(best.affirmed.votes)} to {n_for}: the most votes open a fact, then the latest, then "
                "the smaller key."
            )

    def _instead(self, verdict: Verdict) -> str:
        if verdict.current is None:
            nothing = not any(self.holds(fact) for fact in self.explanation.facts)
            return "Nothing holds now." if nothing else ""
        if verdict.current in verdict.facts:
            return ""
        fact = self.explanation.facts[verdict.current]
        holds = f"What holds is {self.value(fact)}, {self.span(fact)}"
        if verdict.n_needed_now is None:
            return f"{holds}."
        return f"{holds}; {more(verdict.n_needed_now)} for {text(verdict.spelling)} would change that."

    # -- other values -----------------------------------------------------------------------

    def _kin(self, verdict: Verdict) -> Iterator[str]:
        for kin in verdict.same:
            near = "" if kin.cosine is None else f" (cosine {kin.cosine:.2f})"
            yield f"It counts as one value with {text(kin.spelling)}{near}."
        for guard in sorted({kin.guard for kin in verdict.apart if kin.guard is not None}):
            kept = [kin for kin in verdict.apart if kin.guard == guard]
            kept.sort(key=lambda kin: -(kin.cosine or 0))
            named = [text(k.spelling) + (f" (cosine {k.cosine:.2f})" if k.cosine else "") for k in kept]
            yield f"However alike they are, the guard “{guard}” keeps it apart from {few(named)}."
