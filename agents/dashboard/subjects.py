"""Subjects as links: what search finds, and how a page is told which entity is meant.

A name may be longer than an address may be; such an entity is named by one of its claims. Everything but
`search` is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agents import listings
from agents.answers import Asked, Fields
from agents.dashboard.markup import Html, address, join, plain, said, tag
from agents.dashboard.words import count

ADDRESS_MAX: Final = 500
"""Characters of a name that go into an address. A longer one is named by one of its claims or facts."""


def search(asked: Asked, text: str, *, limit: int, cursor: str | None = None) -> Fields:
    """Subjects as someone types, a page of them; those with a long name with one of their claims.

    Raises ReadModelError.
    """
    found = listings.subjects(asked, text=text, limit=limit, cursor=cursor)
    for item in found["items"]:
        if _is_long(item["namespace"], item["subject"]):
            claims = listings.claims(asked, namespace=item["namespace"], subject=item["subject"], limit=1)
            item["claim_id"] = claims["items"][0]["claim_id"] if claims["items"] else None
    return found


def _is_long(namespace: str, subject: str) -> bool:
    return len(namespace) + len(subject) > ADDRESS_MAX


def entity_address(
    namespace: str,
    subject: str,
    *,
    claim: str | None = None,
    fact: str | None = None,
    why: str | None = None,
) -> str | None:
    """The address of an entity's page, by its names, or where these are long by a claim or a fact of it.

    None where there is neither. `why` is a fact that is to be explained there.
    """
    if not _is_long(namespace, subject):
        return address("entity", namespace=namespace, subject=subject, why=why)
    if claim is None and fact is None:
        return None
    return address("entity", claim=claim, fact=None if claim is not None else fact, why=why)


def results(items: Sequence[dict[str, Any]], typed: str, *, more: bool) -> Html:
    """What search found, as a list of links."""
    if not items:
        return tag("p", "Nothing is called ", said(typed, shown_max=40), ".", class_="none")
    rows = [tag("li", result(item), role="none") for item in items]
    rest = tag("li", tag("a", "All that match", href=address("entities", text=typed[:ADDRESS_MAX]),
                         role="option", class_="rest"), role="none")  # fmt: skip
    return tag("ul", *rows, rest if more else None, role="listbox", aria_label="Entities found")


def result(item: dict[str, Any]) -> Html:
    """One subject."""
    return tag(
        "a", said(item["spelled"], shown_max=80),
        tag("span", f"{plain(item['namespace'], shown_max=40)} · {count(item['n_claims'], 'claim')}",
            class_="quiet"),
        href=entity_address(item["namespace"], item["subject"], claim=item.get("claim_id")), role="option",
    )  # fmt: skip


def names(namespace: str, subject: str) -> Html:
    """A subject with the namespace that it is in, where that is not the usual one."""
    if namespace == "default":
        return said(subject)
    return join([said(subject), " ", tag("span", plain(namespace, shown_max=40), class_="quiet")])
