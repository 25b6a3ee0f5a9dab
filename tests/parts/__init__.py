"""Real parts for the tests: which one is taken, and what is said when there is none (DESIGN 10).

Every part has a ladder: ways to get one, tried in a fixed order, the first that is there wins. A rung that
is not there raises `RungMissing` with its reason; when the ladder ends, `PartMissing` tells a person what was
tried and how to get one. This package never pretends: no fake broker, no fake Redis, and no silent skip.

A part that the user named in the environment is the user's: it is never stopped, killed or emptied, and when
it does not answer the next rung is not tried, because a run against another broker than the one asked for
would look like an answer.
"""

import gc
import os
import warnings
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol, TypeVar, runtime_checkable

__all__ = [
    "RAN_AGAINST",
    "NotOurs",
    "PartMissing",
    "RungMissing",
    "climb",
    "named_in_environment",
    "or_skip",
    "require_docker",
]

# An engine on this machine answers in milliseconds; a dead remote one must not stall the run.
DOCKER_ANSWER_S = 3

Part = TypeVar("Part")


@runtime_checkable
class Describes(Protocol):
    """A part that can say in words what it is."""

    def describe(self) -> str:
        """What it is and where it comes from, such as "Apache Kafka 4.3.1 on the local JVM"."""
        ...


RAN_AGAINST: list[str] = []
"""What this run has used so far, in words, for the closing lines of pytest."""


class PartMissing(RuntimeError):
    """No way to get this part; the message lists the rungs, their reasons and how to get one."""


class RungMissing(Exception):
    """One way to get a part is not there; the message is the reason, for a person."""


class NotOurs(RuntimeError):
    """The part belongs to the user, so a test may not kill, restart or empty it."""


def climb(part: str, rungs: Sequence[tuple[str, Callable[[], Part]]], *, how_to_get_one: str) -> Part:
    """Return what the first rung gives that is there.

    `rungs` are (name for a person, start function) in order of preference. A start function returns a part
    that already answers, or raises `RungMissing` and leaves nothing running.

    Raises `PartMissing` when no rung is there.
    """
    reasons: list[str] = []
    for name, start in rungs:
        try:
            found = start()
        except RungMissing as missing:
            reasons.append(f"  {len(reasons) + 1}. {name}: {missing}")
        else:
            if isinstance(found, Describes):
                RAN_AGAINST.append(found.describe())
            return found
    tried = "\n".join(reasons)
    message = f"No {part} for the tests. Tried in this order:\n{tried}\nTo get one: {how_to_get_one}"
    raise PartMissing(message)


def or_skip(start: Callable[[], Part]) -> Part:
    """Return what `start` gives. Where the part is missing: a skip on a user's machine, a failure in CI."""
    try:
        return start()
    except PartMissing as missing:
        if os.environ.get("CI"):
            raise
        import pytest  # here, because benchmarks use parts too, and run without it

        pytest.skip(str(missing))


def named_in_environment(variable: str) -> str:
    """Return the address that the user put into the environment variable.

    Raises `RungMissing` when it is not set or blank.
    """
    address = os.environ.get(variable, "").strip()
    if not address:
        raise RungMissing("not set")
    return address


def silent(variable: str, address: str, reason: object) -> NoReturn:
    """Raise `PartMissing` for a part that the user named and that does not answer."""
    message = (
        f"{variable} names {address}, which does not answer: {reason}\n"
        f"Start it, correct {variable}, or unset it so that the tests start their own."
    )
    raise PartMissing(message)


def require_docker() -> None:
    """Return when a Docker engine really answers; an installed client proves nothing.

    Takes `DOCKER_ANSWER_S` at most. Raises `RungMissing` otherwise.
    """
    try:
        from testcontainers.core.docker_client import DockerClient
    except ImportError as error:
        reason = f"the package testcontainers is not installed ({error})"
        raise RungMissing(reason) from error
    reason = ""
    with warnings.catch_warnings():
        # When nothing answers, the client drops its socket unclosed. It is collected here and now, so that
        # the warning about it does not fail some later test.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            engine = DockerClient(timeout=DOCKER_ANSWER_S).client
            try:
                engine.ping()
            finally:
                engine.close()
        # It also lets errors of its transports through (requests, urllib3, ssh), which share no parent.
        except Exception as error:
            reason = f"no Docker engine answers ({error})"
        gc.collect()
    if reason:
        raise RungMissing(reason)
