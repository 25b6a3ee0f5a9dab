"""The routes that answer questions. Each is one call of `agents.answers` or `agents.listings`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from agents import answers, listings
from agents.api import explanations, queries, shapes
from agents.api.problems import Problem
from agents.api.replying import BEARER, ONCE, ask, json_response, problems, tagged
from streams.events import Cycle

router = APIRouter(prefix="/v1", tags=["questions"], dependencies=[BEARER, ONCE])

_PAGES = ("bad_limit", "bad_cursor", "bad_instant")
Tag = Annotated[str | None, Header(alias="If-None-Match", description="The tag of an answer at hand.")]
Id = Annotated[str, Path(min_length=1, max_length=200)]


def _named(query: Any) -> dict[str, Any]:
    found: dict[str, Any] = query.model_dump()
    return found


@router.get(
    "/facts",
    response_model=shapes.FactPage,
    responses=problems(*_PAGES, "bad_interval", "too_much_evidence"),
    summary="What is believed, or was, about what is true, or was",
)
async def facts(request: Request, query: Annotated[queries.FactsQuery, Query()]) -> Response:
    """Facts by names, value, state and time. With `known_at` what was believed then, derived again."""
    return json_response(await ask(request, lambda asked: answers.facts(asked, **_named(query))))


@router.get(
    "/facts/{fact_id}",
    response_model=shapes.FactRead,
    responses=problems("no_such_fact", "bad_instant", "too_much_evidence", tags=True),
    summary="One fact",
)
async def fact(
    request: Request, fact_id: Id, query: Annotated[queries.FactQuery, Query()], if_none_match: Tag = None
) -> Response:
    """A fact by its id, with a tag."""
    return tagged(request, await ask(request, lambda asked: answers.fact(asked, fact_id, **_named(query))))


@router.get(
    "/facts/{fact_id}/history",
    response_model=shapes.VersionPage,
    responses=problems("no_such_fact", *_PAGES),
    summary="Every version of a fact, as published",
)
async def fact_history(
    request: Request, fact_id: Id, query: Annotated[queries.KnownPaged, Query()]
) -> Response:
    """The events of one fact, oldest first."""
    return json_response(
        await ask(request, lambda asked: answers.history(asked, fact_id=fact_id, **_named(query)))
    )


@router.get(
    "/facts/{fact_id}/evidence",
    response_model=shapes.FactEvidence,
    responses=problems("no_such_fact", "bad_limit", "bad_instant", "too_much_evidence"),
    summary="The statements for and against a fact",
)
async def fact_evidence(
    request: Request, fact_id: Id, query: Annotated[queries.FactEvidenceQuery, Query()]
) -> Response:
    """The newest statements of each role, and how many there are."""
    return json_response(
        await ask(request, lambda asked: answers.fact_evidence(asked, fact_id, **_named(query)))
    )


@router.get(
    "/history",
    response_model=shapes.VersionPage,
    responses=problems(*_PAGES),
    summary="Every version of the facts about a subject",
)
async def history(request: Request, query: Annotated[queries.HistoryQuery, Query()]) -> Response:
    """The events of one claim after the other."""
    return json_response(await ask(request, lambda asked: answers.history(asked, **_named(query))))


@router.get(
    "/why",
    response_model=explanations.Explanation,
    responses=problems("no_such_claim", "bad_instant", "bad_interval", "too_much_evidence"),
    summary="Why facts are what they are",
)
async def why(request: Request, query: Annotated[queries.WhyQuery, Query()]) -> Response:
    """What opened and ended each fact of a claim, who is for it and who is not."""
    return json_response(await ask(request, lambda asked: answers.why(asked, **_named(query))))


@router.get(
    "/why-not",
    response_model=explanations.Explanation,
    responses=problems("no_such_claim", "bad_instant", "bad_interval", "too_much_evidence"),
    summary="Why a value is no fact",
)
async def why_not(request: Request, query: Annotated[queries.WhyNotQuery, Query()]) -> Response:
    """As `why`, with what became of one value, in `value`."""
    return json_response(await ask(request, lambda asked: answers.why(asked, **_named(query))))


@router.get(
    "/subjects",
    response_model=shapes.SubjectPage,
    responses=problems("bad_limit", "bad_cursor"),
    summary="Subjects, as someone types",
)
async def subjects(request: Request, query: Annotated[queries.SubjectsQuery, Query()]) -> Response:
    """Those that begin with the text first, then those that hold it."""
    return json_response(await ask(request, lambda asked: listings.subjects(asked, **_named(query))))


@router.get(
    "/claims",
    response_model=shapes.ClaimPage,
    responses=problems(*_PAGES),
    summary="Claims by name",
)
async def claims(request: Request, query: Annotated[queries.ClaimsQuery, Query()]) -> Response:
    """Claims, in order of namespace, subject and predicate."""
    return json_response(await ask(request, lambda asked: listings.claims(asked, **_named(query))))


@router.get(
    "/claims/{claim_id}",
    response_model=shapes.Claim,
    responses=problems("no_such_claim", "bad_instant", tags=True),
    summary="One claim",
)
async def claim(
    request: Request, claim_id: Id, query: Annotated[queries.KnownQuery, Query()], if_none_match: Tag = None
) -> Response:
    """A claim by its id, with a tag."""
    return tagged(request, await ask(request, lambda asked: listings.claim(asked, claim_id, **_named(query))))


@router.get(
    "/claims/{claim_id}/evidence",
    response_model=shapes.EvidencePage,
    responses=problems("no_such_claim", *_PAGES),
    summary="Every statement of a claim",
)
async def evidence(request: Request, claim_id: Id, query: Annotated[queries.KnownPaged, Query()]) -> Response:
    """Counting or not, in the order in which the log learnt them."""
    return json_response(await ask(request, lambda asked: answers.evidence(asked, claim_id, **_named(query))))


@router.get(
    "/claims/{claim_id}/history",
    response_model=shapes.VersionPage,
    responses=problems("no_such_claim", *_PAGES),
    summary="Every version of the facts of a claim",
)
async def claim_history(
    request: Request, claim_id: Id, query: Annotated[queries.KnownPaged, Query()]
) -> Response:
    """The events of a claim, in the order of what caused them."""
    return json_response(
        await ask(request, lambda asked: answers.history(asked, claim_id=claim_id, **_named(query)))
    )


@router.get(
    "/links",
    response_model=shapes.LinkPage,
    responses=problems("no_such_claim", *_PAGES),
    summary="Links between assertions",
)
async def links(request: Request, query: Annotated[queries.LinksQuery, Query()]) -> Response:
    """Links as they were published, newest first."""
    return json_response(await ask(request, lambda asked: listings.links(asked, **_named(query))))


@router.get(
    "/assertions",
    response_model=shapes.Assertions,
    responses=problems("no_such_claim", "bad_instant", "too_much_evidence"),
    summary="Who says what, and what that is at an instant",
)
async def assertions(request: Request, query: Annotated[queries.AssertionsQuery, Query()]) -> Response:
    """The assertions of a claim at two clocks, with their disputes."""
    return json_response(await ask(request, lambda asked: listings.assertions(asked, **_named(query))))


@router.get(
    "/unstable",
    response_model=shapes.Unstable,
    responses=problems("bad_limit"),
    summary="Whose facts keep being retired",
)
async def unstable(request: Request, query: Annotated[queries.UnstableQuery, Query()]) -> Response:
    """Of these names, in any spelling, or of all."""
    return json_response(await ask(request, lambda asked: listings.unstable(asked, **_named(query))))


@router.get(
    "/drift-alerts",
    response_model=shapes.DriftPage,
    responses=problems(*_PAGES),
    summary="Who became unstable, and who came to rest",
)
async def drift_alerts(request: Request, query: Annotated[queries.DriftQuery, Query()]) -> Response:
    """Alerts, newest first."""
    return json_response(await ask(request, lambda asked: listings.drift_alerts(asked, **_named(query))))


@router.get(
    "/cycles", response_model=shapes.CyclePage, responses=problems(*_PAGES), summary="Audit records of cycles"
)
async def cycles(request: Request, query: Annotated[queries.KnownPaged, Query()]) -> Response:
    """Newest first."""
    return json_response(await ask(request, lambda asked: listings.cycles(asked, **_named(query))))


@router.get(
    "/cycles/{number}",
    response_model=Cycle,
    responses=problems("no_such_cycle", tags=True),
    summary="The audit record of one cycle",
)
async def cycle(
    request: Request, number: Annotated[int, Path(ge=1, lt=2**63)], if_none_match: Tag = None
) -> Response:
    """One cycle by its number, with a tag."""
    found = await ask(request, lambda asked: listings.cycle(asked, number))
    if found is None:
        raise Problem("no_such_cycle", f"Cycle {number} was not closed.")
    return tagged(request, found)


@router.get(
    "/rules", response_model=shapes.RulePage, responses=problems(*_PAGES), summary="Rules and their worth"
)
async def rules(request: Request, query: Annotated[queries.RulesQuery, Query()]) -> Response:
    """The newest event of every rule."""
    return json_response(await ask(request, lambda asked: listings.rules(asked, **_named(query))))


@router.get(
    "/rule-events",
    response_model=shapes.RulePage,
    responses=problems(*_PAGES),
    summary="Every step in the life of rules",
)
async def rule_events(request: Request, query: Annotated[queries.RuleEventsQuery, Query()]) -> Response:
    """Newest first."""
    return json_response(await ask(request, lambda asked: listings.rule_events(asked, **_named(query))))
