"""Pages tell of acts that could not be done."""

from __future__ import annotations

import pytest
from django.urls import reverse
from redis import Redis
from rq import Queue

from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.base.trouble import mistakes_kept
from crawling.jobs.rq_jobs import BACKGROUND
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.pages import browser

pytestmark = pytest.mark.usefixtures("contexts")


def test_without_redis_the_page_of_the_link_graph_tells_that_no_job_can_be_asked(
    order, monkeypatch
):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    dead = Queue(BACKGROUND, connection=Redis(unix_socket_path="/nonexistent.sock"))
    monkeypatch.setattr("crawling.jobs.rq_jobs.django_rq.get_queue", lambda name: dead)

    page = browser("operator").post(reverse("crawling:graph", args=[run.crawl_id]), follow=True)

    told = [str(message) for message in page.context["messages"]]
    assert told == ["Redis does not answer, so no background job can be asked."]


def test_mistakes_of_an_order_stand_by_field_and_other_errors_as_all():
    errors = {}

    with mistakes_kept(errors):
        raise BadOrder({"name": "is taken"})
    with mistakes_kept(errors, WrongState):
        raise WrongState("The crawl runs.")

    assert errors == {"name": "is taken", "all": "The crawl runs."}


def test_an_error_that_a_page_has_no_place_for_is_raised():
    with pytest.raises(WrongState), mistakes_kept({}):
        raise WrongState("The crawl runs.")
