"""Votes and what they weigh: who has voted for what, what stands, who rivals whom (DESIGN 4.4).

Enters statements as votes and compares the sides. Opens and closes nothing: that is `state.periods`, which
asks the questions answered here.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence

from state.counting import Counting
from state.episodes import Episode
from state.fold_state import LONG_AGO, Cluster, ClusterState, End, FoldState, Mark, OpenFact, Side, Vote
from state.instants import Granularity, Instant
from state.policy import Policy
from state.statements import Place, Spelling, Statement, voter
from state.votes import cast, clear_votes, latest, newest, seats


class Voting(Counting):
    """The votes of a fold. `state` is changed only by what is entered here."""

    __slots__ = ()

    state: FoldState
    policy: Policy

    # -- entering ---------------------------------------------------------------------------

    def _cast(self, cluster: Cluster, statement: Statement) -> None:
        """Enter one statement: its vote, up to when it says that its value holds, and its mark."""
        state, policy = self.state, self.policy
        found = state.clusters.get(cluster)
        if found is None:
            found = state.clusters[cluster] = ClusterState()
        if policy.by_cycle and statement.cycle > state.cycle:
            state.cycle = statement.cycle
            clear_votes(state.clusters.values())
        affirmed, place = statement.affirmed, (statement.effective_at, statement.observed_at)
        who, ends_at = voter(statement), statement.valid_to
        if not policy.by_cycle or statement.cycle == state.cycle:
            cast(found, affirmed, Vote(place, who, ends_at), policy.window)
        if ends_at is not None:
            granularity = statement.hi_granularity or "day"
            insort(state.ends, End(ends_at, cluster, affirmed, who, place, granularity))
        if affirmed:
            self._note_validity(found, statement, place)
        if found.spelled_at is None or place > found.spelled_at:
            found.spelling, found.spelled_at = statement.spelling, place
        elif place == found.spelled_at and repr(statement.spelling) < repr(found.spelling):
            found.spelling = statement.spelling
        state.recent[cluster] = True
        held = state.open
        if held is None:
            return
        if affirmed and cluster == held.cluster:
            if state.is_marked:
                self._clear_marks()
        elif statement.effective_at > held.lo and place > (state.clusters[held.cluster].last or LONG_AGO):
            state.is_marked = True
            mark_rival(found, statement)

    def _clear_marks(self) -> None:
        """Forget what was said since the open fact's last statement."""
        state = self.state
        for name in state.recent:
            cluster = state.clusters[name]
            cluster.since_affirmed.clear()
            cluster.since_denied.clear()
        state.is_marked = False

    def _note_validity(self, cluster: ClusterState, statement: Statement, place: Place) -> None:
        """Remember up to when the affirmed statements of a cluster say that it holds, and its first form."""
        cluster.last = place
        if cluster.first_form is None:
            cluster.first_form, cluster.first_at = statement.form, place
        elif place == cluster.first_at and statement.form < cluster.first_form:
            cluster.first_form = statement.form
        if statement.valid_to is None:
            known = place[0] if place[0] > place[1] else place[1]
            if cluster.endless_known is None or known > cluster.endless_known:
                cluster.endless_known = known
        elif cluster.ends_latest is None or statement.valid_to > cluster.ends_latest:
            cluster.ends_latest = statement.valid_to

    # -- weighing ---------------------------------------------------------------------------

    def _stands(self, cluster: ClusterState, since: Instant) -> bool:
        """Unless its own denials are more, or as many with a latest vote at least as late."""
        if not cluster.denied and not cluster.bounded_denied:
            return True
        window = self.policy.window
        denials = newest(cluster, False, window, since)
        if not denials:
            return True
        affirmed = newest(cluster, True, window, since)
        if len(denials) != len(affirmed):
            return len(denials) < len(affirmed)
        return latest(denials) < latest(affirmed)

    def _best_standing(self, since: Instant, among: Iterable[Cluster]) -> Cluster | None:
        """The strongest standing cluster by its votes since an instant, or None."""
        candidates = []
        for name in among:
            cluster = self.state.clusters[name]
            votes = newest(cluster, True, self.policy.window, since)
            if votes and self._stands(cluster, since):
                candidates.append((rank(name, True, votes), name))
        return min(candidates)[1] if candidates else None

    def _rivals(self, held: OpenFact) -> list[tuple[Side, Sequence[Vote]]]:
        """Standing other clusters and the denial of the held one, strongest first."""
        state, window = self.state, self.policy.window
        found: list[tuple[tuple[int, int, int, str, bool], Side, Sequence[Vote]]] = []
        for name in state.recent:
            cluster = state.clusters[name]
            affirmed = name != held.cluster
            votes = newest(cluster, affirmed, window, state.period_from)
            if votes and (not affirmed or self._stands(cluster, state.period_from)):
                found.append((rank(name, affirmed, votes), (name, affirmed), votes))
        if len(found) > 1:
            found.sort(key=lambda item: item[0])
        return [(side, votes) for _, side, votes in found]

    def _could_win(self, held: OpenFact, cluster: Cluster, affirmed: bool) -> bool:
        """Whether a side rivals the fact and has as many votes as winning takes at the very least.

        Of the newest votes it takes at most all of its own, and leaves the others to the fact: with fewer
        than those it neither switches nor leads (`_may_switch`, `_is_enough`), so nothing need be ranked.
        """
        if affirmed is (cluster == held.cluster):
            return False
        clusters, window = self.state.clusters, self.policy.window
        n = len(newest(clusters[cluster], affirmed, window, self.state.period_from))
        n_held = min(len(newest(clusters[held.cluster], True, window)), window - n)
        return n >= n_held or self.policy.by_cycle

    def _outweighs_decision(self, cluster: Cluster, since: Instant) -> bool:
        """Whether a decision leaves a cluster to open: none closed it, or it has as many votes as a lead."""
        if cluster not in self.state.decided:
            return True
        votes = newest(self.state.clusters[cluster], True, self.policy.window, since)
        return len(votes) >= self.policy.lead

    def _is_enough(self, n_for: int, n_held: int) -> bool:
        """Whether a rival's votes alone end the fact, whenever they were cast."""
        if self.policy.by_cycle:
            return n_for * 100 > self.policy.contested_above * (n_for + n_held)
        return n_for >= n_held + self.policy.lead

    def _may_switch(self, held: OpenFact, n_for: int, n_held: int) -> bool:
        """Whether a clean switch would do: never against what a person decided."""
        return n_for >= n_held and held.opened_by is None and not self.policy.by_cycle

    def _is_clean_switch(self, held: OpenFact, side: Side, against: Sequence[Vote], n_for: int) -> bool:
        """All votes that count are later than the fact's last statement, one from a fresh document."""
        if n_for == 0:
            return False
        oldest = against[-n_for].place
        if oldest <= (self.state.clusters[held.cluster].last or LONG_AGO):
            return False
        counted = [vote for vote in against if vote.place >= oldest]
        return any(not is_document(vote.who) for vote in counted) or any(
            self.history.began(vote.who, side, vote.place) >= held.lo for vote in counted
        )

    def judge_contest(self, episode: Episode) -> None:
        """Say whether the open fact is contested now, and by whom, on its episode."""
        held = self.state.open
        assert held is not None
        episode.rivals = self.contest(held)
        episode.contested = bool(episode.rivals)

    def contest(self, held: OpenFact) -> list[tuple[Side, Spelling | None]]:
        """By whom the open fact is contested now, strongest first; by nobody: it is not."""
        own = newest(self.state.clusters[held.cluster], True, self.policy.window)
        if self._is_safe(held, own):
            return []
        rivals = self._rivals(held)
        if not rivals:
            return []
        n_own, *n_against = seats((own, *(votes for _, votes in rivals)), self.policy.window)
        against = sum(n_against)
        if against * 100 <= self.policy.contested_above * (n_own + against):
            return []
        return [(side, self.state.clusters[side[0]].spelling) for side, _ in rivals]

    def _is_safe(self, held: OpenFact, own: Sequence[Vote]) -> bool:
        """Whether too few votes of others are among the newest for any contest, whoever rivals the fact.

        With a window of own votes, only votes as new as the oldest of those get a seat (`state.votes.seats`):
        of n such votes at most n do, and the fact keeps the others. Their share is n of the window at most.
        """
        window = self.policy.window
        if len(own) < window:
            return False
        state, edge = self.state, own[-window].place
        most = self.policy.contested_above * window // 100
        for name in state.recent:
            cluster = state.clusters[name]
            is_held = name == held.cluster
            if cluster.bounded_denied if is_held else cluster.bounded_affirmed:
                return False
            for vote in reversed(cluster.denied if is_held else cluster.affirmed):
                if vote.place < edge:
                    break
                most -= 1
            if most < 0:
                return False
        return True


def rank(cluster: Cluster, affirmed: bool, votes: Sequence[Vote]) -> tuple[int, int, int, str, bool]:
    """Sort key, strongest first: most votes, then the latest, then the smaller key, affirmed first."""
    effective_at, observed_at = votes[-1].place
    return (-len(votes), -effective_at, -observed_at, cluster, not affirmed)


def finest(granularities: Iterable[str]) -> str:
    """The finest of some granularities; where several statements set one bound, it is theirs."""
    return max(granularities, key=lambda name: Granularity(name).rank)


def is_document(who: str) -> bool:
    """Whether a voter is a document, and not a statement without one."""
    return who[0] == "d"


def mark_rival(cluster: ClusterState, statement: Statement) -> None:
    """Note a statement by which a boundary may be dated; behind an endless one no later one is needed."""
    marks = cluster.since_affirmed if statement.affirmed else cluster.since_denied
    at, granularity, ends_at = statement.effective_at, statement.lo_granularity, statement.valid_to
    if marks and marks[-1].ends_at is None:
        if marks[-1].at == at:
            marks[-1] = Mark(at, finest((marks[-1].granularity, granularity)), None)
        return
    marks.append(Mark(at, granularity, ends_at))
