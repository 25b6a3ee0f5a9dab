"""The file of webhooks: what it may hold, one sentence for each fault, and no secret in any of them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from state.webhooks import written_secret
from streams.webhook_config import BadWebhooks, Receiver, load, parse, unfit

SECRET = written_secret(b"s" * 32)
ENVIRONMENT = {"SECRET": SECRET}
ENTRY = "webhooks.toml: [webhooks.oncall]"
PATH = Path("webhooks.toml")


def entry(
    *lines: str, url: str = "https://example.org/hook?token=t0ken", secret: str = 'secret_env = "SECRET"'
) -> str:
    return "\n".join(("[webhooks.oncall]", f'url = "{url}"', secret, *lines))


def read(text: str) -> list[Receiver]:
    return parse(text, path=PATH, environment=ENVIRONMENT)


def faults(text: str) -> list[str]:
    with pytest.raises(BadWebhooks) as refused:
        read(text)
    return str(refused.value).splitlines()


def test_two_lines_are_a_webhook() -> None:
    (found,) = read(entry())

    assert found.name == "oncall"
    assert found.keys == (b"s" * 32,)
    assert found.wanted.topics == {"drift-alerts", "fact-invalidated"}
    assert not found.from_start


def test_names_of_filters_are_compared_in_any_spelling() -> None:
    (found,) = read(entry('subjects = ["  KIM Lee "]', 'predicates = ["Lives-In"]'))

    assert found.wanted.subjects == {"kim lee"}
    assert found.wanted.predicates == {"lives_in"}


def test_a_file_of_secrets_lies_beside_the_file_of_webhooks_and_may_hold_several(tmp_path: Path) -> None:
    other = written_secret(b"o" * 24)
    (tmp_path / "secret").write_text(f"{SECRET}\n\n{other}\n")
    (tmp_path / "webhooks.toml").write_text(entry(secret='secret_file = "secret"'))

    (found,) = load(tmp_path / "webhooks.toml", {})

    assert found.keys == (b"s" * 32, b"o" * 24)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "webhooks.toml names no webhook; entries look like [webhooks.oncall]."),
        ("[webhooks", "webhooks.toml is not TOML: "),
        ("webhooks = 3", "webhooks.toml: webhooks must be tables such as [webhooks.oncall]."),
        (entry() + "\n[other]", "webhooks.toml: [other] is unknown; entries look like [webhooks.oncall]."),
        (entry("colour = 3"), f"{ENTRY} has an unknown key colour; known are url, "),
        ("[webhooks.oncall]\nsecret_env = 'SECRET'", f"{ENTRY} lacks url."),
        (entry('topics = ["facts"]'), f"{ENTRY}: topics.0 is 'facts': input should be "),
        (entry('reasons = ["ended"]'), f"{ENTRY}: reasons.0 is 'ended': input should be "),
        (entry("timeout_s = 0"), f"{ENTRY}: timeout_s is 0: input should be greater "),
        (entry("tries_max = 0"), f"{ENTRY}: tries_max is 0: input should be greater "),
        (entry(secret=""), f"{ENTRY}: give either secret_file or secret_env."),
        (
            entry(secret='secret_env = "NONE"'),
            f"{ENTRY} has no usable secret: the environment has no NONE.",
        ),
        (
            entry(secret='secret_file = "none"'),
            f"{ENTRY} has no usable secret: none cannot be read: No such file",
        ),
        (entry(url="ftp://example.org"), f"{ENTRY}: url: it must begin with https://"),
        (entry(url="https://"), f"{ENTRY}: url: it must begin with https://"),
        (entry(url="https://[::"), f"{ENTRY}: url: it is no address."),
        (entry(url="https://a:b@example.org"), f"{ENTRY}: url: a user or password in it "),
        (entry(url="https://example.org/#a"), f"{ENTRY}: url: it must hold no #"),
        (entry(url="http://example.org/"), f"{ENTRY}: url is http, which anybody "),
        (entry(url="https://10.0.0.7/"), f"{ENTRY}: its host is in a private network; "),
        ("[webhooks.Oncall]", "webhooks.toml: [webhooks.Oncall] has a name that is not 1 to 40 of "),
    ],
)  # fmt: skip
def test_a_fault_is_one_sentence_that_names_file_entry_and_mend(text: str, told: str) -> None:
    (line,) = faults(text)

    assert line.startswith(told)
    assert line.endswith(".")


def test_every_fault_is_told_at_once() -> None:
    text = entry("tries_max = 0", "colour = 3") + "\n[webhooks.b]\nurl = 3\nsecret_env = 'SECRET'"

    assert len(faults(text)) == 3


@pytest.mark.parametrize(
    "text",
    [
        entry(url="https://a:hunter2@example.org"),
        entry(url="ftp://example.org/hunter2"),
        entry(secret='secret = "hunter2"'),
        entry("timeout_s = 0", url="https://example.org/hunter2"),
        entry(secret='secret_env = "WEAK"'),
        entry(secret=""),
    ],
)
def test_no_fault_shows_a_secret_or_an_address(text: str) -> None:
    with pytest.raises(BadWebhooks) as refused:
        parse(text, path=PATH, environment={"WEAK": "hunter2"})

    assert "hunter2" not in str(refused.value)
    assert "t0ken" not in str(refused.value)


def test_a_receiver_shows_its_name_only() -> None:
    (found,) = read(entry())

    assert repr(found) == str(found) == "Receiver('oncall')"


@pytest.mark.parametrize(
    ("address", "private", "plain", "may_be_called"),
    [
        ("93.184.216.34", False, False, True),
        ("93.184.216.34", True, False, True),
        ("93.184.216.34", True, True, False),  # in the open, and everybody can read it
        ("10.0.0.7", False, False, False),
        ("10.0.0.7", True, True, True),
        ("127.0.0.1", False, False, False),
        ("127.0.0.1", True, True, True),
        ("::1", True, True, True),
        ("fd00::7", False, False, False),
        ("fd00::7", True, False, True),
        ("100.64.0.1", False, False, False),
        ("169.254.169.254", True, False, False),  # where clouds keep credentials
        ("fe80::1", True, False, False),
        ("::ffff:169.254.169.254", True, False, False),
        ("::ffff:10.0.0.7", False, False, False),
        ("0.0.0.0", True, True, False),
        ("::", True, True, False),
        ("224.0.0.1", True, False, False),
    ],
)
def test_which_addresses_may_be_called(address: str, private: bool, plain: bool, may_be_called: bool) -> None:
    why = unfit(ipaddress.ip_address(address), allow_private=private, is_plain=plain)

    assert (why is None) is may_be_called
