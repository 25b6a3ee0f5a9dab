"""A hook of mkdocs: pages of the repository that lie outside docs/ join the site, and links lead to them.

One text has one place: the README is the site's first page, and the changelog and the READMEs of folders are
pages of it. Nothing is copied into docs/. A link to a file that is no page (a module) shows as its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).parents[1]
GUESTS = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "examples/README.md": "examples/README.md",
    "benchmarks/README.md": "benchmarks/how.md",
    "tests/README.md": "tests/README.md",
}
"""By the path within the repository: where each lies within the site."""

_CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<link>[^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the guests to the files of the site."""
    for path, place in GUESTS.items():
        files.append(File.generated(config, place, abs_src_path=str(REPOSITORY / path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    """Write the links of a page as they are within the site."""
    place = page.file.src_uri
    home = next((path for path, at in GUESTS.items() if at == place), f"docs/{place}")

    def rewritten(found: re.Match[str]) -> str:
        link, _, anchor = found["link"].partition("#")
        if not link or re.match(r"[a-z]+:", found["link"]):
            return found[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(home), link))
        within = _within(target, files)
        if within is None:
            # Another file of the repository is shown by name; what is not there at all mkdocs shall report.
            return found["text"] if (REPOSITORY / target).exists() else found[0]
        there = posixpath.relpath(within, posixpath.dirname(place) or ".")
        return f"[{found['text']}]({there}{'#' + anchor if anchor else ''})"

    parts = _CODE.split(markdown)
    return "".join(part if i % 2 else _LINK.sub(rewritten, part) for i, part in enumerate(parts))


def _within(target: str, files: Files) -> str | None:
    """Where a path of the repository lies within the site; None where it does not."""
    if target in GUESTS:
        return GUESTS[target]
    if target.startswith("docs/"):
        inside = target.removeprefix("docs/")
        for found in (inside, f"{inside}/index.md"):
            if files.get_file_from_path(found) is not None:
                return found
    return None
