"""Asking whether something is forgotten: a search for words in everything that is kept (docs/forget.md).

Decides nothing about what may be left where; `agents.proving` does. Reads every byte, so one at a time.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from agents.api import queries, shapes
from agents.api.problems import Problem
from agents.api.replying import BEARER, ONCE, json_response, problems, service_of
from agents.proving import Words

router = APIRouter(prefix="/v1", tags=["questions"], dependencies=[BEARER, ONCE])


class ForgottenQuery(queries.Query):
    """The words to look for: at least one."""

    subject: queries.Name = Field(None, max_length=queries.NAME_MAX, description="A subject's name.")
    text: list[Annotated[str, Field(max_length=queries.NAME_MAX)]] | None = Field(
        None, max_length=20, description="Other words: a value, a sentence. In any case."
    )


class Find(shapes.Answer):
    """How often words were found in one place."""

    where: str
    found: int = Field(ge=1)


class Lasting(Find):
    """What an append-only topic still holds."""

    until: str | None = Field(description="When retention has removed the newest; null: without limit.")


class Proof(shapes.Answer):
    """What a search found."""

    clean: bool = Field(description="Nothing is left where nothing may be left.")
    left: list[Find] = Field(description="What is left in tables, compacted topics, dead letters and files.")
    append_only: list[Lasting] = Field(description="What append-only topics hold, and until when.")
    looked_in: dict[str, int] = Field(description="Every place that was searched: records, or bytes.")


@router.get(
    "/forgotten",
    response_model=Proof,
    responses=problems("blank_text", "overloaded", "log_unavailable", "stopping"),
    summary="Whether anything is left of what was forgotten",
)
async def forgotten(request: Request, query: Annotated[ForgottenQuery, Query()]) -> Response:
    """Look for words in all that is kept, and say what append-only topics hold of them, and until when."""
    words = Words(words_of(query.subject, query.text))
    found: dict[str, Any] = await service_of(request).search(words)
    return json_response(found)


def words_of(subject: str | None, text: list[str] | None) -> list[str]:
    """All words of a question, the subject's name among them."""
    return [*([] if subject is None else [subject]), *(text or ())]


def busy() -> Problem:
    """One search reads everything; a second one beside it would only make both slow."""
    return Problem(
        "overloaded", "Another search, or a forget, is under way; ask again.", {"Retry-After": "5"}
    )
