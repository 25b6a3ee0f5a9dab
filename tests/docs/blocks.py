"""The code blocks of a page, and a terminal to run them in as a reader would.

A block is a fence of Markdown. What stands above it decides what is done with it:

    <!-- not run: REASON -->    it is left out, and the test says so
    <!-- terminal 2 -->         it belongs to another terminal; what is started there goes on
    <!-- needs: kafka, npm -->  it and all after it need these parts; `needs: nothing` ends that
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COLUMNS: Final = 100
ANY: Final = "…"
"""In expected output: whatever is in its place on the line; alone on a line, any lines."""

_FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?$")
_MARK = re.compile(r"^<!-- (?P<kind>not run|terminal|needs)\b:? ?(?P<rest>.*?) -->$")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9])")


@dataclass(frozen=True, slots=True)
class Block:
    """One fence. `line` is where its text begins; `title` the name of the file that it is."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str
    not_run: str | None
    terminal: str
    needs: frozenset[str]

    @property
    def where(self) -> str:
        return f"{self.page.name}:{self.line}"

    def commands(self) -> list[tuple[str, str]]:
        """What a console block tells to type, and what it shows as the answer."""
        found: list[tuple[str, str]] = []
        lines = iter(self.text.splitlines())
        for line in lines:
            if not line.startswith("$ "):
                assert found, f"{self.where}: output stands before the first command"
                command, output = found.pop()
                found.append((command, f"{output}{line}\n"))
                continue
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command += "\n" + next(lines)
            found.append((command, ""))
        return found


def blocks(page: Path) -> list[Block]:
    """All fences of a page, in order."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    needs: frozenset[str] = frozenset()
    lines = enumerate(page.read_text("utf-8").splitlines(), 1)
    for number, line in lines:
        if mark := _MARK.match(line):
            if mark["kind"] == "needs":
                needs = frozenset(mark["rest"].split(", ")) - {"nothing"}
            else:
                marks[mark["kind"]] = mark["rest"]
        elif line.startswith("```"):
            opening = _FENCE.match(line)
            assert opening, f"{page.name}:{number}: not a fence that is understood: {line}"
            text = ""
            for _, inner in lines:
                if inner == "```":
                    break
                text += inner + "\n"
            found.append(
                Block(
                    page, number + 1, opening["language"], opening["title"], text,
                    marks.get("not run"), marks.get("terminal", "1"), needs,
                )
            )  # fmt: skip
            marks = {}
        elif line.strip():
            assert not marks, f"{page.name}:{number}: no block follows its mark"
    return found


class Terminal:
    """A shell on a terminal of 100 columns, in a folder. Everything in it ends with `close`."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        script, self._script = os.pipe()
        # Commands come through a pipe of their own: what they read from is the terminal, as for a person.
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", f"/dev/fd/{script}"],
            stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True, pass_fds=[script],
            env={**environment, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(COLUMNS)},
            # The terminal becomes that of the shell: when this process dies, all in it hang up.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 one system call, no lock
        )  # fmt: skip
        os.close(slave)
        os.close(script)
        self._n_run = 0
        self._raw = b""

    def run(self, command: str, *, timeout_s: float) -> tuple[int, str]:
        """Type a command, wait until it is done, and return its exit code and what it showed."""
        self._n_run += 1
        end = f"<done {self._n_run} "
        before = len(self.shown())
        os.write(self._script, f"{command}\nprintf '\\n{end}%s>\\n' $?\n".encode())
        found = self.wait(re.escape(end) + r"(\d+)>", timeout_s=timeout_s)
        return int(found[1]), self.shown()[before : found.start()]

    def start(self, command: str) -> None:
        """Type a command and do not wait for it."""
        os.write(self._script, f"{command}\n".encode())

    def wait(self, pattern: str, *, timeout_s: float) -> re.Match[str]:
        """Return once the terminal shows what the pattern describes. Raises `TimeoutError`."""
        deadline = time.monotonic() + timeout_s
        while (found := re.search(pattern, self.shown(), re.MULTILINE)) is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not self._read(left_s):
                message = f"The terminal did not show {pattern!r}. It shows:\n{self.shown()}"
                raise TimeoutError(message)
        return found

    def shown(self) -> str:
        """All that was ever on the terminal, without colours, as lines."""
        text = _ESCAPES.sub("", self._raw.decode(errors="replace"))
        # A carriage return alone goes back to the start of the line and writes over it (progress bars).
        return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for line in text.split("\n"))

    def close(self) -> None:
        """End the shell and everything that was started in it."""
        if self._shell.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.wait()
        os.close(self._script)
        os.close(self._master)

    def _read(self, timeout_s: float) -> bool:
        """Take what is there, waiting for it; false where nothing comes, or nothing ever will."""
        ready, _, _ = select.select([self._master], [], [], timeout_s)
        if not ready:
            return False
        try:
            part = os.read(self._master, 65_536)
        except OSError:  # Linux says so when nobody has the terminal open any more
            return False
        self._raw += part
        return bool(part)


def pattern_of(expected: str) -> str:
    """The expected output as a pattern: exact but for `…` and blanks at the ends of lines."""
    patterns = []
    for line in expected.strip("\n").splitlines():
        if line.strip() == ANY:
            patterns.append(r"(?:[^\n]*\n)*?[^\n]*")
        else:
            patterns.append(r"[^\n]*".join(re.escape(part) for part in line.rstrip().split(ANY)))
    return r"\n".join(patterns)


@contextlib.contextmanager
def terminals(folder: Path, environment: Mapping[str, str]) -> Iterator[dict[str, Terminal]]:
    """Terminals by name, each opened when it is first asked for; all of them end here."""
    opened = _Opened(folder, environment)
    try:
        yield opened
    finally:
        for terminal in opened.values():
            terminal.close()


class _Opened(dict[str, Terminal]):
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._folder, self._environment = folder, environment

    def __missing__(self, name: str) -> Terminal:
        self[name] = Terminal(self._folder, self._environment)
        return self[name]
