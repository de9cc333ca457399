"""The chain of rules that says which URLs belong to a crawl, and which of them decides."""

import pytest

from crawling.frontier.admit.crawl_rules import filters_of_scope
from crawling.orders.order import read_order
from crawling.orders.scope.blocklist import (
    BadEntry,
    Blocklist,
    BlocklistKind,
    BlocklistMatch,
    read_entry,
)
from crawling.orders.scope.filters import Rule
from crawling.orders.scope.scope import Reach, Scope
from crawling.orders.sections.filters import FiltersPart
from crawling.web.addresses import read_address
from crawling.web.expressions import BadExpression, Expressions, read_expression


def rules(*, blocked=(), reach=Reach.HOST, max_depth=None, **part):
    scope = Scope.of_seeds(reach, [read_address("http://a.test/")], max_depth)
    return filters_of_scope(scope, Blocklist(blocked), FiltersPart(**part))


def judged(filters, url, **where):
    ruling = filters.judge(read_address(url), **{"depth": 1, **where})
    return ruling.rule, ruling.admits


def test_of_all_rules_the_first_that_knows_decides():
    blocked = [BlocklistMatch(7, BlocklistKind.HOST, "b.test", "asked for")]
    filters = rules(
        blocked=blocked,
        max_depth=3,
        schemes=["http"],
        exclude=[r"\.zip$"],
        include=["/x"],
        off_site_hops=1,
    )
    seed = {"depth": 0, "is_seed": True}

    assert judged(filters, "http://b.test/x", **seed) == (Rule.BLOCKLIST, False)
    assert judged(filters, "https://a.test/x.zip", **seed) == (Rule.SEED, True)
    assert judged(filters, "https://a.test/x.zip") == (Rule.SCHEME, False)
    assert judged(filters, "http://a.test/x.zip", depth=4) == (Rule.DEPTH, False)
    assert judged(filters, "http://c.test/x.zip", hops=9) == (Rule.EXCLUDE, False)
    assert judged(filters, "http://c.test/x", hops=1) == (Rule.SCOPE, False)
    assert judged(filters, "http://a.test/y") == (Rule.INCLUDE, False)
    assert judged(filters, "http://a.test/x") == (Rule.INCLUDE, True)
    assert [rule.number for rule in Rule] == list(range(1, 14))


def test_links_outside_the_scope_are_counted_in_a_row():
    filters = rules(off_site_hops=2)

    hops = [
        filters.judge(read_address(f"http://{host}.test/"), depth=1, hops=before).hops
        for host, before in (("b", 0), ("c", 1), ("a", 2))
    ]

    assert hops == [1, 2, 0]
    assert judged(filters, "http://d.test/", hops=2) == (Rule.SCOPE, False)


def test_anywhere_every_site_is_let_in_and_links_off_the_seeds_domains_count_if_limited():
    free, limited = rules(reach=Reach.ANYWHERE), rules(reach=Reach.ANYWHERE, off_site_hops=1)

    assert judged(free, "http://b.test/", hops=99) == (Rule.SCOPE, True)
    assert judged(limited, "http://www.a.test/", hops=99) == (Rule.SCOPE, True)
    assert judged(limited, "http://b.test/") == (Rule.SCOPE, True)
    refused = limited.judge(read_address("http://c.test/"), depth=2, hops=1)
    assert refused.sentence == (
        "c.test is no domain of a start URL, and it is 2 links outside, where 1 are allowed"
    )


def test_a_refusal_names_the_expression_by_number_and_text():
    ruling = rules(exclude=["/b", r"\d{3}"]).judge(read_address("http://a.test/123"), depth=1)

    assert ruling.sentence == r"expression 2, \d{3}"


@pytest.mark.parametrize(
    ("kind", "text", "inside", "outside"),
    [
        ("host", "B.test:8080", "http://b.test:8080/x", "http://b.test/x"),
        ("domain", ".b.test", "https://deep.b.test/", "http://notb.test/"),
        ("prefix", "http://b.test/p%61th/", "http://b.test/path/x", "https://b.test/path/x"),
        ("regex", "[?&]sid=", "http://c.test/?sid=1", "http://c.test/?side=1"),
    ],
)
def test_the_blocklist_covers_hosts_domains_beginnings_and_expressions(kind, text, inside, outside):
    kind = BlocklistKind(kind)
    if kind is BlocklistKind.PREFIX:
        text = text.replace("%61", "a")
    blocklist = Blocklist([BlocklistMatch(3, kind, read_entry(kind, text), "asked for")])

    assert blocklist.find(read_address(inside)).number == 3
    assert blocklist.find(read_address(outside)) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("host", "a.test/x"),
        ("host", "a b"),
        ("prefix", "a.test"),
        ("regex", "(?=a)"),
        ("domain", ""),
    ],
)
def test_what_is_no_entry_is_refused_with_a_sentence(kind, text):
    with pytest.raises(BadEntry, match=r"\w+"):
        read_entry(BlocklistKind(kind), text)


def test_the_head_of_an_answer_tells_types_and_sizes():
    filters = rules(types=["text/html", "image/*"], max_document_bytes=1000)

    assert filters.judge_answer("text/html", 1000) is None
    assert filters.judge_answer("image/png", None) is None
    assert filters.judge_answer("imagery/png", None).rule is Rule.TYPE
    assert filters.judge_answer("", None).rule is Rule.TYPE
    assert filters.judge_answer("text/html", 1001).rule is Rule.SIZE


def test_expressions_take_linear_time_and_what_cannot_is_refused():
    assert read_expression("(a+)+$").search("a" * 4000 + "!") is None
    with pytest.raises(BadExpression, match="no look-around"):
        read_expression(r"(a)\1")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("include", ["("], "no regular expression of RE2"),
        ("types", ["html"], "write it like text/html"),
        ("schemes", ["ftp"], "must be 'http' or 'https'"),
        ("off_site_hops", 101, "100 or less"),
        ("soft_pages", 10, "less than max_pages, 10"),
        ("host_soft_bytes", 2, "less than host_max_bytes, 2"),
    ],
)
def test_mistakes_in_filters_and_limits_are_told_by_field(field, value, words):
    order = {
        "name": "x",
        "seeds": ["http://a.test/"],
        "max_pages": 10,
        "host_max_bytes": 2,
        field: value,
    }

    _, errors = read_order(order)

    assert words in next(
        message for name, message in errors.items() if name.partition(".")[0] == field
    )


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://a.test/q", ""),
        ("http://a.test/X.ZIP", r"expression 2, (?i)\.zip$"),
        ("b)|", r"expression 3, \Qb)|"),
    ],
)
def test_expressions_are_found_as_if_each_were_asked_alone(url, found):
    assert Expressions(["/y", r"(?i)\.zip$", r"\Qb)|"]).find(url) == found
    assert Expressions(["/y", r"(?i)\.zip$"]).find("http://a.test/y.zip") == "expression 1, /y"
