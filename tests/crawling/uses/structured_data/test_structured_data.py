"""Structured data of a run: read with the texts, asked by kind, exported, withdrawn and removed."""

from __future__ import annotations

import csv
import io
import json

import duckdb
import pytest
from django.conf import settings
from django.core.management import call_command

from crawling.datasets.catch_up import catch_up
from crawling.datasets.parquet import STRUCTURED, rows_in
from crawling.datasets.progress import unread_parts
from crawling.jobs.turns import IdleTurn
from crawling.models import LinksPart, Page, Run
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end, read_when_idle

SECRET = "secret@example.org"
HOME = """<title>Home</title><a href=/lamp>l</a><a href=/secret>s</a>
<meta property=og:title content="=1+1"><img src=/a.png alt=A width=3><img src=/b.png>"""
LAMP = """<title>Lamp</title><script type="application/ld+json">
{"@type": "Product", "name": "Lamp", "offers": {"price": 5}}</script>"""


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve({"/": HOME, "/lamp": LAMP, "/secret": f"<title>S</title>{SECRET}"})


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/")
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def path(run):
    return f"/crawls/{run.crawl_id}/structured-data"


@pytest.fixture
def viewer(run):
    return browser("viewer")


@pytest.fixture
def asked(viewer, path):
    """Asks the endpoint for rows."""
    return lambda **query: viewer.get(f"/api/v1{path}", query).json()


def test_page_json_files_and_command_tell_the_same(
    site, run, path, viewer, asked, tmp_path, capsys
):
    assert asked()["behind"] == 3
    read_to_the_end(run)

    (row,) = asked(kind="json-ld")["items"]
    assert (row["page"], row["type"], row["name"]) == (f"{site.url}/lamp", "Product", "Lamp")
    assert json.loads(row["value"])["offers"] == {"price": 5}
    counts = viewer.get(f"/api/v1{path}/kinds?kind=image").json()
    assert {"name": "image", "rows": 2, "pages": 1} in counts["kinds"]
    assert [(one["name"], one["rows"]) for one in counts["facets"]] == [
        ("described", 1),
        ("no text", 1),
    ]
    shown = soup(viewer.get(f"{path}/?kind=image"))
    assert [cell.text for cell in shown.select("tbody tr:first-child td")] == [
        *("described", "A", f"{site.url}/a.png", "3", "–"),
    ]
    lamp = Page.objects.get(run=run, url__url__endswith="/lamp")
    stored = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{lamp.pk}/"))
    [known] = [one.parent.dd for one in stored.select("dt") if one.text == "Structured data"]
    assert " ".join(known.text.split()) == "Metadata 2, JSON-LD 1"
    call_command("crawl", "structured-data", str(run.crawl_id), "--type", "Product")
    assert capsys.readouterr().out.startswith(f"{site.url}/lamp  json-ld  Product  Lamp  {{")
    file = tmp_path / "all.parquet"
    call_command("crawl", "structured-data", str(run.crawl_id), "--export", str(file))
    kinds = duckdb.sql(f"SELECT count(*) FROM '{file}' WHERE kind = 'image'").fetchall()
    assert kinds == [(2,)]


def test_files_have_what_the_list_has_and_no_formulas(run, path, viewer):
    read_to_the_end(run)

    lines = csv.DictReader(io.StringIO(body(viewer.get(f"{path}.csv?kind=open-graph")).decode()))
    assert [(row["name"], row["value"]) for row in lines] == [("og:title", "'=1+1")]
    objects = body(viewer.get(f"{path}.jsonl?type=described")).decode().splitlines()
    assert [json.loads(line)["width"] for line in objects] == [3]
    assert body(viewer.get(f"{path}.parquet"))[:4] == b"PAR1"


def body(answer):
    return b"".join(answer.streaming_content)


def test_each_row_of_a_long_list_comes_once(run, asked):
    read_to_the_end(run)
    every, after = [], ""
    while after is not None:
        found = asked(limit=2, cursor=after)
        every, after = every + found["items"], found["next"]

    assert every == asked(limit=200)["items"]
    assert len(every) > 4


def test_a_reading_that_was_broken_off_continues_without_doubles(run, monkeypatch):
    monkeypatch.setattr(IdleTurn, "goes_on", lambda turn: setattr(turn, "is_over", True))
    assert read_when_idle(run.pk) == "others wait"
    (part,) = unread_parts(run)
    first = rows_in(part.structured_name, STRUCTURED)
    monkeypatch.undo()

    read_to_the_end(run)

    rows = rows_in(part.structured_name, STRUCTURED)
    assert set(first) < set(rows)
    assert len(rows) == len({(row[0], row[2]) for row in rows})


def test_a_part_without_structured_data_is_read_anew(run, asked):
    read_to_the_end(run)
    part = LinksPart.objects.get(run=run)
    before = asked(limit=200)["items"]
    (settings.ARCHIVE_DIR / part.structured_name).unlink()
    LinksPart.objects.update(read_at=None, indexed_at=None)
    assert asked()["items"] == []

    read_to_the_end(run)

    assert asked(limit=200)["items"] == before


def test_a_withdrawn_page_is_in_no_list_and_later_in_no_file(site, run, path, viewer, asked):
    read_to_the_end(run)
    assert SECRET in str(asked(kind="email"))
    address = f"{site.url}/secret"

    one = withdraw_pages(
        run.crawl, run, kind="page", text=address, reason="asked", by=None, at_once=True
    )
    files = [body(viewer.get(f"{path}.{ending}")) for ending in ("csv", "jsonl", "parquet")]

    assert asked(kind="email")["items"] == []
    assert asked(page=address)["items"] == []
    assert not any(b"secret" in file for file in files)
    remove_records(one.pk)
    read_to_the_end(run)
    folder = settings.ARCHIVE_DIR / f"links{run.pk}"
    assert not any(SECRET in str(rows(file)) for file in folder.glob("*.structured.parquet"))
    assert asked(kind="json-ld")["items"]


def test_a_withdrawn_page_without_links_leaves_the_files(make_site, crawl_to_the_end):
    site = make_site({"/": f"<title>S</title>{SECRET}"})
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    read_to_the_end(run)
    files = list((settings.ARCHIVE_DIR / f"links{run.pk}").glob("*.parquet"))
    assert [SECRET in str(rows(file)) for file in sorted(files)] == [False, True, True]

    one = withdraw_pages(
        run.crawl, run, kind="page", text=f"{site.url}/", reason="asked", by=None, at_once=True
    )
    remove_records(one.pk)
    read_to_the_end(run)

    files = (settings.ARCHIVE_DIR / f"links{run.pk}").glob("*.parquet")
    assert not any(SECRET in str(rows(file)) for file in files)


def rows(file):
    return duckdb.sql(f"SELECT * FROM '{file}'").fetchall()


def test_a_deleted_run_leaves_no_structured_data(run):
    read_to_the_end(run)

    remove_run(run, by=None, for_good=True)
    remove_rows(seconds=60)

    assert not list((settings.ARCHIVE_DIR / f"links{run.pk}").glob("*.structured.parquet"))


def test_nonsense_is_no_fault(path, viewer):

    assert viewer.get(f"{path}/?kind=nothing&type=%00&after=x").status_code == 200
    assert viewer.get(f"{path}/?page=nonsense").status_code == 200
    assert viewer.get(f"/api/v1{path}?kind=nothing").status_code == 422
    assert viewer.get(f"/api/v1{path}?cursor=x").status_code in (400, 422)
