"""Every end of a fetch has a code and a sentence (SEEDS B2)."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command

from crawling.orders.scope.status_policy import BOOK, status_rows
from crawling.web.statuses import FetchStatus, is_redirect, is_success, may_pass, status_sentence


@pytest.mark.parametrize("status", FetchStatus)
def test_every_status_of_ours_is_negative_and_has_a_sentence(status):
    assert status < 0
    assert status.sentence.endswith(".")
    assert status_sentence(int(status)) == status.sentence


def test_no_two_statuses_share_a_sentence():
    assert len({status.sentence for status in FetchStatus}) == len(FetchStatus)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (200, "200 OK"),
        (404, "404 Not Found"),
        (503, "503 Service Unavailable"),
        (999, "HTTP status 999"),
    ],
)
def test_http_statuses_explain_themselves(status, text):
    assert status_sentence(status) == text


def test_what_may_be_different_in_a_moment_is_tried_again_and_nothing_else():
    again = {status for status in range(-100, 600) if may_pass(status)}
    assert again == {-5, -7, -21, 202, 408, 425, 429, *range(500, 600)} - {501, 505}


def test_a_status_is_a_success_a_redirect_or_neither():
    assert [status for status in range(100, 1000) if is_success(status)] == list(range(200, 400))
    assert [status for status in range(100, 1000) if is_redirect(status)] == [
        301,
        302,
        303,
        307,
        308,
    ]


def test_none_of_ours_is_a_success():
    assert not any(is_success(status) or is_redirect(status) for status in FetchStatus)


def test_where_the_table_says_otherwise_than_the_book_it_says_why():
    rows = {row.status: row for row in status_rows()}

    assert {status for status, row in rows.items() if row.differs} == {
        204,
        304,
        401,
        500,
        502,
        503,
        504,
    }
    assert all(row.why for row in rows.values() if row.differs)
    assert set(FetchStatus) <= rows.keys()
    assert set(BOOK) <= rows.keys()


def test_the_documentation_has_the_table_as_the_command_prints_it():
    printed = io.StringIO()
    call_command("statuses", "--markdown", stdout=printed)

    assert printed.getvalue() == Path("docs/statuses.md").read_text()
