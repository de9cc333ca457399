"""A URL is as deep as the shortest way to it from a seed, whatever the order of visits."""

from __future__ import annotations

import random
from collections import deque

import pytest
from django.db import connection

from crawling.frontier.admit import depths as module
from crawling.frontier.admit import schedule
from crawling.models import Page, PageTargets, Url, Verdict
from tests.crawling.fetching.pipeline.test_crawl_path import links

MAX_DEPTH = 3
ORDERS = {
    "breadth_first": {},
    "depth_first": {},
    "best_first": {},
    "opic": {},
    "focused": {"topic": ["saffron"]},
}


def moved(to):
    return 302, {"Location": to}, ""


def web(seed, *, pages=40):
    """A web in which each page leads to a next one and to a few others, and some redirect."""
    told = random.Random(seed)
    leads_to = {f"/{number}": [f"/{number + 1}"] for number in range(pages)}
    for path in leads_to:
        leads_to[path] += [f"/{told.randrange(pages)}" for _ in range(told.randrange(3))]
    redirects = {path: targets[-1] for path, targets in leads_to.items() if told.random() < 0.15}
    return leads_to, redirects


def depths(seeds, leads_to, redirects):
    """The shortest ways by their definition; a redirect costs nothing."""
    found = dict.fromkeys(seeds, 0)
    waiting = deque(seeds)
    while waiting:
        path = waiting.popleft()
        step = 0 if path in redirects else 1
        if found[path] + step > MAX_DEPTH:
            continue
        targets = [redirects[path]] if path in redirects else leads_to.get(path, [])
        for target in targets:
            if found[path] + step < found.get(target, MAX_DEPTH + 1):
                found[target] = found[path] + step
                waiting.append(target)
    return found


@pytest.mark.parametrize("visits", ORDERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_order_goes_as_deep_as_ordered_and_no_further(
    make_site, crawl_to_the_end, visits, seed
):
    leads_to, redirects = web(seed)
    site = make_site({path: links(*targets) for path, targets in leads_to.items()})
    site.pages |= {path: moved(target) for path, target in redirects.items()}
    seeds = ["/0", "/20"]

    run = crawl_to_the_end(
        *(f"{site.url}{path}" for path in seeds),
        order=visits,
        max_depth=MAX_DEPTH,
        exact_order=True,
        **ORDERS[visits],
    )

    expected = depths(seeds, leads_to, redirects)
    rows = {row.url.removeprefix(site.url): row.depth for row in Url.objects.filter(run=run)}
    assert rows == expected
    assert {request.path for request in site.log} - {"/robots.txt"} == expected.keys()
    assert not PageTargets.objects.filter(run=run, is_behind=True).exists()
    assert Page.objects.filter(run=run).count() == Url.objects.filter(run=run, state="s").count()


def test_what_was_too_deep_by_one_way_is_fetched_by_a_shorter_one(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/one": links("/a"),
            "/a": links("/b"),
            "/b": links("/c", "/out.pdf"),
            "/two": links("/b"),
            "/c": links("/d"),
        }
    )

    run = crawl_to_the_end(
        f"{site.url}/one",
        f"{site.url}/two",
        order="depth_first",
        max_depth=2,
        exact_order=True,
        exclude=[r"\.pdf$"],
    )

    assert site.paths == ["/one", "/a", "/b", "/two", "/c"]
    kept_out = Verdict.objects.filter(run=run).values_list("url", "rule", "depth")
    assert set(kept_out) == {(f"{site.url}/d", "depth", 3), (f"{site.url}/out.pdf", "exclude", 2)}


def test_very_many_targets_are_brought_nearer_by_a_few_at_a_time(
    make_site, crawl_to_the_end, monkeypatch
):
    for one in (module, schedule):
        monkeypatch.setattr(one, "MOST_ROWS", 2)
    deep, deeper = ([f"/{name}{n}" for n in range(7)] for name in "cd")
    site = make_site(
        {
            "/one": links("/a"),
            "/a": links("/b"),
            "/b": links(*deep),
            "/two": links("/b"),
            **{path: links(*deeper) for path in deep},
        }
    )
    sizes = []

    def look(execute, sql, params, many, context):
        if sql == module.FIND_SEEN:
            sizes.append(len(params[1]))
        elif "crawling_verdict" in sql and '"fingerprint" IN' in sql and '"rule" =' in sql:
            sizes.append(len(params) - 2)  # the run and the rule
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        run = crawl_to_the_end(
            *(f"{site.url}/{seed}" for seed in ("one", "two")),
            order="depth_first",
            max_depth=2,
            exact_order=True,
        )

    assert site.paths[:4] == ["/one", "/a", "/b", "/two"]
    assert sorted(site.paths[4:]) == deep
    kept_out = Verdict.objects.filter(run=run).values_list("url", "rule", "depth")
    assert set(kept_out) == {(f"{site.url}{path}", "depth", 3) for path in deeper}
    assert max(sizes) == 2


def test_a_run_without_a_limit_of_its_depth_keeps_no_targets(make_site, crawl_to_the_end):
    site = make_site({"/": links("/a"), "/a": links("/")})

    run = crawl_to_the_end(f"{site.url}/")

    assert not PageTargets.objects.filter(run=run).exists()


def test_pages_with_very_many_targets_are_told_a_few_at_a_time(make_site, crawl_to_the_end):
    site = make_site({"/": links("/a", "/b", "/c"), **{f"/{n}": links("/x", "/y") for n in "abc"}})
    run = crawl_to_the_end(f"{site.url}/", max_depth=3)
    PageTargets.objects.filter(run=run).update(is_behind=True)

    taken = []
    with connection.cursor() as cursor:
        while not taken or taken[-1]:
            cursor.execute(module.TAKE_BEHIND, [run.pk, module.SLICE, 3])
            taken.append(len(cursor.fetchall()))

    assert (max(taken), sum(taken)) == (2, 4)
