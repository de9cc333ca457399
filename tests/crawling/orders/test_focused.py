"""A focused crawl visits first what is expected to be most like its topic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.urls import reverse

from crawling.crawls.revisions import edit_crawl
from crawling.errors import BadOrder
from crawling.models import Shift
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
