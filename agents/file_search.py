"""Looking for words in the bytes of files, in a process of its own.

Whoever closes a file gives up all locks that its process holds on it, also those by which SQLite keeps other
processes from an open database (https://www.sqlite.org/howtocorrupt.html, section 2.2). So files that may be
databases in use are read by a child, which holds none. The words go there by a pipe: a command line can be
seen by everybody.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from state.errors import FactdriftError

_BLOCK: Final = 1 << 20


class SearchFailed(FactdriftError):
    """The process that reads the files came to no end."""


def search(folder: Path, forms: Sequence[bytes]) -> list[tuple[str, int, bool]]:
    """Every file below a folder, in order: its path from there, its size, whether it holds one of the forms.

    Forms are in lower case, as `bytes.lower` makes it. Raises SearchFailed.
    """
    asked = json.dumps({"folder": str(folder), "forms": [form.hex() for form in forms]})
    done = subprocess.run(
        [sys.executable, "-m", "agents.file_search"],
        input=asked.encode(), capture_output=True, check=False, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise SearchFailed(f"The files in {folder} cannot be searched: {''.join(last)}")
    return [(path, size, found) for path, size, found in json.loads(done.stdout)]


def _answer(asked: bytes) -> list[tuple[str, int, bool]]:
    question = json.loads(asked)
    folder, forms = Path(question["folder"]), [bytes.fromhex(form) for form in question["forms"]]
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file():
                found.append((str(path.relative_to(folder)), path.stat().st_size, _holds(path, forms)))
        except FileNotFoundError:
            continue  # deleted since it was listed, as files of a log are
    return found


def _holds(path: Path, forms: Sequence[bytes]) -> bool:
    """Whether any of the forms is in a file, read in pieces that overlap."""
    longest = max(map(len, forms))
    rest = b""
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            piece = rest + block.lower()
            if any(form in piece for form in forms):
                return True
            rest = piece[-longest:]
    return False


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(sys.stdin.buffer.read())))
