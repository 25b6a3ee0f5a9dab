"""The rules of the house, read from the source: floors, purity, size, packages, and what no file may name.

Each rule is a function from a file to sentences that say what is wrong, where, and what to do instead. Each
is applied to the whole tree, and each is shown a bad text first, so that it is known to be able to fail.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("state", "streams", "agents")
CODE = (*FLOORS, "tests", "benchmarks", "examples")
FUNCTION_LINES_MAX = 70

Rule = Callable[[str, str], list[str]]
"""From the path of a file, as text from the root on, and its content to what is wrong with it."""


def python_files(*folders: str) -> list[str]:
    """The paths of all Python files below these folders, from the root on."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [str(path.relative_to(ROOT)) for path in sorted(found) if "__pycache__" not in path.parts]


def broken(rule: Rule, paths: Iterable[str]) -> list[str]:
    """Everything that a rule finds in these files."""
    return [line for path in paths for line in rule(path, (ROOT / path).read_text(encoding="utf-8"))]


def test_the_rules_see_the_files_of_every_floor() -> None:
    paths = python_files(*CODE)

    assert {path.split("/")[0] for path in paths} >= {*FLOORS, "tests"}
    assert {
        "state/votes.py",
        "streams/embedded/store.py",
        "agents/main.py",
        "tests/unit/test_house.py",
    } <= set(paths)


# -- floors ---------------------------------------------------------------------------------

WIRES = (
    "aiokafka",
    "confluent_kafka",
    "faust",
    "kafka",
    "mode",
    "redis",
    "rocksdict",
    "sqlalchemy",
    "sqlite3",
)
KNOWS_NO_WIRE = "state/ knows no wire: pass the value in, or move this to streams/"
KNOWS_NO_AGENT = "{floor}/ knows no agent: pass what it needs in, or move this to agents/"
KNOWS_NO_TEST = "what is shipped knows no test: move what is needed into state/, streams/ or agents/"
FORBIDDEN: dict[str, dict[str, str]] = {
    "state": {
        **dict.fromkeys(("streams", *WIRES), KNOWS_NO_WIRE),
        "agents": KNOWS_NO_AGENT.format(floor="state"),
        "tests": KNOWS_NO_TEST,
        "benchmarks": KNOWS_NO_TEST,
    },
    "streams": {
        "agents": KNOWS_NO_AGENT.format(floor="streams"),
        "tests": KNOWS_NO_TEST,
        "benchmarks": KNOWS_NO_TEST,
    },
    "agents": {"tests": KNOWS_NO_TEST, "benchmarks": KNOWS_NO_TEST},
}


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, full name of the module) of every import, wherever it stands, relative and dynamic ones too."""
    package = path.removesuffix("/__init__.py").removesuffix(".py").split("/")
    parents = package if path.endswith("/__init__.py") else package[:-1]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, level=0):
                yield node.lineno, module or ""
            case ast.ImportFrom(module=module, level=level, names=names):
                base = parents[: len(parents) - level + 1] + ([module] if module else [])
                yield from ((node.lineno, ".".join([*base, alias.name])) for alias in names)
            case ast.Call(
                func=ast.Name(id="__import__")
                | ast.Attribute(attr="import_module")
                | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def keeps_to_its_floor(path: str, source: str) -> list[str]:
    """No import goes up a floor."""
    forbidden = FORBIDDEN.get(path.partition("/")[0], {})
    return [
        f"{path}:{line} imports {name}; {forbidden[root]}"
        for line, name in imports(path, ast.parse(source))
        if (root := name.partition(".")[0]) in forbidden
    ]


def test_no_import_goes_up_a_floor() -> None:
    assert broken(keeps_to_its_floor, python_files(*FLOORS)) == []


@pytest.mark.parametrize(
    ("path", "source", "told"),
    [
        (
            "state/votes.py",
            "import math\n\nimport aiokafka\n",
            f"state/votes.py:3 imports aiokafka; {KNOWS_NO_WIRE}",
        ),
        ("state/a.py", "from faust.types import App", f"state/a.py:1 imports faust.types; {KNOWS_NO_WIRE}"),
        ("state/a.py", "import redis.asyncio as r", f"state/a.py:1 imports redis.asyncio; {KNOWS_NO_WIRE}"),
        ("state/a.py", "import math, sqlite3", f"state/a.py:1 imports sqlite3; {KNOWS_NO_WIRE}"),
        ("state/a.py", "from streams.keys import key", f"state/a.py:1 imports streams.keys; {KNOWS_NO_WIRE}"),
        ("state/a.py", "def f():\n    import streams\n", f"state/a.py:2 imports streams; {KNOWS_NO_WIRE}"),
        ("state/b/c.py", "from ...agents import x", "state/b/c.py:1 imports agents.x; state/ knows no agent"),
        ("state/b/__init__.py", "from ... import streams", "state/b/__init__.py:1 imports streams; "),
        (
            "state/a.py",
            "import_module('agents.main')",
            "state/a.py:1 imports agents.main; state/ knows no agent",
        ),
        ("state/a.py", "__import__('redis')", f"state/a.py:1 imports redis; {KNOWS_NO_WIRE}"),
        ("state/a.py", "from tests import builders", f"state/a.py:1 imports tests; {KNOWS_NO_TEST}"),
        (
            "streams/a.py",
            "if TYPE_CHECKING:\n    from agents import x\n",
            "streams/a.py:2 imports agents; streams/ ",
        ),
        (
            "streams/kafka/a.py",
            "import agents.cli",
            "streams/kafka/a.py:1 imports agents.cli; streams/ knows no agent",
        ),
        ("agents/a.py", "import benchmarks", f"agents/a.py:1 imports benchmarks; {KNOWS_NO_TEST}"),
    ],
)
def test_an_import_that_goes_up_is_told_with_file_line_and_the_way_out(
    path: str, source: str, told: str
) -> None:
    (line,) = keeps_to_its_floor(path, source)

    assert line.startswith(told)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("state/a.py", "from state.votes import Vote\nfrom .names import normalise\nimport streamsx, modern"),
        (
            "streams/a.py",
            "import aiokafka, sqlite3, redis, faust\nfrom state import claim\nfrom .kafka import x",
        ),
        ("agents/a.py", "import streams, state, redis"),
        ("tests/a.py", "import agents, streams, state, tests"),
    ],
)
def test_an_import_of_the_same_floor_or_a_lower_one_is_right(path: str, source: str) -> None:
    assert keeps_to_its_floor(path, source) == []


# -- purity of state/ -----------------------------------------------------------------------

NO_CLOCK = "pass the instant in as an argument: `at`, `now` or `recorded_at`"
NO_CHANCE = "derive it from what it stands for, as state.identity does, or pass it in"
NO_ENVIRONMENT = "make it a setting in streams/settings.py and pass the value in"
NO_IO = "read or write it in streams/ or agents/ and pass the content in"
NO_ORDER = "text hashes differ from process to process: use state.identity.content_hash"
NO_GLOBALS = "return the new value instead of keeping it in a module"
CLOCKS = (
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
    "time", "sched",
)  # fmt: skip
CHANCES = ("random", "secrets", "numpy.random", "uuid.uuid1", "uuid.uuid4", "os.urandom")
ENVIRONMENTS = ("os", "sys", "platform", "locale", "getpass")
CHANNELS = (
    "builtins.open", "builtins.print", "builtins.input", "builtins.breakpoint", "io", "pathlib", "shutil",
    "tempfile", "glob", "fileinput", "socket", "ssl", "select", "urllib", "http", "subprocess",
    "multiprocessing", "threading", "asyncio", "concurrent", "signal", "logging", "importlib", "pkgutil",
    "ctypes", "mmap",
)  # fmt: skip
METHODS = (
    ".read_text", ".read_bytes", ".write_text", ".write_bytes", ".open", ".unlink", ".mkdir", ".iterdir",
    ".exists", ".touch",
)  # fmt: skip
BANNED: dict[str, str] = {
    **dict.fromkeys(CLOCKS, NO_CLOCK),
    **dict.fromkeys(CHANCES, NO_CHANCE),
    **dict.fromkeys(ENVIRONMENTS, NO_ENVIRONMENT),
    **dict.fromkeys((*CHANNELS, *METHODS), NO_IO),
    **dict.fromkeys(("builtins.hash", "builtins.id"), NO_ORDER),
    **dict.fromkeys(("global", "builtins.globals", "builtins.exec", "builtins.eval"), NO_GLOBALS),
}

PACKAGED_DATA = ("importlib.resources", ".read_text")
ALLOWED: dict[str, tuple[str, ...]] = {
    # Tables that ship inside the package are a part of the program, like constants, and read only once.
    "state/predicates.py": PACKAGED_DATA,
    "state/standard_rules.py": PACKAGED_DATA,
    "state/antonyms.py": PACKAGED_DATA,
    "state/pairs.py": PACKAGED_DATA,
}


def full_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, full name) of everything that is imported, of every use of it, and of every built-in.

    A method that is called on anything else is given with a point before it: `.read_text`.
    """
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    origins[alias.asname or root] = alias.name if alias.asname else root
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=str(module), level=0, names=names):
                for alias in names:
                    origins[alias.asname or alias.name] = f"{module}.{alias.name}"
                    yield node.lineno, f"{module}.{alias.name}"
    for node in ast.walk(tree):
        match node:
            case ast.Attribute() | ast.Name(ctx=ast.Load()):
                root, _, rest = _dotted(node).partition(".")
                if root in origins:
                    yield node.lineno, f"{origins[root]}.{rest}".removesuffix(".")
                elif root and not rest:
                    yield node.lineno, f"builtins.{root}"
            case ast.Call(func=ast.Attribute(attr=attr)):
                yield node.lineno, f".{attr}"
            case ast.Global():
                yield node.lineno, "global"


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text, or "" for an attribute of something without a name, such as a call."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            owner = _dotted(value)
            return f"{owner}.{attr}" if owner else ""
    return ""


def _instead(name: str) -> str | None:
    """What to do instead of using this full name, or None where it may be used."""
    parts = name.split(".")
    beginnings = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((BANNED[beginning] for beginning in beginnings if beginning in BANNED), None)


def is_pure(path: str, source: str) -> list[str]:
    """No clock, no chance, no input or output, no globals that change."""
    allowed = ALLOWED.get(path, ())
    found = []
    for line, name in full_names(ast.parse(source)):
        if any(name == right or name.startswith(f"{right}.") for right in allowed):
            continue
        instead = _instead(name)
        if instead is not None:
            used = name.removeprefix("builtins.")
            found.append(f"{path}:{line} uses {used}; state/ is pure: {instead}")
    return sorted(set(found))


def test_state_uses_no_clock_no_chance_and_no_io() -> None:
    assert broken(is_pure, python_files("state")) == []


def test_the_exceptions_are_used_and_read_nothing_but_packaged_data() -> None:
    for path, allowed in ALLOWED.items():
        source = (ROOT / path).read_text(encoding="utf-8")
        used = [name for _, name in full_names(ast.parse(source))]
        assert all(any(name.startswith(right) for name in used) for right in allowed), path
        reads = re.findall(r"[\w.]*\(.*\.read_text\(", source)
        expected = rf'resources\.files\("state"\)\.joinpath\("{Path(path).stem}\.toml"\)\.read_text\('
        assert len(reads) == 1, path
        assert re.search(expected, reads[0]), path


@pytest.mark.parametrize(
    ("source", "used", "instead"),
    [
        ("from datetime import datetime\n\nx = datetime.now()", ":3 uses datetime.datetime.now;", NO_CLOCK),
        (
            "from datetime import UTC, datetime as d\nx = d.now(UTC)",
            ":2 uses datetime.datetime.now;",
            NO_CLOCK,
        ),
        ("import datetime\nx = datetime.datetime.utcnow()", ":2 uses datetime.datetime.utcnow;", NO_CLOCK),
        ("import datetime as dt\nx = dt.date.today()", ":2 uses datetime.date.today;", NO_CLOCK),
        ("from datetime import date\ndef f(clock=date.today): ...", ":2 uses datetime.date.today;", NO_CLOCK),
        ("import time\n", ":1 uses time;", NO_CLOCK),
        ("from time import time_ns\n", ":1 uses time.time_ns;", NO_CLOCK),
        ("def f():\n    import time as t\n    return t.time()", ":3 uses time.time;", NO_CLOCK),
        ("import random\n", ":1 uses random;", NO_CHANCE),
        ("from secrets import token_hex\n", ":1 uses secrets.token_hex;", NO_CHANCE),
        ("from uuid import uuid4\n", ":1 uses uuid.uuid4;", NO_CHANCE),
        ("import uuid\nx = uuid.uuid1()", ":2 uses uuid.uuid1;", NO_CHANCE),
        ("import numpy as np\nx = np.random.rand()", ":2 uses numpy.random.rand;", NO_CHANCE),
        ("import os\nx = os.environ['X']", ":2 uses os.environ;", NO_ENVIRONMENT),
        ("import os\nx = os.urandom(8)", ":2 uses os.urandom;", NO_CHANCE),
        ("from os import getenv\n", ":1 uses os.getenv;", NO_ENVIRONMENT),
        ("import sys\n", ":1 uses sys;", NO_ENVIRONMENT),
        ("x = open('x')", ":1 uses open;", NO_IO),
        ("def f():\n    print('x')", ":2 uses print;", NO_IO),
        ("from pathlib import Path\n", ":1 uses pathlib.Path;", NO_IO),
        ("def f(path):\n    return path.read_text()", ":2 uses .read_text;", NO_IO),
        ("def f(path):\n    return path('x').open()", ":2 uses .open;", NO_IO),
        ("import urllib.request\n", ":1 uses urllib.request;", NO_IO),
        ("import logging\n", ":1 uses logging;", NO_IO),
        ("from importlib import resources\n", ":1 uses importlib.resources;", NO_IO),
        ("def key(text):\n    return hash(text)", ":2 uses hash;", NO_ORDER),
        ("n = 0\ndef f():\n    global n\n    n += 1", ":3 uses global;", NO_GLOBALS),
    ],
)
def test_what_is_impure_is_told_with_its_replacement(source: str, used: str, instead: str) -> None:
    found = is_pure("state/votes.py", source)

    assert [line for line in found if line.startswith(f"state/votes.py{used}") and line.endswith(instead)]


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime, UTC\nx = datetime(2024, 1, 1, tzinfo=UTC).date()",
        "from datetime import datetime\nx = datetime.fromisoformat('x')",
        "class A:\n    def f(self):\n        return self.open, self._open(1), self.time.random",
        "def f(statement, time, open_facts):\n    return statement.time, time, open_facts",
        "class A:\n    def __hash__(self): ...\n    def opened(self): return self.random",
        "from uuid import UUID\nfrom hashlib import sha1",
        "import json\nx = json.loads('[]')",
    ],
)
def test_what_only_looks_impure_is_right(source: str) -> None:
    assert is_pure("state/votes.py", source) == []


def test_packaged_data_may_be_read_only_where_that_is_allowed() -> None:
    source = 'from importlib import resources\nx = resources.files("state").joinpath("x").read_text()'

    assert is_pure("state/predicates.py", source) == []
    assert {line.split(" ")[2] for line in is_pure("state/votes.py", source)} == {
        "importlib.resources;", "importlib.resources.files;", ".read_text;",
    }  # fmt: skip
    assert is_pure("state/predicates.py", "import importlib.metadata\nx = open('x')") == [
        f"state/predicates.py:1 uses importlib.metadata; state/ is pure: {NO_IO}",
        f"state/predicates.py:2 uses open; state/ is pure: {NO_IO}",
    ]


# -- modules and functions ------------------------------------------------------------------


def has_a_docstring(path: str, source: str) -> list[str]:
    """Every module that says anything says first what it is for; an empty `__init__.py` says nothing."""
    tree = ast.parse(source)
    if not tree.body or (ast.get_docstring(tree) or "").strip():
        return []
    return [f"{path}:1 has no docstring; say what the module decides, and what it never does"]


def fits_a_screen(path: str, source: str) -> list[str]:
    """No function is longer than 70 lines, its docstring included."""
    return [
        f"{path}:{node.lineno} {node.name} has {length} lines, at most {FUNCTION_LINES_MAX} fit a screen; "
        "give its leaves names of their own"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def test_every_module_has_a_docstring() -> None:
    assert broken(has_a_docstring, python_files(*CODE)) == []


def test_every_function_fits_a_screen() -> None:
    assert broken(fits_a_screen, python_files(*CODE)) == []


@pytest.mark.parametrize("source", ["x = 1\n", "# only a comment\nimport math\n", '"""  """\n', "f'{1}'\n"])
def test_a_module_without_docstring_is_told(source: str) -> None:
    assert has_a_docstring("state/a.py", source) == [
        "state/a.py:1 has no docstring; say what the module decides, and what it never does"
    ]
    assert has_a_docstring("state/a.py", f'"""Says so."""\n{source}') == []
    assert has_a_docstring("state/__init__.py", "") == []


@pytest.mark.parametrize("head", ["def f():\n", "async def f():\n", "class A:\n  def f(self):\n"])
def test_a_function_of_71_lines_is_told_and_one_of_70_is_not(head: str) -> None:
    body = "    x = 1\n"

    assert fits_a_screen("state/a.py", head + body * 69) == []
    (told,) = fits_a_screen("state/a.py", head + body * 70)
    assert f" f has 71 lines, at most {FUNCTION_LINES_MAX} " in told


# -- packages -------------------------------------------------------------------------------


def lists_what_it_offers(path: str, source: str) -> list[str]:
    """The `__all__` of a package names what its `__init__.py` binds: nothing more, nothing less, once."""
    bound: set[str] = set()
    listed: list[str] | None = None
    for node in ast.parse(source).body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {alias.asname or alias.name.split(".")[0] for alias in names}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                listed = ast.literal_eval(value)
            case ast.Assign(targets=targets):
                bound |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                bound.add(name)
    public = {name for name in bound if not name.startswith("_")} - {"annotations"}
    if listed is None:
        return (
            [f"{path}: it binds {', '.join(sorted(public))} without __all__; list what is public"]
            if public
            else []
        )
    found = [f"{path}: __all__ names {name}, which is not there" for name in sorted(set(listed) - bound)]
    found += [
        f"{path}: {name} is not in __all__; list it, or give it an underscore"
        for name in sorted(public - set(listed))
    ]
    return found + [
        f"{path}: __all__ names {name} twice" for name in sorted(set(listed)) if listed.count(name) > 1
    ]


def packages() -> dict[str, str]:
    """The dotted names of all folders with Python files below the floors, with their paths."""
    folders = {str(Path(path).parent) for path in python_files(*FLOORS)}
    return {folder.replace("/", "."): folder for folder in folders}


def unlisted(present: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Where the packages that are there and those in pyproject.toml differ."""
    there, named = set(present), set(listed)
    return [
        f"{name} is not in tool.setuptools.packages of pyproject.toml: an installed factdrift would lack it"
        for name in sorted(there - named)
    ] + [f"pyproject.toml lists the package {name}, which is not there" for name in sorted(named - there)]


def unpacked(files: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Files inside a package that are no code and that no pattern of its package data covers."""
    return [
        f"{path} matches no pattern of tool.setuptools.package-data: an installed factdrift would lack it"
        for path in files
        if not any(fnmatch(path, pattern) for pattern in patterns)
    ]


def setuptools() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    return found


def test_packages_list_what_they_offer() -> None:
    assert broken(lists_what_it_offers, [p for p in python_files(*FLOORS) if p.endswith("__init__.py")]) == []


@pytest.mark.parametrize("name", sorted(packages()))
def test_whatever_a_package_lists_can_be_had_from_it(name: str) -> None:
    package = importlib.import_module(name)

    assert [n for n in getattr(package, "__all__", []) if not hasattr(package, n)] == []


def test_every_package_is_listed_in_pyproject() -> None:
    config = setuptools()
    renamed = config.get("package-dir", {})
    assert isinstance(renamed, dict)
    listed = config["packages"]
    assert isinstance(listed, list)

    assert unlisted(packages(), [name for name in listed if name not in renamed]) == []
    assert [f"{name}: {folder}" for name, folder in renamed.items() if not (ROOT / folder).is_dir()] == []


def test_every_folder_of_a_package_has_an_init_so_that_it_is_one() -> None:
    assert [folder for folder in packages().values() if not (ROOT / folder / "__init__.py").is_file()] == []


def test_every_data_file_of_a_package_is_packed() -> None:
    data = setuptools()["package-data"]
    assert isinstance(data, dict)
    patterns = [f"{name.replace('.', '/')}/{pattern}" for name, globs in data.items() for pattern in globs]
    files = [
        str(path.relative_to(ROOT))
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]

    assert unpacked(files, patterns) == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("from a.b import C\n", ["p: it binds C without __all__; list what is public"]),
        ("def f(): ...\nX: int = 1\n", ["p: it binds X, f without __all__; list what is public"]),
        ("from a.b import C\n__all__ = []\n", ["p: C is not in __all__; list it, or give it an underscore"]),
        ("from a.b import C\n__all__ = ['C', 'D']\n", ["p: __all__ names D, which is not there"]),
        ("from a.b import C\n__all__ = ['C', 'C']\n", ["p: __all__ names C twice"]),
        (
            "from a.b import C as E\n__all__ = ['C']\n",
            [
                "p: __all__ names C, which is not there",
                "p: E is not in __all__; list it, or give it an underscore",
            ],
        ),
        ('"""Nothing."""\nfrom __future__ import annotations\n', []),
        ("from a.b import C, _d\n__all__ = ['C']\n", []),
    ],
)  # fmt: skip
def test_a_wrong_list_of_what_is_public_is_told(source: str, told: list[str]) -> None:
    assert lists_what_it_offers("p", source) == told


def test_a_package_or_a_data_file_that_would_not_be_packed_is_told() -> None:
    assert [line.split(" ")[0] for line in unlisted(["state", "streams.kafka"], ["state"])] == [
        "streams.kafka"
    ]
    assert unlisted(["state"], ["state", "gone"]) == [
        "pyproject.toml lists the package gone, which is not there"
    ]
    assert unlisted(["state"], ["state"]) == []
    assert [line.split(" ")[0] for line in unpacked(["state/x.json", "state/x.toml"], ["state/*.toml"])] == [
        "state/x.json"
    ]


# -- what no file names ---------------------------------------------------------------------

# Put together here, since this file must keep the rule too.
MACHINE_FOLDERS = tuple("/" + name for name in ("work", "tmp", "root", "home", "Users", "mnt"))
PACKAGE_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("anaconda", "org"), ("npmjs", "org"), ("npmjs", "com"),
        ("maven", "org"), ("repo", "maven", "apache", "org"), ("golang", "org"), ("crates", "io"),
        ("rubygems", "org"), ("docker", "io"), ("ghcr", "io"), ("quay", "io"), ("gcr", "io"),
    )
)  # fmt: skip
_FOLDER = re.compile(rf"(?<![\w.~}}-])(?:{'|'.join(MACHINE_FOLDERS)})(?![\w-])")
_HOST = re.compile(
    rf"(?<![\w-])(?:{'|'.join(re.escape(host) for host in PACKAGE_HOSTS)})(?![\w-])", re.IGNORECASE
)
SKIPPED = ("__pycache__", "*.egg-info", "build", "dist", "site", "node_modules", "venv")


def names_no_machine(path: str, content: str) -> list[str]:
    """No path of one machine, and no host that packages come from."""
    found = []
    for number, line in enumerate(content.splitlines(), start=1):
        found += [
            f"{path}:{number} names {folder}; no other machine has it: take the folder as an argument"
            for folder in _FOLDER.findall(line)
        ]
        found += [
            f"{path}:{number} names {host}; a user's own tools know where packages come from"
            for host in _HOST.findall(line)
        ]
    return found


def text_files() -> Iterator[str]:
    """All files of the project that are text; hidden folders are tools' own, but for the one of CI."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(
            part.startswith(".") and part not in (".ci", ".gitignore", ".dockerignore") for part in parts
        )
        if (
            hidden
            or any(fnmatch(part, pattern) for part in parts for pattern in SKIPPED)
            or not path.is_file()
        ):
            continue
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        yield "/".join(parts)


def test_no_file_names_a_path_of_one_machine_or_a_host_of_packages() -> None:
    paths = list(text_files())

    assert {
        "pyproject.toml",
        "state/predicates.toml",
        "tests/unit/test_house.py",
        "docs/architecture.md",
    } <= set(paths)
    assert broken(names_no_machine, paths) == []


@pytest.mark.parametrize("folder", MACHINE_FOLDERS)
@pytest.mark.parametrize(
    "line", ["see {}/x", "{}", "'{}/x'", "cd {} && make", "PATH={}/bin", "(file://{}/x)", "a: {}/"]
)
def test_a_path_of_one_machine_is_told(line: str, folder: str) -> None:
    assert names_no_machine("docs/a.md", "\n" + line.format(folder)) == [
        f"docs/a.md:2 names {folder}; no other machine has it: take the folder as an argument"
    ]


@pytest.mark.parametrize("host", PACKAGE_HOSTS)
@pytest.mark.parametrize(
    "line", ["https://{}/x", "pip install -i https://files.{}/simple", "FROM {}/x:1", "{}"]
)
def test_a_host_of_packages_is_told(line: str, host: str) -> None:
    assert names_no_machine("Makefile", line.format(host)) == [
        f"Makefile:1 names {host}; a user's own tools know where packages come from"
    ]


@pytest.mark.parametrize("folder", MACHINE_FOLDERS)
@pytest.mark.parametrize("line", ["home{}", "./docs{}", "~{}", "{}s", "{}-flow", "a{}/b", "${{HOME}}{}"])
def test_a_path_below_another_one_is_no_path_of_a_machine(line: str, folder: str) -> None:
    assert names_no_machine("docs/a.md", line.format(folder)) == []
