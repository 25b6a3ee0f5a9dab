"""Drives `factdrift serve` as a process, and asks it over HTTP as any program would."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.parts.processes import Process, start_process

START_S = 120  # a machine that runs much else
ROOT = Path(__file__).resolve().parents[2]


class Served:
    """A service on a folder, and a client of it."""

    def __init__(self, folder: Path, *options: str, command: str = "serve", **environment: str) -> None:
        self.folder = folder
        self._command = [
            sys.executable, "-m", "agents.main", command, "--data", str(folder), "--port", "0", *options
        ]  # fmt: skip
        self._environment = environment
        self.start()

    def start(self) -> None:
        """Start it, on the same folder as before."""
        self.process: Process = start_process(
            self._command,
            name="factdrift serve",
            log=self.folder.with_suffix(".served.log"),
            environment=self._environment,
            folder=ROOT,
        )
        self.url = self.process.wait_for_line(r"factdrift listens on (http://\S+)", START_S)[1]
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def kill(self) -> None:
        """As the power would."""
        self.process.kill()
        self.client.close()

    def end(self) -> None:
        """Stop it if it runs."""
        self.client.close()
        self.process.terminate()

    # -- speaking ---------------------------------------------------------------------------

    def get(self, path: str, **query: Any) -> Any:
        """The answer to a question, which must be one."""
        response = self.client.get(path, params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def refused(self, path: str, **query: Any) -> tuple[int, str]:
        """Status and code of a question that is refused."""
        response = self.client.get(path, params=query)
        return problem(response)

    def publish(self, *lines: Mapping[str, Any]) -> httpx.Response:
        """Observations, one on each line."""
        return self.client.post(
            "/v1/observations", content=ndjson(lines), headers={"Content-Type": "application/x-ndjson"}
        )

    def learn(self, *lines: Mapping[str, Any]) -> None:
        """Observations that are all accepted."""
        response = self.publish(*lines)
        assert response.status_code == 200, response.text

    def correct(self, **fields: Any) -> httpx.Response:
        """A correction."""
        return self.client.post("/v1/corrections", json=fields)


def ndjson(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Lines as a body."""
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def problem(response: httpx.Response) -> tuple[int, str]:
    """Status and code of a problem document, which must be well formed."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"/v1/problems#{body['code']}"
    assert body["title"]
    assert body["detail"]
    return response.status_code, body["code"]


def said(subject: str, value: object, at: str, **fields: Any) -> dict[str, Any]:
    """`subject lives in value`, observed at an instant of the past."""
    return {"subject": subject, "predicate": "lives in", "object": value, "observed_at": at, **fields}
