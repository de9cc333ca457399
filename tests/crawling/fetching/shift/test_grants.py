"""A shift measures the part of its grants that it uses, and shows it."""

from __future__ import annotations

from django.db import connections

from allocation.models import Process, UseMinute
from crawling.installation.pools import default_pool
from crawling.models import Shift
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.resource_use import sample_use
from crawling.runs.start import start_run
from tests.crawling.fetching.shift.test_fetch_threads import wait_for
from tests.crawling.pages import soup


def test_the_page_shows_what_is_granted_and_what_is_used_of_each_class(
    make_site, order, work_off, client, admin_user
):
    shown = []

    def page(request):
        wait_for(lambda: Shift.objects.get(ended_at=None).used)
        client.force_login(admin_user)
        shown.append(soup(client.get(f"/crawls/{crawl.pk}/")))
        shown.append(client.get(f"/api/v1/crawls/{crawl.pk}").json())
        sample_use()
        connections.close_all()  # of the web server's thread
        return 200, {}, "x" * 500_000

    site = make_site({"/": page})
    crawl = create_crawl(order(f"{site.url}/", first_byte_seconds=60))
    work_off(start_run(crawl))

    html, json = shown
    rows = [
        [cell.get_text(strip=True) for cell in row.select("th, td")]
        for row in html.select("section[aria-labelledby=grants] tbody tr")
    ]
    assert ["worker", "1", "1"] in rows
    assert ["fetch slots", "1", "1"] in rows
    assert ["DNS slots", "1", "0"] in rows
    (process,) = json["resources"]
    used = {one["resource"]: one["used"] for one in process["holdings"]}
    assert (used["worker"], used["fetch_slots"], used["bandwidth"]) == (1, 1, 0)
    assert 0 <= used["memory"] < 200
    assert Shift.objects.get().used == {}
    [stored] = UseMinute.objects.filter(pool=default_pool())
    keys = default_pool().classes.values_list("key", flat=True)
    assert dict(zip(keys, stored.used, strict=True)) == {**dict.fromkeys(keys, 0), **used}


def test_a_crawl_of_addresses_grows_without_more_look_ups(make_site, order, work_off):
    held = []

    def page(request):
        wait_for(lambda: held_units()["fetch_slots"] > 1)
        held.append(held_units()["dns_slots"])
        connections.close_all()  # of the web server's thread
        return 200, {"Content-Type": "text/html"}, "x"

    sites = [make_site({"/": page}, address=f"127.0.0.{number}") for number in range(21, 25)]
    work_off(start_run(create_crawl(order(*(f"{site.url}/" for site in sites)))))

    assert held == [1] * 4


def held_units() -> dict[str, int]:
    keys = default_pool().classes.values_list("key", flat=True)
    return dict(zip(keys, Process.objects.get().allocated, strict=True))
