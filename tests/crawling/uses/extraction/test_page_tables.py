"""The tables of a stored page: read by a background job, and written as CSV."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from crawling.datasets.catch_up import catch_up
from crawling.models import Inquiry, Page, SeedSource
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end
from tests.stack import background_queue

PRICES = """<table><caption>Prices</caption><tr><th colspan=2>Tea<th>€
<tr><td rowspan=2>green<td>sencha<td>=1+1<tr><td>, gyokuro<td>-5</table>
<table><tr><td>other</table>"""
CSV = 'Tea,Tea,€\r\ngreen,sencha,\'=1+1\r\ngreen,", gyokuro",-5\r\n'


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    return crawl_once(f"{shared.serve({'/': PRICES}).url}/")


@pytest.fixture
def page(crawled, db):
    return Page.objects.get(run=crawled.pk)


@pytest.fixture
def background(pool):
    with background_queue() as queue:
        yield queue


def test_json_file_and_command_have_the_same_tables(page, background, capsys, tmp_path):
    viewer, crawl = browser("viewer"), page.run.crawl_id
    place = f"/crawls/{crawl}/pages/{page.pk}/"
    api = f"/api/v1{place}tables"
    waiting = viewer.get(api)
    assert (waiting.status_code, waiting["Retry-After"]) == (202, "1")
    told = viewer.get(f"{place}table-1.csv", follow=True)
    assert told.redirect_chain == [(place, 302)]
    assert "A background job reads the tables of this page" in told.content.decode()
    (job,) = background.job_ids  # one for both
    background.fetch_job(job).perform()

    found = viewer.get(api).json()
    first, second = found["items"]
    assert (first["caption"], first["columns"], first["is_cut"]) == ("Prices", 3, False)
    assert first["rows"][1] == ["green", "sencha", "=1+1"]
    assert (second["number"], second["rows"]) == (2, [["other"]])
    assert viewer.get(f"{place}table-1.csv").getvalue().decode() == CSV
    assert viewer.get(f"{place}table-3.csv").status_code == 404

    call_command("crawl", "tables", str(crawl), page.url.url, "--table", "1")
    assert capsys.readouterr().out == CSV
    call_command("crawl", "tables", str(crawl), str(page.pk))
    assert "3 columns, 3 rows  Prices" in capsys.readouterr().out
    file = tmp_path / "one.csv"
    call_command("crawl", "tables", str(crawl), page.url.url, "--table", "1", "--export", str(file))
    assert file.read_bytes().decode() == CSV
    with pytest.raises(CommandError, match="has no table 9"):
        call_command("crawl", "tables", str(crawl), page.url.url, "--table", "9")


def test_a_withdrawn_page_has_no_tables(page, background):
    viewer, place = browser("viewer"), f"/crawls/{page.run.crawl_id}/pages/{page.pk}/"
    viewer.get(f"{place}table-1.csv")
    background.fetch_job(background.job_ids[0]).perform()
    asked = {"reason": "asked for", "by": None}

    withdraw_pages(page.run.crawl, None, kind="page", text=page.url.url, **asked)

    for path in (f"{place}table-1.csv", f"/api/v1{place}tables"):
        assert viewer.get(path).status_code == 410
    assert not Inquiry.objects.exists()


def test_tables_that_cannot_be_read_are_told_on_the_page(page, background, settings, tmp_path):
    viewer, place = browser("viewer"), f"/crawls/{page.run.crawl_id}/pages/{page.pk}/"
    settings.ARCHIVE_DIR = tmp_path / "elsewhere"
    viewer.get(f"{place}table-1.csv")
    background.fetch_job(background.job_ids[0]).perform()

    told = soup(viewer.get(f"{place}table-1.csv", follow=True))

    assert told.select(".message.flash")[-1].text.startswith("The tables cannot be read. ")


def test_a_page_that_is_no_html_has_no_tables(page, background):
    viewer, place = browser("viewer"), f"/crawls/{page.run.crawl_id}/pages/{page.pk}/"
    Page.objects.filter(pk=page.pk).update(content_type="text/plain")
    viewer.get(f"{place}table-1.csv")
    background.fetch_job(background.job_ids[0]).perform()

    assert viewer.get(f"{place}table-1.csv").status_code == 404
    assert viewer.get(f"/api/v1{place}tables").json()["items"] == []


def test_the_preview_of_rules_has_the_tables_of_each_page(page, background):
    viewer, crawl = browser("viewer"), page.run.crawl_id
    address = f"/crawls/{crawl}/extracted/?rules=cell+%3D+td"
    viewer.get(address)
    background.fetch_job(background.job_ids[0]).perform()

    row = soup(viewer.get(address)).select("#preview tbody tr")[-1]

    assert [cell.get_text(" ", strip=True) for cell in row.select("td")[:2]] == ["Tables", "2"]
    said = " ".join(row.select("td")[-1].get_text(" ").split())
    assert said.startswith(
        "Table 1 as CSV Prices: 3 columns, 3 rows Table 2 as CSV 1 column, 1 row"
    )
    files = [f"/crawls/{crawl}/pages/{page.pk}/table-{number}.csv" for number in (1, 2)]
    assert [link["href"] for link in row.select("a")] == files
    rules = {"rules": "cell = td"}
    (told,) = viewer.get(f"/api/v1/crawls/{crawl}/extractions/previews", rules).json()["pages"]
    assert told["tables"][0] == {"number": 1, "caption": "Prices", "columns": 3, "rows": 3}


def test_a_feed_that_a_page_announces_becomes_a_source_by_one_press(make_site, crawl_to_the_end):
    from crawling.datasets.catch_up import catch_up
    from tests.crawling.reading import read_to_the_end

    link = '<link rel=alternate type="application/rss+xml" title=News href=/feed>'
    run = crawl_to_the_end(f"{make_site({'/': link}).url}/")
    catch_up(run.pk)
    read_to_the_end(run)
    operator, address = browser("operator"), f"/crawls/{run.crawl_id}/structured-data/?kind=feed"
    form = soup(operator.get(address)).select_one("tbody form")
    assert soup(browser("viewer").get(address)).select_one("tbody form") is None
    fields = {one["name"]: one["value"] for one in form.select("input[name]")}

    operator.post(form["action"], fields)

    source = SeedSource.objects.get()
    assert (source.kind, source.url) == ("feed", fields["url"])
    assert source.url.endswith("/feed")
    cell = soup(operator.get(address)).select_one("tbody td:last-child")
    assert (cell.form, cell.get_text(strip=True)) == (None, "is read")


def test_the_list_of_tables_leads_to_their_page_and_that_to_their_files(page, pool):
    catch_up(page.run_id)
    read_to_the_end(page.run)
    viewer, place = browser("viewer"), f"/crawls/{page.run.crawl_id}/pages/{page.pk}/"

    listed = soup(viewer.get(f"/crawls/{page.run.crawl_id}/structured-data/?kind=table"))
    assert [link["href"] for link in listed.select("tbody td a")] == [place] * 2
    files = soup(viewer.get(place)).select("a[href$='.csv']")
    assert [link["href"] for link in files] == [f"{place}table-1.csv", f"{place}table-2.csv"]
