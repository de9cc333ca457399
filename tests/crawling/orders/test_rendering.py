"""Which pages of an order a browser renders, and the reason that each page's row gives."""

from __future__ import annotations

import pytest

from crawling.orders.order import read_order
from crawling.orders.rendering import (
    MOST_IN_VAIN,
    SHORT_PAGE,
    Rendering,
    RenderingCounts,
    decide_rendering,
    explain_rendering,
    is_richer,
    rendering_pattern,
)
from crawling.orders.scope.status_policy import StatusPolicy, policy_of
from crawling.orders.sections.rendering import RenderingPart, choice_for
from crawling.web.addresses import canonical_address
from crawling.web.content.script_signs import ScriptSign
from crawling.web.documents.base import Document
from crawling.web.statuses import RENDERINGS_ENDED

PAGE = canonical_address("http://a.test/books/7")
EMPTY = Document(script_sign=ScriptSign.MOUNT)
SHORT = Document(text="a few words", script_sign=ScriptSign.SOME)
LONG = Document(text="word " * SHORT_PAGE, script_sign=ScriptSign.SOME)
STATIC = Document(text="a few words")
NEEDED = RenderingPart(render="when_needed")


def linking(*urls: str, text: str = "") -> Document:
    return Document(links=[canonical_address(url) for url in urls], text=text)


def test_the_first_rule_that_matches_a_url_decides():
    part = RenderingPart(
        render="when_needed", render_rules={"/print/": "never", "/app/": "always", "x": "never"}
    )

    urls = ["http://a.test/app/print/", "http://a.test/app/x", "http://a.test/x", "http://a.test/"]
    assert [choice_for(url, part) for url in urls] == ["never", "always", "never", "when_needed"]


@pytest.mark.parametrize(
    ("part", "renders"),
    [
        (RenderingPart(), False),
        (RenderingPart(render_rules={"/a/": "never"}), False),
        (RenderingPart(render_rules={"/a/": "when_needed"}), True),
        (RenderingPart(render="always", render_rules={".": "never"}), True),
    ],
)
def test_an_order_renders_if_its_choice_or_a_rule_does(part, renders):
    assert part.may_render is renders


@pytest.mark.parametrize(
    ("part", "document", "tally", "reason"),
    [
        (RenderingPart(), EMPTY, RenderingCounts(9, 9), Rendering.NEVER),
        (RenderingPart(render="always"), STATIC, RenderingCounts(9, 0), Rendering.ALWAYS),
        (NEEDED, STATIC, RenderingCounts(9, 9), Rendering.NOT_NEEDED),
        (NEEDED, EMPTY, RenderingCounts(), Rendering.MOUNT),
        (NEEDED, EMPTY, RenderingCounts(MOST_IN_VAIN - 1, 0), Rendering.MOUNT),
        (NEEDED, EMPTY, RenderingCounts(MOST_IN_VAIN, 0), Rendering.IN_VAIN),
        (NEEDED, EMPTY, RenderingCounts(MOST_IN_VAIN, 1), Rendering.MOUNT),
        (NEEDED, SHORT, RenderingCounts(), Rendering.NOT_NEEDED),
        (NEEDED, SHORT, RenderingCounts(2, 1), Rendering.ALIKE),
        (NEEDED, LONG, RenderingCounts(2, 2), Rendering.NOT_NEEDED),
    ],
)
def test_a_page_is_rendered_by_the_order_its_html_and_pages_like_it(part, document, tally, reason):
    assert decide_rendering(PAGE, document, part, tally) is reason


@pytest.mark.parametrize("sign", [sign for sign in ScriptSign if sign.is_strong])
def test_each_sign_of_scripts_is_a_reason_of_its_own(sign):
    reason = decide_rendering(PAGE, Document(script_sign=sign), NEEDED)

    assert (reason.name, reason.is_rendered) == (sign.name, True)


def test_a_page_gains_by_a_new_link_or_by_much_more_text():
    plain = linking("http://a.test/", text="word " * 300)

    assert is_richer(plain, linking("http://a.test/", "http://a.test/new"))
    assert is_richer(plain, linking("http://a.test/", text="word " * 350))
    assert not is_richer(plain, linking("http://a.test/", text="word " * 310))
    assert not is_richer(plain, linking(text="word " * 300))


def test_pages_of_a_directory_share_what_is_remembered_and_so_do_numbered_ones():
    def key(url: str) -> int:
        return rendering_pattern(canonical_address(url)).key

    assert key("http://a.test/books/dune") == key("http://a.test/books/emma")
    assert key("http://a.test/books/dune") != key("http://a.test/films/dune")
    assert key("http://a.test/books/7") == key("http://a.test/books/12")


def test_every_verdict_has_a_sentence_of_its_own():
    verdicts = [*Rendering, *RENDERINGS_ENDED]

    assert len({explain_rendering(verdict) for verdict in verdicts}) == len(verdicts)


@pytest.mark.parametrize("status", RENDERINGS_ENDED)
def test_a_page_whose_rendering_ended_early_is_read_as_fetched(status):
    assert policy_of(status) is StatusPolicy.PLAIN


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("render", "sometimes", "never"),
        ("render_rules", {"(": "always"}, "no regular expression"),
        ("render_rules", {"/a/": "sometimes"}, "never"),
        ("render_seconds", 301, "300"),
        ("render_bytes", 1, "1,048,576"),
        ("render_requests", 0, "1"),
        ("render_memory_mib", 64, "128"),
    ],
)
def test_a_wrong_answer_about_rendering_is_told_beside_its_field(field, value, said):
    _, errors = read_order({"name": "a", "seeds": ["http://a.test/"], field: value})

    (key,) = errors
    assert key.partition(".")[0] == field
    assert said in errors[key] or said.replace(",", "") in errors[key]
