"""Bad orders are refused with a sentence for each field, and nothing is half made (issue 2, item
7).
"""

import re
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.base.errors import BadOrder
from crawling.models import CrawlJob
from crawling.orders.order import MAX_SEEDS, MOST_SUGGESTIONS, CrawlOrder, read_order
from crawling.runs.crawls.creation import create_crawl

GOOD = {"name": "a crawl", "seeds": ["http://a.test/"]}


def test_a_name_and_a_seed_are_enough():
    order, errors = read_order(GOOD)

    assert errors == {}
    assert (
        order.max_pages,
        order.max_depth,
        order.delay_seconds,
        order.processes,
        order.claim,
    ) == (None, None, 1.0, 0, {})


def test_seeds_are_kept_in_canonical_form_in_their_order_and_once():
    order, _ = read_order(
        {**GOOD, "seeds": ["http://B.test", "http://a.test/#x", "http://b.test/", "http://a.test/"]}
    )

    assert order.seeds == ["http://b.test/", "http://a.test/"]


def test_numbers_may_come_as_text_as_forms_send_them():
    order, _ = read_order(
        {**GOOD, "max_pages": "5", "delay_seconds": "0.5", "claim": {"memory": "64"}}
    )

    assert (order.max_pages, order.delay_seconds, order.claim) == (5, 0.5, {"memory": 64})


MISTAKES = [
    ("name", "", "must not be empty"),
    ("name", "   ", "must not be empty"),
    ("name", "x" * 101, "at most 100 characters"),
    ("name", "two\nlines", "one line without control"),
    ("name", "two\u2028lines", "one line without control"),
    ("name", "nul\0", "one line without control"),
    ("name", "\ud800", "must be text"),
    ("name", 5, "must be text"),
    ("name", None, "must be text"),
    ("seeds", [], "at least one"),
    ("seeds", None, "must be a list"),
    ("seeds", "http://a.test/", "must be a list"),
    ("seeds", ["http://a.test/"] * 10_000, f"has 10000 entries, at most {MAX_SEEDS} are taken"),
    ("seeds", ["example"], "'example' is not a URL"),
    (
        "seeds",
        ["gopher://a.test/"],
        "scheme 'gopher' cannot be crawled; use https or http or ftp or file",
    ),
    ("seeds", ["http://me:secret@a.test/"], "user name and password"),
    ("seeds", ["{0}", "{url}"], "'{0}' is not a URL.*'{url}' is not"),
    ("seeds", ["x"] * 5, "and 2 more"),
    ("seeds.1", ["http://a.test/", None], "must be text"),
    (
        "order",
        "random",
        "must be 'breadth_first', 'depth_first', 'best_first', 'opic' or 'focused'",
    ),
    ("max_pages", 0, "must be 1 or more"),
    ("max_pages", -5, "must be 1 or more"),
    ("max_pages", "many", "whole number"),
    ("max_pages", "", "whole number"),
    ("max_pages", 1.5, "whole number"),
    ("max_pages", 10**30, "must be 1000000000 or less"),
    ("max_pages", "1" * 5000, "whole number"),
    ("max_depth", -1, "must be 0 or more"),
    ("delay_seconds", -0.1, "must be 0.0 or more"),
    ("delay_seconds", 3601, "must be 3600.0 or less"),
    ("delay_seconds", "nan", "finite"),
    ("delay_seconds", float("inf"), "finite"),
    ("delay_seconds", "soon", "must be a number"),
    ("processes", -1, "must be 0 or more"),
    ("processes", 65, "must be 64 or less"),
    ("batch_size", 0, "must be 1 or more"),
    ("batch_size", 501, "must be 500 or less"),
    ("priority", 11, "must be 10 or less"),
    ("priority", -11, "must be -10 or more"),
    ("claim", ["worker"], "table of class and units"),
    ("claim.memory", {"memory": -1}, "must be 0 or more"),
    ("claim.memory", {"memory": "much"}, "whole number"),
    ("colour", "red", "not a field of a crawl order; docs/orders.md lists all$"),
]


@pytest.mark.parametrize(("field", "value", "words"), MISTAKES)
def test_every_mistake_is_told_in_a_sentence_by_the_name_of_its_field(field, value, words):
    order, errors = read_order({**GOOD, field.partition(".")[0]: value})

    assert order is None
    assert list(errors) == [field]
    assert re.search(words, errors[field])


def test_what_is_missing_is_told():
    assert read_order({}) == (None, {"name": "is required", "seeds": "is required"})


def test_all_mistakes_are_told_at_once():
    _, errors = read_order(
        {"name": "", "seeds": ["x"], "max_pages": -1, "claim": {"memory": -1}, "colour": "red"}
    )

    assert set(errors) == {"name", "seeds", "max_pages", "claim.memory", "colour"}


def test_an_unknown_field_is_answered_with_those_that_it_may_mean():
    _, errors = read_order({**GOOD, "max_page": 3, "Seeds": []})

    assert errors["max_page"].endswith(
        "did you mean max_pages or host_max_pages or domain_max_pages?"
    )
    assert errors["Seeds"].endswith("did you mean seeds?")


def test_similar_fields_are_looked_for_a_few_times_only():
    _, errors = read_order({**GOOD, **{f"max_page{number}": 1 for number in range(40)}})

    assert sum("did you mean" in sentence for sentence in errors.values()) == MOST_SUGGESTIONS


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


NONSENSE = (
    None,
    True,
    0,
    -1,
    1.5,
    10**40,
    -(10**40),
    nan,
    inf,
    "",
    "x",
    "\ud800",
    "\n",
    "x" * 100_000,
    [],
    [None],
    ["x"] * 6000,
    {},
    {"": None},
    {"x": 0},
)


@pytest.mark.parametrize("field", CrawlOrder.model_fields)
def test_every_kind_of_nonsense_has_a_sentence_of_ours_in_every_field(field):
    for value in NONSENSE:
        _, errors = read_order({**GOOD, field: value})

        assert all(sentence and "Input should" not in sentence for sentence in errors.values()), (
            value
        )


@given(
    st.dictionaries(
        st.sampled_from(sorted(CrawlOrder.model_fields)) | st.text(max_size=5), anything
    )
)
def test_whatever_comes_is_an_order_or_a_sentence_for_each_field(fields):
    order, errors = read_order(fields)

    assert (order is None) == bool(errors)
    assert all(sentence and "Input should" not in sentence for sentence in errors.values())


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"claim": {"fetch_slots": 65}}, "claim.fetch_slots", "65 is more than the pool has"),
        ({"claim": {"printers": 1}}, "claim.printers", "no such resource class"),
        ({"name": "taken"}, "name", "there is a crawl named 'taken' already"),
        ({"seeds": ["http://a..b/"]}, "seeds", "http://a\\.\\.b/"),
        ({"seeds": ["http://localhost/"]}, "seeds", "localhost"),
        (
            {"seeds": ["http://example.org/"]},
            "contact_url",
            "required before the first crawl of a public site",
        ),
        ({"max_pages": -1}, "max_pages", "must be 1 or more"),
    ],
)
def test_an_order_with_a_mistake_makes_nothing(order, fields, field, words):
    create_crawl({**order("http://127.0.0.1:8000/"), "name": "taken"})

    with pytest.raises(BadOrder, match=words) as refusal:
        create_crawl({**order("http://127.0.0.1:8000/"), **fields})
    assert list(refusal.value.errors) == [field]
    assert CrawlJob.objects.count() == 1
