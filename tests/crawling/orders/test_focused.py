"""A focused crawl visits first what is expected to be most like its topic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.urls import reverse

from crawling.base.errors import BadOrder
from crawling.datasets.example_pages import missing_examples
from crawling.models import Level, LogLine, Page, Shift
from crawling.orders.sections.ordering import MOST_EXAMPLES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.start import start_run
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.frontiers import Frontier, candidates, outcome
from tests.crawling.pages import browser

BREAD = "<html lang=en><title>Sourdough</title><p>Sourdough bread and how it rises"
TRAIN = "<html lang=en><title>Trains</title><p>Old trains and their lines"


@pytest.fixture
def frontier(db):
    frontier = Frontier(order="focused", topic=["bread"])
    frontier.sow("a.test/start")
    return frontier


def read(frontier, **similarities):
    """Fetch the first URL, whose page has links of these expected similarities."""
    (url,) = frontier.claim(1)
    found = candidates(*(f"a.test/{link}" for link in similarities), depth=1, via=url.id)
    links = [
        replace(link, similarity=similarity)
        for link, similarity in zip(found, similarities.values(), strict=True)
    ]
    frontier.record(outcome(url, links=links))
    return url.url.rsplit("/", 1)[1]


def waiting(frontier):
    rows = frontier.run.urls.filter(state="q").order_by("rank", "id")
    return [(url.url.rsplit("/", 1)[1], url.expected_similarity) for url in rows]


def test_the_most_similar_link_to_a_url_counts(frontier):
    read(frontier, a=0.2, b=0.5, c=0.1)
    assert waiting(frontier) == [("b", 0.5), ("a", 0.2), ("c", 0.1)]

    assert read(frontier, a=0.1, c=0.4) == "b"
    assert waiting(frontier) == [("c", 0.4), ("a", 0.2)]
    frontier.check()


def test_what_is_expected_outlives_the_shift(frontier):
    read(frontier, a=0.2, b=0.5)
    Shift.objects.update(ended_at="2026-01-01T00:00Z")
    frontier.shift = frontier.begin_shift()

    assert [url.url[-1] for url in frontier.claim()] == ["b", "a"]


def test_the_frontiers_page_shows_what_is_expected(frontier):
    read(frontier, a=0.25)

    viewer = browser("viewer")
    page = viewer.get(reverse("crawling:frontier", args=[frontier.run.crawl.pk]))
    told = viewer.get(reverse("crawling:url"), {"u": "http://a.test/a"})

    assert b">0.25</td>" in page.content
    assert b"To the topic 0.25 of 1 is expected" in told.content


def test_pages_and_links_about_the_topic_come_first(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": '<a href="/1">Trains</a> <a href="/2">More trains</a> <a href="/3">Bread</a>',
            "/1": f'{TRAIN} <a href="/11">one</a>',
            "/2": f'{TRAIN} <a href="/21">one</a>',
            "/3": f'{BREAD} <a href="/31">one</a> <a href="/sourdough">two</a>',
            **dict.fromkeys(("/11", "/21", "/31", "/sourdough"), TRAIN),
        }
    )

    crawl_to_the_end(
        f"{site.url}/", order="focused", topic=["sourdough bread"], exact_order=True, max_pages=5
    )

    assert site.paths[:4] == ["/", "/3", "/sourdough", "/31"]


def test_a_focused_crawl_needs_a_topic(order, frontier):
    with pytest.raises(BadOrder) as refused:
        edit_crawl(frontier.run.crawl, {"topic": []})

    assert "words or a text" in refused.value.errors["topic"]
    assert edit_crawl(frontier.run.crawl, {"topic": ["rye"]}).ordering["topic"] == ["rye"]


@pytest.fixture
def example(make_site, crawl_to_the_end):
    """A stored page of another crawl."""
    url = f"{make_site({'/example': f'{BREAD} <p>Rye'}).url}/example"
    return crawl_to_the_end(url), url


def test_a_stored_page_of_another_crawl_is_an_example_by_its_url(
    make_site, crawl_to_the_end, example
):
    links = '<a href="/1">Trains</a> <a href="/2">Rye</a> <a href="/3">Old trains</a>'
    site = make_site({"/": links, **dict.fromkeys(("/1", "/2", "/3"), TRAIN)})

    crawl_to_the_end(
        f"{site.url}/", name="focused", order="focused", topic=[example[1]], exact_order=True
    )

    assert site.paths[:2] == ["/", "/2"]


def test_an_example_page_that_is_not_stored_is_refused(frontier):
    with pytest.raises(BadOrder) as refused:
        edit_crawl(frontier.run.crawl, {"topic": ["bread", "http://a.test/unknown"]})
    assert "no HTML page is stored at http://a.test/unknown" in refused.value.errors["topic"]

    many = [f"http://a.test/{number}" for number in range(MOST_EXAMPLES + 1)]
    with pytest.raises(BadOrder) as refused:
        edit_crawl(frontier.run.crawl, {"topic": many})
    assert "more than 10 URLs" in refused.value.errors["topic"]


def test_what_a_crawl_was_shown_for_its_login_is_an_example_for_it_alone(example):
    run, url = example
    Page.objects.update(is_personal=True)

    assert missing_examples([url]) == [url]
    assert missing_examples(["bread", url], crawl_id=run.crawl_id) == []


def test_the_log_says_which_example_page_a_topic_lacks_by_now(order, work_off, example):
    other, url = example
    crawl = create_crawl(order(url, name="focused", order="focused", topic=[url, "bread"]))
    withdraw_pages(other.crawl, None, kind="page", text=url, reason="asked for", by=None)

    run = start_run(crawl)
    work_off(run)

    line = LogLine.objects.get(run=run, url=url, level=Level.WARNING)
    assert "lacks an example page" in line.message
