"""Watched pages of a site that changes between runs: what is found, and who is told of it."""

from __future__ import annotations

import json
from io import StringIO
from xml.etree import ElementTree

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from crawling.datasets import seen_text
from crawling.jobs.due_jobs import request_due_jobs
from crawling.models import BackgroundJob
from crawling.runs.start import start_run
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.wording import body_of
from crawling.uses.watches import comparing
from crawling.uses.watches.comparing import compare_watched, due_crawls
from crawling.uses.watches.feed import atom_feed, feed_token
from crawling.uses.watches.jobs import WATCHES
from crawling.uses.watches.models import Watch, WatchEvent
from crawling.uses.watches.page_states import state_changes
from crawling.uses.watches.watching import WatchFields, create_watch, events_of
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser, soup

ATOM = "{http://www.w3.org/2005/Atom}"


def page(*paths: str, text: str = "") -> str:
    return text + "".join(f'<p><a href="{path}">to {path}</a></p>' for path in paths)


@pytest.fixture
def site(make_site):
    return make_site(
        {
            "/": page("/price", "/gone", "/lost", "/clock", "/same"),
            "/price": "<h1>Tea</h1><main><p>Price: 3</p><p>Stock: 7</p></main><footer>a</footer>",
            "/gone": "bye",
            "/lost": "here",
            "/clock": "<p>It is 12:31 on 2026-01-02</p><p>visitor ab12</p>",
            "/same": "same",
        }
    )


@pytest.fixture
def crawl(site, crawl_to_the_end):
    return crawl_to_the_end(f"{site.url}/").crawl


@pytest.fixture
def again(work_off):
    """Crawl once more, and compare what is watched."""

    def run(crawl):
        run = work_off(start_run(crawl))
        compare_watched(crawl.pk)
        return run

    return run


def changed(site) -> None:
    """`/gone` is linked no more, `/lost` is answered with 404, and `/new` is new."""
    site.pages["/"] = page("/price", "/lost", "/clock", "/same", "/new")
    site.pages["/price"] = site.pages["/price"].replace("3", "4").replace(">a<", "><b>b</b><")
    site.pages["/clock"] = "<p>It is 18:05 on 2026-11-26</p><p>visitor cd34</p>"
    site.pages["/new"] = "hello <script>x</script>"
    del site.pages["/gone"], site.pages["/lost"]


def found(watch, site):
    """The kind of each event by path, and the lines that it shows as removed or added."""
    return {
        event.url.removeprefix(site.url): (
            event.kind,
            [text for kind, text in event.diff if kind in ("removed", "added")],
        )
        for event in watch.found.order_by("pk")
    }


def watching(crawl, text, kind="pattern", **fields):
    return create_watch(crawl, WatchFields(kind, text, **fields), by=None)


def test_a_changed_a_lost_and_a_new_page_are_found_once_each_and_noise_is_not(site, crawl, again):
    every = watching(crawl, "/(price|gone|lost|clock|same|new)$")
    quiet = watching(crawl, "/clock$", ignore=["visitor [a-z0-9]+"], ignore_numbers=True)
    region = watching(crawl, f"{site.url}/price", "page", selector="footer")
    elsewhere = watching(crawl, f"{site.url}/price", "page", selector="h1, aside")
    only_gone = watching(crawl, site.url.removeprefix("http://"), "host", events=["gone"])
    assert due_crawls() == []

    changed(site)
    again(crawl)

    clock = ["It is 12:31 on 2026-01-02", "visitor ab12"]
    now = ["It is 18:05 on 2026-11-26", "visitor cd34"]
    assert found(every, site) == {
        "/price": ("changed", ["Price: 3", "Price: 4", "a", "b"]),
        "/clock": ("changed", [*clock, *now]),
        "/gone": ("gone", []),
        "/lost": ("gone", []),
        "/new": ("new", []),
    }
    assert found(quiet, site) == found(elsewhere, site) == {}
    assert found(region, site) == {"/price": ("changed", ["a", "b"])}
    assert found(only_gone, site).keys() == {"/gone", "/lost"}
    again(crawl)
    assert [watch.found.count() for watch in Watch.objects.all()] == [5, 0, 1, 0, 2]
    site.pages["/lost"] = "here again"
    again(crawl)
    assert found(every, site)["/lost"] == ("new", [])


def test_a_page_that_a_run_could_not_have_is_not_gone_and_not_new_later(site, crawl, work_off):
    """A run that a limit ends early says nothing of the pages that it has not fetched."""
    rule = watching(crawl, "/").rule
    del site.pages["/gone"]
    site.pages["/"] = page("/price", "/lost", "/clock", "/same", "/gone", "/extra")
    site.pages["/extra"] = "extra"
    crawl.max_pages = 2
    crawl.save()
    short = work_off(start_run(crawl))
    assert [one.url for one in state_changes(rule, short).gone] == []
    crawl.max_pages = None
    crawl.save()
    full = work_off(start_run(crawl))

    later = state_changes(rule, full)

    assert [one.url.removeprefix(site.url) for one in later.gone] == ["/gone"]
    assert [one.url.removeprefix(site.url) for one in later.changed] == []


def test_an_answer_that_says_nothing_is_told_as_what_it_is(site, crawl, again):
    """Such an answer is no change, and the next one is compared with the one before."""
    watch = watching(crawl, "/(price|clock|same|lost)$")
    region = watching(crawl, f"{site.url}/price", "page", selector="footer")
    before = dict(site.pages)
    site.pages["/price"] = (302, {"Location": "/login"}, "")
    site.pages["/login"] = "<form>Log in</form>"
    site.pages["/clock"] = (500, {}, "busy")
    site.pages["/same"] = (403, {}, "captcha")
    again(crawl)
    watch.refresh_from_db()

    assert watch.note.startswith("Run 2 got no answer that can be compared from 2 pages: ")
    assert f"{site.url}/clock (status 500: " in watch.note
    assert f"{site.url}/same (status 403: " in watch.note
    for one in watch, region:
        (event,) = one.found.all()
        assert (event.diff, event.note) == ([], f"It redirects to {site.url}/login.")
    site.pages.update(before, **{"/clock": "<p>It is late"})
    again(crawl)
    watch.refresh_from_db()
    assert watch.note == ""
    assert found(watch, site)["/clock"][1][-1] == "It is late"
    assert "/same" not in found(watch, site)


def test_what_cannot_be_compared_is_told(site, crawl, again, monkeypatch):
    monkeypatch.setattr(seen_text, "MOST_BYTES", 1_000)
    site.pages["/price"] = (200, {"Content-Type": "text/plain"}, "tea\n" * 400)
    site.pages["/clock"] = (200, {"Content-Type": "application/octet-stream"}, b"\0\1\2" * 9)
    again(crawl)
    watch = watching(crawl, "/(price|clock)$")
    site.pages["/price"] = (200, {"Content-Type": "text/plain"}, "tea\n" * 399 + "last")
    site.pages["/clock"] = (200, {"Content-Type": "application/octet-stream"}, b"\0\1\3" * 9)

    again(crawl)

    told = {event.url.removeprefix(site.url): event for event in watch.found.all()}
    assert told["/price"].diff_text.endswith(
        "… Only the first 1,000 bytes are compared. The rest was not compared."
    )
    assert "the texts are not compared" in told["/clock"].note


def test_listeners_get_the_diff_by_webhook_mail_and_chat(site, crawl, again):
    for name, url in (("hook", "http://127.0.0.1:9/x"), ("mail", "mailto:a@example.org")):
        listener = Listener(name=name, url=url, events=["page changed", "page gone"])
        listener.secret = "x"
        listener.save()
    Listener.objects.create(name="other", url="http://127.0.0.1:9/", events=["failed"])
    watching(crawl, "/(price|gone|new)$")
    changed(site)
    again(crawl)

    told = [(one.listener.name, one.event) for one in Delivery.objects.order_by("pk")]
    assert sorted(told) == [
        ("hook", "page changed"),
        ("hook", "page gone"),
        ("mail", "page changed"),
        ("mail", "page gone"),
    ]
    body = Delivery.objects.filter(event="page changed").first().body
    facts = json.loads(body)
    assert facts["sentence"] == f"Page changed: {site.url}/price."
    assert "- Price: 3\n+ Price: 4" in facts["diff"]
    for format_ in ("slack", "teams", "matrix"):
        assert "+ Price: 4" in body_of(format_, body).decode()
    compare_watched(crawl.pk)
    assert Delivery.objects.count() == 4


def test_a_withdrawn_page_gives_no_event_and_takes_its_diffs_along(site, crawl, again, work_off):
    listener = Listener(name="hook", url="http://127.0.0.1:9/x", events=["page changed"])
    listener.secret = "x"
    listener.save()
    watch = watching(crawl, "/(price|clock|gone)$")
    changed(site)
    again(crawl)
    assert Delivery.objects.count() == 1
    asked = {"reason": "asked for", "by": None}

    withdraw_pages(crawl, None, kind="page", text=f"{site.url}/price", **asked)

    assert found(watch, site).keys() == {"/clock", "/gone"}
    assert Delivery.objects.count() == 0
    assert (
        b"Price" not in browser("viewer").get(reverse("crawling:watches", args=[crawl.pk])).content
    )
    assert "Price" not in atom_feed(watch, "http://x.test/")
    again(crawl)  # it is fetched again, and was known
    assert found(watch, site).keys() == {"/clock", "/gone"}


def test_what_is_withdrawn_while_it_is_compared_is_not_stored(site, crawl, again, monkeypatch):
    watch = watching(crawl, "/(price|clock)$")
    changed(site)
    store = comparing._store_events

    def withdrawn_before(*args):
        withdraw_pages(
            *(crawl, None), kind="page", text=f"{site.url}/price", reason="asked for", by=None
        )
        store(*args)

    monkeypatch.setattr(comparing, "_store_events", withdrawn_before)
    again(crawl)

    assert found(watch, site).keys() == {"/clock"}


def test_the_feed_is_read_without_a_log_in_by_its_secret_address_alone(site, crawl, again):
    watch = watching(crawl, "/")
    changed(site)
    site.pages["/price"] = "<p>&lt;script&gt;alert(1)&lt;/script&gt; \x01</p>"
    again(crawl)
    reader = Client()
    place = reverse("watch-feed", args=[feed_token(watch)])

    answer = reader.get(place)

    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    entries = {
        entry.findtext(f"{ATOM}title"): entry.findtext(f"{ATOM}summary")
        for entry in ElementTree.fromstring(answer.content).iter(f"{ATOM}entry")
    }
    assert f"page gone: {site.url}/gone" in entries
    shown = tree_of(entries[f"page changed: {site.url}/price"])
    assert shown.script is None
    assert "+ <script>alert(1)</script>" in shown.pre.get_text()
    assert reader.get(place[:-12] + "x/feed.atom").status_code == 404
    operator = browser("operator")
    operator.post(reverse("crawling:watch", args=[crawl.pk, watch.pk]), {"renew": ""})
    watch.refresh_from_db()
    assert reader.get(place).status_code == 404
    assert reader.get(reverse("watch-feed", args=[feed_token(watch)])).status_code == 200


def test_page_json_and_command_make_list_and_remove_watches(site, crawl, again):
    operator, viewer = browser("operator"), browser("viewer")
    place = reverse("crawling:watches", args=[crawl.pk])
    typed = {"kind": "pattern", "text": "(", "selector": "p[", "ignore": "(?=x)", "events": []}
    said = soup(operator.post(place, typed))
    assert len(said.select(".error[role=alert]")) == 4
    assert Watch.objects.count() == 0
    right = {"kind": "page", "text": f"{site.url}/price", "selector": "main", "events": "changed"}
    assert viewer.post(place, right).status_code == 403
    operator.post(place, right | {"ignore": "Stock: .*\n"})
    api = f"/api/v1/crawls/{crawl.pk}/watches"
    asked = {"kind": "host", "text": site.url.removeprefix("http://")}
    made = operator.post(api, asked, content_type="application/json")
    assert (made.status_code, made.json()["events"]) == (201, ["changed", "gone", "new"])
    assert (
        operator.post(api, asked | {"text": "/"}, content_type="application/json").status_code
        == 422
    )
    changed(site)
    again(crawl)

    shown = soup(viewer.get(place))

    assert [row.select("td")[3].get_text() for row in shown.select("tbody tr")] == [
        "changed",
        "changed, gone, new",
    ]
    assert {"Price: 3", "Price: 4"} <= {
        line.get_text() for line in shown.select(".diff del, .diff ins")
    }
    assert "/feed.atom" not in shown.decode()
    assert [one["feed"] for one in viewer.get(api).json()["items"]] == ["", ""]
    first = Watch.objects.first()
    events = viewer.get(f"{api.removesuffix('watches')}watch-events").json()["items"]
    [mine] = [one for one in events if one["watch"] == first.pk]
    assert [line for line in mine["diff"] if line["kind"] != "unchanged"] == [
        {"kind": "removed", "text": "Price: 3"},
        {"kind": "added", "text": "Price: 4"},
    ]
    renewed = operator.post(f"{api}/{first.pk}/renew", content_type="application/json").json()
    assert renewed["feed"] in soup(operator.get(place)).decode()

    said = StringIO()
    call_command(
        "crawl", "watch", str(crawl.pk), "--pattern", "/new$", "--only", "new", stdout=said
    )
    call_command("crawl", "watch", str(crawl.pk), "--events", stdout=said)
    assert "pattern /new$" in said.getvalue()
    assert "- Price: 3\n+ Price: 4" in said.getvalue()
    assert f"page gone: {site.url}/gone" in said.getvalue()
    call_command("crawl", "watch", str(crawl.pk), "--remove", str(first.pk), stdout=said)
    assert operator.delete(f"{api}/{made.json()['id']}").status_code == 204
    assert [watch.text for watch in Watch.objects.all()] == ["/new$"]
    assert (events_of(crawl).count(), WatchEvent.objects.exists()) == (0, True)  # for a day


def test_the_scheduler_lets_a_job_compare_runs_that_have_ended(site, crawl, work_off, queue):
    watching(crawl, "/")
    request_due_jobs()
    of_watches = BackgroundJob.objects.filter(kind=WATCHES.name)
    assert not of_watches.exists()
    work_off(start_run(crawl))

    request_due_jobs()

    assert due_crawls() == [crawl.pk]
    assert WATCHES.job.enqueue_if_lost(of_watches.get().pk) is False  # a worker will come to it


def test_a_run_that_is_not_compared_yet_is_named_and_not_called_empty(crawl, site, work_off):
    watching(crawl, "/")
    work_off(start_run(crawl))
    viewer = browser("viewer")

    def shown():
        news = soup(viewer.get("/attention/")).select_one("[aria-labelledby=news]")
        week = soup(viewer.get(f"/crawls/{crawl.pk}/")).select_one("[aria-labelledby=week]")
        found = soup(viewer.get(reverse("crawling:watches", args=[crawl.pk])))
        parts = (news, week, found.select_one("[aria-labelledby=events]"))
        return [" ".join(part.get_text().split()) for part in parts]

    for text in shown():
        assert "Run 2 is not compared yet" in text
        assert "No watched page changed" not in text
        assert "Nothing was found yet" not in text
        assert "No news in the last" not in text

    compare_watched(crawl.pk)
    news, week, events = shown()
    assert "not compared yet" not in news + week + events
    assert "No watched page changed" in week
    assert "Nothing was found yet." in events
