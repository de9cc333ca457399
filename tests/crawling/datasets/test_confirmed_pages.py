"""A run whose server confirms pages (304) has all data derived from them, from the records of the
run that stored them.
"""

from __future__ import annotations

import pytest

from crawling.datasets.catch_up import catch_up
from crawling.models import Page, Run
from crawling.runs.start import start_run
from tests.crawling.conftest import do_shifts
from tests.crawling.frontier.test_unchanged import versioned
from tests.crawling.pages import browser
from tests.crawling.reading import read_to_the_end

HOME = """<title>Home</title><p>A lighthouse.</p><a href=/gone>gone</a><a href=/a#here>a</a>
<script type="application/ld+json">{"@type": "Product", "name": "Lamp"}</script>
<table><tr><th>Name<th>Price<tr><td>Lamp<td>5</table><img src=/i.png alt=I><b>5 EUR</b>"""


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve({"/": versioned(HOME, '"1"'), "/a": versioned("<p id=here>a</p>", '"a"')})
    first = crawl_once(f"{site.url}/", extract={"price": "b"})
    return shared.do(read_twice, first)


def read_twice(first):
    """A run of pages, and another that has none of them anew."""
    second = do_shifts(start_run(first.crawl))
    for run in (first, second):
        catch_up(run.pk)
        read_to_the_end(run)
    return first, second


@pytest.fixture
def runs(crawled, db):
    """Two runs of pages of which the second has none anew; both are read."""
    return [Run.objects.get(pk=run.pk) for run in crawled]


@pytest.fixture
def told(runs):
    """Answers of endpoints about both runs."""
    viewer = browser("viewer")

    def ask(path, **asked):
        address = f"/api/v1/crawls/{runs[0].crawl_id}/{path}"
        answers = [viewer.get(address, {**asked, "run": run.number}).json() for run in runs]
        assert all(answer.get("complete", True) for answer in answers)
        return answers

    return ask


def test_links_problems_and_structured_data_are_those_of_the_run_before(runs, told):
    statuses = [
        sorted(Page.objects.filter(run=run, status__lt=400).values_list("status", flat=True))
        for run in runs
    ]
    assert statuses == [[200, 200], [304, 304]]

    for path, asked in (
        ("links", {}),
        ("reports/problems", {"kind": "broken"}),
        ("reports/problems", {"kind": "html"}),
        ("reports/problems", {"kind": "fragment"}),
        ("reports/media", {}),
        ("structured-data", {}),
    ):
        first, second = (answer["items"] for answer in told(path, **asked))
        assert first == second, path
        assert first or asked.get("kind") in ("html", "fragment")
    kinds = told("structured-data/kinds")
    assert kinds[0]["kinds"] == kinds[1]["kinds"]
    assert {"json-ld", "table", "image"} <= {kind["name"] for kind in kinds[1]["kinds"]}


def test_extracted_fields_are_those_of_the_run_before(told):
    first, second = (
        [(row["name"], row["value"]) for row in answer["items"]] for answer in told("extracted")
    )

    assert first == second == [("price", "5 EUR")]


def test_the_texts_of_both_runs_are_found(runs):
    found = browser("viewer").get("/api/v1/search", {"q": "lighthouse", "all_runs": True}).json()

    assert sorted(hit["run"] for hit in found["items"]) == [1, 2]
    assert (found["complete"], found["behind"]) == (True, 0)
