"""What newer documents end in a claim: which voices fall silent, from when, and by whose word (DESIGN 6).

A document that names its predecessor in `source.supersedes` takes its place: what the predecessor said, and
the successor does not say again, ends where the successor begins to say anything of the claim. Which
documents replace which is `state.lineage`; this module applies it to statements, for the fold. For
assertions `state.endings` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import msgspec

from state.assertions import began
from state.fold_state import AFTER_ALL, ASIDE, Cluster, Side
from state.instants import Granularity, Instant
from state.lineage import Lineage
from state.statements import ObservationId, Statement, voter

_CUT: Final = "\x00cut"
"""Before the granularity of an end: it is not the statement's own, a newer document set it."""


class Replaced(msgspec.Struct, frozen=True, array_like=True):
    """What a voter says of a form ends at `at`, by the statement `by` of a newer document.

    `observed_at` is when that was made.
    `granularity` is how finely that statement gives its own start.
    """

    who: str
    form: str
    affirmed: bool
    at: Instant
    granularity: str
    by: ObservationId
    observed_at: Instant


class Replacing(msgspec.Struct, array_like=True):
    """The documents of a claim that replace each other, in order, and what this ends."""

    documents: list[str]
    ended: list[Replaced]


def replacing_of(statements: Iterable[Statement], cluster_of: Callable[[str], Cluster]) -> Replacing | None:
    """What documents end among all statements of a claim; None where no document replaces another.

    Cost: every statement once, and for every value that one of these documents states its successors.
    """
    lineage = Lineage()
    voting = [s for s in statements if s.votes]
    for statement in voting:
        lineage.enter(statement)
    documents = lineage.documents()
    if not documents:
        return None
    said: dict[str, list[Statement]] = {}
    for statement in voting:
        if (who := voter(statement)) in documents:
            said.setdefault(who, []).append(statement)

    def side(statement: Statement) -> Side:
        cluster = cluster_of(statement.form)
        return (statement.form if cluster == ASIDE else cluster, statement.affirmed)

    by_side: dict[Side, dict[str, set[str]]] = {}
    for who, group in said.items():
        for statement in group:
            by_side.setdefault(side(statement), {}).setdefault(who, set()).add(statement.form)

    def otherwise(one: Side, document: str) -> Instant | None:
        """From when a document says something else than a side; None where it says it too, or nothing."""
        valued = [s for s in said.get(document, ()) if bool(s.form) is bool(one[0])]
        if not valued or any(side(s) == one for s in valued):
            return None
        return began(_first(valued))

    ended: list[Replaced] = []
    for one, forms_of in by_side.items():
        for who, (_, ender) in lineage.replaced(forms_of, partial(otherwise, one)).items():
            first = _first(s for s in said[ender] if bool(s.form) is bool(one[0]))
            ended += [_replaced(who, form, one[1], first) for form in forms_of.get(who, ())]
    return Replacing(sorted(documents), sorted(ended, key=lambda r: (r.who, r.form, r.affirmed)))


def _first(statements: Iterable[Statement]) -> Statement:
    """The statement that begins to hold first; of several the finest dated, then the first observed."""
    return min(
        statements,
        key=lambda s: (began(s), -Granularity(s.lo_granularity).rank, s.observed_at, s.observation_id),
    )


def _replaced(who: str, form: str, affirmed: bool, first: Statement) -> Replaced:
    return Replaced(
        who, form, affirmed, began(first), first.lo_granularity, first.observation_id, first.observed_at
    )


def is_cut(granularity: str | None) -> bool:
    """Whether an end with this granularity was set by a newer document."""
    return granularity is not None and granularity.startswith(_CUT)


def own_granularity(granularity: str | None) -> str | None:
    """The granularity of the end that a statement itself gives; None where it gives none."""
    return granularity.removeprefix(_CUT) or None if granularity is not None else None


def is_endless(statement: Statement) -> bool:
    """Whether a statement gives no end by itself, though a newer document may have set one."""
    return statement.valid_to is None or statement.hi_granularity == _CUT


class Replacements:
    """What newer documents end, as the fold of a claim asks for it. `timeless`: it never was."""

    def __init__(
        self,
        ended: Iterable[Replaced] = (),
        cluster_of: Callable[[str], Cluster] = str,
        *,
        timeless: bool = False,
    ) -> None:
        self._timeless = timeless
        self._ended = {(r.who, cluster_of(r.form), r.affirmed): r for r in ended}

    def __bool__(self) -> bool:
        return bool(self._ended)

    def of(self, who: str, cluster: Cluster, *, affirmed: bool) -> Replaced | None:
        """What ends a voter's word for a side, or None."""
        return self._ended.get((who, cluster, affirmed))

    def covers(self, statement: Statement, cluster: Cluster) -> bool:
        """Whether a statement speaks only of a time for which its document was replaced."""
        found = self.of(voter(statement), cluster, affirmed=statement.affirmed)
        return found is not None and (self._timeless or found.at <= began(statement))

    def cut(self, statement: Statement, cluster: Cluster) -> Statement:
        """A statement that ends where its document was replaced, unless it ends before by itself."""
        found = self.of(voter(statement), cluster, affirmed=statement.affirmed)
        if found is None or self._timeless or statement.is_late_end or not statement.votes:
            return statement
        own = AFTER_ALL if statement.valid_to is None else statement.valid_to
        if not began(statement) < found.at < own:
            return statement
        return msgspec.structs.replace(
            statement, valid_to=found.at, hi_granularity=_CUT + (statement.hi_granularity or "")
        )


NONE_REPLACED: Final = Replacements()
"""For claims in which no document replaces another: nearly all."""
