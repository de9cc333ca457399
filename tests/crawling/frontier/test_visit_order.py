"""The order of visits (SEEDS B3): the book's graph on a real web, through the real frontier and a
real shift.
"""

from __future__ import annotations

import pytest

from crawling.dashboard.pages.downloads import row_of
from crawling.models import Page
from crawling.orders.ranking import Order

#: SEEDS B3: A -> B C D E F; E -> H; F -> G; H -> I
EDGES = {"A": "BCDEF", "B": "", "C": "", "D": "", "E": "H", "F": "G", "G": "", "H": "I", "I": ""}


def web_of(edges):
    return {
        f"/{page}": "".join(f'<a href="/{target}">{target}</a>' for target in targets)
        for page, targets in edges.items()
    }


def test_breadth_first_visits_the_books_graph_in_the_books_order(make_site, crawl_to_the_end):
    site = make_site(web_of(EDGES))

    run = crawl_to_the_end(f"{site.url}/A", batch_size=1, claim={"fetch_slots": 1})

    assert "".join(path.removeprefix("/") for path in site.paths) == "ABCDEFHGI"
    assert run.state == "finished"


def test_depth_first_follows_each_link_to_its_end_before_the_next(make_site, crawl_to_the_end):
    site = make_site(web_of(EDGES))

    crawl_to_the_end(f"{site.url}/A", order="depth_first", batch_size=1, claim={"fetch_slots": 1})

    assert "".join(path.removeprefix("/") for path in site.paths) == "ABCDEHIFG"


#: SEEDS B4's importance of each page: D>B>C>A>E>F>I>G>H
IMPORTANCE = {f"/{page}$": 9 - place for place, page in enumerate("DBCAEFIGH")}


def test_best_first_visits_the_books_graph_in_the_books_order(make_site, crawl_to_the_end):
    site = make_site(web_of(EDGES))

    crawl_to_the_end(
        f"{site.url}/A",
        order="best_first",
        importance=IMPORTANCE,
        batch_size=1,
        claim={"fetch_slots": 1},
    )

    assert "".join(path.removeprefix("/") for path in site.paths) == "ADBCEFGHI"


class TrapSite(dict):
    """Twenty pages that link to each other, and a trap: whatever is asked for in it is there, and
    leads to ten more.
    """

    def __init__(self):
        pages = {
            f"/real/{number}": [f"/real/{(number * 3 + step) % 20}" for step in range(1, 7)]
            for number in range(20)
        }
        pages["/"] = ["/trap/x", *list(pages)[:3]]
        super().__init__({path: linking(links) for path, links in pages.items()})

    def get(self, path, default=None):
        return (
            linking(f"{path}{letter}" for letter in "ghijklmnop")
            if path.startswith("/trap/")
            else super().get(path, default)
        )


def linking(links):
    return " ".join(f'<a href="{link}">{link}</a>' for link in links)


@pytest.mark.parametrize(("visits", "real"), [("breadth_first", range(5, 15)), ("opic", [20])])
def test_opic_starves_a_trap_that_breadth_first_falls_into(
    visits, real, make_site, crawl_to_the_end
):
    site = make_site({})
    site.pages = TrapSite()

    crawl_to_the_end(
        f"{site.url}/", order=visits, max_pages=24, batch_size=1, claim={"fetch_slots": 1}
    )

    assert sum(path.startswith("/real/") for path in site.paths) in real


def test_path_ascending_also_fetches_the_directories_above_each_page(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/a/b/page": "a page that nothing links from",
            "/a/": '<a href="/a/c/x">x</a>',
            "/a/c/x": "x",
        }
    )

    crawl_to_the_end(f"{site.url}/a/b/page", path_ascending=True)

    assert sorted(site.paths) == ["/", "/a/", "/a/b/", "/a/b/page", "/a/c/", "/a/c/x"]


#: what each order says of the book's graph, in letters
BOOK_ORDERS = [
    ("breadth_first", {}, "ABCDEFHGI"),
    ("depth_first", {}, "ABCDEHIFG"),
    ("best_first", {"importance": IMPORTANCE}, "ADBCEFGHI"),
]


@pytest.mark.parametrize(("visits", "fields", "letters"), BOOK_ORDERS)
def test_an_exact_order_is_kept_across_hosts_whatever_else_is_ordered(
    visits, fields, letters, make_site, crawl_to_the_end
):
    log = []
    hosts = [make_site({}, address=f"127.0.0.{number}") for number in (2, 3, 4)]
    at = {page: f"{hosts[number % 3].url}/{page}" for number, page in enumerate(EDGES)}

    def page_of(page):
        def reply(_request):
            log.append(page)
            return 200, {"Content-Type": "text/html"}, linking(at[one] for one in EDGES[page])

        return reply

    for number, page in enumerate(EDGES):
        hosts[number % 3].pages[f"/{page}"] = page_of(page)

    crawl_to_the_end(
        at["A"],
        scope="anywhere",
        max_hosts=9,
        host_max_pages=9,
        order=visits,
        exact_order=True,
        delay_seconds=0.05,
        **fields,
    )

    assert "".join(log) == letters


#: pages that are linked from several others, before and after they were read
LINKED = {"A": "BCD", "B": "ACD", "C": "ABD", "D": "E", "E": "ABCD"}


@pytest.mark.parametrize("visits", [*Order])
def test_links_to_each_page_are_counted_whatever_the_order_of_visits(
    visits, make_site, crawl_to_the_end
):
    site = make_site(web_of(LINKED))
    topic = {"topic": ["letters"]} if visits == Order.FOCUSED else {}

    run = crawl_to_the_end(
        f"{site.url}/A", order=visits, batch_size=2, links_weight=2, importance={"/D": 5}, **topic
    )

    pages = Page.objects.filter(run=run).select_related("url", "run__crawl")
    rows = {row["url"].rpartition("/")[2]: row for row in map(row_of, pages)}
    assert {name: row["backlinks"] for name, row in rows.items()} == {
        name: sum(name in targets for targets in LINKED.values()) for name in LINKED
    }
    assert {name: row["weight"] for name, row in rows.items()} == {
        name: 2 * row["backlinks"] + 5 * (name == "D") for name, row in rows.items()
    }
