"""Credit flows along links and none is lost (SEEDS W15): the worked example, and the same through
the real frontier.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawling.models import LambdaRow
from crawling.orders.ranking import LambdaPage
from tests.crawling.frontiers import Frontier, candidates, outcome

pytestmark = pytest.mark.slow

PAGES = "ABCDEF"
graphs = st.fixed_dictionaries(
    {page: st.sets(st.sampled_from(PAGES)).map(sorted) for page in PAGES}
)


def test_of_100_credits_10_go_to_the_lambda_page_and_9_to_each_of_10_links():
    page = LambdaPage()

    assert page.spend(100.0, 10) == pytest.approx(9.0)
    assert page.credit == pytest.approx(10.0)

    page.divide_credit(10)
    assert (page.credit, page.level) == (0.0, pytest.approx(1.0))


def test_a_page_without_links_leaves_all_to_the_lambda_page():
    page = LambdaPage()

    assert page.spend(50.0, 0) == 0.0
    assert page.credit == 50.0


@pytest.fixture
def frontier(db):
    return Frontier(order="opic")


def credits(frontier):
    """The credit of each URL that is not done, and of the Lambda page."""
    row = LambdaRow.objects.filter(run=frontier.run).first() or LambdaRow(credit=0.0, level=0.0)
    held = {
        url.url.rsplit("/", 1)[1]: row.level - url.rank
        for url in frontier.run.urls.filter(state__in="qpt")
    }
    return {**held, "Lambda": row.credit}


def visit(frontier, links_of):
    """Fetch what has the most credit; returns it."""
    url = min(frontier.claim(1), key=lambda url: url.rank, default=None)
    if url is None:
        return None
    page = url.url.rsplit("/", 1)[1]
    frontier.record(
        outcome(
            url,
            links=candidates(
                *(f"a.test/{link}" for link in links_of(page)), depth=url.depth + 1, via=url.id
            ),
        )
    )
    return page


def test_the_frontier_moves_credit_as_the_example_does(frontier):
    frontier.sow("a.test/start")

    visit(frontier, lambda page: [f"{number}" for number in range(10)])
    assert credits(frontier) == pytest.approx(
        {**{f"{number}": 9.0 for number in range(10)}, "Lambda": 10.0}
    )

    # the Lambda page had more: its turn was first, and gave 1 to each
    visit(frontier, lambda page: ["3", "start"])
    held = credits(frontier)
    assert held["3"] == pytest.approx(10.0 + 4.5)
    # the start page was fetched before, and would not spend its share
    assert held["Lambda"] == pytest.approx(1.0 + 4.5)
    assert frontier.run.urls.get(url__endswith="/start").credit == pytest.approx(100.0)

    assert visit(frontier, lambda page: []) == "3"
    assert sum(credits(frontier).values()) == pytest.approx(100.0)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs)
def test_no_credit_is_made_or_lost_whatever_links_to_what(db, graph):
    frontier = Frontier(order="opic")
    frontier.sow("a.test/A", "a.test/B")

    while visit(frontier, graph.get):
        assert sum(credits(frontier).values()) == pytest.approx(200.0)
    frontier.check()


def test_a_page_that_is_to_be_tried_again_keeps_its_credit(frontier):
    frontier.sow("a.test/start")
    (url,) = frontier.claim()

    frontier.record(outcome(url, "q", status=503, retry_seconds=60))

    assert credits(frontier) == {"start": 100.0, "Lambda": 0.0}
