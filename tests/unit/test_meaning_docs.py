"""The table of docs/meaning.md says what is measured; its MiniLM half is held to it in tests/models."""

from __future__ import annotations

from pathlib import Path

from agents.calibrating import Measured, measure
from state.pairs import packaged
from streams.vectors import THRESHOLD
from streams.vectors import packaged as packaged_vectors

PAGE = Path(__file__).parents[2] / "docs" / "meaning.md"
PACKAGED, MINILM = slice(2, 6), slice(6, 10)


def told(columns: slice) -> dict[str, list[str]]:
    """By kind: recall, precision, false merges, and false merges without guards, as the page has them."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line[:1] == "|"]
    return {row[0].replace(" ", "_"): row[columns] for row in rows if len(row) == 10 and row[1][:1].isdigit()}


def found(measured: Measured, threshold: float) -> dict[str, list[str]]:
    """The same as measured."""
    return {
        ours.kind: [_percent(ours.recall), _percent(ours.precision), str(ours.n_false), str(bare.n_false)]
        for ours, bare in measured.rows(threshold)
    }


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def test_the_page_tells_of_the_packaged_vectors_what_is_measured() -> None:
    measured = measure(packaged_vectors(), packaged(), false_max=0.01, threshold=THRESHOLD)

    assert told(PACKAGED)
    assert told(PACKAGED) == found(measured, THRESHOLD)
    assert f"{len(packaged())} pairs of objects in 13 kinds" in PAGE.read_text("utf-8")


def test_the_page_has_the_counts_of_the_pairs() -> None:
    counted = {
        one.kind: f"{one.n_same} / {one.n_different}"
        for one, _ in measure(packaged_vectors(), packaged(), false_max=0.01, threshold=THRESHOLD).rows(
            THRESHOLD
        )
    }

    assert {kind: cells[0] for kind, cells in told(slice(1, 2)).items()} == counted
