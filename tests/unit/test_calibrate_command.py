"""`factdrift calibrate`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from agents.calibrating import measure
from agents.calibration_plot import shares, svg, terminal
from agents.main import app
from state.pairs import BadPairs, packaged
from streams.settings import BadSetting
from streams.vectors import THRESHOLD
from streams.vectors import packaged as packaged_vectors
from tests.parts.embeddings import serving

run = CliRunner()
FEW = """
[wording]
same = [["adoption agency", "adoption agencies"], ["a dog", "the dog"]]
different = [["foster care", "adoption agency"], ["likes tea", "dislikes tea"]]
"""


@pytest.fixture
def few(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.toml"
    file.write_text(FEW, "utf-8")
    return file


def test_the_packaged_model_is_measured_on_the_packaged_pairs() -> None:
    done = run.invoke(app, ["calibrate", "--json", "--target-false-merge", "0.05"])

    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["pairs"] == len(packaged())
    assert report["threshold"] == THRESHOLD
    assert 0 < report["proposed_threshold"] <= 1


def test_pairs_of_ones_own_and_a_plot(few: Path, tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"

    done = run.invoke(app, ["calibrate", "--pairs", str(few), "--plot", str(plot), "--json"])

    assert done.exit_code == 0, done.output
    (_, whole) = json.loads(done.stdout)["at"][0]["kinds"]
    assert (whole["same"], whole["joined"], whole["different"], whole["false_merges"]) == (2, 2, 2, 0)
    assert whole["without_guards"]["false_merges"] in (0, 1)
    assert ElementTree.fromstring(plot.read_text("utf-8")).tag.endswith("svg")


def test_a_person_reads_tables_a_plot_and_a_proposal(few: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.cli.calibrate.for_programs", lambda _json: False)

    done = run.invoke(app, ["calibrate", "--pairs", str(few)])

    assert done.exit_code == 0, done.output
    assert "wording" in done.output
    assert "← set today" in done.output
    assert "Proposed: FACTDRIFT_VECTORS_THRESHOLD=" in done.output


def test_an_endpoint_is_measured_before_it_has_a_threshold(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        monkeypatch.setenv("FACTDRIFT_VECTORS_URL", server.url)
        monkeypatch.setenv("FACTDRIFT_VECTORS_DIMENSION", "256")
        done = run.invoke(app, ["calibrate", "--model", "openai:mine", "--pairs", str(few), "--json"])

    report = json.loads(done.stdout)
    assert report["model"] == "mine@served/256/served"
    assert report["threshold"] is None
    assert report["proposed_threshold"] is not None


def test_the_threshold_of_today_is_not_that_of_another_model(
    few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTDRIFT_VECTORS", "openai")
    monkeypatch.setenv("FACTDRIFT_VECTORS_THRESHOLD", "0.3")

    done = run.invoke(app, ["calibrate", "--model", "packaged", "--pairs", str(few), "--json"])

    assert json.loads(done.stdout)["threshold"] == THRESHOLD


def test_where_no_threshold_reaches_the_target_it_says_so(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"kind": "k", "a": "Tea", "b": "tea", "same": false}', "utf-8")

    done = run.invoke(app, ["calibrate", "--pairs", str(file), "--json"])

    assert done.exit_code == 4
    assert json.loads(done.stdout)["proposed_threshold"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "word2vec"], "no source 'word2vec'"),
        (["--target-false-merge", "2"], "less than or equal to 1"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], told: str) -> None:
    done = run.invoke(app, ["calibrate", *arguments])

    assert done.exit_code == 2
    assert told in re.sub(r"\s+", " ", done.output)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    only_same = tmp_path / "same.toml"
    only_same.write_text('[k]\nsame = [["a", "b"]]', "utf-8")

    missing = run.invoke(app, ["calibrate", "--pairs", str(tmp_path / "none.toml")])
    one_sided = run.invoke(app, ["calibrate", "--pairs", str(only_same)])

    assert isinstance(missing.exception, BadPairs)
    assert isinstance(one_sided.exception, BadPairs)
    assert '"same": false' in str(one_sided.exception)


def test_without_a_dimension_an_endpoint_is_not_measured() -> None:
    done = run.invoke(app, ["calibrate", "--model", "openai:mine"])

    assert isinstance(done.exception, BadSetting)


def test_the_plot_falls_as_the_threshold_rises_and_marks_both_thresholds() -> None:
    measured = measure(packaged_vectors(), packaged(), false_max=0.05, threshold=THRESHOLD)

    lines = list(terminal(measured))
    curve = [shares(measured.scores, n / 100) for n in range(40, 101)]

    assert curve == sorted(curve, reverse=True)
    assert sum("← set today" in line for line in lines) == sum("← proposed" in line for line in lines) == 1
    assert ElementTree.fromstring(svg(measured)) is not None
