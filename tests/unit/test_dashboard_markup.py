"""Markup of the dashboard: what others wrote cannot break out of it, hide in it, or fill the page."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.dashboard import login
from agents.dashboard.markup import Html, address, join, plain, said, tag


class Parsed(HTMLParser):
    """The elements, attributes and text that a browser would see."""

    def __init__(self, markup: Html) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(markup.text)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += attributes

    def handle_data(self, data: str) -> None:
        self.text += data


texts = st.text(st.one_of(st.sampled_from("<>&\"'`=/; -!"), st.characters(codec="utf-8")))
"""Any text, and much of what markup is made of."""


@given(texts, texts)
def test_text_stays_text_wherever_it_is_put(content: str, attribute: str) -> None:
    parsed = Parsed(tag("div", content, tag("span", content), title=attribute))

    assert parsed.tags == ["div", "span"]
    assert parsed.text == content * 2
    assert parsed.attributes == [("title", attribute)]


@given(texts)
def test_what_was_said_is_shown_in_elements_of_ours_only(text: str) -> None:
    parsed = Parsed(said(text))

    assert set(parsed.tags) <= {"bdi", "span"}
    assert {name for name, _ in parsed.attributes} <= {"class"}


@given(texts)
def test_nothing_that_is_said_is_invisible_or_long(text: str) -> None:
    shown = plain(text, shown_max=20)

    hidden = [
        mark for mark in shown if mark in "\u202e\u202d\u2066\u2067\u2068\u200b\u200e\u200f\ufeff\x00\x1b\n"
    ]
    assert hidden == []
    assert len(shown) <= 20 * 10 + 40  # every character may have become its code point


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Oslo", "Oslo"),
        ("a\u202eb", "a‹U+202E›b"),
        ("a\nb\x00", "a‹U+000A›b‹U+0000›"),
        ("👩\u200d🚒", "👩\u200d🚒"),
        ("אבג", "אבג"),
        ("x" * 25, "xxxxxxxxxxxxxxxxxxxx… (25 characters)"),
        ("", ""),
    ],
)
def test_a_name_is_shown_with_what_is_invisible_in_it(written: str, shown: str) -> None:
    assert plain(written, shown_max=20) == shown


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert tag("input", disabled=True, value=None, checked=False, aria_label="x", class_="y").text == (
        '<input disabled aria-label="x" class="y">'
    )
    assert join(["<", None, tag("b")]).text == "&lt;<b></b>"


@pytest.mark.parametrize("name", ["script onload=x", "a>b", "", "1a"])
def test_a_name_of_an_element_is_never_made_of_what_others_wrote(name: str) -> None:
    with pytest.raises(AssertionError):
        tag(name)


def test_an_address_holds_what_it_is_given_and_leaves_out_what_is_none() -> None:
    assert address("entity", subject="a&b=c/../ø", namespace=None) == (
        "/dashboard/entity?subject=a%26b%3Dc%2F..%2F%C3%B8"
    )
    assert address("") == "/dashboard/"
    assert address("entity", subject="\ud800") == "/dashboard/entity?subject=%3F"


# -- the login ------------------------------------------------------------------------------


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16))
def test_the_cookie_gives_back_the_token_that_it_keeps(token: str) -> None:
    header = login.kept(token, secure=True)
    sent = header.partition(";")[0].encode()

    assert login.token_in(sent) == token
    assert "HttpOnly; SameSite=Strict; Secure" in header


@given(st.binary())
def test_a_cookie_that_is_none_of_ours_is_no_token_and_no_fault(sent: bytes) -> None:
    found = login.token_in(login.COOKIE.encode() + b"=" + sent)

    assert found is None or isinstance(found, str)


@given(texts)
def test_the_login_leads_on_to_the_dashboard_and_nowhere_else(wanted: str) -> None:
    for asked in (wanted, f"/dashboard/{wanted}", f"//{wanted}"):
        onward = login.onward(asked)
        assert onward.startswith("/dashboard/")
        assert onward.isprintable()
        assert "\\" not in onward


@given(texts)
def test_the_login_shows_what_it_was_given_as_text(onward: str) -> None:
    shown = login.page(style="", onward=onward, refusal=onward)

    assert set(Parsed(Html(shown)).tags) <= {
        "html", "head", "meta", "title", "style", "body", "main", "form", "h1", "p", "label", "input",
        "button",
    }  # fmt: skip
