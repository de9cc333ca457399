"""The needs of rendered pages follow from the order, its claim and what earlier runs have shown."""

from __future__ import annotations

import pytest

from crawling.orders.order import read_order
from crawling.orders.rendering_needs import (
    ARCHIVED_KILOBYTES,
    PAGE_SECONDS,
    PROCESSOR_SECONDS,
    RenderedEarlier,
    rendering_figures,
    rendering_needs,
    rendering_sentences,
)

MANY_HOSTS = [f"http://host{number}.test/" for number in range(400)]
CLAIM = {"browsers": 4, "browser_memory": 2048, "fetch_slots": 64}
EARLIER = RenderedEarlier("Birds", 200, 50)


def needs_of(*, claim=None, cores=64, earlier=None, **fields):
    order, errors = read_order(
        {"name": "a crawl", "seeds": MANY_HOSTS, "render": "always", "delay_seconds": 0, **fields}
    )
    assert order, errors
    return rendering_needs(order, {**CLAIM, **(claim or {})}, cores, earlier)


@pytest.mark.parametrize(
    ("fields", "rate", "words"),
    [
        ({}, 4 / PAGE_SECONDS, "browsers: 4 open pages"),
        ({"processes": 2}, 8 / PAGE_SECONDS, "browsers: 8 open pages"),
        (
            {"claim": {"browser_memory": 1024}},
            2 / PAGE_SECONDS,
            "browser memory: 1,024 MiB for pages of 512 MiB",
        ),
        (
            {"claim": {"fetch_slots": 3}},
            3 / PAGE_SECONDS,
            "fetch slots: 3, one for each page",
        ),
        ({"cores": 1}, 1 / PROCESSOR_SECONDS, "the processor: 1 core"),
        (
            {"seeds": MANY_HOSTS[:2], "delay_seconds": 2},
            2 / (2 + PAGE_SECONDS),
            "politeness: one page at a time on 2 hosts with a delay of 2 s",
        ),
    ],
)
def test_the_scarcest_resource_bounds_the_speed_and_is_named(fields, rate, words):
    needs = needs_of(**fields)

    assert needs.bound.rate == pytest.approx(rate)
    assert needs.bound.words == words
    assert f"bound by {words}" in " ".join(rendering_sentences(needs))


def test_an_order_that_renders_nothing_needs_nothing():
    assert needs_of(render="never") is None
    assert rendering_figures(None) == rendering_sentences(None) == []


def test_a_limit_of_pages_gives_time_processor_and_disk():
    needs = needs_of(max_pages=10_000)

    assert (needs.share, needs.pages) == (1.0, 10_000)
    assert needs.seconds == pytest.approx(10_000 * PAGE_SECONDS / 4)
    told = rendering_figures(needs)[2].note
    assert f"{10_000 * ARCHIVED_KILOBYTES / 1000:,.0f} MB of the archive" in told


@pytest.mark.parametrize(
    ("fields", "pages"),
    [
        ({"max_pages": 1000}, 250),
        ({"max_pages": 1000, "render_pages": 30}, 30),
        ({"host_max_pages": 2}, 200),
        ({}, None),
        ({"render_pages": 30}, 30),
    ],
)
def test_when_needed_is_foretold_by_an_earlier_run(fields, pages):
    needs = needs_of(render="when_needed", earlier=EARLIER, **fields)

    assert (needs.share, needs.pages) == (0.25, pages)
    assert rendering_figures(needs)[2].value == "25 %"
    assert "50 of 200 pages in the latest run of Birds" in rendering_figures(needs)[2].note


@pytest.mark.parametrize(
    "fields", [{"render": "when_needed"}, {"render_rules": {"/app/": "never"}}]
)
def test_without_an_earlier_run_the_share_is_said_to_be_unknown(fields):
    needs = needs_of(max_pages=1000, **fields)

    assert (needs.share, needs.pages) == (None, None)
    assert rendering_figures(needs)[2].value == "unknown"
    assert "no earlier run" in rendering_sentences(needs)[2]
