"""Notices of changed pages on their whole way: from a site that changes to a mail server and a web
server, which fail at first.
"""

from __future__ import annotations

import hmac
import json
from hashlib import sha256

import pytest
from django.utils import timezone

from crawling.runs.start import start_run
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.wording import WAITS
from crawling.uses.watches.comparing import MOST_TOLD, REST_TOLD, _whole_lines, compare_watched
from crawling.uses.watches.watching import WatchFields, create_watch
from crawling.uses.withdrawals.withdrawing import withdraw_pages

LONG = "x" * 400 + " ö" * 200
PRICES = f"<p>Größe: 3 €</p><p>.hidden</p><p>From here on: {LONG}</p>"
#: as a reader sees it; a line is cut behind 500 characters, and says so
DIFF = [
    "- Größe: 3 €",
    "+ Größe: 4 €",
    "  .hidden",
    f"  From here on: {LONG}"[:502] + "…",
]


@pytest.fixture
def receiver(make_site):
    return make_site({"/hook": (500, {}, "")})


@pytest.fixture
def site(make_site):
    home = '<a href="/prices">prices</a> <a href="/moved">moved</a>'
    return make_site({"/": home, "/prices": PRICES, "/moved": "<p>here</p>"})


@pytest.fixture
def changed_page(site, receiver, mail_server, crawl_to_the_end, work_off, django_user_model):
    """A crawl of whose watched pages one has changed and one redirects; a webhook and a mailbox are
    to be told.
    """
    ada = django_user_model.objects.create_user("ada")
    for name, url in (("hook", f"{receiver.url}/hook"), ("mail", "mailto:ops@example.org")):
        save_listener({"name": name, "url": url, "events": ["page changed"]}, by=ada)
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    create_watch(crawl, WatchFields("pattern", "/(moved|prices)$"), by=None)
    site.pages["/prices"] = PRICES.replace("3", "4")
    site.pages["/moved"] = (301, {"Location": "/prices"}, "")
    work_off(start_run(crawl))
    compare_watched(crawl.pk)
    return crawl


def send_again() -> int:
    """Send the deliveries that the background job sends once the time to wait is over."""
    Delivery.objects.exclude(next_try_at=None).update(next_try_at=timezone.now())
    return send_due_deliveries()


def outcomes() -> list[str]:
    return list(Delivery.objects.order_by("listener__name").values_list("outcome", flat=True))


def test_a_webhook_and_a_mailbox_get_the_diff_once_their_servers_take_it(
    changed_page, site, receiver, mail_server
):
    mail_server.greylisted = {"ops@example.org"}
    assert (send_due_deliveries(), send_due_deliveries()) == (2, 0)
    assert outcomes() == [
        "Answered 500.",
        "Refused by the mail server: 451 Try again later",
    ]

    receiver.pages["/hook"] = (204, {}, "")
    mail_server.greylisted = set()
    assert (send_again(), send_again()) == (2, 0)

    assert outcomes() == ["Answered 204.", "Taken by the mail server."]
    first, second = receiver.log
    assert first.body == second.body
    signed = f"{second.headers['X-Crawlsite-Timestamp']}.".encode() + second.body
    secret = Listener.objects.get(name="hook").secret.encode()
    expected = "sha256=" + hmac.new(secret, signed, sha256).hexdigest()
    assert second.headers["X-Crawlsite-Signature"] == expected
    facts = json.loads(second.body)
    moved = [f"{site.url}/moved", f"It redirects to {site.url}/prices."]
    assert facts["diff"].splitlines() == [*moved, "", f"{site.url}/prices", *DIFF]
    [(_, recipients, letter)] = mail_server.letters
    assert recipients == ["ops@example.org"]
    assert letter["Subject"] == "[crawlsite] page changed: a crawl, run 2"
    lines = letter.get_content().splitlines()
    at = lines.index(f"{site.url}/prices")
    assert lines[at + 1 : at + 5] == DIFF
    assert f"See https://crawls.example.org/crawls/{changed_page.pk}/watches/" in lines


def test_a_notice_that_no_server_takes_is_given_up_and_says_so(changed_page, receiver, mail_server):
    mail_server.refused = {"ops@example.org"}
    tried = [send_again() for _ in range(len(WAITS) + 2)]

    assert tried == [2] * (len(WAITS) + 1) + [0]
    assert outcomes() == [
        "Answered 500. Given up.",
        "Refused by the mail server: 550 No such mailbox here Given up.",
    ]
    assert mail_server.letters == []


def test_a_page_that_is_withdrawn_between_two_tries_is_told_to_no_one(
    changed_page, site, receiver, mail_server
):
    mail_server.greylisted = {"ops@example.org"}
    send_due_deliveries()
    asked = {"reason": "asked for", "by": None}
    withdraw_pages(changed_page, None, kind="page", text=f"{site.url}/prices", **asked)
    receiver.pages["/hook"], mail_server.greylisted = (204, {}, ""), set()

    assert send_again() == 0
    assert (len(receiver.log), mail_server.letters) == (1, [])


def test_a_long_diff_ends_with_a_whole_line_and_says_that_there_is_more():
    lines = [f"+ line {number}" for number in range(400)]

    *told, last = _whole_lines("\n".join(lines)).splitlines()

    assert last == REST_TOLD
    assert told == lines[: len(told)]
    assert MOST_TOLD - 20 < len("\n".join(told)) <= MOST_TOLD
    assert _whole_lines("+ short") == "+ short"
