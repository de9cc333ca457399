"""The rules of robots.txt (RFC 9309)."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.robots import MAX_ROBOTS_BYTES, forbidding_line, read_robots

TOKEN = "crawlsite"


def robots(text, status=200):
    return read_robots(status, text if isinstance(text, bytes) else text.encode(), TOKEN)


def allows(text, path="/x/y"):
    return robots(text).allows(f"http://a.test{path}")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 499])
def test_a_robots_txt_that_is_not_there_allows_everything(status):
    rules = robots("User-agent: *\nDisallow: /", status)

    assert (rules.unavailable, rules.allows("http://a.test/x"), rules.crawl_delay) == (
        0,
        True,
        None,
    )


@pytest.mark.parametrize("status", [500, 502, 503, 599, 408, 425, 429, 304, 301, -1, -5, -7, -10])
def test_a_robots_txt_that_cannot_be_had_is_told_by_its_status(status):
    assert robots("", status).unavailable == status


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow:", True),
        ("USER-AGENT: *\nDISALLOW: /x", False),
        ("User-agent: *\r\nDisallow: /\r\n", False),
        ("User-agent: *\rDisallow: /\r", False),
        ("\ufeffUser-agent: *\nDisallow: /", False),
        ("User-agent: * # everybody\nDisallow: / # all", False),
        ("Disallow: /\nUser-agent: other\nDisallow: /", True),
        ("<html>not found</html>", True),
        ("User-agent: *\nDisallow: /x\nAllow: /x/y", True),
        ("User-agent: *\nAllow: /x\nDisallow: /x/y", False),
        ("User-agent: *\nDisallow: /x/y\nAllow: /x/y", True),
        ("User-agent: *\nDisallow: /*/y$", False),
        ("User-agent: *\nDisallow: /*/z$", True),
        ("User-agent: *\nDisallow: /X", True),
    ],
)
def test_the_longest_rule_that_matches_decides(text, is_allowed):
    assert allows(text) == is_allowed


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("crawlsite", True),
        ("CrawlSite", True),
        ("crawlsite/1.0", True),
        ("crawlsite # that one", True),
        ("crawlsite (like Mozilla)", True),
        ("crawl", False),
        ("site", False),
        ("crawlsite-news", False),
        ("crawlsites", False),
        ("Mozilla/5.0 (compatible; crawlsite)", False),
        ("*bot", False),
        ("", False),
    ],
)
def test_only_the_product_token_itself_names_us_in_any_case_and_version(name, is_ours):
    assert allows(f"User-agent: {name}\nDisallow: /") == (not is_ours)
    assert allows(f"User-agent: *\nDisallow: /\n\nUser-agent: {name}\nAllow: /") == is_ours


def test_who_is_named_follows_its_own_groups_and_not_everybodys():
    ours = (
        "User-agent: other\nUser-agent: crawlsite\nDisallow: /a\n\nUser-agent: crawlsite\n"
        "Disallow: /b"
    )
    text = f"User-agent: *\nDisallow: /everybody\n\n{ours}"

    assert [allows(text, path) for path in ("/everybody", "/a", "/b", "/c")] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [("/%7Ea", False), ("/~a", False), ("/%C3%BC", False), ("/robots.txt", True)],
)
def test_paths_are_compared_as_they_are_meant(path, is_allowed):
    assert (
        allows("User-agent: *\nDisallow: /~a\nDisallow: /ü\nDisallow: /robots.txt", path)
        == is_allowed
    )


@pytest.mark.parametrize(
    ("wish", "delay"),
    [
        ("2", 2),
        ("0.5", 0.5),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("-1", None),
        ("", None),
    ],
)
def test_a_crawl_delay_is_a_number_of_seconds_or_nothing(wish, delay):
    assert robots(f"User-agent: *\nCrawl-delay: {wish}\nDisallow: /x").crawl_delay == delay


def test_a_crawl_delay_for_somebody_else_is_not_ours():
    text = (
        "User-agent: other\nCrawl-delay: 9\n\nUser-agent: *\nCrawl-delay: 2\n\nUser-agent: "
        "crawlsite\nCrawl-delay: 3"
    )

    assert robots(text).crawl_delay == 3


@pytest.mark.parametrize(
    "between", ["Crawl-delay: 3", "Sitemap: http://a.test/s.xml", "Noindex: /", "# x"]
)
def test_only_rules_end_the_names_of_a_group(between):
    """RFC 9309, section 2.2.4: other records must not interfere with those of the protocol."""
    rules = robots(f"User-agent: other\n{between}\nUser-agent: crawlsite\nDisallow: /x\n")

    assert (rules.allows("http://a.test/x"), rules.allows("http://a.test/y")) == (False, True)
    assert rules.crawl_delay == (3 if "delay" in between else None)
    assert len(rules.sitemaps) == ("Sitemap" in between)


def test_a_rule_does_end_the_names_of_a_group_in_every_spelling_that_is_obeyed():
    for rule in ("Disallow:", "allow /y", "disalow : /y", "Dissallow /y"):
        assert allows(f"User-agent: crawlsite\n{rule}\nUser-agent: other\nDisallow: /x\n")


COUNT = 20_000
LONG_FILES = {
    "refusals": "Disallow: /a{0}\n" * COUNT,
    "refusals and allowances": "Disallow: /a{0}\nAllow: /b{0}\n" * (COUNT // 2),
    "names": "user  agent n{0}\n" * COUNT,
    "names, then rules": "user  agent n{0}\n" * (COUNT // 2) + "Disallow: /{0}\n" * (COUNT // 2),
    "groups": "User-agent: *\nDisallow: /{0}\n" * (COUNT // 2),
    "wildcards": "Disallow: /*z*{0}*$\n" * COUNT,
    "one line": "Disallow: /" + "*z" * 240_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG_FILES)
def test_a_long_file_is_read_and_explained_in_moments(kind):
    parts = LONG_FILES[kind].split("\n")
    lines = [part.format(number) for number, part in enumerate(parts)]
    body = "\n".join(["User-agent: *", *lines, "User-agent: *", "Disallow: /found", ""]).encode()
    began = time.process_time()

    assert forbidding_line(body, TOKEN, "http://a.test/found/here") in ("Disallow: /found", "")
    assert read_robots(200, body, TOKEN).unavailable == 0
    assert time.process_time() - began < 10  # a second or so; a quadratic reader needs minutes


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c # why\n", "Disallow: /a/b/c # why"),
        ("Allow: /a/b/c\nDisallow: /a/b\nDisallow: /a/b/c/d\nDisallow: /", "Disallow: /a/b/c/d"),
        ("Allow: /a/b/c/d\nDisallow: /a/b/c/d", ""),
        ("Disallow: /x\ndisalow /*/d$\nDisallow: /y", "disalow /*/d$"),
        ("Disallow: /a\nUser-agent: crawlsite\nDisallow: /a/b", "Disallow: /a/b"),
        ("Disallow: /a\nUser-agent: crawlsite\nAllow: /", ""),
        ("Disallow:\nDisallow: /%61/b\n", "Disallow: /%61/b"),
    ],
)
def test_the_line_that_forbids_is_one_that_no_allowance_outweighs(rules, line):
    body = f"User-agent: *\n{rules}".encode()

    assert forbidding_line(body, TOKEN, "http://a.test/a/b/c/d") == line
    assert robots(body).allows("http://a.test/a/b/c/d") == (line == "")


def test_what_stands_beyond_500_kib_is_not_read():
    head = "User-agent: *\nDisallow: /a\n"
    body = head + "#" * (MAX_ROBOTS_BYTES - len(head) - 1) + "\n" + "Disallow: /b\n"

    assert (allows(body, "/a"), allows(body, "/b")) == (False, True)


lines = st.lists(
    st.sampled_from(
        [
            "User-agent:",
            "User-agent",
            "*",
            "crawlsite",
            "\n",
            "Allow: /",
            "Disallow: /*$*",
            "Crawl-delay: 1e999",
            "%",
            "\ufeff",
            "\x85",
        ]
    )
)


@given(
    st.binary(max_size=200) | lines.map(lambda parts: " ".join(parts).encode()),
    st.sampled_from(["/", "/%", "/x?y=*$"]),
)
@example(b"\xff\xfeU\x00s\x00", "/")
def test_no_bytes_whatever_raise(body, path):
    rules = robots(body)

    assert rules.allows(f"http://a.test{path}") in (True, False)
    assert rules.crawl_delay is None or rules.crawl_delay >= 0
