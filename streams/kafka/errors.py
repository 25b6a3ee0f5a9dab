"""What can go wrong between factdrift and Kafka, as one branch of the error tree.

    FactdriftError
    └── KafkaTrouble
        ├── BrokerUnreachable   no broker answers at the address
        ├── BrokerRefused       a broker answers and will not let us in, or not do this; carries a code
        ├── BrokerFailed        any other answer that is no success
        ├── DeliveryFailed      a record was not acknowledged; what caused it must be done again
        ├── TopicMismatch       topics are missing or are not what they must be; carries every problem
        ├── RecordFailed        a record could not be handled; carries its topic, partition and offset
        ├── OwnershipLost       this worker may no longer own what it is about to write
        ├── ChangelogLost       a changelog lacks what its table held; names the command that mends it
        ├── ResetRefused        a reset that would harm
        ├── TableBroken         a table's stored or logged value is none of ours
        ├── FolderTaken         every folder for a worker's tables is in use
        └── HealthPortUnusable  the address for /healthz cannot be listened on

Every message says what, where and what to do next. The cause is kept (`raise … from`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from state.errors import FactdriftError

REFUSALS: Final = {
    "credentials_missing": "the protocol needs a user and a password, and one is not set",
    "wrong_credentials": "the broker does not know this user with this password",
    "unknown_mechanism": "the broker does not offer this SASL mechanism",
    "bad_tls_files": "a file with authorities, certificate or key cannot be used",
    "untrusted_broker": "the broker's certificate is from no authority that is trusted, or of another host",
    "wrong_protocol": "the listener at this port speaks another protocol, or wants a client's certificate",
    "not_allowed": "the user may not do this",
}
"""Why a broker is not used, in the order in which it comes out while connecting."""


class KafkaTrouble(FactdriftError):
    """The root of everything that goes wrong between factdrift and Kafka.

    `code` is stable, where there is one, and stands at the end of the message.
    """

    code: str = ""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} [{self.code}]" if self.code else message)


class BrokerUnreachable(KafkaTrouble):
    """No broker answers at the configured address."""


class BrokerRefused(KafkaTrouble):
    """A broker answers, but refuses the connection's security, the credentials or the right to do this.

    `code` is one of `REFUSALS`, stable, and stands at the end of the message.
    """

    def __init__(self, message: str, *, code: str) -> None:
        assert code in REFUSALS
        super().__init__(f"{message} [{code}]")
        self.code = code


class BrokerFailed(KafkaTrouble):
    """A broker answered with an error that is neither of the above."""

    code = "broker_failed"


class DeliveryFailed(KafkaTrouble):
    """A record was not acknowledged. Nothing that depends on it may be committed."""

    code = "delivery_failed"


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """One thing that is wrong with one topic, and the command that mends it."""

    topic: str
    setting: str
    expected: str
    found: str
    why: str
    mend: str

    def __str__(self) -> str:
        return (
            f'Topic "{self.topic}" has {self.setting}={self.found}, expected {self.expected}: {self.why}. '
            f"Run: {self.mend}"
        )


class TopicMismatch(KafkaTrouble):
    """Topics are missing, or are not what they must be. `problems` has at least one entry."""

    def __init__(self, bootstrap: str, problems: list[TopicProblem]) -> None:
        listed = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(
            f"factdrift will not start on {bootstrap}, because of its topics:\n{listed}\nThen start again."
        )
        self.problems = problems


class RecordFailed(KafkaTrouble):
    """A record could not be handled. It was not committed: it is read again at the next start."""

    def __init__(self, topic: str, partition: int, offset: int, error: BaseException) -> None:
        reason = error if isinstance(error, FactdriftError) else f"{type(error).__name__}: {error}."
        super().__init__(
            f"The worker stopped at {topic}/{partition}/{offset}, which it could not handle: {reason} "
            "Nothing was committed past it, so it is read again at the next start."
        )
        self.code = getattr(error, "code", "")
        self.topic = topic
        self.partition = partition
        self.offset = offset


class OwnershipLost(KafkaTrouble):
    """Another worker may own these partitions by now, so nothing more may be written to them."""

    code = "ownership_lost"


class ChangelogLost(KafkaTrouble):
    """A changelog lacks what its table held when the group last committed: going on would lose facts."""

    code = "changelog_lost"


class ResetRefused(KafkaTrouble):
    """A reset that would harm: workers run, or the state to be kept is not there or is behind."""

    code = "reset_refused"


class TableBroken(KafkaTrouble):
    """A value of a table, on disk or in its changelog, has no watermark: it is none of ours."""

    code = "table_broken"


class FolderTaken(KafkaTrouble):
    """No free folder for this worker's tables."""


class HealthPortUnusable(KafkaTrouble):
    """The worker cannot listen on the address that its health shall be asked at."""
