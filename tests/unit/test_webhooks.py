"""What a webhook says: filters, signatures that any receiver can check, what answers mean."""

from __future__ import annotations

import pytest

from state.instants import Instant, parse_instant
from state.webhooks import (
    TOLERANCE_S,
    Alert,
    BadSecret,
    BadSignature,
    Verdict,
    Wanted,
    headers,
    retry_after_ms,
    secret_bytes,
    signature,
    verdict,
    verify,
    written_secret,
)

KEY, OTHER = b"k" * 32, b"o" * 32
BODY = b'{"event_id":"e1"}'
NOW = 1_700_000_000


# -- filters --------------------------------------------------------------------------------

BOTH = frozenset(("drift-alerts", "fact-invalidated"))
OUTVOTED = Alert("fact-invalidated", "e1", "default", "Kim Lee", ["lives in"], "outvoted")
UNSTABLE = Alert("drift-alerts", "e2", "default", "Kim Lee", ["lives in", "works at"], "unstable")


def test_without_a_filter_every_event_of_the_topics_is_wanted() -> None:
    wanted = Wanted(topics=frozenset(("fact-invalidated",)))

    assert wanted.has(OUTVOTED, signals=False)
    assert not wanted.has(UNSTABLE, signals=True)


@pytest.mark.parametrize(
    ("fields", "is_wanted"),
    [
        ({"namespaces": {"default"}}, True),
        ({"namespaces": {"Default"}}, False),
        ({"subjects": {"kim lee"}}, True),
        ({"subjects": {"kim"}}, False),
        ({"predicates": {"lives_in"}}, True),
        ({"predicates": {"works_at"}}, False),
        ({"reasons": {"outvoted", "denied"}}, True),
        ({"reasons": {"denied"}}, False),
        ({"signals": {"stable"}}, True),
        ({"subjects": {"kim lee"}, "reasons": {"denied"}}, False),
    ],
)
def test_every_filter_must_hold_and_one_of_its_values_is_enough(
    fields: dict[str, set[str]], is_wanted: bool
) -> None:
    wanted = Wanted(topics=BOTH, **{name: frozenset(values) for name, values in fields.items()})

    assert wanted.has(OUTVOTED, signals=False) is is_wanted


def test_a_drift_alert_is_wanted_for_any_of_its_causes_and_by_its_signal() -> None:
    assert Wanted(topics=BOTH, predicates=frozenset(("works_at",))).has(UNSTABLE, signals=True)
    assert not Wanted(topics=BOTH, predicates=frozenset(("likes",))).has(UNSTABLE, signals=True)
    assert not Wanted(topics=BOTH, signals=frozenset(("stable",))).has(UNSTABLE, signals=True)


def test_who_heard_that_a_subject_is_unstable_hears_that_it_is_stable_again() -> None:
    stable = Alert("drift-alerts", "e3", "default", "Kim Lee", [], "stable")

    assert Wanted(topics=BOTH, predicates=frozenset(("likes",))).has(stable, signals=True)


# -- signatures -----------------------------------------------------------------------------


def test_the_signature_is_the_one_of_standard_webhooks() -> None:
    """The published example of that scheme: secret, id, time and body give exactly this signature."""
    key = secret_bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    found = signature([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')

    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_is_sent_is_believed_and_tells_its_id() -> None:
    sent = headers([KEY], "drift-alerts", "e1", NOW, BODY)

    assert verify([KEY], sent, BODY, now_s=NOW + TOLERANCE_S) == "e1"
    assert sent["idempotency-key"] == "e1"


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "e2"},
        {"webhook-timestamp": str(NOW + 1)},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "-5"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v1"},
        {"webhook-id": ""},
    ],
)
def test_what_was_changed_on_the_way_is_not_believed(changed: dict[str, str]) -> None:
    sent = headers([KEY], "drift-alerts", "e1", NOW, BODY)

    with pytest.raises(BadSignature):
        verify([KEY], {**sent, **changed}, BODY, now_s=NOW)
    with pytest.raises(BadSignature):
        verify([KEY], sent, BODY + b" ", now_s=NOW)
    with pytest.raises(BadSignature):
        verify([OTHER], sent, BODY, now_s=NOW)


@pytest.mark.parametrize("away_s", [-TOLERANCE_S - 1, TOLERANCE_S + 1])
def test_a_copy_of_an_old_call_is_not_believed(away_s: int) -> None:
    sent = headers([KEY], "drift-alerts", "e1", NOW, BODY)

    with pytest.raises(BadSignature):
        verify([KEY], sent, BODY, now_s=NOW + away_s)


def test_a_signature_of_another_version_is_not_believed() -> None:
    sent = headers([KEY], "drift-alerts", "e1", NOW, BODY)
    sent["webhook-signature"] = sent["webhook-signature"].replace("v1,", "v2,")

    with pytest.raises(BadSignature):
        verify([KEY], sent, BODY, now_s=NOW)


def test_while_a_secret_is_replaced_both_are_believed() -> None:
    sent = headers([KEY, OTHER], "drift-alerts", "e1", NOW, BODY)

    assert verify([KEY], sent, BODY, now_s=NOW) == verify([OTHER], sent, BODY, now_s=NOW) == "e1"


def test_a_secret_is_read_as_it_is_written() -> None:
    assert secret_bytes(written_secret(KEY)) == KEY


@pytest.mark.parametrize("secret", ["", "hunter2", "whsec_", "whsec_aGk=", "whsec_not base64!", "a2" * 20])
def test_a_secret_that_is_none_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(BadSecret) as refused:
        secret_bytes(secret)

    assert secret in ("", "whsec_") or secret not in str(refused.value)


# -- answers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "meaning"),
    [
        ([200, 201, 202, 204, 299], Verdict.DELIVERED),
        ([None, 100, 301, 302, 307, 308, 401, 403, 404, 407, 429, 502, 503, 504], Verdict.AWAY),
        ([408, 409, 421, 423, 425, 500, 501, 507, 599], Verdict.AGAIN),
        ([400, 402, 405, 406, 411, 413, 414, 415, 422, 451, 499, 600, 999], Verdict.REFUSED),
        ([410], Verdict.GONE),
    ],
)
def test_every_answer_means_one_thing(statuses: list[int | None], meaning: Verdict) -> None:
    assert {verdict(status) for status in statuses} == {meaning}


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        (None, 0),
        ("", 0),
        ("soon", 0),
        ("-3", 0),
        ("7", 7_000),
        ("999999999999999999999", 3_600_000),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:10 GMT", 10_000),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0),
        ("Wed, 21 Oct 2115 07:28:00 GMT", 3_600_000),
    ],
)
def test_a_receiver_may_ask_for_a_rest_but_for_no_more_than_an_hour(
    text: str | None, expected_ms: int
) -> None:
    now: Instant = parse_instant("2015-10-21T07:28:00Z")

    assert retry_after_ms(text, now=now) == expected_ms
