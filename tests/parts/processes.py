"""Programs that tests start: their output, their signals and their certain end; and the one way to wait.

Every program gets a process group of its own, so that a signal reaches its children and a Ctrl-C meant for
pytest does not. Only groups started here are ever signalled, by id, and only while the leader is not yet
reaped: until then the kernel cannot give its id to anybody else. Nothing survives the test run: fixtures end
what they started, an exit handler the rest, and a guardian process what a killed pytest leaves behind.

Waiting is always for a condition with a deadline, in `wait_until`; nothing here sleeps for a fixed time.
"""

import atexit
import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import psutil

POLL_SHORTEST_S = 0.01
POLL_LONGEST_S = 0.1  # a poll may itself cost a connection, so a long wait asks less and less often
DEATH_S = 10  # how long the kernel may take to end a killed group
TERMINATE_S = 15

# Below 32768, where Linux begins to take ports for outgoing connections: one of those could otherwise sit on
# the port of a server that was killed and is to come back.
PORTS = range(20_000, 32_000)

Value = TypeVar("Value")
Predicate = Callable[[], Value | Literal[False] | None]


class ProcessEnded(RuntimeError):
    """A program ended while something else was expected of it; the message holds the end of its log."""


def wait_until(predicate: Predicate[Value], *, timeout_s: float, what: str) -> Value:
    """Return the first true value of `predicate`, asked again and again until the deadline.

    It is asked at least once. What it raises goes to the caller at once: only "not yet" is waited for.
    `what` completes the sentence "Waited 5 s in vain for ...".

    Raises `TimeoutError`.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = POLL_SHORTEST_S
    while True:
        value = predicate()
        if value:
            return value
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            message = f"Waited {timeout_s:g} s in vain for {what}"
            raise TimeoutError(message)
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, POLL_LONGEST_S)


def free_ports(n_ports: int) -> list[int]:
    """Return different ports of 127.0.0.1 that nobody uses now.

    Not promised: that they stay free. Whoever starts a server there tries others when it cannot bind.
    """
    ports: set[int] = set()
    for _ in range(1_000):
        if len(ports) == n_ports:
            return sorted(ports)
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            ports.add(port)
    message = f"Found no {n_ports} free ports between {PORTS.start} and {PORTS.stop}"
    raise RuntimeError(message)


class Process:
    """A program that runs, or ran, as the leader of its own process group.

    `pid` is the id of the leader and of the group. Not for use by two threads at once.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        name: str,
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start `command`, its stdout and stderr appended to `log`; see `start_process`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = log
        with log.open("ab") as sink:
            self._log_start = log.stat().st_size
            self._popen = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=folder,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        self._leader = psutil.Process(self.pid)
        _started.add(self)
        _tell_guardian("watch", self.pid)

    @property
    def running(self) -> bool:
        """Whether the leader lives, be it paused."""
        return self._popen.returncode is None and self._status() != psutil.STATUS_ZOMBIE

    @property
    def paused(self) -> bool:
        """Whether the leader stands still, be it by `pause` or by itself."""
        return self._status() == psutil.STATUS_STOPPED

    @property
    def exit_code(self) -> int | None:
        """What the leader returned, minus the number of the signal that ended it, or None while it runs."""
        if self._popen.returncode is None and not self.running:
            self._reap()
        return self._popen.returncode

    @property
    def log_size(self) -> int:
        """Bytes in the log by now: a position for `wait_for_line(since=...)`."""
        return self.log.stat().st_size

    def log_tail(self, n_lines: int = 40) -> str:
        """Return the last lines that this run wrote."""
        with self.log.open("rb") as written:
            written.seek(self._log_start)
            lines = written.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-n_lines:])

    def wait_for(self, predicate: Predicate[Value], timeout_s: float, *, what: str) -> Value:
        """Do as `wait_until` does, for something that the program is to bring about.

        Raises `TimeoutError`, or `ProcessEnded` as soon as the program has ended without it; both show the
        end of the log.
        """

        def ask() -> Value | Literal[False] | None:
            ended = not self.running  # looked at first: what it did last must still be seen
            value = predicate()
            if ended and not value:
                message = f"{self.name} ended with exit code {self.exit_code}; awaited was {what}"
                raise ProcessEnded(self._with_log(message))
            return value

        try:
            return wait_until(ask, timeout_s=timeout_s, what=what)
        except TimeoutError as error:
            raise TimeoutError(self._with_log(str(error))) from None

    def wait_for_line(self, pattern: str, timeout_s: float, *, since: int = 0) -> re.Match[str]:
        """Return the match of the first whole line of this run, from `since` on, in which `pattern` is found.

        Raises what `wait_for` raises.
        """
        sought = re.compile(pattern)
        position = max(since, self._log_start)

        def look() -> re.Match[str] | None:
            nonlocal position
            with self.log.open("rb") as written:
                written.seek(position)
                for line in written:
                    if not line.endswith(b"\n"):
                        break
                    position += len(line)
                    if match := sought.search(line.decode(errors="replace").rstrip("\r\n")):
                        return match
            return None

        return self.wait_for(look, timeout_s, what=f"{self.name} to write a line with {pattern!r}")

    def wait_for_exit(self, timeout_s: float) -> int:
        """Return the exit code once the program has ended by itself. `TimeoutError` leaves it running."""
        self.wait_for(lambda: not self.running, timeout_s, what=f"{self.name} to end")
        return self._reap()

    def terminate(self, timeout_s: float = TERMINATE_S) -> int:
        """Ask the leader to end (SIGTERM), after the deadline kill the group, and return the exit code."""
        if self.running:
            os.kill(self.pid, signal.SIGTERM)
            self.resume()  # a paused program would not hear the request
            with contextlib.suppress(TimeoutError):
                self.wait_for_exit(timeout_s)
        self.kill()
        return self._reap()

    def kill(self) -> None:
        """End the whole group at once (SIGKILL); it has ended on return. Harmless when it already has."""
        if self._popen.returncode is None:
            self._signal(signal.SIGKILL)
            self._reap()

    def pause(self) -> None:
        """Stop the whole group in mid-step (SIGSTOP); it stands still on return."""
        self._signal(signal.SIGSTOP)
        self.wait_for(lambda: self.paused, DEATH_S, what=f"{self.name} to stand still")

    def resume(self) -> None:
        """Let a paused group go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _status(self) -> str:
        try:
            return str(self._leader.status())
        except psutil.NoSuchProcess:
            return str(psutil.STATUS_ZOMBIE)

    def _signal(self, number: signal.Signals) -> None:
        if self._popen.returncode is not None:
            return  # reaped: the id may belong to somebody else by now
        # A group in which only the dead leader is left refuses signals on some systems.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _reap(self) -> int:
        # In this order: once the leader is collected, the id of the group may be somebody else's.
        if self._popen.returncode is None:
            self._signal(signal.SIGKILL)
            self._popen.wait(timeout=DEATH_S)
            _started.discard(self)
            _tell_guardian("leave", self.pid)
        return self._popen.returncode

    def _with_log(self, message: str) -> str:
        return f"{message}. The end of {self.log}:\n{self.log_tail()}"


def start_process(
    command: Sequence[str | Path],
    *,
    name: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Process:
    """Start a program for a test and return at once.

    `name` is what messages call it. stdout and stderr go to the end of `log`, so that a restarted program can
    keep one log. `environment` is added to the one of the tests, `folder` is its working directory.

    Raises `OSError` when the program cannot be started.
    """
    return Process(command, name=name, log=log, environment=environment, folder=folder)


_started: set[Process] = set()

# The guardian reads which groups live. Its input ends when pytest ends, in whatever way: then it kills them.
_GUARDIAN = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    order, group = line.split()
    (groups.add if order == "watch" else groups.discard)(int(group))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


@cache
def _guardian() -> "subprocess.Popen[str]":
    command = [sys.executable, "-I", "-S", "-c", _GUARDIAN]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _tell_guardian(order: Literal["watch", "leave"], group: int) -> None:
    orders = _guardian().stdin
    assert orders is not None
    # Somebody may have killed the guardian: the exit handler is still there, so the tests go on.
    with contextlib.suppress(BrokenPipeError):
        orders.write(f"{order} {group}\n")
        orders.flush()


@atexit.register
def _end_everything(owner_pid: int = os.getpid()) -> None:
    if os.getpid() != owner_pid:
        return  # a fork of the test run ends: the programs are not its own
    for process in list(_started):
        process.kill()
    if _guardian.cache_info().currsize:
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            _guardian().communicate(timeout=DEATH_S)
