"""Which aliases of predicates the tables of a log were built with, and the sentence where today's are others.

Refuses nothing: an alias is followed when a record is read, so another table is true of what is read from now
on. But it must not pass in silence that one slot lies under two names.
"""

from __future__ import annotations

import logging
from typing import Final

from state.aliases import NO_ALIASES, Aliases, identity
from streams.embedded import PARTITION, EmbeddedStore
from streams.host import Mark
from streams.topics import Topic

MARK: Final = "aliases"
CODE: Final = "aliases_changed"

_log = logging.getLogger(__name__)


def changed(where: str, built_with: str, today: str) -> str:
    """The sentence about tables that were built with other aliases; its code is stable."""
    return (
        f"{CODE}: the tables {where} were built with {_shown(built_with)}, and the settings name "
        f"{_shown(today)}. What is read from now on follows them; what was folded before stays under the "
        "name that it had. To fold all of it by one table, replay the observations into a new log."
    )


def _shown(table: str) -> str:
    return "no aliases of predicates" if table == NO_ALIASES else f"the aliases of predicates {table}"


def mark(aliases: Aliases) -> Mark:
    """The mark of today's table. It tells once of each other one, however many partitions have it."""
    today, told = identity(aliases), set[str]()

    def met(where: str, built_with: str) -> None:
        if built_with not in told:
            told.add(built_with)
            _log.warning(changed(where, built_with, today))

    return Mark(MARK, today, met, unmarked=NO_ALIASES)


def agree(store: EmbeddedStore, today: Mark) -> None:
    """Compare today's table with that of an embedded log, tell where they differ, and note today's."""
    with store.transaction():
        built_with = store.mark(MARK)
        if built_with is None and store.end(Topic.BY_CLAIM, PARTITION) > 0:
            built_with = today.unmarked
        if built_with not in (None, today.value):
            assert built_with is not None
            today.met(f"in {store.path.parent}", built_with)
        if built_with != today.value or store.mark(MARK) is None:
            store.set_mark(MARK, today.value)
