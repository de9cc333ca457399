"""Every address that can be looked at is timed by `benchmarks.dashboard`, and is answered where
every list has rows.
"""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks.dashboard.page_urls import page_urls
from benchmarks.scene.installation import Size, fill
from crawlsite.models import GivenPassword

pytestmark = pytest.mark.slow

#: what answers only to a program that posts, what has no page with rows like these, and what a
#: background job is to answer
FINE = {200, 202, 302, 403, 404, 405, 422}


@pytest.fixture
def filled(transactional_db):
    call_command("set_up")
    GivenPassword.objects.all().delete()  # or every page would lead to the choice of another
    return fill(Size(crawls=20, live=2, pages=400, hosts=200, rows=100, links=300))


def test_none_is_forgotten(filled):
    # raises for a route that it has no values for
    assert len({route for route, _ in page_urls(filled)}) > 150


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_none_breaks_whatever_it_is_asked(filled, admin_user):
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)

    answers = {}
    for _, place in page_urls(filled):
        answer = client.get(place)
        answers[place] = answer.status_code
        answer.close()

    assert {place: status for place, status in answers.items() if status not in FINE} == {}
    assert sum(status == 200 for status in answers.values()) > 200
