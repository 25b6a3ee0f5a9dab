"""Corrections by REST, command line and MCP: what is refused at once, what is published, what became of it.

A correction is checked by the same code that reads the topic, so what is refused here would have become a
dead letter there. What only the claim can refuse (`state.corrections.REFUSALS`) is told afterwards: by the
dead letter on the embedded log, by the read model elsewhere. Publishes nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, and_, or_, select

from agents.read_model import Folding, ReadModelError, applied_offsets, schema, wishes
from agents.read_model.heard import Name
from agents.read_model.paging import below, same
from agents.read_model.past import claim_then, entering
from state.corrections import REFUSALS, Decision, Forget, Invalidate, Refusal, Relate, Supersede
from state.errors import BadInput, Refused
from state.identity import derive
from state.instants import Instant
from state.names import normalise
from state.observations import Retract
from state.validation import read
from streams.host import Output
from streams.keys import subject_key
from streams.topics import CHANGE_FEED, Topic
from streams.wire import to_json

OPS: Final = ("supersede", "invalidate", "link", "retract", "forget")

Fields = dict[str, Any]
_decode: Final = msgspec.json.Decoder().decode
_decode_decision: Final = msgspec.json.Decoder(Decision).decode


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that can be published: its record, and by what it is found again."""

    correction_id: str
    op: str
    key: bytes | None
    value: bytes


def prepared(connection: Connection, fields: Mapping[str, Any], *, now: Instant) -> Correction:
    """The correction that these fields are, completed from what is known of its target.

    Where `subject` and `predicate` are left out they are those of the fact that `target.id` names; a retract
    without `subject` is about the one that said the observation. Raises Refused, with the code.
    """
    op = fields.get("op")
    if op not in OPS:
        raise Refused("wrong_type", f"op is {str(op)[:40]!r}, expected {', '.join(OPS)}.")
    whole = dict(fields)
    if op == "retract":
        _complete_retract(connection, whole)
    elif op != "forget":
        _complete_decision(connection, whole)
    try:
        value = to_json(whole)
        usable = read(value, recorded_at=now)
    except BadInput as bad:
        raise Refused(bad.code, bad.message) from bad
    except (msgspec.EncodeError, UnicodeEncodeError, TypeError) as error:
        raise Refused("wrong_type", "The correction holds a value that JSON cannot hold.") from error
    assert isinstance(usable, Retract | Supersede | Invalidate | Relate | Forget)
    namespace, subject = usable.namespace, usable.subject
    key = None if namespace is None or subject is None else subject_key(namespace, subject)
    return Correction(correction_id_of(usable), str(op), key, value)


def correction_id_of(usable: Retract | Supersede | Invalidate | Relate | Forget) -> str:
    """By what a correction is found again; that of a retract follows from what it takes back."""
    if not isinstance(usable, Retract):
        return usable.correction_id
    assert usable.namespace is not None
    assert usable.subject is not None
    return derive("retract", usable.namespace, usable.subject, usable.observation_id)


def _complete_decision(connection: Connection, fields: Fields) -> None:
    target = fields.get("target")
    named = target.get("id") if isinstance(target, dict) else None
    if fields.get("subject") is not None or fields.get("predicate") is not None or type(named) is not str:
        return
    facts, claims = schema.facts.c, schema.claims.c
    question = (
        select(claims.namespace, claims.subject, claims.predicate)
        .join(schema.facts, facts.claim_id == claims.claim_id)
        .where(same(facts.fact_id, named))
    )
    row = connection.execute(question).first()
    if row is None:
        raise Refused("unknown_target", f"No fact has the id {named[:64]!r}; name its subject and predicate.")
    fields |= {"namespace": row.namespace, "subject": row.subject, "predicate": row.predicate}


def _complete_retract(connection: Connection, fields: Fields) -> None:
    reason = fields.get("reason")
    if reason is None or (type(reason) is str and not normalise(reason)):
        raise Refused("blank_reason", "A retract needs a reason; say why in a few words.")
    observation_id = fields.get("observation_id")
    if fields.get("subject") is not None:
        if fields.get("namespace") is None:
            fields["namespace"] = "default"
        return
    if type(observation_id) is not str:
        return  # reading it says what is wrong
    evidence, claims = schema.evidence.c, schema.claims.c
    question = (
        select(claims.namespace, claims.subject)
        .join(schema.evidence, evidence.claim_id == claims.claim_id)
        .where(same(evidence.observation_id, observation_id), same(claims.namespace, _text(fields)))
        .distinct()
        .limit(2)
    )
    rows = connection.execute(question).all()
    if not rows:
        raise Refused(
            "unknown_target",
            f"No observation has the id {observation_id[:64]!r}. To take back one that is still to come, "
            "name its subject.",
        )
    if len(rows) > 1:
        raise Refused(
            "missing_field",
            f"Several subjects have an observation {observation_id[:64]!r}: name subject and namespace.",
        )
    fields |= {"namespace": rows[0].namespace, "subject": rows[0].subject}


def _text(fields: Fields) -> str | None:
    namespace = fields.get("namespace")
    return namespace if type(namespace) is str else None


# -- what became of it ------------------------------------------------------------------------


def outcome(correction: Correction, outputs: Sequence[Output]) -> Fields:
    """What a correction did, from all that its transaction put out. Raises Refused where it was not taken."""
    for output in outputs:
        if output.topic is Topic.DEAD_LETTERS:
            letter = _decode(output.value)
            raise Refused(letter["code"], letter["message"])
    events = [_decode(output.value) for output in outputs if output.topic in CHANGE_FEED]
    links = [_decode(output.value) for output in outputs if output.topic is Topic.FACT_LINKS and output.value]
    return told(correction.correction_id, correction.op, events=events, links=links)


def told(correction_id: str, op: str, *, events: list[Fields], links: list[Fields]) -> Fields:
    """The answer to a correction that was taken; events in order of fact and version."""
    events = sorted(events, key=lambda event: (event["fact_id"], event["version"]))
    return {
        "correction_id": correction_id,
        "op": op,
        "outcome": "applied" if events or links else "unchanged",
        "events": events,
        "links": links,
    }


def found(connection: Connection, folding: Folding, correction_id: str) -> Fields | None:
    """What became of a correction, from the read model; None while it is not in there.

    Raises Refused where its claim did not take it, ReadModelError.
    """
    columns = schema.corrections.c
    question = (
        select(schema.corrections)
        .where(
            # The key of a retract begins with its id; other decisions have theirs as what they are about.
            or_(
                and_(columns.op == "retract", below(columns.correction_id, correction_id)),
                and_(columns.op != "retract", same(columns.target, correction_id)),
            )
        )
        .order_by(columns.recorded_at, columns.offset)
        .limit(1)
    )
    row = connection.execute(question).first()
    if row is None:
        return _forgotten(connection, correction_id)
    versions = schema.fact_versions.c
    caused = select(versions.body).where(
        versions.partition == row.partition,
        versions.offset == row.offset,
        versions.claim_id.in_(_claims_of(connection, row.namespace, row.subject)),
    )
    events = [_decode(bytes(body)) for body in connection.execute(caused.order_by(versions.seq)).scalars()]
    if not events and row.op in ("supersede", "invalidate"):
        _refuse_untaken(connection, folding, _decode_decision(bytes(row.body)))
    made = select(schema.links.c.body).where(schema.links.c.recorded_at == row.recorded_at)
    links = [_decode(bytes(body)) for body in connection.execute(made).scalars()]
    mine = [link for link in links if link.get("evidence_id") == correction_id]
    return told(correction_id, row.op, events=events, links=mine)


def _forgotten(connection: Connection, correction_id: str) -> Fields | None:
    """What became of the newest wish to forget with this id: pending until the read model has erased too.

    The events are those that are left of it; of a subject they tell no name.
    """
    found = wishes.newest(connection, correction_id)
    if not found:
        return None
    versions = schema.fact_versions.c
    places = [
        and_(versions.partition == wish.place.partition, versions.offset == wish.place.offset)
        for wish in found
    ]
    bodies = connection.execute(select(versions.body).where(or_(*places)).order_by(versions.seq)).scalars()
    answer = told(correction_id, "forget", events=[_decode(bytes(body)) for body in bodies], links=[])
    is_done = all(wish.is_done for wish in found) and _is_everywhere(connection, found)
    return answer if is_done else {**answer, "outcome": "pending"}


def _is_everywhere(connection: Connection, found: Sequence[wishes.Wish]) -> bool:
    """Whether a wish about a source has been read from every partition in which that may have spoken."""
    scope = found[0].scope
    if scope.source is None or scope.subject is not None:
        return True
    spoken = {p for topic, p in applied_offsets(connection) if topic == Topic.BY_CLAIM}
    return spoken <= {wish.place.partition for wish in found}


def _claims_of(connection: Connection, namespace: str, subject: str) -> list[str]:
    columns = schema.claims.c
    question = select(columns.claim_id).where(columns.namespace == namespace, columns.subject == subject)
    return list(connection.execute(question).scalars())


def _refuse_untaken(connection: Connection, folding: Folding, decision: Decision) -> None:
    """Raise Refused where a decision is no part of what its claim is folded from."""
    assert isinstance(decision, Supersede | Invalidate)
    name = Name(decision.claim, decision.namespace, decision.subject, decision.predicate)
    try:
        read = claim_then(connection, folding, name, known_at=None)
    except ReadModelError:
        return
    answer = entering(read, decision)
    if any(
        s.observation_id == decision.correction_id and s.content_hash == decision.content_hash
        for s in read.statements
    ):
        return
    code = answer.code if isinstance(answer, Refusal) else "unknown_target"
    raise Refused(code, REFUSALS[code])
