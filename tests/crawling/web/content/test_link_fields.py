"""The links in an answer's head are read as RFC 8288 and search engines have them."""

from __future__ import annotations

import pytest

from crawling.web.content.link_fields import MOST_LINKS, has_nofollow, links_in_head


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (['</2>; rel="next"'], [("/2", {"next"})]),
        (["</2>;rel=next,</1>; rel=prev"], [("/2", {"next"}), ("/1", {"prev"})]),
        (['</a>; title="x, </no>; rel=\\"next\\""; rel=next'], [("/a", {"next"})]),
        (['</2>; rel="start NEXT"; hreflang="de"'], [("/2", {"start", "next"})]),
        (["</a>; rel=next; rel=prev"], [("/a", {"next"})]),
        (["</a,b;c>; rel=next"], [("/a,b;c", {"next"})]),
        (["< /a > ; REL = next"], [("/a", {"next"})]),
        (["</a>; anchor=\"#x\"; rel=next", "</b>; rel=next"], [("/b", {"next"})]),
        (["</a>", "<>; rel=next", "next"], [("", {"next"})]),
        (["</a>; rel=next; junk=; =x, </b>; rel=up"], [("/a", {"next"}), ("/b", {"up"})]),
        ([", ,</a>; rel=next,"], [("/a", {"next"})]),
        (["</a>; rel=\"next"], []),
    ],
)  # fmt: skip
def test_links_of_a_head_are_read(fields, found):
    assert [(link.target, set(link.relations)) for link in links_in_head(fields)] == found


def test_a_head_has_no_more_links_than_are_read():
    fields = [", ".join(f"</{number}>; rel=next" for number in range(500))] * 2

    assert len(list(links_in_head(fields))) == MOST_LINKS


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        (["nofollow"], True),
        (["noindex, NoFollow"], True),
        (["none"], True),
        (["noindex"], False),
        (["noindex", "nofollow"], True),
        (["otherbot: nofollow"], False),
        (["otherbot: noindex, nofollow"], False),
        (["OurBot: nofollow"], True),
        (["ourbot/1.0: none"], True),
        (["otherbot: noindex, ourbot: nofollow"], True),
        (["*: nofollow"], True),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], True),
        (["unavailable_after: Friday, 25-Jun-10 15:00:00 PST", "max-snippet:-1, nofollow"], True),
        (["ourbots: nofollow"], False),
        (["nofollowing, x-none"], False),
        ([], False),
    ],
)
def test_a_head_may_ask_not_to_follow_links(fields, is_asked):
    assert has_nofollow(fields, "ourbot") is is_asked
