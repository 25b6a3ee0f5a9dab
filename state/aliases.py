"""Which predicates are other spellings of one: `got` and `got_a` are `received`, where a user says so.

Decides what a table of aliases may say, and which claim an observation or a decision about an alias belongs
to. Never finds an alias by itself (`state.alias_report` only proposes), and never declares a predicate: an
alias says that two names mean one slot, not how that slot folds.

An alias is followed once, when a record is read, and the log keeps what came of it. So a changed table is
true of what is read from then on; what was folded under a name stays there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from state.corrections import Invalidate, Relate, Supersede
from state.errors import BadAliases
from state.identity import claim_id
from state.names import normalise_predicate
from state.observations import Observation, Recluster, Usable

Aliases = Mapping[str, str]
"""By normalised name of an alias the normalised name that it means. No value is a key."""

ALIAS_CODES: Final[Mapping[str, str]] = {
    "alias_malformed": "The table [aliases] says something else than name = [names].",
    "alias_blank": "A name in the table holds no letter, digit or symbol.",
    "alias_of_itself": "A name is listed as an alias of itself, perhaps in another spelling.",
    "alias_taken": "One alias is listed for two names.",
    "alias_cycle": "Names are aliases of each other, so that none of them is the one meant.",
    "alias_chain": "A name that has aliases is itself an alias of another one.",
    "alias_declared": "A file declares a predicate and calls it an alias at once.",
    "alias_of_another_kind": "An alias is declared to fold otherwise than the name that it means.",
}
"""Why a table is refused, in order of precedence. A refused table changes nothing: nothing starts with it."""

NO_ALIASES: Final = "none"
_DIGEST_LENGTH: Final = 12  # hexadecimal digits; enough to tell two tables apart


def parse_aliases(table: object, *, origin: str) -> dict[str, str]:
    """The aliases in a table of `name = [aliases]`, as TOML gives it; `origin` names the text in errors.

    Raises BadAliases with one of `ALIAS_CODES`, naming the entry and the mend.
    """
    found: dict[str, str] = {}
    for name, listed in _entries(table, origin):
        where = f"{origin}: [aliases] {name}"
        meant = _normal(name, where)
        for written in listed:
            alias = _normal(written, where)
            if alias == meant:
                raise BadAliases("alias_of_itself", f"{where} lists itself as {written!r}: leave that out.")
            if found.setdefault(alias, meant) != meant:
                raise BadAliases(
                    "alias_taken", f"{where} lists {alias}, which is an alias of {found[alias]}: keep one."
                )
    refuse_chains(found, origin=origin)
    return found


def _entries(table: object, origin: str) -> list[tuple[str, list[str]]]:
    malformed = BadAliases(
        "alias_malformed", f'{origin}: [aliases] holds lines such as received = ["got", "got_a"].'
    )
    if not isinstance(table, dict):
        raise malformed
    for listed in table.values():
        if not isinstance(listed, list) or not listed or any(type(one) is not str for one in listed):
            raise malformed
    return list(table.items())


def _normal(written: str, where: str) -> str:
    normal = normalise_predicate(written)
    if not normal:
        raise BadAliases("alias_blank", f"{where}: {written!r} is a name without a letter or digit.")
    return normal


def refuse_chains(found: Aliases, *, origin: str) -> None:
    """Raise BadAliases where a name that has aliases is itself one."""
    for alias, meant in found.items():
        if meant not in found:
            continue
        path = [alias, meant]
        while path[-1] in found and path.count(path[-1]) == 1:
            path.append(found[path[-1]])
        told = " -> ".join(path)
        if path.count(path[-1]) > 1:
            raise BadAliases(
                "alias_cycle", f"{origin}: [aliases] goes round in a circle, {told}: keep one as the name."
            )
        raise BadAliases(
            "alias_chain", f"{origin}: [aliases] forms a chain, {told}: list them all under {path[-1]}."
        )


def folded(usable: Usable, aliases: Aliases) -> Usable:
    """The record as it belongs under the name that its predicate means; itself where that is no alias.

    Its ids and its content hash stay those of what was written, so a record that is sent again is recognised
    under any table. What an observation called its predicate stays on it as `written_predicate`.
    """
    if not isinstance(usable, _ABOUT_A_CLAIM) or (meant := aliases.get(usable.predicate)) is None:
        return usable
    claim = claim_id(usable.namespace, usable.subject, meant)
    if not isinstance(usable, Observation):
        return msgspec.structs.replace(usable, claim=claim, predicate=meant)
    return msgspec.structs.replace(
        usable,
        claim=claim,
        predicate=meant,
        statement=msgspec.structs.replace(usable.statement, predicate=meant),
        written_predicate=usable.statement.predicate,
    )


_ABOUT_A_CLAIM: Final = (Observation, Supersede, Invalidate, Relate, Recluster)


def names_of(predicate: str, aliases: Aliases) -> tuple[str, ...]:
    """The normalised names under which claims about a predicate, in any spelling, may lie.

    The name that it means, and behind it the alias itself: what was folded before the table named it lies
    there.
    """
    normal = normalise_predicate(predicate)
    meant = aliases.get(normal)
    return (normal,) if meant is None else (meant, normal)


def identity(aliases: Aliases) -> str:
    """What tells two tables apart: "none" for an empty one, else a digest that no order of lines changes."""
    if not aliases:
        return NO_ALIASES
    return sha256(json.dumps(sorted(aliases.items())).encode("utf-8")).hexdigest()[:_DIGEST_LENGTH]
