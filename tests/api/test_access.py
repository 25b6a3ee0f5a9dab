"""Who may ask and how much: tokens, names, addresses, rates, sizes, slow and broken clients."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.api.served import ROOT, Served, problem, said

TOKEN, OTHER = "a-token-of-some-length", "another-token-of-length"
Serve = Callable[..., Served]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def raw(served: Served, *parts: bytes, wait_s: float = 60) -> bytes:
    """What a server answers to bytes as they are, until it hangs up or has answered."""
    url = httpx.URL(served.url)
    with socket.create_connection((url.host, url.port), timeout=wait_s) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        while b"\r\n\r\n" not in answer and (got := connection.recv(65_536)):
            answer += got
        return answer


def test_with_tokens_only_those_who_have_one_may_ask(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# whom it may concern\n\n{OTHER}\n")
    served = serve("log", "--token-file", str(file), FACTDRIFT_API_TOKENS=f"{TOKEN},")

    for headers, expected in (
        ({}, 401), (bearer("wrong-token-of-length"), 401), (bearer(TOKEN[:-1]), 401),
        (bearer(TOKEN + "x"), 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401), ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer"}, 401),
        (bearer(TOKEN), 200), (bearer(OTHER), 200), ({"authorization": f"bearer {TOKEN}"}, 200),
    ):  # fmt: skip
        for path in ("/v1/facts", "/metrics", "/openapi.json", "/v1/problems"):
            assert served.client.get(path, headers=headers).status_code == expected, (headers, path)
    refused = served.client.post("/v1/observations", json=said("x", "y", "2024"))
    assert problem(refused) == (401, "unauthorised")
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert served.client.get("/healthz").status_code == 200
    assert served.client.get("/readyz").status_code == 200
    # Whoever has a token may come by any name.
    assert served.client.get("/v1/facts", headers={**bearer(TOKEN), "Host": "facts.example"}).is_success


def test_without_a_token_a_page_of_another_name_is_not_answered(served: Served) -> None:
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""):
        assert problem(served.client.get("/v1/facts", headers={"Host": host})) == (421, "wrong_host"), host
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "127.9.9.9", "[::1]:8600"):
        assert served.client.get("/v1/facts", headers={"Host": host}).status_code == 200, host


@pytest.mark.parametrize(
    ("options", "environment", "told"),
    [
        (["--host", "0.0.0.0"], {}, "FACTDRIFT_API_TOKENS"),
        (["--host", "::"], {}, "--token-file"),
        (["--host", "example.invalid"], {}, "could read and change everything"),
        ([], {"FACTDRIFT_API_TOKENS": "short"}, "fewer than 16"),
        ([], {"FACTDRIFT_API_TOKENS": " , "}, "list is empty"),
        (["--token-file", "/nowhere"], {}, "cannot be read"),
    ],
)
def test_an_unsafe_address_or_token_is_refused_before_anything_is_opened(
    tmp_path: Path, options: list[str], environment: dict[str, str], told: str
) -> None:
    import os

    done = subprocess.run(
        [sys.executable, "-m", "agents.main", "serve", "--data", str(tmp_path / "log"), "--port", "0",
         *options],
        capture_output=True, env={**os.environ, **environment}, cwd=ROOT, check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 3
    assert told in " ".join(done.stderr.decode().split())
    assert not (tmp_path / "log").exists()


def test_a_caller_who_asks_too_often_is_told_when_to_come_back(serve: Serve) -> None:
    served = serve(FACTDRIFT_API_RATE_PER_S="0.01", FACTDRIFT_API_RATE_BURST="3")

    answers = [served.client.get("/v1/facts") for _ in range(5)]

    assert [one.status_code for one in answers] == [200, 200, 200, 429, 429]
    assert problem(answers[-1]) == (429, "too_many_requests")
    assert int(answers[-1].headers["Retry-After"]) >= 1


def test_pages_of_other_origins_may_ask_only_where_a_setting_says_so(serve: Serve, served: Served) -> None:
    asked = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    open_to = serve(FACTDRIFT_API_CORS_ORIGINS="https://page.example", FACTDRIFT_API_TOKENS=TOKEN)

    closed = served.client.options("/v1/observations", headers=asked)
    opened = open_to.client.options("/v1/observations", headers=asked)
    elsewhere = open_to.client.options(
        "/v1/observations", headers={**asked, "Origin": "https://evil.example"}
    )

    assert "access-control-allow-origin" not in closed.headers
    assert opened.headers["access-control-allow-origin"] == "https://page.example"
    assert "access-control-allow-origin" not in elsewhere.headers


def test_a_body_of_ten_megabytes_is_refused_unread_and_the_service_goes_on(served: Served) -> None:
    body = b"x" * (10 * 1024 * 1024)

    def endless() -> object:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    headers = {"Content-Type": "application/json"}
    declared = raw(
        served,
        b"POST /v1/observations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 10485760\r\n\r\n",
    )
    assert declared.startswith(b"HTTP/1.1 413 ")
    try:
        chunked = served.client.post("/v1/observations", content=endless(), headers=headers)  # type: ignore[arg-type]
    except (httpx.WriteError, httpx.ReadError):
        pass  # it hung up while we were still sending, as it may
    else:
        assert problem(chunked) == (413, "body_too_large")
    served.client.close()
    served.client = httpx.Client(base_url=served.url, timeout=60)
    assert served.client.get("/v1/facts").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(serve: Serve) -> None:
    served = serve(FACTDRIFT_API_BODY_TIMEOUT_S="0.5")

    answer = raw(
        served,
        b"POST /v1/observations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    )

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert served.client.get("/v1/facts").status_code == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /v1/facts HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /v1/facts HTTP/1.1\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/facts/%2e%2e%2f%2e%2e HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/facts/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/observations HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/facts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_request_is_refused_and_harms_nobody(served: Served, request_: bytes) -> None:
    answer = raw(served, request_)

    assert answer.startswith(b"HTTP/1.1 4"), answer[:80]
    assert served.client.get("/healthz").status_code == 200
