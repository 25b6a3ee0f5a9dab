"""REST, the command line and MCP, asked the same: each gives the items of an answer, or the code of a no."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from mcp import Client, StdioServerParameters

from tests.api.served import ROOT, Served

Answer = dict[str, Any]


class Surface(Protocol):
    """Where questions are asked and corrections are given in."""

    def ask(self, question: str, **wanted: Any) -> list[Answer]:
        """The items of an answer; those of `why` are its facts."""
        ...

    def correct(self, **fields: Any) -> Answer | str:
        """What became of a correction, or the code of its refusal."""
        ...


class Rest:
    """A service over HTTP."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def ask(self, question: str, **wanted: Any) -> list[Answer]:
        """GET its address."""
        return items(self._served.get(f"/v1/{question}", **wanted))

    def correct(self, **fields: Any) -> Answer | str:
        """POST it."""
        response = self._served.correct(**fields)
        body = response.json()
        return body if response.is_success else str(body["code"])


class CommandLine:
    """`factdrift` as a program, on a folder or with --url."""

    def __init__(self, *where: str, **environment: str) -> None:
        self._where = where
        self._environment = {**os.environ, **environment}

    def ask(self, question: str, **wanted: Any) -> list[Answer]:
        """Run the command of that name."""
        command, arguments = (["links", "--assertions"] if question == "assertions" else [question]), []
        arguments += [str(wanted.pop(name)) for name in ("subject", "predicate") if name in wanted]
        if question == "why" and "object" in wanted:
            arguments.append(str(wanted.pop("object")))
        for name, value in wanted.items():
            arguments += [f"--{name.replace('_', '-')}", str(value)]
        lines = self._run(*command, *arguments, "--json", codes=(0, 4))
        found = [json.loads(line) for line in lines]
        return items(found[0]) if question == "why" else found

    def correct(self, **fields: Any) -> Answer | str:
        """Run `factdrift correct`."""
        arguments = [str(fields.pop("op"))]
        if arguments == ["link"]:
            arguments += [fields.pop("kind"), fields.pop("source")["id"]]
        if "scope" in fields:
            arguments.append(fields.pop("scope"))
            fields = {"observation" if n == "observation_id" else n: value for n, value in fields.items()}
        if "observation_id" in fields:
            arguments.append(fields.pop("observation_id"))
        target = dict(fields.pop("target", {}))  # the caller keeps his own
        if "id" in target:
            arguments.append(target.pop("id"))
        if arguments[0] == "supersede" and "object" in fields:
            arguments += ["--by", fields.pop("object")]
        if "correction_id" in fields:
            arguments += ["--id", fields.pop("correction_id")]
        for name, value in {**fields, **target}.items():
            arguments += [f"--{name.replace('_', '-')}", str(value)]
        done = self._start("correct", *arguments, "--json")
        if done.returncode == 0:
            found: Answer = json.loads(done.stdout)
            return found
        assert done.returncode == 3, done.stderr.decode()
        return done.stderr.decode().partition(":")[0].strip()

    def _run(self, *arguments: str, codes: tuple[int, ...]) -> list[bytes]:
        done = self._start(*arguments)
        assert done.returncode in codes, done.stderr.decode()
        return done.stdout.splitlines()

    def _start(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "agents.main", *arguments, *self._where]
        return subprocess.run(
            command, capture_output=True, cwd=ROOT, env=self._environment, check=False, timeout=300
        )


class Tools:
    """An MCP server on standard input and output, through a client of the protocol's own makers."""

    def __init__(self, *where: str, **environment: str) -> None:
        self._parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "agents.main", "mcp", *where], cwd=ROOT,
            env={**os.environ, **environment},
        )  # fmt: skip

    def ask(self, question: str, **wanted: Any) -> list[Answer]:
        """Call the tool of that name."""
        tool, more = ("links", {"assertions": True}) if question == "assertions" else (question, {})
        if question == "why-not":
            tool = "why"
        found = self.call(tool, {**wanted, **more})
        assert isinstance(found, dict), found
        return items(found)

    def correct(self, **fields: Any) -> Answer | str:
        """Call the tool that corrects."""
        return self.call("correct", {"correction": fields})

    def call(self, tool: str, arguments: Answer) -> Answer | str:
        """What a tool answers, or the code with which it refuses."""

        async def one(client: Client) -> Answer | str:
            result: Any = await client.call_tool(tool, arguments)
            text = result.content[0].text
            if result.is_error:
                return str(text).removeprefix(f"Error executing tool {tool}: ").partition(":")[0]
            assert json.loads(text) == result.structured_content
            found: Answer = result.structured_content
            return found

        return self.with_client(one)

    def with_client(self, talk: Callable[[Client], Awaitable[Any]]) -> Any:
        """Start the server, talk to it, and end it."""

        async def run() -> Any:
            async with Client(self._parameters) as client:
                return await talk(client)

        return asyncio.run(asyncio.wait_for(run(), 300))


def items(answer: Answer) -> list[Answer]:
    """What an answer is about."""
    for name in ("items", "facts"):
        if name in answer:
            found: list[Answer] = answer[name]
            return found
    raise KeyError(str(answer)[:200])


def surfaces(served: Served) -> dict[str, Surface]:
    """Every way to ask a service, and to ask its folder beside it."""
    folder, url = ("--data", str(served.folder)), ("--url", served.url)
    return {
        "rest": Rest(served),
        "command line": CommandLine(*folder),
        "command line by url": CommandLine(*url),
        "mcp": Tools(*folder),
        "mcp by url": Tools(*url),
    }
