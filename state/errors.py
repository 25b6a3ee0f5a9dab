"""What can go wrong, as one tree, so that a caller can catch all of it or exactly one case.

    FactdriftError
    ├── BadInput            a record that cannot be used; carries the code of its dead letter
    ├── BadInstant          text or number that names no instant (also a ValueError)
    ├── BadInterval         bounds that enclose nothing (also a ValueError)
    ├── BadPredicates       a predicate registry file that cannot be read
    │   └── BadAliases      a table of aliases that cannot be true; carries a code
    ├── Refused             a correction that is not applied; carries the code of the refusal
    └── OutOfOrder          our own mistake: an offset or a version that went backwards

`streams/` adds its own branches (settings, topics, delivery) below the same root.
"""


class FactdriftError(Exception):
    """The root of every error that factdrift raises on purpose."""


class BadInput(FactdriftError):
    """A record that cannot be used.

    `code` is one of the stable dead-letter codes (`state.validation.CODES`); the message is one
    sentence for a person.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BadInstant(FactdriftError, ValueError):
    """Text or a number that names no instant between year 1 and year 9999."""


class BadInterval(FactdriftError, ValueError):
    """Two bounds between which no instant lies."""


class BadPredicates(FactdriftError):
    """A predicate registry that cannot be used; the message names the file, the entry and the mend."""


class BadAliases(BadPredicates):
    """A table of aliases that cannot be true. `code` is in `state.aliases.ALIAS_CODES`, and comes first."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Refused(FactdriftError):
    """A correction that was not applied. `code` is stable, the message says what to do instead."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class OutOfOrder(FactdriftError):
    """An offset or a version went backwards: a fault of ours, never of the input."""
