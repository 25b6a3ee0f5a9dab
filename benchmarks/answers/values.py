"""What can be said of an entity: predicates, their values, and the ways in which one value is written.

Two spellings belong to one value where a reader would call them one; the lists were written before any
system was run on them and say nothing about what a system finds equal. Draws by chance that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

Spelling = str | int | float

DOMAIN = 8  # values that a claim can have; all but the true one are wrong


@dataclass(frozen=True, slots=True)
class Value:
    """One value. `key` names it; `spellings` begin with the plain one."""

    key: str
    spellings: tuple[Spelling, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """A predicate: how many values it has at once, and how long one holds on average.

    `cardinality` is single, multi or never (one value that never changes); `days` is the mean time between
    two moves. `domain` draws the values that a claim of this kind can have.
    """

    predicate: str
    cardinality: str
    days: float
    domain: Callable[[Random], list[Value]]


def kinds() -> tuple[Kind, ...]:
    """Every predicate of the generated streams; all are declared in the packaged registry."""
    return (
        Kind("lives_in", "single", 400, _listed(_CITIES, _cased)),
        Kind("job_title", "single", 400, _listed(_JOBS)),
        Kind("prefers", "single", 250, _listed(_TASTES)),
        Kind("status", "single", 150, _listed(_STATUSES, _cased)),
        Kind("manager", "single", 300, _listed(_PEOPLE, _cased)),
        Kind("weight", "single", 200, _weights),
        Kind("salary", "single", 365, _salaries),
        Kind("version", "single", 100, _versions),
        Kind("speaks", "multi", 500, _listed(_LANGUAGES, _cased)),
        Kind("uses", "multi", 200, _listed(_TOOLS, _cased)),
        Kind("born_on", "never", 0, _dates),
        Kind("born_in", "never", 0, _listed(_CITIES, _cased)),
    )


def _listed(
    groups: tuple[tuple[str, ...], ...], also: Callable[[str], tuple[str, ...]] = lambda _plain: ()
) -> Callable[[Random], list[Value]]:
    """Values from a list; `also` adds spellings of the plain one."""

    def domain(chance: Random) -> list[Value]:
        chosen = chance.sample(groups, min(DOMAIN, len(groups)))
        return [Value(group[0], (*group, *also(group[0]))) for group in chosen]

    return domain


def _cased(plain: str) -> tuple[str, ...]:
    return (plain.upper(), plain.lower(), f"“{plain}”", f"{plain}.", f"  {plain} ")


def _weights(chance: Random) -> list[Value]:
    """Kilograms that lie close together, as kilograms and as grams."""
    start = chance.randint(50, 90)
    return [
        Value(f"{kg} kg", (f"{kg} kg", f"{kg}000 g", f"{kg}.0 kg", f"{kg} kilograms", f"{kg},000 g"))
        for kg in range(start, start + DOMAIN)
    ]


def _salaries(chance: Random) -> list[Value]:
    thousands = chance.sample(range(20, 120), DOMAIN)
    return [Value(f"{n}000", (f"{n},000", f"{n}000", n * 1000, f"{n}000.0")) for n in thousands]


def _versions(chance: Random) -> list[Value]:
    major, minor = chance.randint(0, 9), chance.randint(0, 20)
    found = [f"{major}.{minor + step // 3}.{step % 3}" for step in range(DOMAIN)]
    return [
        Value(version, (version, f"v{version}", f"V{version}", f"version {version}")) for version in found
    ]


def _dates(chance: Random) -> list[Value]:
    """Days of birth close to each other, written in four ways."""
    year, month = chance.randint(1950, 2005), chance.randint(1, 12)
    name = _MONTHS[month - 1]
    return [
        Value(
            f"{year}-{month:02}-{day:02}",
            (
                f"{year}-{month:02}-{day:02}",
                f"{day} {name} {year}",
                f"{name} {day}, {year}",
                f"{day} {name[:3]} {year}",
            ),
        )
        for day in chance.sample(range(1, 28), DOMAIN)
    ]


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_CITIES = tuple(
    (name,)
    for name in (
        "Oslo", "Bergen", "Rome", "Lima", "Pune", "Quito", "Porto", "Seoul", "New York", "York", "Cairo",
        "Accra", "San José", "Malmö", "Kraków", "東京", "Москва", "Hanoi",
    )
)  # fmt: skip
_PEOPLE = tuple(
    (name,)
    for name in (
        "Ann Lee", "Anna Lee", "Bo Strand", "Chen Wei", "Dora Kovács", "Emeka Obi", "Farid Haddad",
        "Greta Lind", "Hugo Lind", "Ines Prado",
    )
)  # fmt: skip
_STATUSES = (("active",), ("inactive",), ("suspended",), ("archived",), ("under review",), ("closed",))
_LANGUAGES = tuple((n,) for n in ("Norwegian", "Spanish", "Hindi", "Korean", "Arabic", "Polish", "Swahili"))
_TOOLS = tuple((n,) for n in ("Python", "Rust", "Go", "C", "C++", "C#", "Java", "JavaScript"))
_JOBS = (
    ("software engineer", "a software engineer", "software engineers", "engineer of software"),
    ("history teacher", "a history teacher", "teacher of history"),
    ("head of sales", "the head of sales", "sales head"),
    ("product manager", "a product manager", "product managers"),
    ("research assistant", "assistant in research", "a research assistant"),
    ("truck driver", "a truck driver", "driver of trucks"),
    ("night nurse", "a night nurse", "nurse on night shifts"),
    ("tax adviser", "a tax adviser", "tax advisor"),
    ("flight attendant", "a flight attendant", "cabin crew"),
    ("lawyer", "a lawyer", "attorney"),
)
_TASTES = (
    ("adoption agencies", "adoption agency", "an adoption agency"),
    ("foster care", "fostering"),
    ("morning runs", "running in the morning", "a morning run"),
    ("evening walks", "walking in the evening", "an evening walk"),
    ("black tea", "tea, black", "black teas"),
    ("green tea", "green teas", "a cup of green tea"),
    ("window seats", "a window seat", "the window seat"),
    ("aisle seats", "an aisle seat", "the aisle seat"),
    ("dark chocolate", "chocolate that is dark"),
    ("board games", "a board game", "playing board games"),
)
