"""One entity: its facts as bars on a time axis, at two clocks, and why each is what it is.

`valid_at` asks about the world and marks what held then; `known_at` asks about us and draws the facts as they
were believed then, folded again. Both are sliders; the axis stays what it was when the page was opened, so
that what moves is what was believed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from agents.dashboard import why
from agents.dashboard.entity_view import (
    Entity,
    Shown,
    clocks,
    find,
    held,
    moved,
    read,
    timeline,
    times,
    written,
)
from agents.dashboard.frame import Frame
from agents.dashboard.live import follow
from agents.dashboard.markup import tag
from agents.dashboard.questions import Questions
from agents.dashboard.regions import Region, told
from agents.dashboard.subjects import names
from state.errors import FactdriftError


class EntityPage:
    """The page, open in one browser."""

    def __init__(self, questions: Questions, frame: Frame, entity: Entity, shown: Shown) -> None:
        self._questions = questions
        self._frame = frame
        self._entity = entity
        self._shown = shown
        self._clocks = Region("clocks", act=self._act)
        self._times = Region("times", announces=True)
        self._timeline = Region("timeline", act=self._act)
        self._why = Region("why", act=self._act)
        self._holding = Region("holding", act=self._act)

    async def draw(self) -> None:
        """Everything but the sliders, which a hand may be on."""
        entity, shown = self._entity, self._shown
        try:
            facts, holding = await self._questions.ask(lambda asked: read(asked, entity, shown))
        except FactdriftError as error:
            self._frame.notice(told(error), bad=True)
            return
        if shown is not self._shown:
            return  # a hand was faster
        self._times.show(times(entity, shown))
        self._timeline.show(timeline(facts, entity, shown))
        self._holding.show(held(holding, entity, shown))

    def draw_clocks(self) -> None:
        """The sliders, where the page says that they are."""
        self._clocks.show(clocks(self._entity, self._shown))

    async def explain(self) -> None:
        """Why the chosen fact is what it is."""
        fact_id, known_at = self._shown.fact, written(self._shown.known_at)
        if fact_id is None:
            self._why.show(None)
            return
        try:
            story = await self._questions.ask(lambda asked: why.read(asked, fact_id, known_at=known_at))
        except FactdriftError as error:
            self._why.show(tag("p", told(error), class_="notice bad"))
            return
        if self._shown.fact == fact_id:
            self._why.show(why.panel(story))

    async def _act(self, event: Mapping[str, str]) -> None:
        before = self._shown
        match event:
            case {"do": "clock", "name": name, "value": place}:
                self._shown = moved(self._entity, before, name, place)
            case {"do": "why", "fact": fact_id}:
                self._shown = dataclasses.replace(before, fact=fact_id)
            case {"do": "close"}:
                self._shown = dataclasses.replace(before, fact=None)
            case {"do": "page", "cursor": cursor}:
                self._shown = dataclasses.replace(before, cursor=cursor or None, fact=None)
            case {"do": "now"}:
                self._shown = dataclasses.replace(before, valid_at=None, known_at=None, cursor=None)
                self.draw_clocks()
            case _:
                return
        self._frame.notice("")
        await self.draw()
        if (self._shown.fact, self._shown.known_at) != (before.fact, before.known_at):
            await self.explain()


async def page(questions: Questions, frame: Frame, query: Mapping[str, str]) -> None:
    """Build the page that an address names: by `subject` and `namespace`, by a `fact` or by a `claim`."""
    entity, shown = await questions.ask(lambda asked: find(asked, query))
    frame.name(entity.spelled, shown=names(entity.namespace, entity.spelled))
    opened = EntityPage(questions, frame, entity, shown)
    opened.draw_clocks()
    await follow(questions.service.bell, opened.draw)
    await opened.explain()
