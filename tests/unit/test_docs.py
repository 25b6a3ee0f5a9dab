"""The docs say what the code does: generated files are fresh, nothing is missing, examples and links work."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import typer
from pydantic import BaseModel, SecretStr
from pydantic_settings import BaseSettings

from agents import reference
from agents.asyncapi import asyncapi, environment_variable, yaml
from agents.main import app
from state.changes import Revision
from state.episodes import Reason
from state.instants import parse_instant
from state.observations import Observation, Retract
from state.validation import CODES, read
from streams import events
from streams.events import PUBLIC_MODELS
from streams.settings import Settings
from streams.topics import TOPICS

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
README = REPOSITORY / "README.md"
PAGES = sorted(
    {
        *REPOSITORY.glob("*.md"),
        *DOCS.rglob("*.md"),
        REPOSITORY / "examples" / "README.md",
        REPOSITORY / "tests" / "README.md",
    }
)
LATER = parse_instant("2030-01-01T00:00:00Z")  # than every observation that the docs show


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


# -- what the code has ------------------------------------------------------------------------


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app), "factdrift"))


def settings(model: type[BaseSettings], *path: str) -> Iterator[tuple[type[BaseSettings], tuple[str, ...]]]:
    """Each setting: the model that declares it, and the way to it from the outermost."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseSettings):
            yield from settings(field.annotation, *path, name)
        else:
            yield model, (*path, name)


SETTINGS = {environment_variable(model, path[-1]): (model, path) for model, path in settings(Settings)}
MODELS = [
    model
    for _, model in inspect.getmembers(events, inspect.isclass)
    if issubclass(model, events.Model) and model.model_fields
]


# -- generated files --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated files, written anew."""
    folder = tmp_path_factory.mktemp("docs")
    assert reference.main([str(folder)]) == 0
    return folder


def contents(folder: Path) -> dict[str, str]:
    single = ("reference.md", "asyncapi.yaml", "openapi.yaml")
    paths = [*(folder / name for name in single), *(folder / "schemas").glob("*")]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths if path.exists()}


def test_the_generated_files_are_up_to_date(fresh: Path) -> None:
    expected, found = contents(fresh), contents(DOCS)

    stale = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))

    assert stale == [], f"stale in docs/: {', '.join(stale)}. Run `make docs` and commit what it writes."


def test_what_a_machine_has_set_reaches_no_generated_file(fresh: Path, tmp_path: Path) -> None:
    configured = {
        "FACTDRIFT_KAFKA_PASSWORD": "hunter2",
        "FACTDRIFT_DATA": "elsewhere",
        "FACTDRIFT_BATCH_MAX": "7",
    }
    terminal = {
        "COLUMNS": "40",
        "TERMINAL_WIDTH": "40",
        "FORCE_COLOR": "1",
        "LANG": "C",
        "PYTHONHASHSEED": "7",
    }

    subprocess.run(
        [sys.executable, "-m", "agents.reference", str(tmp_path)],
        env={**os.environ, **configured, **terminal}, cwd=REPOSITORY, check=True,
    )  # fmt: skip

    assert contents(tmp_path) == contents(fresh)


def test_every_generated_file_says_in_its_first_line_how_to_write_it_again(fresh: Path) -> None:
    for name, text in contents(fresh).items():
        assert "`make docs` (python -m agents.reference docs)" in text.splitlines()[0], name


def test_the_schema_of_a_topic_that_is_gone_is_removed_and_what_others_wrote_is_kept(tmp_path: Path) -> None:
    reference.write(tmp_path)
    facts = tmp_path / "schemas" / "facts.json"
    (tmp_path / "schemas" / "gone.json").write_text(facts.read_text("utf-8"), "utf-8")
    (tmp_path / "schemas" / "mine.json").write_text("{}", "utf-8")

    reference.write(tmp_path)

    assert facts.exists()
    assert not (tmp_path / "schemas" / "gone.json").exists()
    assert (tmp_path / "schemas" / "mine.json").exists()


def test_wrong_usage_is_refused_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main([]) == 2
    assert capsys.readouterr().err == "usage: python -m agents.reference FOLDER\n"


# -- nothing is left out ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> set[str]:
    """What stands in backticks in the first or second cell of a row of docs/reference.md."""
    text = (DOCS / "reference.md").read_text("utf-8")
    return set(re.findall(r"^\|(?: \d+ \|)? `([^`]+)` \|", text, re.MULTILINE))


def section(heading: str) -> str:
    """The text below a heading of docs/reference.md, to the next heading of any rank."""
    text = (DOCS / "reference.md").read_text("utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/reference.md has no heading {heading}"
    return found[1]


def test_every_setting_is_in_the_reference_with_its_meaning(rows: set[str]) -> None:
    assert SETTINGS.keys() <= rows
    assert [v for v, (model, path) in SETTINGS.items() if not model.model_fields[path[-1]].description] == []


@pytest.mark.parametrize("variable", SETTINGS)
def test_each_variable_of_the_reference_sets_its_setting(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = SETTINGS[variable]
    field = model.model_fields[path[-1]]
    text, value = another_value(variable, field.annotation, field.default)
    monkeypatch.setenv(variable, text)

    found: Any = Settings()
    for name in path:
        found = getattr(found, name)

    assert (found.get_secret_value() if isinstance(found, SecretStr) else found) == value


def another_value(variable: str, annotation: Any, default: object) -> tuple[str, object]:
    """Another value than the default for a setting, as text in the environment and as it is read."""
    kinds = get_args(annotation) if get_origin(annotation) is not Literal else (annotation,)
    kind = next(kind for kind in kinds or (annotation,) if kind is not type(None))
    if get_origin(kind) is Literal:
        other = next(choice for choice in get_args(kind) if choice != default)
        return other, other
    if kind is bool:
        return str(not default), not default
    if kind is int and variable.endswith("_PORT"):
        return "4711", 4711
    if kind in (int, float):
        return ("1048577", 1048577) if kind is int else ("0.0625", 0.0625)
    return "elsewhere", Path("elsewhere") if kind is Path else "elsewhere"


def test_no_secret_is_in_a_generated_file(fresh: Path) -> None:
    defaults = [model.model_fields[path[-1]].default for model, path in SETTINGS.values()]
    secrets = [default.get_secret_value() for default in defaults if isinstance(default, SecretStr)]

    assert secrets
    for name, text in contents(fresh).items():
        assert [secret for secret in secrets if secret in text] == [], name


def test_every_dead_letter_code_is_in_the_reference_in_order_of_precedence() -> None:
    listed = re.findall(r"^\| (\d+) \| `(\w+)` \| (.+) \|$", section("Dead-letter codes"), re.MULTILINE)

    assert listed == [(str(n), code, meaning) for n, (code, meaning) in enumerate(CODES.items(), 1)]


def test_every_topic_is_in_the_reference_and_every_public_one_in_the_asyncapi_document() -> None:
    public = {model.topic for model in PUBLIC_MODELS}

    for spec in TOPICS:
        assert f"| `{spec.topic}` |" in section("Topics")
        assert (spec.topic in asyncapi()["channels"]) is (spec.topic in public), spec.topic
    assert public <= {spec.topic for spec in TOPICS}


def own_fields(model: type[BaseModel]) -> list[str]:
    """The fields that a model declares itself; the others are those of the model that it extends."""
    return [name for name in inspect.get_annotations(model) if name in model.model_fields]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_of_a_public_model_is_in_the_reference(model: type[BaseModel]) -> None:
    text = section(model.__name__)

    assert [name for name in own_fields(model) if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_field_of_a_public_model_says_what_it_means_or_has_one_value_only(
    model: type[BaseModel],
) -> None:
    schema = model.model_json_schema()["properties"]

    silent = [
        name
        for name in own_fields(model)
        if not schema[name].get("description") and not constant(schema[name])
    ]

    assert silent == [], f"{model.__name__} in streams/events.py: add a description to {', '.join(silent)}"


def constant(schema: dict[str, Any]) -> bool:
    return "const" in schema or any("const" in one for one in schema.get("anyOf", []))


def test_every_reason_and_revision_has_a_meaning_and_is_in_the_reference(rows: set[str]) -> None:
    assert reference.REASONS.keys() == set(Reason)
    assert reference.REVISIONS.keys() == set(Revision)
    assert {*Reason, *Revision} <= rows


def test_every_exit_code_that_a_command_gives_is_in_the_reference(rows: set[str]) -> None:
    given = re.compile(r"\b(?:Exit\(|sys\.exit\(|EXIT_\w+ = )(\d+)")
    sources = {path: path.read_text("utf-8") for path in (REPOSITORY / "agents").rglob("*.py")}
    codes = {code: path for path, text in sources.items() for code in given.findall(text)}

    assert codes.keys() >= {"3", "4"}  # or the pattern no longer finds them
    assert {code: name_of(path) for code, path in codes.items() if code not in rows} == {}


# -- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_argument_and_option_has_help(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]

    silent = [parameter.opts for parameter in command.params if not (parameter.help or "").strip()]

    assert (command.help or "").strip(), f"{' '.join(path)} has no help: give its function a docstring"
    assert silent == [], f"{' '.join(path)}: no help for {silent}"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_is_in_the_reference_with_all_its_options(path: tuple[str, ...]) -> None:
    text = section(" ".join(path))

    for parameter in COMMANDS[path].params:
        for spelling in parameter.opts:
            assert re.search(rf"^\| `[^`]*(?<![\w-]){re.escape(spelling)}\b", text, re.MULTILINE), spelling


def console_lines(page: Path) -> list[str]:
    """The lines of a page's console blocks that a reader would type."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    joined = (block.replace("\\\n", " ") for block in blocks)
    return [line for block in joined for line in re.findall(r"^\$ (.+)$", block, re.MULTILINE)]


def indented_commands(page: Path) -> list[str]:
    """What a page shows as an indented line of code that starts with the name of a command of ours."""
    return re.findall(r"^ {4}((?:factdrift|make) .+)$", page.read_text("utf-8"), re.MULTILINE)


TYPED = [(name_of(page), line) for page in PAGES for line in [*console_lines(page), *indented_commands(page)]]


def test_the_readme_has_console_commands() -> None:
    assert any(line.startswith("factdrift ") for line in console_lines(README))


@pytest.mark.parametrize(("page", "line"), TYPED)
def test_what_a_page_tells_to_type_exists(page: str, line: str) -> None:
    for program, *arguments in simple_commands(line):
        if program == "factdrift":
            parse(arguments)
        elif program == "make":
            rules = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE)
            assert [a for a in arguments if "=" not in a and a not in rules] == [], page


def simple_commands(line: str) -> Iterator[list[str]]:
    """The commands of a shell line, without comments, redirections and variables set for one command."""
    words: list[str] = []
    for word in [*shlex.split(re.sub(r"\d?>>?\s*\S+|<\s*\S+", "", line), comments=True), ";"]:
        if word in {"|", "&", "&&", "||", ";"}:
            if words:
                yield words
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)


def parse(arguments: list[str]) -> None:
    """Read the arguments as `factdrift` does, without running anything. Raises what a wrong usage raises."""
    path: tuple[str, ...] = ("factdrift",)
    while arguments and (*path, arguments[0]) in COMMANDS:
        path = (*path, arguments.pop(0))
    if hasattr(COMMANDS[path], "commands") and arguments and not arguments[0].startswith("-"):
        raise ValueError(f"{' '.join(path)} has no command {arguments[0]}")
    COMMANDS[path].make_context(" ".join(path), arguments).close()


@pytest.mark.parametrize(
    "line",
    [
        "factdrift watc",
        "factdrift watch --nothing",
        "factdrift dlq",
        "A=b factdrift replay > facts",
        "factdrift topics make",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    (command,) = simple_commands(line)

    with pytest.raises(Exception, match=r"no command|No such option|Missing|Usage"):
        parse(command[1:])


# -- examples and links -----------------------------------------------------------------------


def json_examples(page: Path) -> list[str]:
    """What a page shows as JSON: every value of a json block, and every object in backticks."""
    text = page.read_text("utf-8")
    decoder = json.JSONDecoder()
    found = re.findall(r"`(\{[^`]+\})`", text)
    for block in re.findall(r"^```json[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        rest = block.strip()
        while rest:
            _, end = decoder.raw_decode(rest)
            found.append(rest[:end])
            rest = rest[end:].strip()
    return found


def test_every_json_example_of_the_readme_can_be_published() -> None:
    usable = [read(example.encode(), recorded_at=LATER) for example in json_examples(README)]

    assert {type(one) for one in usable} == {Observation, Retract}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]

    broken = [link for link in links if not leads_somewhere(page, link)]

    assert broken == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if target.is_dir():
        return any(target.iterdir()) and not anchor  # an empty folder is not in a clone
    return target.is_file() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """The anchors that headings get where Markdown is shown: lower case, words joined by hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.casefold()).strip().replace(" ", "-") for heading in headings}


def test_the_asyncapi_document_refers_only_to_what_is_in_it() -> None:
    document = asyncapi()
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document)))

    assert len(references) > len(PUBLIC_MODELS)
    for place in references:
        found: Any = document
        for step in place.removeprefix("#/").split("/"):
            assert step in found, place
            found = found[step]


def test_producers_are_received_and_everything_else_is_sent() -> None:
    actions = {name: operation["action"] for name, operation in asyncapi()["operations"].items()}

    received = {model.topic for model in PUBLIC_MODELS if issubclass(model, events.Input)}
    sent = {model.topic for model in PUBLIC_MODELS} - received
    assert actions == {**dict.fromkeys(received, "receive"), **dict.fromkeys(sent, "send")}


def test_yaml_quotes_every_text_and_every_key_that_could_be_taken_for_something_else() -> None:
    value = {"on": "no", "a.b": [], "c d": {"$ref": ["1.0", {"é\n": None}, [True]]}, "n": -1}

    assert yaml(value).splitlines() == [
        '"on": "no"',
        "a.b: []",
        '"c d":',
        "  $ref:",
        '    - "1.0"',
        "    -",
        '      "é\\n": null',
        "    -",
        "      - true",
        '"n": -1',
    ]
