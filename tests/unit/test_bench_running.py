"""Running benchmarks one after the other: which are asked for, and what becomes of those that cannot run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import Options, page_speed
from benchmarks.__main__ import tasks_of
from benchmarks.record import Figure, keep, kept, leave_out
from benchmarks.running import STANDARD, Outcome, Task, load, run_one, summarise
from tests.parts import PartMissing

PARTS = {"kafka": ("hot", "cold"), "engine": ("loads", "late"), "answers": ("small", "sealed")}


def benchmark(run: Callable[[Options], list[Figure]]) -> Callable[[str], ModuleType]:
    """How a benchmark is loaded that does this."""
    module = ModuleType("benchmark")
    module.run = run  # type: ignore[attr-defined]
    return lambda _name: module


def outcome(run: Callable[[Options], list[Figure]]) -> Outcome:
    return run_one(Task("some", ("part",)), Options(quick=True), load=benchmark(run), record=False)


# -- what is asked for ----------------------------------------------------------------------


def test_a_part_belongs_to_the_benchmark_that_has_it_and_the_others_run_whole() -> None:
    assert tasks_of(["kafka", "engine", "hot"], PARTS) == [Task("kafka", ("hot",)), Task("engine")]


def test_the_standard_run_has_only_parts_that_there_are() -> None:
    for name, parts in STANDARD.items():
        assert set(parts) <= set(getattr(load(name), "PARTS", ())), name


def test_the_standard_run_takes_parts_by_name_too() -> None:
    found = {task.name: task.parts for task in tasks_of(["standard", "late"], PARTS)}

    assert found["engine"] == ("late",)
    assert found["kafka"] == STANDARD["kafka"]
    assert list(found) == list(STANDARD)


@pytest.mark.parametrize("names", [["kafkaa"], ["kafka", "small"], ["hot"]])
def test_a_name_that_is_none_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="there is no benchmark"):
        tasks_of(names, PARTS)


# -- what becomes of it ---------------------------------------------------------------------


def test_what_a_benchmark_was_asked_for_reaches_it() -> None:
    seen: list[Options] = []

    def run(options: Options) -> list[Figure]:
        seen.append(options)
        return [Figure("some/figure", 1)]

    assert outcome(run).n_figures == 1
    assert seen == [Options(quick=True, only=("part",))]


def test_what_is_left_out_is_told_with_the_benchmark_that_left_it_out() -> None:
    def run(_options: Options) -> list[Figure]:
        leave_out("There is no data.")
        leave_out("There is no data.")
        return []

    assert outcome(run).left_out == ["There is no data."]
    assert outcome(lambda _options: []).left_out == []


@pytest.mark.parametrize("error", [PartMissing("No broker."), ImportError("no playwright")])
def test_a_missing_part_or_package_is_left_out_and_fails_nothing(error: Exception) -> None:
    def run(_options: Options) -> list[Figure]:
        raise error

    found = outcome(run)

    assert found.failed is None
    assert any(str(error) in why for why in found.left_out)
    assert summarise([found])


@pytest.mark.parametrize("error", [SystemExit("Other facts than are right."), ZeroDivisionError("nothing")])
def test_a_benchmark_that_fails_says_how_and_the_run_goes_on(error: BaseException) -> None:
    def run(_options: Options) -> list[Figure]:
        raise error

    found = outcome(run)

    assert found.failed is not None
    assert str(error) in found.failed
    assert not summarise([outcome(lambda _options: []), found])


def test_an_interruption_ends_the_run() -> None:
    def run(_options: Options) -> list[Figure]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(run)


# -- what is kept ---------------------------------------------------------------------------


def test_figures_are_kept_by_benchmark_with_commit_machine_and_versions(tmp_path: Path) -> None:
    keep([Figure("a/one", 3, 2.0), Figure("b/two", 1, more={"right_percent": 12.34567})], tmp_path)
    keep([Figure("a/one", 3, 1.0)], tmp_path)

    lines = kept(tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert [(line["name"], line.get("observations_per_s")) for line in lines] == [
        ("a/one", 1.5), ("a/one", 3.0), ("b/two", None)
    ]  # fmt: skip
    assert lines[2]["right_percent"] == 12.35
    assert all({"commit", "modified", "machine", "versions"} <= line.keys() for line in lines)


# -- the page -------------------------------------------------------------------------------


def test_the_page_says_of_each_kept_figure_of_speed_what_it_is() -> None:
    figures = [line for line in kept() if line["name"].partition("/")[0] in page_speed.SPEED]
    values = {key for line in figures for key, value in line.items() if isinstance(value, int | float)}

    assert values - page_speed.COLUMNS.keys() - page_speed.HIDDEN == set()


def test_figures_with_the_same_columns_share_a_table_and_are_compared_to_ours() -> None:
    told = "\n".join(
        page_speed.speed(
            {
                f"kafka/hot/{name}": {
                    "name": f"kafka/hot/{name}",
                    "n": 10,
                    "observations_per_s": per_s,
                    "commit": "c0ffee",
                    "machine": {"cpu": "some", "cores": 2, "python": "3.11"},
                }
                for name, per_s in (("factdrift", 100.0), ("other", 40.0))
            }
        )
    )

    assert "| hot | factdrift is | n | per second |" in told
    assert "| factdrift | 1.00 × | 10 | 100 |" in told
    assert "| other | 2.50 × | 10 | 40 |" in told
    assert "commit c0ffee, some, 2 cores" in told
    assert told.count("Not measured yet") == len(page_speed.SPEED) - 1
