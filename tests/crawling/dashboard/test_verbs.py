"""Each verb of a crawl at each of its doors: button, endpoint, action on many crawls and command
allow it, or refuse it, in the same states and with the same sentence.
"""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.messages import ERROR, get_messages
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from crawling.frontier.run_counts import count_seeds
from crawling.models import HostQueue, Run
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.transitions import ACTIONS
from crawling.runs.verbs import VERBS
from tests.crawling.pages import browser, soup

SEED = "http://127.0.0.1:8900/"


def at_button(operator, crawl, word):
    steer = reverse("crawling:steer", args=[crawl.pk, word])
    told = list(get_messages(operator.post(steer, {"confirmed": "yes"}).wsgi_request))[-1]
    return told.message if told.level == ERROR else ""


def at_endpoint(operator, crawl, word):
    answer = operator.post(f"/api/v1/crawls/{crawl.pk}/{word}")
    assert answer.status_code in (200, 409)
    return answer.json().get("detail", "")


def among_many(operator, crawl, word):
    asked = {"action": word, "crawls": [crawl.pk]}
    answer = operator.post("/api/v1/bulk-actions", asked, content_type="application/json")
    return " ".join(answer.json()["refused"])


def among_ticked(operator, crawl, word):
    asked = {"action": word, "crawl": crawl.pk, "confirmed": "yes"}
    answer = operator.post(reverse("crawling:bulk"), asked)
    return str(list(get_messages(answer.wsgi_request))[-1]).partition(" could not be: ")[2]


def on_the_command_line(operator, crawl, word):
    try:
        call_command("crawl", word, str(crawl.pk), stdout=StringIO())
    except CommandError as error:
        return str(error)
    return ""


def doors_of(word):
    many = (among_many, among_ticked) if word in ACTIONS else ()
    return (at_button, at_endpoint, on_the_command_line, *many)


def crawl_in(order, state):
    crawl = create_crawl(order(SEED))
    if state == "draft":
        return crawl
    run, moment = start_run(crawl), timezone.now()
    named = {"aborting": RunState.STOPPING, "empty": RunState.STOPPED}.get(state, state)
    Run.objects.filter(pk=run.pk).update(
        state=named,
        aborted_at=moment if state == "aborting" else None,
        finished_at=moment if named in ENDED_STATES else None,
    )
    if state == "empty":
        HostQueue.objects.filter(run=run).update(queued=0)
        count_seeds(run.pk, -1)
    return crawl


@pytest.mark.parametrize("state", ["draft", *RunState, "aborting", "empty"])
def test_every_door_allows_or_refuses_a_verb_with_the_same_sentence(order, worker, state):
    crawl, operator = crawl_in(order, state), browser("operator")
    page = soup(operator.get(reverse("crawling:crawl", args=[crawl.pk])))
    buttons = {button["formaction"] for button in page.select(".verbs button[formaction]")}

    for word in VERBS:
        told = set()
        for door in doors_of(word):
            before = transaction.savepoint()
            told.add(door(operator, crawl, word))
            transaction.savepoint_rollback(before)

        assert len(told) == 1, f"{word} of a crawl that is {state}"
        is_offered = reverse("crawling:steer", args=[crawl.pk, word]) in buttons
        assert is_offered == (told == {""}), f"{word} of a crawl that is {state}"
