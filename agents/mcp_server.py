"""The MCP server: what an assistant may ask of factdrift, and correct, as tools on standard input and output.

Every tool is a question of `agents.answers`, or a correction, and answers in JSON what REST and the command
line answer. A refusal reaches the assistant as an error with its code and what to do, so that it can mend the
call by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Any, Literal

from agents.answers import Fields
from agents.desk import Desk
from state.errors import FactdriftError

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field
except ImportError as error:  # an extra; everything else works without it
    raise FactdriftError(
        "MCP needs the package mcp. Install it with: pip install 'factdrift[mcp]'"
    ) from error

INSTRUCTIONS = (
    "factdrift keeps facts that observations have voted for, with the time for which each holds. Names may "
    "be spelled in any way. Times are instants or words (2023-05, yesterday, last week): valid_at asks about "
    "the world, known_at about what was known. Ask `unstable` before you rely on what is known of somebody, "
    "and `why` before you correct it. `probability` says how often values with such votes were true where "
    "the truth is known; `confidence` only counts votes. Every answer with `next` has another page."
)

ValidAt = Annotated[str | None, Field(description="What holds then: an instant, or words.")]
KnownAt = Annotated[str | None, Field(description="What was known then, and nothing learnt later.")]
Namespace = Annotated[str | None, Field(description="A separate world; by default every one.")]
Subject = Annotated[str | None, Field(description="What it is about, in any spelling.")]
Predicate = Annotated[str | None, Field(description="What is said about it, in any spelling.")]
Value = Annotated[str | None, Field(description="A value, as anyone writes it.")]
Limit = Annotated[int, Field(ge=1, le=1000, description="Items at most.")]
Cursor = Annotated[str | None, Field(description="`next` of the answer before.")]

Opening = Callable[[], Desk]


def run(opened: Opening) -> None:
    """Serve on standard input and output until it ends. Raises what `opened` raises."""
    server(opened).run("stdio")


def server(opened: Opening) -> MCPServer:
    """The server over a desk, which is opened, asked and closed in one thread of its own."""
    worker = ThreadPoolExecutor(1, thread_name_prefix="desk")
    desk = worker.submit(opened).result()
    tools = Tools(desk, worker)

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncIterator[None]:
        try:
            yield
        finally:
            worker.submit(desk.close).result()
            worker.shutdown()

    made = MCPServer(
        "factdrift",
        title="factdrift",
        version=version("factdrift"),
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        log_level="WARNING",
    )
    for tool in (
        tools.facts,
        tools.history,
        tools.why,
        tools.unstable,
        tools.links,
        tools.correct,
        tools.forgotten,
    ):
        made.tool(structured_output=True)(tool)
    return made


class Tools:
    """The tools: their names, their parameters and their docstrings are what an assistant reads."""

    def __init__(self, desk: Desk, worker: ThreadPoolExecutor) -> None:
        self._desk = desk
        self._worker = worker

    async def facts(
        self,
        subject: Subject = None,
        predicate: Predicate = None,
        object: Value = None,  # noqa: A002
        namespace: Namespace = None,
        state: Literal["open", "contested", "retired"] | None = None,
        valid_at: ValidAt = None,
        known_at: KnownAt = None,
        overlaps: Annotated[str | None, Field(description="What holds at some time within: words.")] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """What is believed, or was at known_at, about what is true, or was at valid_at or within overlaps."""
        return await self._ask("facts", locals())

    async def history(
        self,
        subject: Annotated[str, Field(description="What the facts are about, in any spelling.")],
        predicate: Predicate = None,
        namespace: Namespace = None,
        known_at: KnownAt = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """Every version of the facts about a subject as published: what changed, when, and why."""
        return await self._ask("history", locals())

    async def why(
        self,
        subject: Annotated[str, Field(description="What the claim is about, in any spelling.")],
        predicate: Annotated[str, Field(description="What is said about it, in any spelling.")],
        object: Value = None,  # noqa: A002
        namespace: Namespace = None,
        at: Annotated[str | None, Field(description="Only the facts that hold then: words.")] = None,
        known_at: KnownAt = None,
    ) -> dict[str, Any]:
        """Why the facts of a claim are what they are; with object also why that value is one, or is none."""
        return await self._ask("why", locals())

    async def unstable(
        self,
        names: Annotated[
            list[str] | None, Field(description="Subjects in any spelling; none: all that are unstable.")
        ] = None,
        namespace: Namespace = None,
    ) -> dict[str, Any]:
        """Whose facts keep being retired, so that what is known of them may be wrong tomorrow."""
        return await self._ask("unstable", locals())

    async def links(
        self,
        subject: Subject = None,
        predicate: Predicate = None,
        namespace: Namespace = None,
        assertions: Annotated[
            bool, Field(description="Instead of links, who says what, and what that is at valid_at.")
        ] = False,
        kind: Literal["confirms", "contradicts", "refines", "supersedes", "invalidates"] | None = None,
        valid_at: ValidAt = None,
        known_at: KnownAt = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> dict[str, Any]:
        """How documents relate: who confirms, contradicts or replaces whom. With assertions their states."""
        named = {"subject": subject, "predicate": predicate, "namespace": namespace, "known_at": known_at}
        if not assertions:
            return await self._ask("links", {**named, "kind": kind, "limit": limit, "cursor": cursor})
        if subject is None or predicate is None:
            raise ToolError("invalid_parameter: assertions needs a subject and a predicate.")
        return await self._ask("assertions", {**named, "valid_at": valid_at})

    async def correct(
        self,
        correction: Annotated[
            dict[str, Any],
            Field(
                description='One of {"op": "supersede", "target": {"id": FACT}, "object": VALUE}, '
                '{"op": "invalidate", "target": {"id": FACT}}, {"op": "link", "kind": "refines", '
                '"subject", "predicate", "source": {"id"}, "target": {"id"}}, '
                '{"op": "retract", "observation_id"}, each with a "reason"; and "valid_at" where it does not '
                'hold from now on. {"op": "forget", "scope": "subject", "subject"} erases words for ever: '
                "only where somebody has asked for that."
            ),
        ],
    ) -> dict[str, Any]:
        """Correct what is believed, in the name of a person who said so. Answers with what followed."""
        return await self._done(lambda: self._desk.correct(correction))

    async def forgotten(
        self,
        subject: Annotated[str | None, Field(description="The name of a subject, looked for.")] = None,
        text: Annotated[
            list[str] | None, Field(description="Other words to look for: a value, a sentence.")
        ] = None,
    ) -> dict[str, Any]:
        """Whether anything is left of what was forgotten, and until when append-only topics hold it."""
        words = [*([] if subject is None else [subject]), *(text or ())]
        return await self._done(lambda: self._desk.search(words))

    async def _ask(self, question: str, wanted: Mapping[str, Any]) -> Fields:
        given = {name: value for name, value in wanted.items() if name != "self"}
        return await self._done(lambda: self._desk.ask(question, **given))

    async def _done(self, work: Callable[[], Fields]) -> Fields:
        """What the desk answers, from its thread; a refusal as an error that the assistant can read."""
        try:
            return await asyncio.wrap_future(self._worker.submit(work))
        except FactdriftError as error:
            code = getattr(error, "code", None)
            raise ToolError(f"{code}: {error}" if code else str(error)) from error
