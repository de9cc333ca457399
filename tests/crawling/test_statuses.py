"""Every end of a fetch has a code and a sentence (SEEDS B2)."""

import pytest

from crawling.rules.statuses import TRANSIENT, FetchStatus, explain, is_redirect, succeeded


@pytest.mark.parametrize("status", FetchStatus)
def test_every_status_of_ours_is_negative_and_has_a_sentence(status):
    assert status < 0
    assert status.sentence.endswith(".")
    assert explain(int(status)) == status.sentence


def test_no_two_statuses_share_a_sentence():
    assert len({status.sentence for status in FetchStatus}) == len(FetchStatus)


@pytest.mark.parametrize(
    ("status", "text"), [(200, "200 OK"), (404, "404 Not Found"), (503, "503 Service Unavailable"), (999, "HTTP status 999")]
)
def test_http_statuses_explain_themselves(status, text):
    assert explain(status) == text


def test_what_may_be_different_in_a_moment_is_tried_again_and_nothing_else():
    assert {int(status) for status in TRANSIENT} == {-2, -4, -5, -7, -9, 429, 502, 503, 504}


def test_a_status_is_a_success_a_redirect_or_neither():
    assert [status for status in range(100, 1000) if succeeded(status)] == list(range(200, 400))
    assert [status for status in range(100, 1000) if is_redirect(status)] == [301, 302, 303, 307, 308]


def test_none_of_ours_is_a_success():
    assert not any(succeeded(status) or is_redirect(status) for status in FetchStatus)
