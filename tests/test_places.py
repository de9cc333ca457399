"""Every address that can be looked at is timed by `benchmarks.dashboard`, and is answered where every list has rows."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.dashboard.load import Size, fill
from benchmarks.dashboard.places import places

#: what answers to nobody but a program that posts, and what has no page with rows like these
FINE = {200, 302, 403, 404, 405, 422}


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("with_queries", [False, pytest.param(True, marks=pytest.mark.drill)], ids=["bare", "with queries"])
def test_no_page_breaks_and_none_is_forgotten(admin_user, with_queries):
    call_command("set_up")
    filled = fill(Size(crawls=20, live=2, pages=400, hosts=200, rows=100))
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)

    answers = {}
    for _, place in places(filled):
        if "?" in place and not with_queries:
            continue
        answer = client.get(place)
        answers[place] = answer.status_code
        answer.close()

    assert {place: status for place, status in answers.items() if status not in FINE} == {}
    assert sum(status == 200 for status in answers.values()) > (200 if with_queries else 120)
