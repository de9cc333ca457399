"""`/api/v1/crawls/{id}/…`: extracted rows, duplicates and traps."""

import pytest

from crawling.models import Run, Url

#: a calendar without an end, in which no page says anything new
TRAP = "/calendar/2999/{}/"


def planned(day):
    ahead = "".join(f'<a href="{TRAP.format(day + step)}">on</a>' for step in (1, 2))
    return f"<p>Nothing is planned here on day {day}, so come again.</p>{ahead}"


@pytest.fixture
def viewer(programs):
    return programs["viewer"]


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(
        {
            "/": f'<h1>H</h1><a href="{TRAP.format(1)}">x</a><a href=/a>a</a><a href=/b>b</a>',
            "/a": "same",
            "/b": "same",
            **{TRAP.format(day): planned(day) for day in range(1, 60)},
        }
    )
    return crawl_once(f"{site.url}/", extract={"title": "h1"})


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def test_extracted_rows_come_by_pages_and_by_rule(run, viewer):
    answer = viewer.get(f"crawls/{run.crawl_id}/extracted")

    assert [(row["name"], row["value"]) for row in answer["items"]] == [("title", "H")]
    assert viewer.get(f"crawls/{run.crawl_id}/extracted?name=other")["items"] == []


def test_duplicates_are_reported_by_kind_and_counted(run, viewer):
    [row] = viewer.get(f"crawls/{run.crawl_id}/duplicates")["items"]

    assert (row["url"][-2:], row["of"][-2:], row["kind"], row["bytes"]) == ("/b", "/a", "exact", 4)
    assert viewer.get(f"crawls/{run.crawl_id}/duplicates?kind=near")["items"] == []
    assert viewer("GET", f"crawls/{run.crawl_id}/duplicates?kind=other")[0] == 422
    counts = viewer.get(f"crawls/{run.crawl_id}")
    assert counts["duplicate"] == 1
    assert counts["quarantined"] > 0
    pages = viewer.get(f"crawls/{run.crawl_id}/pages?limit=100")["items"]
    assert [page["url"][-2:] for page in pages if page["duplicate_of"]] == ["/b"]


def test_traps_are_listed_and_judged(run, viewer, operator):
    [trap] = viewer.get(f"crawls/{run.crawl_id}/traps")["items"]
    address = f"crawls/{run.crawl_id}/traps/{trap['key']}"

    refused = viewer("POST", address, {"verdict": "ban"})
    banned = operator("POST", address, {"verdict": "ban"})
    again = operator("POST", address, {"verdict": "ban"})
    unknown = operator("POST", f"crawls/{run.crawl_id}/traps/-{'9' * 19}", {"verdict": "approve"})

    assert trap["rule"] == "calendar"
    assert trap["held"] > 0
    assert all("/calendar/2999/" in sample for sample in trap["samples"])
    held = {"urls": trap["held"]}
    assert (refused[0], banned, again[0], unknown[0]) == (403, (200, held), 409, 409)
    assert {Url.objects.get(url=sample).state for sample in trap["samples"]} == {"x"}
