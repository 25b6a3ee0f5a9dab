"""The file that says which receivers there are: TOML in, receivers out, one clear sentence for each fault.

Decides what may stand in the file, and never shows a secret or more of an address than its host: addresses
of receivers often hold a token. Asks no receiver anything.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from state.delivering import AT_ONCE_MAX, TRIES_MAX
from state.errors import FactdriftError
from state.names import normalise, normalise_predicate
from state.webhooks import BadSecret, Wanted, secret_bytes
from streams.topics import Topic

AlertTopic = Literal["drift-alerts", "fact-invalidated"]
ALERT_TOPICS: Final = tuple(Topic(name) for name in get_args(AlertTopic))
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SHOWN: Final = frozenset(
    ("topics", "namespaces", "subjects", "predicates", "reasons", "signals", "begin", "timeout_s",
     "tries_max", "at_once", "allow_private")
)  # fmt: skip
"""Fields whose value may stand in a message; the others may hold a secret."""


class BadWebhooks(FactdriftError):
    """A file of webhooks that cannot be used: one sentence for each fault."""


@dataclass(frozen=True, slots=True)
class Receiver:
    """One receiver as it is used. `keys` sign; none of them and no part of `url` may reach a log."""

    name: str
    url: str
    keys: tuple[bytes, ...]
    wanted: Wanted
    from_start: bool
    timeout_s: float
    tries_max: int
    at_once: int
    allow_private: bool
    ca_file: Path | None

    def __repr__(self) -> str:
        """Its name: the rest is nobody's business."""
        return f"Receiver({self.name!r})"


class WebhookEntry(BaseModel):
    """One table `[webhooks.NAME]` of the file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    url: str = Field(description="Where events are posted: https, or with allow_private also http.")
    secret_file: Path | None = Field(
        None, description="File with the secret; on several lines: one to come or to go beside it."
    )
    secret_env: str | None = Field(None, description="Environment variable with the secret, instead.")
    topics: list[AlertTopic] = Field(
        list(get_args(AlertTopic)), min_length=1, description="Which topics are told; by default both."
    )
    namespaces: list[str] = Field([], description="Only these namespaces; empty: any.")
    subjects: list[str] = Field([], description="Only these subjects, in any spelling.")
    predicates: list[str] = Field([], description="Only these predicates, in any spelling.")
    reasons: list[Literal["outvoted", "denied", "superseded", "invalidated", "withdrawn"]] = Field(
        [], description="Of fact-invalidated only these reasons."
    )
    signals: list[Literal["unstable", "stable", "churning", "settled"]] = Field(
        [], description="Of drift-alerts only these signals."
    )
    begin: Literal["now", "start"] = Field(
        "now", description="Where a receiver that is new begins: with what comes, or with the oldest event."
    )
    timeout_s: float = Field(10.0, gt=0, le=30, description="How long one call may take, in seconds.")
    tries_max: int = Field(
        TRIES_MAX, ge=1, le=1_000, description="Calls for one event before it is given up."
    )
    at_once: int = Field(AT_ONCE_MAX, ge=1, le=64, description="Calls at one time, each of another subject.")
    allow_private: bool = Field(
        False, description="The receiver is in your own network: private addresses, and http, are right."
    )
    ca_file: Path | None = Field(
        None, description="PEM file with the authorities that sign the receiver's certificate."
    )

    @field_validator("url")
    @classmethod
    def _usable(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError("it is no address") from None
        if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
            raise ValueError("it must begin with https:// and name a host")
        if parts.username is not None or parts.password is not None:
            raise ValueError("a user or password in it would be logged by others; use the signature instead")
        if parts.fragment or not url.isascii() or any(ord(one) <= 32 for one in url):
            raise ValueError("it must hold no #, no blanks and only ASCII")
        return url

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.secret_file is None) == (self.secret_env is None):
            raise ValueError("give either secret_file or secret_env")
        parts = urlsplit(self.url)
        if parts.scheme == "http" and not self.allow_private:
            raise ValueError("url is http, which anybody on the way can read; use https, or allow_private")
        refuse_address(parts, self.allow_private)
        return self


def refuse_address(parts: SplitResult, allow_private: bool) -> None:
    """Raise ValueError where a host that is written as an address may not be called."""
    try:
        address = ipaddress.ip_address(parts.hostname or "")
    except ValueError:
        return  # a name: judged when it is resolved, each time anew
    if (why := unfit(address, allow_private=allow_private, is_plain=parts.scheme == "http")) is not None:
        raise ValueError(f"its host is {why}")


def unfit(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, *, allow_private: bool, is_plain: bool
) -> str | None:
    """Why an address may not be called, or None.

    Never called: link-local addresses, where clouds keep the credentials of a machine, and what is no address
    of one machine. Private ones and this machine only where the file allows it; and without TLS no other.
    """
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return "an address that is never called (link-local, multicast or unspecified)"
    is_public = address.is_global
    if not is_public and not allow_private:
        return "in a private network; set allow_private = true if it is yours"
    if is_public and is_plain:
        return "a public address, and http can be read on the way; use https"
    return None


# -- the file -------------------------------------------------------------------------------


def load(path: Path, environment: Mapping[str, str] | None = None) -> list[Receiver]:
    """The receivers of a file, in its order. Raises BadWebhooks with every fault that was found."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadWebhooks(f"{path} cannot be read: {_said(error)}.") from error
    return parse(text, path=path, environment=os.environ if environment is None else environment)


def parse(text: str, *, path: Path, environment: Mapping[str, str]) -> list[Receiver]:
    """As `load`, from the text of the file at `path`; files of secrets are looked for beside it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadWebhooks(f"{path} is not TOML: {error}.") from error
    tables = document.pop("webhooks", {})
    faults = [f"{path}: [{name}] is unknown; entries look like [webhooks.oncall]." for name in document]
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise BadWebhooks(f"{path}: webhooks must be tables such as [webhooks.oncall].")
    if not tables:
        faults.append(f"{path} names no webhook; entries look like [webhooks.oncall].")
    found = []
    for name, table in tables.items():
        where = f"{path}: [webhooks.{name}]"
        if not _NAME.fullmatch(name):
            faults.append(f"{where} has a name that is not 1 to 40 of a-z, 0-9 and -.")
            continue
        try:
            found.append(_receiver(name, WebhookEntry.model_validate(table), path.parent, environment))
        except ValidationError as error:
            faults += [_sentence(where, fault) for fault in error.errors()]
        except BadSecret as error:
            faults.append(f"{where} has no usable secret: {error}.")
    if faults:
        raise BadWebhooks("\n".join(faults))
    return found


def _receiver(name: str, entry: WebhookEntry, folder: Path, environment: Mapping[str, str]) -> Receiver:
    return Receiver(
        name=name,
        url=entry.url,
        keys=_keys(entry, folder, environment),
        wanted=Wanted(
            topics=frozenset(entry.topics),
            namespaces=frozenset(entry.namespaces),
            subjects=frozenset(map(normalise, entry.subjects)),
            predicates=frozenset(map(normalise_predicate, entry.predicates)),
            reasons=frozenset(entry.reasons),
            signals=frozenset(entry.signals),
        ),
        from_start=entry.begin == "start",
        timeout_s=entry.timeout_s,
        tries_max=entry.tries_max,
        at_once=entry.at_once,
        allow_private=entry.allow_private,
        ca_file=None if entry.ca_file is None else folder / entry.ca_file,
    )


def _keys(entry: WebhookEntry, folder: Path, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    if entry.secret_env is not None:
        text = environment.get(entry.secret_env)
        if text is None:
            raise BadSecret(f"the environment has no {entry.secret_env}")
    else:
        assert entry.secret_file is not None
        path = folder / entry.secret_file
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadSecret(f"{path} cannot be read: {_said(error)}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(secret_bytes(line) for line in lines or [""])


def _sentence(where: str, fault: Any) -> str:
    """One fault in words; the value is shown where it can hold no secret."""
    name = ".".join(str(part) for part in fault["loc"])
    said = fault["msg"].removeprefix("Value error, ")
    if not name:
        return f"{where}: {said}."
    if fault["type"] == "extra_forbidden":
        return f"{where} has an unknown key {name}; known are {', '.join(WebhookEntry.model_fields)}."
    if fault["type"] == "missing":
        return f"{where} lacks {name}."
    shown = f" is {fault['input']!r}" if fault["loc"][0] in _SHOWN else ""
    return f"{where}: {name}{shown}: {said[:1].lower()}{said[1:]}."


def _said(error: Exception) -> str:
    return error.strerror or "it is unreadable" if isinstance(error, OSError) else "it is no UTF-8"
