"""Every code block of the README and the tutorial is run in order, in an empty folder; what it shows is true.

Blocks that cannot be run say why in the Markdown. They are listed as skipped, with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.cluster import Cluster, make_cluster
from tests.docs.blocks import Block, blocks, pattern_of, terminals
from tests.parts import PartMissing, or_skip
from tests.parts.kafka import KafkaBroker, start_kafka

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
PAGES = [README, TUTORIAL]
LEFT_OUT = [block for page in PAGES for block in blocks(page) if block.not_run is not None]
COMMAND_S = 300  # a bound that only a hang reaches
INSTALLED = "factdrift/constraints.txt"
"""In a command that installs factdrift: the tests have it installed, but for the test of just this."""


def kind_of(block: Block) -> str:
    """What is done with a block."""
    if block.not_run is not None:
        return "not run"
    if block.title is not None:
        return "file"
    if block.language == "console":
        return "commands"
    if block.language == "text" and block.terminal != "1":
        return "shown"
    return "unknown"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_it_is_known_what_is_done_with_every_block(page: Path) -> None:
    assert [block.where for block in blocks(page) if kind_of(block) == "unknown"] == []


@pytest.mark.parametrize("block", LEFT_OUT, ids=lambda block: block.where)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert block.not_run
    assert len(block.not_run.split()) > 2

    pytest.skip(f"{block.where} is not run: {block.not_run}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_embedded_part_works_in_an_empty_folder(page: Path, tmp_path: Path) -> None:
    follow(page, tmp_path, parts=frozenset())


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_works_to_the_end_as_far_as_it_is_python(
    page: Path, tmp_path: Path, cluster: Cluster
) -> None:
    follow(page, tmp_path, parts=frozenset({"kafka"}), cluster=cluster)


@pytest.mark.long
def test_the_whole_tutorial_works_with_an_installation_of_its_own(tmp_path: Path, cluster: Cluster) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    checkout(folder / "factdrift")

    follow(TUTORIAL, folder, parts=parts_of(TUTORIAL), cluster=cluster, install=True)

    assert (folder / ".venv" / "bin" / "factdrift").exists()


@pytest.mark.long
def test_the_first_command_of_the_readme_works_in_a_fresh_checkout(tmp_path: Path) -> None:
    checkout(tmp_path / "factdrift")

    with terminals(tmp_path / "factdrift", environment(None, installed=True)) as by_name:
        code, output = by_name["1"].run("make run", timeout_s=COMMAND_S)

    assert code == 0, output
    assert "Kazakhstan" in output
    assert "Twitter" in output


# -- what follows a page --------------------------------------------------------------------------


def follow(
    page: Path, folder: Path, *, parts: frozenset[str], cluster: Cluster | None = None, install: bool = False
) -> None:
    """Do what a page says, block by block, and compare what it shows."""
    with terminals(folder, environment(cluster, installed=not install)) as by_name:
        for block in blocks(page):
            if block.not_run is not None or not block.needs <= parts:
                continue
            text = adapted(block.text, cluster)
            terminal = by_name[block.terminal]
            match kind_of(block):
                case "file":
                    assert block.title is not None
                    (folder / block.title).write_text(text, "utf-8")
                case "shown":
                    terminal.wait(f"^{pattern_of(text)}$", timeout_s=COMMAND_S)
                case "commands":
                    for command, expected in block.commands():
                        if not install and INSTALLED in block.text:
                            continue
                        command = adapted(command, cluster)  # noqa: PLW2901
                        if block.terminal != "1":
                            terminal.start(command)
                            continue
                        code, output = terminal.run(command, timeout_s=COMMAND_S)
                        assert code == 0, f"{block.where}: {command} ended with {code}:\n{output}"
                        assert_shown(output, expected, f"{block.where}: {command}")


def assert_shown(output: str, expected: str, where: str) -> None:
    """The output is the expected one, where one is shown."""
    if expected:
        found = re.fullmatch(pattern_of(expected), output.strip("\n"))
        assert found, f"{where}\nshows\n{output}\nand not\n{expected}"


def environment(cluster: Cluster | None, *, installed: bool) -> dict[str, str]:
    """What the reader's shell has: nothing of ours but the programs, and the cluster of the test."""
    found = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FACTDRIFT_", "VIRTUAL_ENV"))
    }
    if installed:
        found["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{found['PATH']}"
    return found | ({} if cluster is None else cluster.environment | {"FACTDRIFT_DATA": ".factdrift"})


def adapted(text: str, cluster: Cluster | None) -> str:
    """A page speaks of the broker on localhost:9092; a test has another one, with topics of its own."""
    if cluster is None:
        return text
    text = text.replace("localhost:9092", cluster.kafka.bootstrap)
    return re.sub(r'"(fact-invalidated|drift-alerts)"', rf'"{cluster.kafka.prefix}\1"', text)


def parts_of(page: Path) -> frozenset[str]:
    """The parts that a page needs and that are here. Missing in CI: a failure."""
    needed = frozenset[str]().union(*(block.needs for block in blocks(page)))
    missing = {part for part in needed - {"kafka"} if shutil.which(part) is None}
    if missing and os.environ.get("CI"):
        message = f"{page.name} needs {', '.join(sorted(missing))}, on the path"
        raise PartMissing(message)
    return needed - missing


def checkout(folder: Path) -> None:
    """What a clone has: every file that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, folder / name)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that answers. Missing: a skip on a user's machine, a failure in CI."""
    found = or_skip(lambda: start_kafka(tmp_path_factory.mktemp("broker")))
    yield found
    found.stop()


@pytest.fixture
def cluster(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster without topics: the page creates them."""
    found = make_cluster(broker, tmp_path_factory.mktemp("cluster"), topics=False)
    yield found
    found.remove()
