"""What is published: people who move, like and deny things, out of order, twice, and taken back."""

from __future__ import annotations

import random

from tests.broker.feeds import observation, retract

N_LINES = 900
N_PEOPLE = 24
PLACES = ("Oslo", "Bergen", "Lisbon", "Nairobi", "Quito", "Perth")
LIKES = ("tea", "chess", "rain", "jazz")


def feed(rng: random.Random) -> list[bytes]:
    """The lines of one run, the same for the same seed."""
    lines: list[bytes] = []
    for number in range(N_LINES):
        person = f"person {rng.randrange(N_PEOPLE)}"
        at = f"{rng.randint(2001, 2009)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        name = f"o{number}"
        kind = rng.random()
        if kind < 0.06 and lines:
            lines.append(rng.choice(lines))  # once more
        elif kind < 0.12 and number > 50:
            lines.append(retract(person, f"o{rng.randrange(number)}"))
        elif kind < 0.3:
            polarity = "denied" if rng.random() < 0.3 else "affirmed"
            lines.append(
                observation(person, "likes", rng.choice(LIKES), at, observation_id=name, polarity=polarity)
            )
        else:
            place = PLACES[(int(at[3]) + rng.randrange(2)) % len(PLACES)]
            polarity = "denied" if rng.random() < 0.08 else "affirmed"
            source = {"id": f"s{rng.randrange(5)}", "document": f"d{rng.randrange(200)}"}
            lines.append(
                observation(
                    person, "lives_in", place, at, observation_id=name, polarity=polarity, source=source
                )
            )
    return lines


def poison(rng: random.Random, n_records: int) -> list[bytes]:
    """Records that are no observations, all different."""
    made = [b"", b"null", b"[]", b'{"subject": "kim"}', b"\xff\xfe", b'"text"']
    made.extend(rng.randbytes(rng.randint(1, 400)) for _ in range(n_records - len(made)))
    return made[:n_records]
