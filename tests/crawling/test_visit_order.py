"""The order of visits (SEEDS B3): the book's graph on a real web, through the real frontier and a real shift."""

from __future__ import annotations

#: SEEDS B3: A -> B C D E F; E -> H; F -> G; H -> I
EDGES = {"A": "BCDEF", "B": "", "C": "", "D": "", "E": "H", "F": "G", "G": "", "H": "I", "I": ""}


def web_of(edges):
    return {f"/{page}": "".join(f'<a href="/{target}">{target}</a>' for target in targets) for page, targets in edges.items()}


def test_breadth_first_visits_the_books_graph_in_the_books_order(make_site, crawl_to_the_end):
    site = make_site(web_of(EDGES))

    run = crawl_to_the_end(f"{site.url}/A", batch_size=1, claim={"fetch_slots": 1})

    assert "".join(path.removeprefix("/") for path in site.paths) == "ABCDEFHGI"
    assert run.state == "finished"


def test_depth_first_follows_each_link_to_its_end_before_the_next(make_site, crawl_to_the_end):
    site = make_site(web_of(EDGES))

    crawl_to_the_end(f"{site.url}/A", order="depth_first", batch_size=1, claim={"fetch_slots": 1})

    assert "".join(path.removeprefix("/") for path in site.paths) == "ABCDEHIFG"
