"""Two runs of one crawl compared, on the page and in JSON."""

from __future__ import annotations

import json
import time
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from crawling.datasets.text_diff import line_diff
from crawling.jobs.running import run_job
from crawling.models import Inquiry, Run
from crawling.previews import run_comparison
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup


def test_a_second_run_shows_what_was_added_gone_changed_and_flipped_and_how_the_text_changed(
    make_site, crawl_to_the_end, work_off
):
    pages = {
        "/stays": "same",
        "/gone": "bye",
        "/changes": "<p>one</p><p>two</p><script>x=1</script>",
        "/flips": "here",
    }
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in pages), **pages})
    first = crawl_to_the_end(f"{site.url}/")
    del site.pages["/flips"]
    site.pages["/changes"] = "<p>one</p><p>three</p><script>x=2</script>"
    site.pages["/"] = "".join(
        f'<a href="{path}">x</a>' for path in ("/stays", "/changes", "/flips", "/new")
    )
    site.pages["/new"] = "hello"
    work_off(start_run(first.crawl))
    viewer = browser("viewer")

    page = soup(viewer.get(reverse("crawling:compare", args=[first.crawl_id])))

    rows = {
        row.th.a.get_text().removeprefix(site.url): row.td.get_text()
        for row in page.select(".board section:first-child tbody tr")
    }
    assert rows == {
        "/": "changed",
        "/changes": "changed",
        "/flips": "status changed",
        "/gone": "removed",
        "/new": "added",
    }
    assert [cell.get_text() for cell in page.select("section:last-child tbody td")] == [
        "1",
        "1",
        "2",
        "1",
        "1",
    ]
    place = page.find("a", attrs={"aria-label": f"diff of the text of {site.url}/changes"})["href"]
    waiting = viewer.get(place)
    assert "being compared in the background" in waiting.content.decode()
    run_job(Inquiry.objects.get().pk)
    changed = soup(viewer.get(place))
    assert [line.get_text() for line in changed.select(".diff del, .diff ins")] == ["two", "three"]

    address = f"/api/v1/crawls/{first.crawl_id}/changes"
    places = {
        item["url"].removeprefix(site.url): item["diff"]
        for item in viewer.get(address, {"against": 1}).json()["items"]
    }
    assert [path for path, place in places.items() if place is None] == ["/gone", "/new"]
    text = viewer.get(places["/changes"]).json()
    assert Inquiry.objects.count() == 1
    assert (text["old_run"], text["new_run"]) == (1, 2)
    assert [(line["kind"], line["text"]) for line in text["lines"]] == [
        ("unchanged", "one"),
        ("removed", "two"),
        ("added", "three"),
    ]
    assert viewer.get(f"{address}/1/9999999").status_code == 404

    told = viewer.get(address, {"against": 1, "kind": "added"}).json()
    assert [item["url"] for item in told["items"]] == [f"{site.url}/new"]
    assert told["summary"]["counts"] == {
        "added": 1,
        "removed": 1,
        "changed": 2,
        "status_changed": 1,
        "unchanged": 1,
    }
    Run.objects.filter(number=2).update(state="stopped")
    warned = (
        soup(viewer.get(reverse("crawling:compare", args=[first.crawl_id])))
        .select_one(".warning")
        .get_text()
    )
    assert (page.select_one(".warning"), warned) == (
        None,
        "Run 2 ended early (stopped): what it has not fetched counts as removed.",
    )
    part = viewer.get(address, {"against": 1, "limit": 2}).json()
    rest = viewer.get(address, {"against": 1, "cursor": part["next"]}).json()
    assert len(part["items"]) + len(rest["items"]) == 5


def test_large_runs_are_compared_by_a_job_that_page_json_and_command_wait_for(
    make_site, crawl_to_the_end, work_off, monkeypatch
):
    monkeypatch.setattr(run_comparison, "MOST_AT_ONCE", 0)
    monkeypatch.setattr(run_comparison, "AGAIN_SECONDS", 10**9)  # none begins during the test
    site = make_site({"/": '<a href="/a">a</a>', "/a": "x"})
    first = crawl_to_the_end(f"{site.url}/")
    site.pages["/a"] = "y"
    work_off(start_run(first.crawl))
    viewer = browser("viewer")
    place = reverse("crawling:compare", args=[first.crawl_id])
    address = f"/api/v1/crawls/{first.crawl_id}/changes?against=1"

    def answer(*_):
        for inquiry in Inquiry.objects.filter(began_at=None):
            run_job(inquiry.pk)

    waiting = soup(viewer.get(place))
    told = " ".join(waiting.find(attrs={"role": "status"}).get_text().split())
    assert told.startswith("Run 2 is being compared with run 1 in the background: it waits for a")
    assert waiting.select_one("#changes")["hx-get"] == place
    assert waiting.select_one('noscript meta[http-equiv="refresh"]')
    later = viewer.get(address)
    assert (later.status_code, later["Retry-After"]) == (202, "1")
    number = Inquiry.objects.order_by("-pk").last().pk  # of the summary, which is asked first
    assert later.json() == {"id": number, "state": "waiting", "result": address}

    answer()
    page = soup(viewer.get(place))
    assert [row.td.get_text() for row in page.select("tbody tr")] == ["changed", "0"]
    assert "hx-get" not in page.select_one("#changes").attrs
    assert page.find("meta", attrs={"http-equiv": "refresh"}) is None
    part = soup(viewer.get(place, headers={"HX-Request": "true"}))
    assert (part.find("h1"), len(part.select("tbody tr"))) == (None, 2)

    monkeypatch.setattr(time, "sleep", answer)  # until a job has answered
    User.objects.create_superuser("boss")
    call_command("api", "GET", f"{address}&kind=changed", "--all", stdout=(told := StringIO()))
    assert [json.loads(line)["url"] for line in told.getvalue().splitlines()] == [f"{site.url}/a"]
    call_command("api", "GET", f"{address}&run=1", stdout=(told := StringIO()))
    itself = json.loads(told.getvalue())
    assert (itself["items"], itself["summary"]["counts"]["unchanged"]) == ([], 2)

    first.crawl.runs.filter(number=2).update(state="running")
    viewer.get(place)
    answer()
    now = soup(viewer.get(place)).get_text()
    assert "while a run is not over, it is compared anew" in now


def test_a_crawl_of_one_run_says_when_there_will_be_something_to_compare(
    crawl_to_the_end, make_site
):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    assert (
        "There is only one run"
        in browser("viewer").get(reverse("crawling:compare", args=[run.crawl_id])).content.decode()
    )


def test_a_diff_leaves_equal_lines_out_but_for_those_around_a_change():
    old = [str(n) for n in range(100)]
    new = [*old[:50], "new", *old[51:]]

    lines = line_diff(old, new)

    assert [(line.kind, line.text) for line in lines if line.kind != "unchanged"] == [
        ("skipped", "47 equal lines"),
        ("removed", "50"),
        ("added", "new"),
        ("skipped", "46 equal lines"),
    ]
    assert line_diff(old, old) == []


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=30)


@given(LINES, LINES)
def test_both_texts_can_be_read_off_a_diff(old, new):
    """Nothing is left out here: no two lines are far from a change."""
    lines = line_diff(old, new)

    if lines and not any(line.kind == "skipped" for line in lines):
        assert [line.text for line in lines if line.kind != "added"] == old
        assert [line.text for line in lines if line.kind != "removed"] == new
    assert bool(lines) == (old != new)


HOSTILE_LINES = {
    "periodic": ([str(n % 120) for n in range(3000)], [str(n % 119) for n in range(3000)]),
    "one line again and again": (["x"] * 3000, ["x"] * 1500 + ["y"] + ["x"] * 1499),
    "turned round": ([str(n) for n in range(3000)], [str(n) for n in reversed(range(3000))]),
    "each second one": ([str(n) for n in range(3000)], [str(n // 2 * 2) for n in range(3000)]),
}


@pytest.mark.parametrize("kind", HOSTILE_LINES)
def test_texts_of_any_lines_are_compared_in_moments(kind):
    began = time.process_time()

    assert line_diff(*HOSTILE_LINES[kind])
    assert time.process_time() - began < 1
