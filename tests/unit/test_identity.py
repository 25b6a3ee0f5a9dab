"""Ids are version 5 UUIDs, as the standard library makes them."""

from __future__ import annotations

import json
from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from state.identity import NAMESPACE, derive

parts = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126)) | st.integers(0, 99) | st.none())


@given(st.sampled_from(["claim", "fact", "event"]), parts)
def test_an_id_is_the_uuid_of_its_parts(kind: str, found: list[str | int | None]) -> None:
    name = json.dumps([kind, *found], separators=(",", ":"))

    assert derive(kind, *found) == str(uuid5(NAMESPACE, name))
