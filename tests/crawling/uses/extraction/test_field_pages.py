"""Extracted fields as a table with a row a page, and as columns of the list of pages; and what is
said where they are not complete.
"""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.run.pages import pages_of
from crawling.datasets.extracted_fields import field_rules
from crawling.datasets.lag import Derived, lag_of
from crawling.jobs.running import run_job
from crawling.jobs.turns import IdleTurn
from crawling.models import CrawlJob, ExtractedRow, Page, Run
from crawling.runs.crawls.revisions import edit_crawl
from crawling.uses.extraction import reading
from crawling.uses.extraction.jobs import request_extraction
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

NUMBERS = range(1, 6)
HOME = "<title>Home</title>" + "".join(f"<a href=/{n}>{n}</a>" for n in NUMBERS)
PART = "<title>Part {0}</title><b>{0} €</b><i>red {0}</i><i>blue</i>"
RULES = {"price": "b", "colour": "i"}
ADD_PAGES = """
WITH urls AS (
    INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state)
    SELECT %(run)s, 0, n, 'http://more.test/' || n, 1, 1, 's' FROM generate_series(1, %(pages)s) n
    RETURNING id, fingerprint, url
)
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, address,
    bytes, fingerprint, fetched_at, fetch_seconds)
SELECT id, %(run)s, 200, url, '', '', '', '127.0.0.1', 9, fingerprint,
    now() - fingerprint * interval '1 s', 0.1
FROM urls
"""
ADD_FIELDS = """
INSERT INTO crawling_extractedrow (run_id, url_id, name, value)
SELECT run_id, url_id, 'price', n FROM crawling_page, generate_series(1, 3) n WHERE run_id = %(run)s
"""
READ = """
SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'crawling_page'
"""


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve({"/": HOME} | {f"/{n}": PART.format(n) for n in NUMBERS})


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", extract=RULES)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def viewer(run):
    return browser("viewer")


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


def cells(page):
    return [
        [" ".join(cell.text.split()) for cell in row.select("td.field")]
        for row in page.select("tbody tr")
    ]


def broken_off(run, monkeypatch, background):
    """Read again by other rules, two pages of six."""
    monkeypatch.setattr(reading, "SLICE", 2)
    monkeypatch.setattr(IdleTurn, "goes_on", lambda turn: False)
    run_job(request_extraction(run, {"under": "u"}, by=None).pk)


def test_the_page_has_a_row_for_each_page_with_values_and_a_column_for_each_rule(run, viewer):
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/extracted/"))

    assert [head.text for head in page.select("thead th")] == ["Page", "colour", "price"]
    assert sorted(cells(page)) == [[f"red {n} +1 more", f"{n} €"] for n in NUMBERS]
    assert "5 pages with values" in page.text
    links = {one.text: one["href"] for one in page.select(".list-line a")}
    assert links["CSV"] == f"/crawls/{run.crawl_id}/extracted.csv?run=1"


def test_its_pages_lead_on_and_back(run, viewer):
    def shown(query):
        page = soup(viewer.get(f"/crawls/{run.crawl_id}/extracted/{query}"))
        links = {one.text: one["href"] for one in page.select("nav.pager a")}
        return [row.th.a.text for row in page.select("tbody tr")], links

    all_rows = shown("")[0]
    first = Page.objects.get(run=run, title=all_rows[1]).pk
    rest, links = shown(f"?after={first}&page=2")
    assert rest == all_rows[2:]
    assert shown(links["Previous"])[0] == all_rows[:2]


def test_the_list_of_pages_shows_the_fields_that_are_chosen(run, viewer):
    address = f"/crawls/{run.crawl_id}/pages/"
    plain = soup(viewer.get(address))
    assert not plain.select("td.field")
    offered = [one["value"] for one in plain.select(".columns input[type=checkbox]")]
    assert offered == ["colour", "price"]

    chosen = soup(viewer.get(f"{address}?fields=&fields=price&fields=none+such&sort=-status"))

    assert [head.text for head in chosen.select("th.field")] == ["price"]
    assert sorted(cells(chosen)) == [[f"{n} €"] for n in NUMBERS] + [["no value–"]]
    assert chosen.select_one(".columns input[value=price]").has_attr("checked")
    assert chosen.select_one(".columns input[name=sort]")["value"] == "-status"
    assert "fields=price" in chosen.select_one("thead a[href*=sort]")["href"]


def test_a_crawl_that_collects_data_shows_its_first_fields_until_a_user_chooses(run, viewer):
    CrawlJob.objects.filter(pk=run.crawl_id).update(purpose="data")
    address = f"/crawls/{run.crawl_id}/pages/"

    assert len(soup(viewer.get(address)).select("th.field")) == 2
    assert not soup(viewer.get(f"{address}?fields=")).select("th.field")


def test_fields_take_no_query_for_each_page(run, viewer):
    address = f"/crawls/{run.crawl_id}/pages/?fields=price&fields=colour"
    viewer.get(address)
    with CaptureQueriesContext(
        connection,
    ) as few:
        viewer.get(f"{address}&q=Part+1")
    with CaptureQueriesContext(connection) as many:
        viewer.get(f"{address}&q=Part")

    assert len(many) == len(few)
    assert sum("extractedrow" in one["sql"] for one in many.captured_queries) == 1


def test_few_fields_of_a_large_run_are_found_however_many_others_have(run):
    other = Run.objects.get(pk=run.pk)
    other.pk, other.number, other.is_latest = None, 2, False
    other.save()
    with connection.cursor() as cursor:
        cursor.execute(ADD_PAGES, {"run": run.pk, "pages": 20_000})
        cursor.execute(ADD_PAGES, {"run": other.pk, "pages": 20_000})
        cursor.execute(ADD_FIELDS, {"run": other.pk})
        cursor.execute("ANALYZE crawling_page, crawling_url, crawling_extractedrow")
        cursor.execute(READ)
        (before,) = cursor.fetchone()
        found = pages_of(run, PageFilter(has_fields=True), most=100, sort="fetched").pages
        cursor.execute(READ)
        (read,) = cursor.fetchone()

    assert len(found) == 5
    assert read - before < 100


def test_values_are_shown_to_their_beginning(run, viewer):
    ExtractedRow.objects.filter(run=run, name="price").update(value="x" * 10_000)

    page = viewer.get(f"/crawls/{run.crawl_id}/extracted/")

    assert "x" * 200 in page.content.decode()
    assert "x" * 201 not in page.content.decode()


def test_json_has_the_same_fields_of_each_page(run, viewer):
    address = f"/api/v1/crawls/{run.crawl_id}/pages"
    asked = {"fields": ["price", "colour"], "has_fields": "true", "limit": 2}
    found = viewer.get(address, asked).json()

    first = found["items"][0]
    assert first["fields"]["colour"]["more"] == 1
    assert first["fields"]["price"]["text"].endswith("€")
    home = viewer.get(address, {"q": "Home", "fields": "price"}).json()["items"][0]
    assert home["fields"] == {"price": None}
    assert len(viewer.get(address, {**asked, "limit": 50}).json()["items"]) == 5


def test_pages_that_have_fields_by_earlier_rules_are_told_everywhere(
    run, viewer, background, monkeypatch
):
    assert lag_of(run, Derived.FIELDS).complete
    broken_off(run, monkeypatch, background)

    told = viewer.get(f"/api/v1/crawls/{run.crawl_id}/extracted").json()
    assert (told["complete"], told["behind"]) == (False, 4)
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/extracted/"))
    assert "4 of 6 pages are not read by the newest rules yet" in page.select_one(".lag").text
    listed = viewer.get(f"/crawls/{run.crawl_id}/pages/?fields=price")
    assert soup(listed).select_one(".lag") is None  # the new rules have no such field
    listed = viewer.get(f"/crawls/{run.crawl_id}/pages/?fields=under")
    assert soup(listed).select_one(".lag")
    file = viewer.get(f"/crawls/{run.crawl_id}/extracted.csv")
    assert (file["Complete"], "-incomplete.csv" in file["Content-Disposition"]) == ("false", True)
    wide = viewer.get(f"/crawls/{run.crawl_id}/download/fields.csv")
    assert wide["Complete"] == "false"
    datasets = viewer.get(f"/api/v1/crawls/{run.crawl_id}/datasets").json()["items"]
    assert next(one for one in datasets if one["name"] == "extracted fields")["behind"] == 4


def test_an_edit_after_a_run_leaves_its_rules_as_they_were(run):
    edit_crawl(run.crawl, {"extract": {"price": "b.other"}})

    found = field_rules(Run.objects.get(pk=run.pk))

    assert (found.rules, found.since) == (RULES, None)
    assert lag_of(Run.objects.get(pk=run.pk), Derived.FIELDS).complete


def test_an_edit_during_a_run_says_which_pages_have_fields_by_earlier_rules(run):
    edit_crawl(run.crawl, {"extract": {"price": "b.other"}})
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())
    run = Run.objects.get(pk=run.pk)

    lag = lag_of(run, Derived.FIELDS)

    assert field_rules(run).rules == {"price": "b.other"}
    assert (lag.behind, lag.complete, lag.state) == (6, False, "stopped")
    assert lag.prospect == "“Extract again” reads them"
