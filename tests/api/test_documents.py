"""`/api/v1/crawls/{id}/…`: extracted rows, duplicates and traps."""

import pytest

from crawling.models import Run, Url

TRAP = "/calendar/2999/01/"


@pytest.fixture
def viewer(programs):
    return programs["viewer"]


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(
        {
            "/": f'<h1>H</h1><a href="{TRAP}">x</a><a href=/a>a</a><a href=/b>b</a>',
            TRAP: "text",
            "/a": "same",
            "/b": "same",
        }
    )
    return crawl_once(f"{site.url}/", extract={"title": "h1"})


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def test_extracted_rows_come_by_pages_and_by_rule(run, viewer):
    answer = viewer.get(f"crawls/{run.crawl_id}/extracted")

    assert [(row["name"], row["value"]) for row in answer["items"]] == [("title", "H")]
    assert viewer.get(f"crawls/{run.crawl_id}/extracted?name=other") == {"items": [], "next": None}


def test_duplicates_are_reported_by_kind_and_counted(run, viewer):
    [row] = viewer.get(f"crawls/{run.crawl_id}/duplicates")["items"]

    assert (row["url"][-2:], row["of"][-2:], row["kind"], row["bytes"]) == ("/b", "/a", "exact", 4)
    assert viewer.get(f"crawls/{run.crawl_id}/duplicates?kind=near")["items"] == []
    assert viewer("GET", f"crawls/{run.crawl_id}/duplicates?kind=other")[0] == 422
    counts = viewer.get(f"crawls/{run.crawl_id}")
    assert (counts["duplicate"], counts["quarantined"]) == (1, 1)
    pages = viewer.get(f"crawls/{run.crawl_id}/pages")["items"]
    assert [page["duplicate_of"] for page in pages].count(None) == 2


def test_traps_are_listed_and_judged(run, viewer, operator):
    [trap] = viewer.get(f"crawls/{run.crawl_id}/traps")["items"]
    address = f"crawls/{run.crawl_id}/traps/{trap['key']}"

    refused = viewer("POST", address, {"verdict": "ban"})
    banned = operator("POST", address, {"verdict": "ban"})
    again = operator("POST", address, {"verdict": "ban"})
    unknown = operator("POST", f"crawls/{run.crawl_id}/traps/-{'9' * 19}", {"verdict": "approve"})

    assert (trap["rule"], trap["held"], trap["samples"][0][-len(TRAP) :]) == ("calendar", 1, TRAP)
    assert (refused[0], banned, again[0], unknown[0]) == (403, (200, {"urls": 1}), 409, 409)
    assert Url.objects.get(url__endswith=TRAP).state == "x"
