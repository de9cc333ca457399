"""How fresh a crawl is, on its page, in JSON and on the command line (SEEDS B8)."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from crawling.dashboard.templatetags.crawls import digits
from crawling.models import CrawlJob, PlannedRevisit
from crawling.runs.crawls.creation import create_crawl
from crawling.uses.revisits import expected_freshness
from crawling.uses.revisits.planner import plan_crawl
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser, soup


@pytest.fixture(scope="module")
def planned(shared, crawl_once):
    pages = {f"/{n}": f"text {n}" for n in range(4)}
    site = shared.serve({"/": links(*pages), **pages})
    crawl = crawl_once(f"{site.url}/", visits_a_day=4, visit_policy="uniform").crawl_id
    shared.do(plan, crawl)
    return crawl


def plan(crawl):
    plan_crawl(crawl)
    for number, row in enumerate(PlannedRevisit.objects.order_by("url")):
        row.rate = row.high = [3.0, 1.0, 2.0, 2.0, 0.5][number]
        row.save()


@pytest.fixture
def crawl(planned, db):
    return CrawlJob.objects.get(pk=planned)


def test_page_json_and_command_tell_the_same(crawl):
    viewer = browser("viewer")

    told = viewer.get(f"/api/v1/crawls/{crawl.pk}/freshness").json()
    rows = viewer.get(f"/api/v1/crawls/{crawl.pk}/freshness/pages").json()["items"]
    page = soup(viewer.get(reverse("crawling:freshness", args=[crawl.pk])))

    assert (told["visits_a_day"], told["policy"], told["plan"]["pages"]) == (4, "uniform", 5)
    assert set(told["policies"]) == {"optimal", "uniform", "proportional"}
    policies, hosts, pages = page.select("main table")
    percents = [f"{100 * one['freshness']:.1f} %" for one in told["policies"].values()]
    assert [row.td.get_text() for row in policies.select("tbody tr")] == percents
    assert [row.a.get_text() for row in hosts.select("tbody th")] == [told["hosts"][0]["host"]]
    urls = [row["url"] for row in rows]
    assert [row.a.get_text() for row in pages.select("tbody th")] == urls
    assert [row["next_at"] for row in rows] == sorted(row["next_at"] for row in rows)
    out = io.StringIO()
    call_command("crawl", "freshness", str(crawl.pk), "--json", stdout=out)
    printed = json.loads(out.getvalue())
    assert [row["url"] for row in printed.pop("pages")] == urls
    assert printed["policies"] == told["policies"]
    lines = io.StringIO()
    call_command("crawl", "freshness", str(crawl.pk), "--limit", "2", stdout=lines)
    assert [line.split()[-1] for line in lines.getvalue().splitlines()[-2:]] == urls[:2]


@pytest.mark.parametrize("sort", ["rate", "next"])
def test_pages_are_sorted_filtered_and_go_on_behind_a_key(crawl, sort):
    viewer, address = browser("viewer"), f"/api/v1/crawls/{crawl.pk}/freshness/pages"

    def ask(**asked):
        return viewer.get(address, {"sort": sort, **asked}).json()

    every, key, found = ask()["items"], "", []
    while key is not None:
        part = ask(limit=2, cursor=key)
        found, key = found + part["items"], part["next"]
    assert found == every
    if sort == "rate":
        assert [row["rate"] for row in every] == [3.0, 2.0, 2.0, 1.0, 0.5]
    assert [row["url"][-2:] for row in ask(q="/3")["items"]] == ["/3"]
    assert ask(host="elsewhere.test")["items"] == []
    assert ask(host=every[0]["host"])["items"] == every
    for nonsense in ("x", "1_x", "x_1", "nan_1_1"):
        assert viewer.get(address, {"sort": sort, "cursor": nonsense}).status_code == 422
    shown = soup(
        viewer.get(reverse("crawling:freshness", args=[crawl.pk]), {"sort": sort, "q": "/3"})
    )
    assert [row.a.get_text()[-2:] for row in shown.select("main table")[2].select("tbody th")] == [
        "/3"
    ]


def test_files_have_the_pages_of_the_list_in_its_order(crawl, monkeypatch):
    viewer, place = browser("viewer"), f"/crawls/{crawl.pk}/freshness"
    page = soup(viewer.get(f"{place}/?sort=rate&q=/"))
    links = [link["href"] for link in page.select("main a[href*='freshness.']")]
    monkeypatch.setattr(expected_freshness, "SLICE", 2)

    csv_file, lines = (b"".join(viewer.get(link).streaming_content).decode() for link in links)

    rows = viewer.get(f"/api/v1{place}/pages?sort=rate&q=/").json()["items"]
    found = [json.loads(line) for line in lines.splitlines()]
    assert [row["url"] for row in found] == [row["url"] for row in rows]
    assert [row["rate"] for row in found] == [3.0, 2.0, 2.0, 1.0, 0.5]
    table = list(csv.DictReader(io.StringIO(csv_file)))
    assert [row["url"] for row in table] == [row["url"] for row in rows]
    assert table[0]["next_at"][:4] == rows[0]["next_at"][:4]
    only = b"".join(viewer.get(f"{place}.jsonl?q=/3").streaming_content)
    assert [json.loads(line)["url"][-2:] for line in only.splitlines()] == ["/3"]
    none = viewer.get(f"{place}.jsonl?host=elsewhere.test")
    assert b"".join(none.streaming_content) == b""


def test_a_crawl_without_a_plan_says_why(crawl, order):
    viewer = browser("viewer")
    waiting = create_crawl(order("http://127.0.0.1:8900/", name="waits", visits_a_day=4))
    without = create_crawl(order("http://127.0.0.1:8900/", name="without"))

    def said(one):
        page = soup(viewer.get(reverse("crawling:freshness", args=[one.pk])))
        return page.select_one("p.empty").get_text()

    assert said(waiting).startswith("Nothing is planned yet.")
    assert "has no Revisits per day" in said(without)
    assert viewer.get(f"/api/v1/crawls/{without.pk}/freshness").json()["plan"] is None


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.0, "0.00"), (0.0000123, "0.0000123"), (0.05, "0.0500"), (12.345, "12.3"), (1000, "1,000")],
)
def test_numbers_of_any_size_are_written_out(number, written):
    assert digits(number, 3) == written
