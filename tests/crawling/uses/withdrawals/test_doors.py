"""Withdrawing by page, by JSON and from the command line, and who may."""

from __future__ import annotations

import json
from io import StringIO
from itertools import count

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.urls import reverse

from crawling.models import BackgroundJob, Page, Withdrawal
from crawling.uses.withdrawals.jobs import WITHDRAWAL
from tests.crawling.pages import browser, soup


def test_page_json_and_command_withdraw_and_undo(make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/a">a</a><a href="/b">b</a>', "/a": "a", "/b": "b"})
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    place = reverse("crawling:withdrawals", args=[crawl.pk])
    operator = browser("operator")
    typed = {"kind": "pattern", "text": "/[ab]$", "reason": "asked for", "run": ""}

    shown = soup(operator.post(place, {**typed, "preview": ""}))
    assert [one.get_text() for one in shown.select("section li")] == [
        f"{site.url}/a",
        f"{site.url}/b",
    ]
    assert Page.objects.count() == 3
    assert browser("viewer").post(place, {**typed, "withdraw": ""}).status_code == 403
    for number in ("9", "9" * 5000, "-1", "one"):
        said = soup(operator.post(place, {**typed, "run": number, "withdraw": ""})).get_text()
        assert "must be the number of a run" in said
    operator.post(place, {**typed, "withdraw": ""})
    assert Page.objects.count() == 1
    withdrawal = Withdrawal.objects.get()
    row = soup(operator.get(place)).select("tbody td")
    assert [cell.get_text(strip=True) for cell in row[1:7]] == [
        "pattern",
        "/[ab]$",
        "all",
        "2",
        "asked for",
        "operator",
    ]
    logged = LogEntry.objects.filter(user__username="operator").latest("pk").change_message
    assert json.loads(logged)["action"] == "withdrew pattern /[ab]$"
    assert json.loads(logged)["changes"]["reason"] == [None, "asked for"]
    operator.post(reverse("crawling:withdrawal", args=[crawl.pk, withdrawal.pk]), {"undo": ""})
    assert Page.objects.count() == 3

    api = f"/api/v1/crawls/{crawl.pk}/withdrawals"
    asked = {"kind": "page", "text": f"{site.url}/a"}
    would = operator.post(f"{api}/preview", asked, content_type="application/json").json()
    assert (would["pages"], would["examples"]) == (1, [f"{site.url}/a"])
    made = operator.post(api, {**asked, "reason": "x"}, content_type="application/json")
    assert (made.status_code, made.json()["state"]) == (201, "withdrawn")
    number = made.json()["id"]
    assert operator.delete(f"{api}/{number}").json()["state"] == "undone"
    assert [one["id"] for one in operator.get(api).json()["items"]] == [number, withdrawal.pk]

    said = StringIO()
    host = site.url.removeprefix("http://")
    call_command(
        *("withdrawals", "add", str(crawl.pk), "--host", host, "--reason", "x", "--at-once"),
        stdout=said,
    )
    last = Withdrawal.objects.latest("pk")
    job = BackgroundJob.objects.get(kind=WITHDRAWAL.name, spec={"withdrawal": last.pk})
    assert WITHDRAWAL.job.enqueue_if_lost(job.pk) is False  # a background worker will come to it
    call_command("withdrawals", "rewrite", str(crawl.pk), str(last.pk), "--json", stdout=said)
    assert json.loads(said.getvalue().splitlines()[-1])["state"] == "removed"
    call_command("withdrawals", "list", str(crawl.pk), stdout=said)
    assert f"host {host}  all runs  3 pages  removed" in said.getvalue()
    again = operator.post(f"{api}/{last.pk}/rewrite", content_type="application/json")
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("kind", "text"),
    [("page", "{url}/a"), ("pattern", "/[a]$"), ("host", "{host}"), ("pattern", ".")],
)
def test_the_preview_leads_to_other_crawls_that_have_such_pages_by_payloads_of_their_own(
    make_site, crawl_to_the_end, kind, text
):
    number = count()

    def fresh_text(_):
        return 200, {"Content-Type": "text/html"}, f"<a href=/a>to a</a>{next(number)}"

    site = make_site({"/": fresh_text, "/a": fresh_text})
    one, other = (crawl_to_the_end(f"{site.url}/", name=name).crawl for name in ("one", "other"))
    fresh = crawl_to_the_end(
        f"{make_site({'/': 'b'}, address='127.0.0.2').url}/", name="fresh"
    ).crawl
    asked = {"kind": kind, "text": text.format(url=site.url, host=site.url.removeprefix("http://"))}
    operator, place = browser("operator"), reverse("crawling:withdrawals", args=[one.pk])

    page = soup(operator.post(place, {**asked, "run": "", "preview": ""}))
    said = StringIO()
    call_command("withdrawals", "preview", str(one.pk), f"--{kind}", asked["text"], stdout=said)
    told = operator.post(
        f"/api/v1/crawls/{one.pk}/withdrawals/preview", asked, content_type="application/json"
    ).json()

    such = 1 if text.endswith(("/a", "$")) else 2
    named = [(row["id"], row["pages"]) for row in told["other_crawls"] if row["id"] != fresh.pk]
    assert named == [(other.pk, such)]
    assert (fresh.pk in {row["id"] for row in told["other_crawls"]}) == (text == ".")
    lead = page.find("a", string=other.name, href=lambda to: f"/{other.pk}/withdrawals" in to)
    form = soup(operator.get(lead["href"])).find("input", id="text")
    assert form["value"] == asked["text"]
    assert f"not withdrawn: {such} such pages of crawl {other.pk}, {other.name}" in said.getvalue()
    operator.post(place, {**asked, "run": "", "reason": "x", "withdraw": ""})
    assert Page.objects.filter(run__crawl=other).count() == 2
