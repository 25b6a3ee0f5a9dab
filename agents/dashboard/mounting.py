"""Putting the pages into the application of the API: their addresses, and what NiceGUI needs to know.

To be done once in a process, since NiceGUI has one application for all. Who may enter is decided before
(`agents.dashboard.gate`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Final

import structlog
from fastapi import FastAPI, Request
from nicegui import app as pages
from nicegui import ui

from agents.api.metrics import Metrics
from agents.api.service import Service
from agents.dashboard import (
    cycles_page,
    drift_page,
    entities_page,
    entity_page,
    health_page,
    queue_page,
    rules_page,
)
from agents.dashboard.frame import Frame
from agents.dashboard.markup import ROOT
from agents.dashboard.questions import Questions
from agents.dashboard.regions import told
from state.errors import FactdriftError

log = structlog.get_logger()

Build = Callable[[Questions, Frame, Mapping[str, str]], Awaitable[None]]
"""Builds a page into the frame that was made before; it is given what its address asks for."""
BUILD_S: Final = 30.0
"""How long a page may take to be built: a question about a large claim's past takes some seconds."""
RECONNECT_S: Final = 20.0
"""How long a page that lost its connection may come back to what it was."""


def mount(app: FastAPI, service: Service, metrics: Metrics, *, with_token: bool) -> None:
    """Add the pages to an application."""
    questions = Questions(service, metrics)
    for path, title, build in _PAGES:
        _add(path, title, build, questions, with_token=with_token)
    folder = resources.files("agents.dashboard").joinpath("static")
    pages.add_static_files("/static", str(folder))
    ui.add_head_html(
        f'<link rel="stylesheet" href="{ROOT}/static/style.css">'
        f'<script src="{ROOT}/static/page.js"></script>',
        shared=True,
    )
    ui.run_with(
        app,
        mount_path=ROOT,
        title="factdrift",
        favicon=_FAVICON,
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )


def _add(path: str, title: str, build: Build, questions: Questions, *, with_token: bool) -> None:
    async def shown(request: Request) -> None:
        frame = Frame(questions, path, title, with_token=with_token)
        try:
            await build(questions, frame, dict(request.query_params))
        except FactdriftError as error:
            frame.notice(told(error), bad=True)
        except Exception:
            log.exception("a page of the dashboard was not built", page=title)
            frame.notice("A fault of ours; the log of the service says which.", bad=True)

    ui.page(f"/{path}", response_timeout=BUILD_S)(shown)


_PAGES: Final[tuple[tuple[str, str, Build], ...]] = (
    ("", "Drift", drift_page.page),
    ("entities", "Entities", entities_page.page),
    ("entity", "Entity", entity_page.page),
    ("queue", "Work queue", queue_page.page),
    ("cycles", "Cycles", cycles_page.page),
    ("rules", "Rules", rules_page.page),
    ("health", "Health", health_page.page),
)
_FAVICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect x="1" y="3" width="9" height="4" rx="2" fill="#0d7377"/>'
    '<rect x="6" y="9" width="9" height="4" rx="2" fill="#5fb3b3"/></svg>'
)
