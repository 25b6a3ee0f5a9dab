"""What a rule is about: conditions that facts of one subject meet together.

Decides whether a fact meets a condition. Names are compared in their normal form, objects by the cluster of
their form, so a condition on "5 kg" is met by "5000 g", and one on a text by its paraphrases. Which facts are
looked at, and when, is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from state.errors import BadInput
from state.names import normalise, normalise_predicate
from state.objects import type_object
from state.statements import Spelling

CONDITIONS_MAX: Final = 8  # a conjunction of more is looked for in every fact of a subject


class Condition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a fact must be like. `subject` and `predicate` are normal forms, `form` is the object's.

    None stands for any. `object` is the spelling, for people.
    """

    subject: str | None = None
    predicate: str | None = None
    form: str | None = None
    object: Spelling | None = None


class Seen(msgspec.Struct, frozen=True):
    """A fact as conditions see it. `cluster` gives the cluster of a form within the fact's claim."""

    subject: str
    predicate: str
    form: str
    cluster: Callable[[str], str]


def condition(
    subject: str | None, predicate: str | None, value: Spelling | None, *, where: str = ""
) -> Condition:
    """The condition on these spellings; None stands for any. Raises BadInput where it says nothing."""
    normal_subject = None if subject is None else normalise(subject)
    normal_predicate = None if predicate is None else normalise_predicate(predicate)
    for name, normal in (("subject", normal_subject), ("predicate", normal_predicate)):
        if normal == "":
            raise BadInput(f"blank_{name}", f"{where}{name} holds no letter, digit or symbol.")
    if subject is predicate is value is None:
        raise BadInput("blank_condition", f"{where or 'A condition '}names no subject, predicate or object.")
    return Condition(
        subject=normal_subject,
        predicate=normal_predicate,
        form=None if value is None else type_object(value).key,
        object=value,
    )


def parse(text: str) -> Condition:
    """The condition written as `SUBJECT / PREDICATE = OBJECT`; each part may be left out, or be `*`.

    A text without `/` and `=` is a predicate. Raises BadInput where nothing is left.
    """
    before, _, value = text.partition("=")
    subject, _, predicate = before.rpartition("/")
    parts = [None if part.strip() in ("", "*") else part.strip() for part in (subject, predicate, value)]
    return condition(*parts)


def shown(condition: Condition) -> str:
    """The condition as `parse` reads it."""
    text = condition.predicate or "*"
    if condition.subject is not None:
        text = f"{condition.subject} / {text}"
    return text if condition.object is None else f"{text} = {condition.object}"


def checked(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of one rule. Raises BadInput where no subject could ever meet all of them."""
    if len(conditions) > CONDITIONS_MAX:
        raise BadInput(
            "wrong_type", f"when has {len(conditions)} conditions, at most {CONDITIONS_MAX} are allowed."
        )
    subjects = {c.subject for c in conditions if c.subject is not None}
    if len(subjects) > 1:
        raise BadInput(
            "several_subjects",
            f"The conditions of a rule are met by one subject together, these name {len(subjects)}: "
            f"{', '.join(sorted(subjects))}.",
        )
    return tuple(conditions)


def meets(seen: Seen, condition: Condition) -> bool:
    """Whether a fact is as the condition says."""
    if condition.predicate is not None and condition.predicate != seen.predicate:
        return False
    if condition.subject is not None and condition.subject != seen.subject:
        return False
    return condition.form is None or (
        bool(seen.form) and seen.cluster(condition.form) == seen.cluster(seen.form)
    )


def matches(conditions: Sequence[Condition], seen: Seen, beside: Callable[[], Iterable[Seen]]) -> bool:
    """Whether a fact, with the open facts `beside` it of the same subject, meets all the conditions.

    The fact itself must meet one of them. `beside` is asked only where one fact is not enough. A rule
    without conditions is met by nothing.
    """
    own = [condition for condition in conditions if meets(seen, condition)]
    if not own:
        return False
    left = [condition for condition in conditions if condition not in own]
    if not left:
        return True
    facts = list(beside())
    return all(any(meets(fact, condition) for fact in facts) for condition in left)
