"""Who may see the dashboard: the tokens of the API, a cookie that keeps one, and no other site."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.served import Served, said
from tests.dashboard.browsing import Visitor
from tests.parts.browser import Chromium

TOKEN = "a-token-of-some-length"
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that asks for a token."""
    found = Served(tmp_path_factory.mktemp("guarded") / "log", FACTDRIFT_API_TOKENS=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told = found.client.post(
        "/v1/observations", json=said("Secret Sam", "Oslo", "2024-01-01"), headers=headers
    )
    assert told.is_success
    yield found
    found.end()


@pytest.fixture
def guest(chromium: Chromium, guarded: Served) -> Iterator[Visitor]:
    """Somebody in front of the login."""
    with chromium.page() as watched:
        yield Visitor(watched, guarded.url)


def log_in(guest: Visitor, token: str) -> None:
    guest.page.get_by_label("Token").fill(token)
    guest.page.get_by_role("button", name="Log in").click()


def test_without_a_token_a_page_leads_to_the_login_and_nowhere_else(guarded: Served) -> None:
    for path in ("", "entity?subject=Secret+Sam", "queue", "static/style.css", "_nicegui/x"):
        answer = guarded.client.get(f"/dashboard/{path}", headers=HTML)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/dashboard/login?next=")
        assert "Secret Sam" not in answer.text
        assert guarded.client.get(f"/dashboard/{path}").status_code == 401
    assert guarded.client.post("/dashboard/", headers=HTML).status_code == 401


def test_a_token_is_asked_for_once_and_kept(guest: Visitor) -> None:
    guest.page.goto(f"{guest.url}/dashboard/entity?subject=Secret+Sam")
    assert "Secret Sam" not in guest.page.content()

    log_in(guest, TOKEN)

    guest.page.wait_for_url("**/dashboard/entity?subject=Secret+Sam")
    guest.see("Secret Sam")
    guest.visit("entities")
    guest.see("Secret Sam")
    (cookie,) = guest.page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/dashboard")


def test_a_wrong_token_is_refused_and_the_right_one_still_taken(guest: Visitor) -> None:
    guest.page.goto(f"{guest.url}/dashboard/queue")

    log_in(guest, "a-token-of-the-wrong-kind")
    guest.see("This token is not known here.")
    assert guest.page.context.cookies() == []

    log_in(guest, TOKEN)
    guest.page.wait_for_url("**/dashboard/queue")


def test_whoever_logs_out_is_out(guest: Visitor) -> None:
    guest.page.goto(f"{guest.url}/dashboard/")
    log_in(guest, TOKEN)
    guest.page.wait_for_selector("h1")

    guest.page.get_by_role("button", name="Log out").click()

    guest.page.wait_for_url("**/dashboard/login")
    guest.page.goto(f"{guest.url}/dashboard/entities")
    assert guest.page.url.startswith(f"{guest.url}/dashboard/login")


def test_the_cookie_opens_the_dashboard_and_not_the_api(guarded: Served) -> None:
    kept = {"Cookie": f"factdrift_token={base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip('=')}"}

    assert guarded.client.get("/dashboard/", headers={**kept, **HTML}).status_code == 200
    assert guarded.client.get("/v1/facts", headers=kept).status_code == 401
    for forged in ("x", "=", "%00", base64.urlsafe_b64encode(b"another-token-of-length").decode()):
        answer = guarded.client.get("/dashboard/", headers={"Cookie": f"factdrift_token={forged}", **HTML})
        assert answer.status_code == 303, forged


def test_after_the_login_nobody_is_led_elsewhere(guarded: Served) -> None:
    for wanted in (
        "https://evil.example/", "//evil.example", "/\\evil.example", "/dashboard/\\evil", "/v1/facts",
        "javascript:alert(1)", "/dashboard/x\r\nSet-Cookie: a=b", "",
    ):  # fmt: skip
        answer = guarded.client.post("/dashboard/login", data={"token": TOKEN, "next": wanted})
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/"), wanted
        shown = guarded.client.get("/dashboard/login", params={"next": wanted}).text
        assert "evil" not in shown


def test_guesses_are_slowed_down(tmp_path: Path) -> None:
    served = Served(tmp_path / "log", FACTDRIFT_API_TOKENS=TOKEN)
    try:
        codes = [
            served.client.post("/dashboard/login", data={"token": f"guess number {number}"}).status_code
            for number in range(12)
        ]
        assert codes[:10] == [401] * 10
        assert 429 in codes[10:]
    finally:
        served.end()


def upgrade(url: str, path: str, **headers: str) -> int:
    """The status with which a web socket is answered."""
    where = httpx.URL(url)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {headers.pop('host', f'{where.host}:{where.port}')}",
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
        *[f"{name}: {value}" for name, value in headers.items()],
    ]  # fmt: skip
    with socket.create_connection((where.host, where.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(connection.recv(65_536).split(b" ", 2)[1])


SOCKET = "/dashboard/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def test_a_web_socket_is_opened_to_our_own_page_only(world: Served, guarded: Served) -> None:
    assert upgrade(world.url, SOCKET, Origin=world.url) == 101
    assert upgrade(world.url, SOCKET, Origin="https://evil.example") == 403
    assert upgrade(world.url, SOCKET) == 403  # a browser always says where it comes from
    assert upgrade(world.url, SOCKET, host="evil.example", Origin="http://evil.example") == 403
    assert upgrade(guarded.url, SOCKET, Origin=guarded.url) == 403  # without a token
    assert upgrade(world.url, "/v1/changes", Origin=world.url) == 403  # the API speaks none


def test_a_page_of_another_site_may_not_ask(world: Served) -> None:
    there = {"Origin": "https://evil.example"}
    polled = "/dashboard/_nicegui_ws/socket.io/?EIO=4&transport=polling"

    assert world.client.get(polled, headers=there).status_code == 403
    assert world.client.post(polled, headers=there, content=b"40").status_code == 403
    assert world.client.get("/dashboard/", headers={"Host": "evil.example"}).status_code == 421
    assert world.client.get("/dashboard/", headers={**HTML, "X": "a" * 70_000}).status_code in (421, 431)


def test_a_page_loads_nothing_from_elsewhere_and_is_framed_by_nobody(world: Served) -> None:
    answer = world.client.get("/dashboard/", headers=HTML)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-cache"
