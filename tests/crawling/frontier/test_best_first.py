"""I(P) = X IB(P) + Y IL(P) (SEEDS B4): links and looks decide, and their weights may be edited
while the crawl runs.
"""

import pytest

from crawling.frontier.change import rejudgement
from crawling.frontier.change.rejudgement import rank_next_batch
from crawling.models import Reranking
from crawling.orders.ranking import Order, Ranking
from crawling.runs.crawls.revisions import edit_crawl
from crawling.scheduler.duties import Progress, continue_reranking
from tests.crawling.frontiers import Frontier, candidates, outcome


def test_priority_is_the_weighted_sum_of_links_and_of_what_the_address_says():
    ranking = Ranking(
        Order.BEST_FIRST,
        links_weight=2.0,
        url_weight=3.0,
        importance={"/manual/": 5, r"\.pdf$": -1, "z": 100},
    )

    assert ranking.rank("http://a.test/manual/x.pdf", 7, 4) == -(2 * 4 + 3 * (5 - 1))


@pytest.fixture
def frontier(db):
    frontier = Frontier(order="best_first", importance={"/b": 1.5})
    frontier.sow("a.test/start")
    return frontier


def read(frontier, *links):
    """Fetch the best URL, whose page has these links."""
    (url,) = frontier.claim(1)
    frontier.record(
        outcome(
            url,
            links=candidates(
                *(f"a.test/{link}" for link in links), depth=url.depth + 1, via=url.id
            ),
        )
    )
    return url.url.rsplit("/", 1)[1]


def waiting(frontier):
    rows = frontier.run.urls.filter(state="q").order_by("rank", "id")
    return [(url.url.rsplit("/", 1)[1], -url.rank, url.backlinks) for url in rows]


def test_each_page_that_links_to_a_url_lifts_it(frontier):
    read(frontier, "a", "b", "c")
    assert waiting(frontier) == [("b", 2.5, 1), ("a", 1.0, 1), ("c", 1.0, 1)]

    assert read(frontier, "c", "start") == "b"
    assert waiting(frontier) == [("c", 2.0, 2), ("a", 1.0, 1)]
    frontier.check()


def test_edited_weights_rank_what_waits_anew_batch_by_batch_and_what_comes_later(
    frontier, monkeypatch
):
    monkeypatch.setattr(rejudgement, "RANKED_BATCH", 2)
    read(frontier, "a", "b", "c", "d")

    edit_crawl(
        frontier.run.crawl, {"links_weight": 0, "url_weight": 10, "importance": {"/c": 2, "/e": 1}}
    )
    assert Reranking.objects.exists()  # a first batch was ranked at once
    while continue_reranking() is Progress.UNFINISHED:  # a turn of the duty lasts 50 ms
        pass

    assert not Reranking.objects.exists()
    assert [name for name, *_ in waiting(frontier)] == ["c", "a", "b", "d"]
    read(frontier, "e")
    assert waiting(frontier)[0] == ("e", 10.0, 1)


def test_weights_are_kept_for_the_next_run_where_none_is_at_work(frontier):
    frontier.run.state = "finished"
    frontier.run.save()

    crawl = edit_crawl(frontier.run.crawl, {"url_weight": 4})

    assert crawl.ordering["url_weight"] == 4
    assert not rank_next_batch(frontier.run.pk)
