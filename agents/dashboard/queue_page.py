"""The work queue: contested facts, and a person who decides about them, with a reason.

A decision goes the way of `POST /v1/corrections`. While a form is open the page is not drawn anew by itself,
so that nothing that is being typed is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import plain
from agents.dashboard.questions import Fields, Questions
from agents.dashboard.queue_items import Item, decision, pairs, read, relation
from agents.dashboard.queue_view import Opened, view
from agents.dashboard.regions import Region, told
from agents.dashboard.words import value_text
from state.errors import FactdriftError

OPS: Final = frozenset({"supersede", "invalidate", "refine"})


class QueuePage:
    """The page, open in one browser."""

    def __init__(self, questions: Questions, frame: Frame, cursor: str | None) -> None:
        self._questions = questions
        self._frame = frame
        self._cursor = cursor
        self._items: list[Item] = []
        self._following: str | None = None
        self._opened: Opened | None = None
        self._region = Region("queue", act=self._act)

    async def load(self) -> None:
        """Read the queue and draw it."""
        self._items, self._following = await self._questions.ask(lambda asked: read(asked, self._cursor))
        self._draw()

    async def follow(self) -> None:
        """As `load`, unless somebody is deciding."""
        if self._opened is None:
            await self.load()

    def _draw(self) -> None:
        self._region.show(view(self._items, self._opened, cursor=self._cursor, following=self._following))

    async def _act(self, event: Mapping[str, str]) -> None:
        match event:
            case {"do": "open", "fact": fact, "op": op} if op in OPS:
                same = self._opened is not None and (self._opened.fact, self._opened.op) == (fact, op)
                self._opened = None if same else Opened(fact, op, {})
                self._frame.notice("")
                self._draw()
            case {"do": "cancel"}:
                self._opened = None
                self._draw()
            case {"do": "decide", "fact": fact, "op": op} if op in OPS:
                await self._decide(event, fact, op)

    async def _decide(self, event: Mapping[str, str], fact: str, op: str) -> None:
        item = next((one for one in self._items if one.fact["fact_id"] == fact), None)
        if item is None:
            return
        try:
            done = await (self._refine(item, event) if op == "refine" else self._correct(item, event))
        except FactdriftError as error:
            self._opened = Opened(fact, op, event, told(error))
            self._draw()
            return
        self._opened = None
        await self.load()
        self._frame.notice(done)

    async def _correct(self, item: Item, event: Mapping[str, str]) -> str:
        answer = await self._questions.correct(decision(event))
        fact = item.fact
        about = f"{plain(fact['subject'], shown_max=60)} / {plain(fact['predicate'], shown_max=60)}"
        return f"{about}: {_outcome(answer)}"

    async def _refine(self, item: Item, event: Mapping[str, str]) -> str:
        which, _, rival = event.get("which", "").partition(":")
        found = await self._questions.ask(
            lambda asked: pairs(asked, item, rival=rival, rival_refines=which == "rival")
        )
        if not found:
            raise FactdriftError("No two documents that hold now say these two values; nothing was linked.")
        for pair in found:
            await self._questions.correct(relation(item, pair, event.get("reason", "")))
        held = plain(value_text(item.fact["object"]), shown_max=60)
        finer, coarser = (
            (plain(rival, shown_max=60), held) if which == "rival" else (held, plain(rival, shown_max=60))
        )
        return f"It is decided that “{finer}” refines “{coarser}”."


def _outcome(answer: Fields) -> str:
    """What became of a decision, in a sentence."""
    if answer["outcome"] == "pending":
        return "the decision is durable; its outcome shows in a moment."
    if answer["outcome"] == "unchanged":
        return "this had been decided before; nothing changed."
    created = [one for one in answer["events"] if one["event"] == "fact-created"]
    if created:
        return (
            f"“{plain(value_text(created[0]['object']), shown_max=60)}” holds from now on, by your decision."
        )
    return "it is ended, by your decision."


async def page(questions: Questions, frame: Frame, query: Mapping[str, str]) -> None:
    """Build the page, from a cursor on."""
    opened = QueuePage(questions, frame, query.get("cursor") or None)
    await follow(questions.service.bell, opened.follow)
