"""Which pages need a browser: shapes that frameworks ship, and pages that only use a framework."""

from __future__ import annotations

import pytest

from crawling.web.content.script_signs import (
    ENOUGH_TEXT,
    LEAST_TEXT,
    PIECE,
    ScriptSign,
    has_text,
)
from tests.crawling.web.documents.test_html import document

BUNDLE = '<script type="module" src="/assets/index-4f.js"></script>'
NAVIGATION = '<nav><a href="/">Home</a> <a href="/books">Books</a></nav>'
STORY = "<p>The server has written this sentence into the page.</p>" * 20


@pytest.mark.parametrize(
    ("html", "sign"),
    [
        (f'<div id="root"></div>{BUNDLE}', ScriptSign.MOUNT),
        (f'{NAVIGATION}<div id="root"></div>{BUNDLE}', ScriptSign.MOUNT),
        (f'<div id="app"><div class="spinner">Loading…</div></div>{BUNDLE}', ScriptSign.MOUNT),
        (f'<div id="__nuxt"><style>.a {{}}</style></div>{BUNDLE}', ScriptSign.MOUNT),
        (f"<body><app-root></app-root>{BUNDLE}", ScriptSign.MOUNT),
        (
            '<body data-sveltekit-preload-data="hover"><div style="display: contents">'
            "<script>import('/_app/start.js')</script></div>",
            ScriptSign.MOUNT,
        ),
        (
            '<script id="__NEXT_DATA__" type="application/json">{"page": "/"}</script>'
            f'<div id="__next"></div>{BUNDLE}',
            ScriptSign.MOUNT,
        ),
        (
            f"<body>{NAVIGATION}<noscript>You need to enable JavaScript to run this app.</noscript>"
            f"<main></main>{BUNDLE}",
            ScriptSign.NOSCRIPT,
        ),
        (
            f"{NAVIGATION}<p>This site requires JavaScript, sorry.</p>{BUNDLE}",
            ScriptSign.NOSCRIPT,
        ),
        (
            f'{NAVIGATION}<div hx-get="/books" hx-trigger="load delay:1s"></div>{BUNDLE}',
            ScriptSign.LATER,
        ),
        (
            f'{NAVIGATION}<div data-hx-get="/2" data-hx-trigger="revealed"></div>{BUNDLE}',
            ScriptSign.LATER,
        ),
        (f'{NAVIGATION}<turbo-frame src="/books"></turbo-frame>{BUNDLE}', ScriptSign.LATER),
        (f'{NAVIGATION}<book-list src="/books.json"></book-list>{BUNDLE}', ScriptSign.COMPONENT),
        (f"<main></main>{BUNDLE}", ScriptSign.LITTLE),
        (f"{NAVIGATION}<p>Loading</p>{BUNDLE}", ScriptSign.LITTLE),
    ],
)
def test_pages_that_scripts_make_are_told_by_the_shapes_of_frameworks(html, sign):
    page = document(html)

    assert (page.script_sign, page.needs_browser) == (sign, True)


@pytest.mark.parametrize(
    "html",
    [
        f'<div id="root">{NAVIGATION}{STORY}</div>{BUNDLE}',
        f'<div id="__next" data-reactroot><a href="/x">One link</a></div>{BUNDLE}',
        f'<div id="app"><h1>The server has written this heading, and no more</h1></div>{BUNDLE}',
        f'<noscript>Enable JavaScript to search.</noscript>{STORY}<a href="/x">x</a>{BUNDLE}',
        f"{NAVIGATION}<theme-toggle></theme-toggle>{STORY}{BUNDLE}",
        f'{NAVIGATION}<p>A short page.</p><button hx-post="/like">Like</button>{BUNDLE}',
        f"{NAVIGATION}<p>A short page whose visits are counted.</p>{BUNDLE}",
        f'{NAVIGATION}<book-list><template shadowrootmode="open"><p>A book</p></template>'
        f"</book-list>{BUNDLE}",
    ],
    ids=[
        *("rendered by the server", "a taken over page of one link", "a heading", "search only"),
        *("a widget", "a button of htmx", "a counter", "a shadow tree that the server wrote"),
    ],
)
def test_a_page_that_only_uses_a_framework_needs_no_browser(html):
    page = document(html)

    assert (page.script_sign, page.needs_browser) == (ScriptSign.SOME, False)


def test_without_scripts_an_empty_element_is_only_empty():
    assert document('<div id="root"></div>').script_sign == ScriptSign.NONE


def test_text_behind_much_white_space_counts():
    assert has_text(" " * 3 * PIECE + "x" * ENOUGH_TEXT, ENOUGH_TEXT)
    assert not has_text("x " * (LEAST_TEXT - 1), LEAST_TEXT)
    assert not has_text("", 1)
