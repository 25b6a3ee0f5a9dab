"""A short crash matrix: a few cases with one seed. All of it: `make crash-matrix` (docs/kafka-crashes.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_matrix.cases import BY_NAME, CASES, SHORT
from tests.crash_matrix.run import Run
from tests.parts.kafka import KafkaBroker

pytestmark = [pytest.mark.broker, pytest.mark.long]
SEED = 1
PAGE = Path(__file__).resolve().parents[2] / "docs" / "kafka-crashes.md"


@pytest.mark.parametrize("name", SHORT)
def test_nothing_is_lost_or_doubled_whatever_goes_wrong(
    broker: KafkaBroker, tmp_path: Path, name: str
) -> None:
    result = Run(broker, BY_NAME[name], SEED, tmp_path).run()

    again = f"make crash-matrix SEED={SEED} CASE={name}"
    assert not result.broken, "\n".join([*result.broken, again])
    assert result.n_facts > 0
    assert (result.n_lost, result.n_doubled) == (0, 0)


def test_the_page_states_the_outcome_of_every_case() -> None:
    text = PAGE.read_text()

    for case in CASES:
        assert f"| `{case.name}` | {case.outcome} |" in text, case.name
