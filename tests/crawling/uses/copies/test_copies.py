"""Copies within a run, between two runs, and of a supplied text."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from crawling.datasets.catch_up import catch_up
from crawling.jobs.running import run_job
from crawling.jobs.temporary_grant import temporary_grant
from crawling.models import Inquiry, Page, Run
from crawling.uses.copies import clusters
from crawling.uses.copies import jobs as copies_jobs
from crawling.uses.copies.clusters import TooManyNearCopies, find_clusters, similar_pairs
from crawling.uses.copies.supplied import compare_texts, find_pages
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end

WORDS = (
    "apples pears plums cherries grow in the old orchard behind the house where a keeper walks "
    "every morning between the rows and looks at each of the trees before he writes down what he "
    "saw in a book with a green cover that his father once bought in a shop near the harbour"
)
OTHER = " ".join(f"sentence {n} about ships and winds of the northern sea" for n in "abcdefgh")
PAGES = {
    "/": '<a href="/long/copy">1</a><a href="/b">2</a><a href="/near">3</a><a href="/other">4</a>',
    "/long/copy": f"<title>T</title><p>{WORDS}</p>",
    "/b": f"<title>T</title><p>{WORDS}</p>",
    "/near": f"<title>T</title><p>{WORDS}.</p><p>x</p>",
    "/other": f"<title>O</title><p>{OTHER}</p>",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    """A run, and one of another crawl, of the site with less and something new."""
    first = crawl_once(f"{site.url}/")
    site.pages["/"] = '<a href="/other">o</a><a href="/new">n</a>'
    site.pages["/new"] = "<p>" + " ".join(f"nothing like word {n}" for n in range(40)) + "</p>"
    return first, crawl_once(f"{site.url}/", name="another crawl")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled[0].pk)


@pytest.fixture
def later(crawled, db):
    return Run.objects.get(pk=crawled[1].pk)


def found(*runs, near=True):
    """The addresses of each cluster, the best first, and how many pages it has."""
    told = find_clusters([run.pk for run in runs], near=near, skip=0, most=10)
    return [
        ([page.url.partition("/")[2].partition("/")[2].partition("/")[2] for page in one.pages])
        for one in told.clusters
    ]


def answered(address, viewer, **query):
    """The page once its job is done."""
    assert "in the background" in viewer.get(address, query).content.decode()
    run_job(Inquiry.objects.latest("pk").pk)
    return soup(viewer.get(address, query))


def test_pairs_of_near_simhashes_are_those_that_comparing_each_with_each_finds(monkeypatch):
    chance = np.random.default_rng(3)
    simhashes = chance.integers(-(2**63), 2**63 - 1, 300, np.int64)
    for at in range(0, 200, 2):
        flips = chance.choice(64, at % 6, replace=False)
        simhashes[at + 1] = simhashes[at] ^ np.bitwise_or.reduce(np.int64(1) << flips, initial=0)
    simhashes = np.unique(simhashes)
    differing = np.bitwise_count(simhashes[:, None] ^ simhashes[None, :])
    expected = {frozenset(map(int, pair)) for pair in np.argwhere(differing <= 3)}

    pairs = zip(*similar_pairs(simhashes), strict=True)

    assert {frozenset(map(int, pair)) for pair in pairs} == {p for p in expected if len(p) == 2}
    monkeypatch.setattr(clusters, "MOST_PAIRS", 10)
    with pytest.raises(TooManyNearCopies):
        similar_pairs(simhashes)


def test_copies_of_a_run_are_clusters_with_the_best_page_first(run):
    assert found(run, near=False) == [["b", "long/copy"]]
    assert found(run) == [["b", "near", "long/copy"]]
    (cluster,) = find_clusters([run.pk], near=True, skip=0, most=10).clusters
    assert [page.is_exact for page in cluster.pages] == [True, False, True]
    assert [page.equal_bits for page in cluster.pages][::2] == [64, 64]
    assert 61 <= cluster.pages[1].equal_bits <= 64


def test_clusters_of_two_runs_have_pages_of_both(run, later):
    assert found(run, later) == [["other", "other"]]
    (cluster,) = find_clusters([run.pk, later.pk], near=True, skip=0, most=10).clusters
    assert {page.crawl for page in cluster.pages} == {run.crawl_id, later.crawl_id}
    assert find_clusters([run.pk, later.pk], near=True, skip=1, most=10).clusters == []


def test_passages_are_those_that_both_texts_have_in_a_row():
    words = WORDS.split()
    one = " ".join(["Before", *words[:20], "only here", *words[20:40]])
    other = " ".join([*words[:20], *["instead"] * 3, *[word.upper() for word in words[20:40]]])

    shared = compare_texts(one, other)

    assert shared.shared_words == 40
    assert shared.similarity == pytest.approx(2 * 40 / (43 + 43))
    told = [(part.is_shared, part.one, part.other) for part in shared.passages]
    assert told == [
        (False, "Before", ""),
        (True, " ".join(words[:20]), " ".join(words[:20])),
        (False, "only here", "instead instead instead"),
        (True, " ".join(words[20:40]), " ".join(words[20:40]).upper()),
    ]
    assert compare_texts("", "").passages == []
    assert compare_texts("one two three four", "one two three four").shared_words == 0


def test_pages_with_passages_of_a_text_are_found_by_simhash_and_by_the_index(site, run):
    (copy, *_) = [page.url.removeprefix(site.url) for page in find_pages(WORDS, run)]
    assert copy in ("/b", "/long/copy", "/near")
    quoting = f"{'Something else is said here, and at length. ' * 9} {' '.join(OTHER.split()[:30])}"
    assert find_pages(quoting, run) == []

    catch_up(run.pk)
    read_to_the_end(run)

    (page,) = find_pages(quoting, run)
    assert page.url == f"{site.url}/other"
    assert page.shared_words == 30


def test_page_json_and_command_tell_the_same_clusters(site, run, later):
    viewer, crawl = browser("viewer"), run.crawl_id
    address, other = reverse("crawling:copies", args=[crawl]), str(later.crawl_id)

    page = answered(address, viewer, other=other)

    links = [link["href"] for link in page.select("tbody th a.url")]
    told = viewer.get(f"/api/v1/crawls/{crawl}/copies", {"other_crawl": other, "limit": 20}).json()
    assert told["count"] == 1
    pages = told["items"][0]["pages"]
    assert links == [reverse("crawling:page", args=[one["crawl"], one["id"]]) for one in pages]
    out = io.StringIO()
    call_command("crawl", "copies", str(crawl), "--against", f"{other}:1", "--json", stdout=out)
    assert json.loads(out.getvalue())["pages"] == pages
    (compare,) = page.select("tbody td a")
    passages = answered(compare["href"], viewer)
    assert passages.select_one("mark").get_text().startswith("O sentence a about ships")
    assert "100 % of the words" in passages.get_text()


def test_a_supplied_text_or_file_is_searched_for_and_compared(site, run):
    viewer = browser("viewer")
    address = reverse("crawling:copies", args=[run.crawl_id])
    file = SimpleUploadedFile("mine.txt", f"{WORDS} and mine".encode())

    sent = viewer.post(address, {"file": file})

    page = answered(sent["Location"], viewer)
    assert len(page.select("tbody tr")) == 3
    passages = answered(page.select("tbody td a")[0]["href"], viewer)
    assert passages.select_one("mark").get_text() == WORDS
    refused = viewer.post(address, {"text": "too short"}, follow=True)
    assert "5 words or more" in refused.content.decode()
    assert browser("operator").get(sent["Location"]).status_code == 404  # another user's
    asked = viewer.post(
        f"/api/v1/crawls/{run.crawl_id}/copies/texts", {"text": WORDS}, "application/json"
    )
    run_job(Inquiry.objects.latest("pk").pk)
    items = viewer.get(asked.json()["result"]).json()["items"]
    assert len(items) == 3
    assert items[0]["similarity"] > 0.9


def test_a_withdrawn_page_is_in_no_cluster_and_no_answer(site, run):
    viewer, address = browser("viewer"), reverse("crawling:copies", args=[run.crawl_id])
    answered(address, viewer)
    asked = {"kind": "page", "text": f"{site.url}/b", "reason": "asked for", "by": None}

    withdraw_pages(run.crawl, None, **asked)

    assert not Inquiry.objects.exists()
    page = answered(address, viewer)
    assert f"{site.url}/b" not in page.get_text()
    assert Page.objects.filter(run=run).count() == 4


def test_clusters_are_looked_for_with_memory_that_no_other_process_holds(site, run, monkeypatch):
    monkeypatch.setattr(copies_jobs, "GRANT_SECONDS", 0.1)
    viewer, address = browser("viewer"), reverse("crawling:copies", args=[run.crawl_id])

    with temporary_grant({"memory": 512}, label="all", reference="all", wait_seconds=5):
        page = answered(address, viewer)

    assert "could not spare" in page.get_text()
