"""All data of a run as files: what there is, each kind in each format, and what withdrawn pages and
deleted runs leave: nothing.
"""

from __future__ import annotations

import csv
import io
import json
import uuid
import zipfile

import duckdb
import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crawling.base.storage import pieces_of, storage
from crawling.datasets.catch_up import catch_up
from crawling.datasets.query import stream_query_rows
from crawling.datasets.second_reading import read_run_again
from crawling.frontier.change.manual_order import requeue_failed
from crawling.jobs.job_rows import end_job
from crawling.jobs.removal import remove_deleted_jobs
from crawling.jobs.running import run_job
from crawling.jobs.running_job import RunningJob
from crawling.jobs.turns import IdleTurn
from crawling.models import BackgroundJob, LinksPart, Page, Run, Url, UrlState
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.uses.bulk_data import field_rows, files, table_job
from crawling.uses.bulk_data.bulk_table import START
from crawling.uses.bulk_data.field_values import parse_number
from crawling.uses.bulk_data.tables import BY_NAME, TABLES
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

HOME = """<html lang=en><title>Home</title><meta name=description content="=1+1">
<nav>Menu</nav><main><h1>Parts</h1>Main words <a href=/a rel=next>a part</a>
<a href=/secret>hidden</a><a href=/gone>lost</a></main>"""
PART = """<html lang=en><title>Part, "A"</title><b class=price>€ 1.234,50</b>
<i class=tag>red</i><i class=tag>blue</i><time>2 January 2026</time><s>soon</s>
<table><caption>Sizes</caption><tr><th>Edge<th>mm<tr><td>long<td>=5+5</table>
<table><tr><td>one</table>"""
SECRET = "<html lang=en><title>Secret</title>hush<table><tr><td>hush</table>"
RULES = {
    "price": ".price::price",
    "tags": ".tag::list",
    "made": "time::date",
    "due": "s::date",
    "h1": "h1",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve({"/": HOME, "/a": PART, "/secret": SECRET})


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/", extract=RULES)
    shared.do(catch_up, run.pk)
    shared.do(read_run_again, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def operator(run):
    return browser("operator")


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


def make(operator, run, background, name):
    """By the button of the page, and the job behind it."""
    page = f"/crawls/{run.crawl_id}/download/"
    operator.post(page, {"file": f"{name}.parquet"})
    background.empty()  # a job gives way to those that wait in its queue
    run_job(BackgroundJob.objects.latest("pk").pk)


def begin(operator, run, background, name):
    operator.post(f"/crawls/{run.crawl_id}/download/", {"file": f"{name}.parquet"})
    background.empty()
    return BackgroundJob.objects.get(kind=f"bulk-{name}", ended_at=None)


def pause(job, monkeypatch):
    """Let the job make its first piece, behind which it gives way."""
    with monkeypatch.context() as patched:
        patched.setattr(IdleTurn, "goes_on", lambda turn: False)
        patched.setattr(table_job, "LEAST_SECONDS", 0)
        assert run_job(job.pk) == "others wait"
    job.refresh_from_db()


def body(client, run, file):
    answer = client.get(f"/crawls/{run.crawl_id}/download/{file}")
    assert answer.status_code == 200, answer
    return b"".join(answer.streaming_content)


def table(client, run, file):
    return list(csv.DictReader(io.StringIO(body(client, run, file).decode())))


def parquet(client, run, name, tmp_path):
    place = tmp_path / "rows.parquet"
    place.write_bytes(body(client, run, f"{name}.parquet"))
    rows = duckdb.sql(f"SELECT * FROM '{place}'")
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def test_the_page_says_what_there_is_and_a_click_has_the_text_of_all_pages(run, operator, site):
    page = soup(operator.get(f"/crawls/{run.crawl_id}/pages/")).find("a", string="All data")
    shown = soup(operator.get(page["href"]))

    kinds = [row for row in shown.select("#files tbody tr") if row.th.label]
    rows = {row.th.label.text.strip(): row.td.text for row in kinds}
    assert rows["Text"] == "3"
    assert rows["Tables"] == "–"
    link = shown.find("a", attrs={"aria-label": "Text as CSV"})["href"]
    texts = {
        row["url"]: row
        for row in csv.DictReader(
            io.StringIO(b"".join(operator.get(link).streaming_content).decode())
        )
    }
    home = texts[f"{site.url}/"]
    assert (home["title"], home["language"], home["headings"]) == ("Home", "en", "Parts")
    assert "Main words" in home["main_text"]
    assert "Menu" not in home["main_text"]
    assert "Menu" in home["full_text"]
    assert home["fetched_at"].endswith("+00:00")


def test_one_click_leads_from_the_page_of_a_crawl_to_all_its_data(run, operator):
    page = soup(operator.get(f"/crawls/{run.crawl_id}/?overview"))
    shown = soup(operator.get(page.find("a", string="download")["href"]))

    assert shown.find("a", attrs={"aria-label": "Text as CSV"})
    assert shown.find("button", attrs={"aria-label": "Make Tables as CSV"})


def test_every_kind_has_the_same_rows_in_every_format(run, operator, background, tmp_path):
    for kind in TABLES:
        make(operator, run, background, kind.name)
        lines = [
            json.loads(line) for line in body(operator, run, f"{kind.name}.jsonl").splitlines()
        ]
        rows = parquet(operator, run, kind.name, tmp_path)

        assert len(rows) == len(lines) > 0, kind.name
        assert list(rows[0]) == list(lines[0]), kind.name
        if kind.name != "tables":
            assert len(table(operator, run, f"{kind.name}.csv")) == len(rows), kind.name


@pytest.mark.parametrize("kind", [kind.name for kind in TABLES])
def test_a_job_gives_way_after_each_piece_and_goes_on_behind_it(
    run, operator, background, tmp_path, monkeypatch, kind
):
    make(operator, run, background, kind)
    whole = parquet(operator, run, kind, tmp_path)
    table_kind = BY_NAME[kind].made.kind
    assert table_kind.memory is not None
    monkeypatch.setattr(IdleTurn, "goes_on", lambda turn: False)
    monkeypatch.setattr(table_job, "LEAST_SECONDS", 0)
    operator.post(f"/crawls/{run.crawl_id}/download/", {"file": f"{kind}.parquet"})
    job = BackgroundJob.objects.filter(kind=table_kind.name, ended_at=None).get()

    said = [run_job(job.pk) for _ in range(30)]

    turns = said.index(table_kind.done)
    assert set(said[:turns]) == {"others wait"}
    assert turns >= (1 if BY_NAME[kind].is_by_parts else 2)
    assert parquet(operator, run, kind, tmp_path) == whole


OTHER_NAMES = {"part": ".price", "title": "title"}
OTHER_SELECTORS = {**RULES, "h1": "title"}


@pytest.mark.parametrize("rules", [OTHER_NAMES, OTHER_SELECTORS], ids=["names", "selectors"])
@pytest.mark.parametrize("kind", ["pages", "fields"])
def test_a_job_begins_anew_if_pages_are_read_by_other_rules_while_it_gives_way(
    run, operator, background, tmp_path, monkeypatch, kind, rules
):
    job = begin(operator, run, background, kind)
    pause(job, monkeypatch)
    given = [f"{name}={rule}" for name, rule in rules.items()]
    call_command("crawl", "extract", str(run.crawl_id), *given)

    assert run_job(job.pk) == "made"

    rows = parquet(operator, run, kind, tmp_path)
    make(operator, run, background, kind)
    assert rows == parquet(operator, run, kind, tmp_path)
    assert ("field.tags" in rows[0] or "tags" in rows[0]) == (rules is OTHER_SELECTORS)


def test_a_file_of_pages_is_outdated_once_they_are_read_by_other_rules(run, operator, background):
    make(operator, run, background, "pages")
    body(operator, run, "pages.parquet")

    call_command("crawl", "extract", str(run.crawl_id), "title=title")

    assert operator.get(f"/crawls/{run.crawl_id}/download/pages.parquet").status_code == 302


def shown_order(answer):
    """The message about an order, and the files in it that load by themselves."""
    message = soup(answer).select_one(".message")
    return " ".join(message.text.split()), [
        link["data-loads"] for link in message.select("[data-loads]")
    ]


def applied(operator, run, rules):
    """The page that follows when rules are applied to the stored pages, and its address."""
    address = f"/crawls/{run.crawl_id}/extracted/?run=1"
    answer = operator.post(address, {"rules": rules, "load": "1"}, follow=True)
    return answer, answer.redirect_chain[-1][0]


def test_rows_of_rules_with_types_load_once_the_pages_are_read_and_their_file_is_made(
    run, operator, background
):
    answer, page = applied(operator, run, "price = .price::price")
    words, loads = shown_order(answer)
    assert "the stored pages are being read by the rules" in words
    assert not loads

    file = BackgroundJob.objects.get(kind="bulk-fields", ended_at=None)
    run_job(file.pk)
    file.refresh_from_db()
    assert file.waits == "it waits until the stored pages are read by other rules"
    run_job(BackgroundJob.objects.get(kind="extraction", ended_at=None).pk)
    assert not shown_order(operator.get(page))[1]
    assert run_job(file.pk) == "made"

    assert shown_order(operator.get(page))[1] == ["fields.csv"]
    assert b"1234.5" in body(operator, run, "fields.csv")


def test_rows_of_pages_that_could_not_be_read_do_not_load(run, operator, background):
    _, page = applied(operator, run, "h1 = h1")
    job = BackgroundJob.objects.get(kind="extraction", ended_at=None)
    end_job(job, trouble="The archive is lost.")

    words, loads = shown_order(operator.get(page))

    assert "could not be read by the rules. The archive is lost." in words
    assert not loads


def test_the_page_says_why_nothing_was_extracted_and_where_to_do_it(run, operator):
    def told():
        page = soup(operator.get(f"/crawls/{run.crawl_id}/download/"))
        (row,) = [row for row in page.select("tbody tr") if "Extracted fields" in row.th.text]
        link = row.find("a", string="Apply rules to the stored pages")
        return " ".join(row.th.text.split()), link and link["href"]

    assert "No rule" not in told()[0]
    call_command("crawl", "extract", str(run.crawl_id), "none=blink")
    assert "No rule found anything on the stored pages." in told()[0]
    BackgroundJob.objects.filter(kind="extraction").delete()
    run.crawl.extract = {}
    run.crawl.save()
    assert "The run has no rules of extraction." in told()[0]
    assert told()[1] == f"/crawls/{run.crawl_id}/extracted/?run=1"


def test_an_older_file_of_an_order_tells_its_time_and_does_not_load_by_itself(
    run, operator, background
):
    make(operator, run, background, "tables")
    Run.objects.filter(pk=run.pk).update(state="running")
    Page.objects.filter(pk=run.pages.first().pk).update(fetched_at=timezone.now())
    order = f"/crawls/{run.crawl_id}/download/?run=1&file=tables.csv"
    page = operator.post(order)["Location"]
    job = BackgroundJob.objects.get(kind="bulk-tables", ended_at=None)

    end_job(job, trouble="Its memory was too small.")
    failed = shown_order(operator.get(page))
    page = operator.post(order)["Location"]
    background.empty()
    run_job(BackgroundJob.objects.latest("pk").pk)
    Page.objects.filter(pk=run.pages.first().pk).update(fetched_at=timezone.now())
    made = shown_order(operator.get(page))
    unordered = shown_order(operator.get(page.partition("&jobs")[0]))

    assert "as of" in failed[0]
    assert "does not load by itself, for the run has newer data, of which no file" in failed[0]
    assert failed[1] == unordered[1] == []
    assert ("as of" in made[0], made[1]) == (True, ["tables.csv"])


@pytest.mark.parametrize("kind", [kind.name for kind in TABLES])
def test_a_job_that_is_killed_before_its_file_is_noted_makes_it_anew(
    run, operator, background, tmp_path, monkeypatch, kind
):
    make(operator, run, background, kind)
    whole = parquet(operator, run, kind, tmp_path)
    job = begin(operator, run, background, kind)
    pause(job, monkeypatch)
    BY_NAME[kind].made.kind.work(RunningJob(job, lambda: True))  # its result is lost

    assert run_job(job.pk) == "made"

    assert parquet(operator, run, kind, tmp_path) == whole


@pytest.mark.parametrize("kind", ["pages", "fields"])
def test_a_job_goes_on_behind_its_last_page_when_that_is_fetched_again(
    run, operator, background, tmp_path, monkeypatch, kind
):
    make(operator, run, background, kind)
    whole = parquet(operator, run, kind, tmp_path)
    job = begin(operator, run, background, kind)
    pause(job, monkeypatch)
    pause(job, monkeypatch)
    last = next(iter(whole[1].values()))
    Url.objects.filter(pk=last).update(state=UrlState.FAILED)
    assert requeue_failed(run.pk, url_id=last) == 1

    assert run_job(job.pk) == "made"

    job.refresh_from_db()
    place = storage().path(job.file("rows.parquet"))
    urls = [url for (url,) in duckdb.sql(f"SELECT url FROM '{place}'").fetchall()]
    assert urls == [row["url"] for row in whole]


def test_a_job_leaves_out_no_page_when_its_last_one_has_been_fetched_again(
    run, operator, background, monkeypatch
):
    pages = list(run.pages.order_by("fetched_at", "pk"))
    job = begin(operator, run, background, "pages")
    pause(job, monkeypatch)
    pages[0].fetched_at = timezone.now()
    pages[0].save()

    assert run_job(job.pk) == "made"

    place = storage().path(BackgroundJob.objects.get(pk=job.pk).file("rows.parquet"))
    found = [page for (page,) in duckdb.sql(f"SELECT id FROM '{place}'").fetchall()]
    assert found[: len(pages)] == [page.pk for page in pages]


def test_a_file_that_lacks_pages_says_so_in_its_name_its_header_and_in_itself(
    run, operator, background, tmp_path
):
    LinksPart.objects.filter(run=run).update(read_at=None)
    make(operator, run, background, "text")

    answer = operator.get(f"/crawls/{run.crawl_id}/download/text.parquet")

    assert answer["Complete"] == "false"
    assert "text-incomplete.parquet" in answer["Content-Disposition"]
    place = tmp_path / "text.parquet"
    place.write_bytes(b"".join(answer.streaming_content))
    told = duckdb.sql(f"SELECT key, value FROM parquet_kv_metadata('{place}')").fetchall()
    assert dict(told)[b"complete"] == b"false"
    assert int(dict(told)[b"behind"]) > 0


def test_tables_come_with_their_cells_and_are_safe_in_spreadsheets(run, operator, background):
    make(operator, run, background, "tables")

    cells = table(operator, run, "tables.csv")
    sizes = [cell for cell in cells if cell["caption"] == "Sizes"]
    assert [(cell["row"], cell["column"], cell["text"]) for cell in sizes] == [
        ("1", "1", "Edge"),
        ("1", "2", "mm"),
        ("2", "1", "long"),
        ("2", "2", "'=5+5"),
    ]
    lines = [json.loads(line) for line in body(operator, run, "tables.jsonl").splitlines()]
    assert [line["cells"] for line in lines if line["caption"]] == [
        ["Edge", "mm"],
        ["long", "=5+5"],
    ]
    packed = zipfile.ZipFile(io.BytesIO(body(operator, run, "tables.zip")))
    assert len(packed.namelist()) == 4
    listed = list(csv.DictReader(io.StringIO(packed.read("tables.csv").decode())))
    first = next(one for one in listed if one["caption"] == "Sizes")
    assert packed.read(first["file"]).decode().splitlines() == ["Edge,mm", "long,'=5+5"]


def test_very_many_tables_are_no_zip_file(run, operator, background, monkeypatch):
    make(operator, run, background, "tables")
    monkeypatch.setattr(files, "MOST_ZIPPED", 2)

    refused = operator.get(f"/crawls/{run.crawl_id}/download/tables.zip", follow=True)
    assert "CSV, JSON Lines and Parquet have all" in refused.content.decode()
    place = f"/api/v1/crawls/{run.crawl_id}/downloads/tables/export?format=zip"
    assert operator.get(place).status_code == 404
    assert body(operator, run, "tables.csv")


@pytest.mark.parametrize("text", ["1e999", "-1e999"])
def test_a_number_that_is_too_large_for_json_is_none(text):
    assert (parse_number(text), parse_number("-1e9")) == (None, -1e9)


def test_fields_are_wide_and_converted_with_the_text_beside(run, operator, background, tmp_path):
    assert b"price" in body(operator, run, "pages.csv")
    make(operator, run, background, "fields")

    by_title = {row["h1"]: row for row in parquet(operator, run, "fields", tmp_path)}
    part = by_title[None]
    assert (part["price"], part["price_currency"], part["price_raw"]) == (1234.5, "€", "€ 1.234,50")
    assert (part["tags"], part["made"]) == (["red", "blue"], "2026-01-02")
    assert (part["due"], part["due_raw"]) == (None, "soon")
    assert by_title["Parts"]["price"] is None
    page = soup(operator.get(f"/crawls/{run.crawl_id}/extracted/"))
    assert page.select_one(f"main a[href='/crawls/{run.crawl_id}/download/fields.csv?run=1']")
    text = next(row for row in table(operator, run, "fields.csv") if row["price"])
    assert (text["price"], text["tags"]) == ("1234.5", '["red", "blue"]')
    told = {
        one["name"]: one
        for one in operator.get(f"/api/v1/crawls/{run.crawl_id}/downloads").json()["items"]
    }
    assert told["fields"]["failed"] == {"due": 1}
    shown = " ".join(soup(operator.get(f"/crawls/{run.crawl_id}/download/")).text.split())
    assert "due: 1 value could not be converted; the text is in due_raw." in shown


def test_dates_are_converted_while_there_is_time_and_then_told_as_text(
    run, operator, background, tmp_path, monkeypatch
):
    monkeypatch.setattr(field_rows, "MOST_DATE_SECONDS", 0.0)
    make(operator, run, background, "fields")

    part = next(row for row in parquet(operator, run, "fields", tmp_path) if row["price"])
    assert (part["made"], part["made_raw"]) == (None, "2 January 2026")
    told = operator.get(f"/api/v1/crawls/{run.crawl_id}/downloads").json()["items"]
    failed = next(one["failed"] for one in told if one["name"] == "fields")
    assert failed == {"due": 1, "made": 1}


def test_links_have_the_status_of_their_target(run, operator, site):
    links = {row["target"]: row for row in table(operator, run, "links.csv")}

    assert links[f"{site.url}/gone"]["status"] == "404"
    part = links[f"{site.url}/a"]
    assert (part["source"], part["text"], part["rel"], part["status"]) == (
        f"{site.url}/",
        "a part",
        "next",
        "200",
    )


def test_the_links_of_a_part_take_no_more_than_that_part_and_its_targets(run):
    (part,) = LinksPart.objects.filter(run=run, links__gt=0)
    folder = part.name.partition("/")[0]
    for _ in range(3):
        other = LinksPart.objects.get(pk=part.pk)
        other.pk, other.name = None, f"{folder}/{uuid.uuid4().hex}.parquet"
        for old, new in ((part.name, other.name), (part.findings_name, other.findings_name)):
            storage().put(new, pieces_of(storage().open(old)))
        other.save()

    files = "SELECT len(current_setting('allowed_paths'))"
    assert list(stream_query_rows(run, files, part=part)) == [(2,)]
    with CaptureQueriesContext(connection) as asked:
        rows = list(BY_NAME["links"].rows(run, START).rows)
    assert len(rows) == 4 * part.links
    of_urls = [one["sql"] for one in asked if one["sql"].startswith('SELECT "crawling_url"')]
    assert len(of_urls) == 4
    assert all('"fingerprint" IN' in sql for sql in of_urls)


def test_files_never_have_what_was_withdrawn(run, operator, background):
    for kind in TABLES:
        make(operator, run, background, kind.name)
    made = [
        job.file("rows.parquet") for job in BackgroundJob.objects.filter(kind__startswith="bulk-")
    ]
    assert all(storage().size(name) for name in made)

    withdraw_pages(run.crawl, run, kind="page", text=_address(run), reason="asked", by=None)

    for kind in TABLES:
        file = operator.get(f"/crawls/{run.crawl_id}/download/{kind.name}.parquet")
        assert file.status_code == 302, kind.name
        make(operator, run, background, kind.name)
        for ending in ("csv", "jsonl"):
            said = body(operator, run, f"{kind.name}.{ending}")
            assert b"/secret" not in said, kind.name
            assert b"hush" not in said, kind.name
    assert not any(storage().size(name) for name in made)


def _address(run):
    return run.pages.get(title="Secret").url.url


def test_a_deleted_run_leaves_no_files(run, operator, background):
    make(operator, run, background, "pages")
    (job,) = BackgroundJob.objects.filter(kind="bulk-pages")
    assert storage().size(job.file("rows.parquet"))

    remove_run(run, by=None, for_good=True)
    remove_rows(seconds=60)
    remove_deleted_jobs()

    assert storage().size(job.file("rows.parquet")) is None


def test_a_mark_for_excel_comes_by_choice_only(run, operator):
    assert body(operator, run, "text.csv?mark=1").startswith(b"\xef\xbb\xbfpage_id")
    assert body(operator, run, "text.csv").startswith(b"page_id")


def test_a_viewer_has_files_and_makes_none(run, background):
    viewer = browser("viewer")

    assert viewer.get(f"/crawls/{run.crawl_id}/download/text.csv").status_code == 200
    assert (
        viewer.post(f"/crawls/{run.crawl_id}/download/", {"file": "text.parquet"}).status_code
        == 403
    )
    assert not background.job_ids


def test_a_command_writes_the_same(run, operator, tmp_path, capsys):
    place = tmp_path / "tables.jsonl"

    call_command("crawl", "download", str(run.crawl_id), "tables", "--export", str(place))
    call_command("crawl", "download", str(run.crawl_id), "tables", "--json")

    assert place.read_bytes() == body(operator, run, "tables.jsonl")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["rows"], told["complete"]) == (4, True)
