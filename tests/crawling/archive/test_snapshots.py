"""A stored page is shown with what is archived of the files that it loads, and without what a
browser would have to block.
"""

from __future__ import annotations

import pytest

from crawling.archive.snapshot_styles import edit_sheet
from crawling.archive.snapshots import base_of, edit_page

PICTURE = "data:image/png;base64,AA=="


class StyleContent:
    """An archive with `a.png`, `a.css` and the page `/b`."""

    def sheet(self, written):
        return "data:text/css,p{}" if written == "a.css" else ""

    def file(self, written):
        return PICTURE if written in ("a.png", "data:image/png;base64,AA==") else ""

    def link(self, written):
        return "/stored/1/" if written == "/b" else ""


def shown(markup):
    return edit_page(markup, StyleContent())


@pytest.mark.parametrize(
    ("stored", "seen"),
    [
        ("<img src=a.png alt=A>", f'<img src="{PICTURE}" alt="A">'),
        ('<img srcset="b.png 1x, a.png 2x">', f'<img src="{PICTURE}">'),
        ("<img src=b.png srcset='a.png 2x'>", f'<img src="{PICTURE}">'),
        ("<source srcset=a.png media=print>", f'<source media="print" srcset="{PICTURE}">'),
        ("<body background=a.png>", f'<body background="{PICTURE}">'),
        ("<video src=v.mp4 poster=a.png></video>", f'<video poster="{PICTURE}"></video>'),
        ("<svg><image href=a.png /></svg>", f'<svg><image href="{PICTURE}"/></svg>'),
        (
            "<link rel='stylesheet' href=a.css media=screen integrity=x onload=go()>",
            '<link rel="stylesheet" media="screen" href="data:text/css,p{}">',
        ),
        ("<a href=/b target=_top ping=/p>b</a>", '<a href="/stored/1/">b</a>'),
    ],
)
def test_what_is_archived_stands_in_the_page(stored, seen):
    assert shown(stored) == seen


@pytest.mark.parametrize(
    ("stored", "seen"),
    [
        ('<script>if (a<b) "<img src=q>"</script>fine', "fine"),
        ('<meta http-equiv=refresh content="0;/x"><link href=b.css><base href=//x/>', ""),
        ("<link rel='alternate stylesheet' href=a.css><link rel=preload href=a.png>", ""),
        ("<link rel=dns-prefetch href=//x><link rel=stylesheet href=b.css>", ""),
        ("<iframe src=a>no frames</iframe><embed src=b>", ""),
        ("<object data=a><p>instead</p></object>", "<p>instead</p>"),
        ("<form action=/a><button formaction=/b>Go</button></form>", "<button>Go</button>"),
        ("<body onload='go()' background=a.gif>", "<body>"),
        ("<input autofocus name=q>", '<input name="q">'),
        ('<img src="/c.png" srcset="d.png 2x" alt="A">', '<img alt="A">'),
        (
            '<rect fill="url(#g)" mask="url(//x#m)">',
            '<rect fill="url(#g)" mask="url(&quot;data:,&quot;)">',
        ),
        (
            "<svg><use href=#c /><set attributeName=href to=//x /></svg>",
            "<svg><use href=#c /></svg>",
        ),
        ('<a href="/c" target=_blank>c</a>', '<a title="Not archived: /c">c</a>'),
        ('<a href="javascript:go()" title="C">c</a>', '<a title="C">c</a>'),
        ("<a href='#part'>part</a>", "<a href='#part'>part</a>"),
        ("<noscript><img src=b>no scripts</noscript>", "<noscript><img>no scripts</noscript>"),
        (
            "<!-- <img src=a> --><textarea><img src=a></textarea>",
            "<!-- <img src=a> --><textarea>&lt;img src=a&gt;</textarea>",
        ),
        ("<p class='a &amp; b'>caf&eacute; <br/></P>", None),
    ],
)
def test_what_would_load_run_or_send_is_gone_and_the_rest_stays(stored, seen):
    assert shown(stored) == (stored if seen is None else seen)


@pytest.mark.parametrize(
    ("css", "seen"),
    [
        ('@import "a.css" screen;', '@import url("data:text/css,p{}") screen;'),
        ("@import url(b.css) layer(x);", '@import url("data:,") layer(x);'),
        ("p{background:URL( 'a.png' ) red}", f'p{{background:url("{PICTURE}") red}}'),
        (r"p{background:u\72l(b.png)}", 'p{background:url("data:,")}'),
        (r'@\69mport "//x/b.css";', '@import url("data:,");'),
        ('p{background:image-set("a.png" 1x, url(b) 2x)}', None),
        ('p{content:"url(a.png)"}', 'p{content:"url(a.png)"}'),
        ("@namespace x url(http://x/);", "@namespace x url(http://x/);"),
        (
            'p{content:"\\3c/style>"} q{color:url(b)}',
            'p{content:"\\3c /style>"} q{color:url("data:,")}',
        ),
        (
            "@font-face{src:url(f.woff),url(a.png)}",
            f'@font-face{{src:url("data:,"),url("{PICTURE}")}}',
        ),
    ],
)
def test_a_sheet_loads_what_is_archived_and_nothing_else(css, seen):
    several = f'p{{background:image-set(url("{PICTURE}") 1x, url("data:,") 2x)}}'
    assert edit_sheet(css, StyleContent()) == (several if seen is None else seen)


def test_styles_of_elements_and_in_pages_load_the_same():
    style = f'p{{background:url("{PICTURE}")}}'
    assert shown("<style>p{background:url(a.png)}</style>") == f"<style>{style}</style>"
    assert "&quot;data:,&quot;" in shown("<p style='background:url(//x/spy)'>x</p>")


def test_a_sheet_cannot_end_its_element_early():
    hostile = '<style>a{b:url(c)} p{content:"\\3c/style>\\3cimg src=//x>"}</style>'
    assert shown(hostile).count("</style>") == 1


def test_addresses_start_from_the_first_base():
    assert base_of("<base><base href=/a/><base href=/b/>", "http://x.test/c") == "http://x.test/a/"
    assert base_of("<base href='javascript:go()'>", "http://x.test/c") == "http://x.test/c"


@pytest.mark.parametrize("around", ["<svg>{}", "<math>{}", "<select>{}</select>", "{}"])
@pytest.mark.parametrize(
    "raw", ["title", "textarea", "xmp", "plaintext", "noembed", "noframes", "style", "noscript"]
)
def test_text_that_a_browser_may_read_as_markup_has_none(around, raw):
    hostile = "<meta http-equiv=refresh content='0;//x'><a href=//x>x</a><link rel=preconnect>"
    seen = shown(around.format(f"<{raw}>{hostile}</{raw}>"))
    assert not any(begin in seen for begin in ("<meta", "<a href", "<link")), seen
    twice = shown(around.format(f"<noscript><{raw}>{hostile}</{raw}></noscript>"))
    assert not any(begin in twice for begin in ("<meta", "<a href", "<link")), twice


def test_sheets_hidden_from_old_browsers_and_from_readers_of_xml_are_styles_still():
    assert shown("<style><!-- p{color:red} --></style>") == "<style> p{color:red} </style>"
    drawing = "<svg><style><![CDATA[a{fill:red}]]></style></svg>"
    assert shown(drawing) == "<svg><style>a{fill:red}</style></svg>"
    narrow = "<style>@media (200px <= width <600px) {p{color:red}}</style>"
    assert shown(narrow) == narrow


def test_markup_within_markup_and_blocks_within_blocks_are_read_once():
    nested = "<noscript>" * 50_000
    assert shown(nested) == "<noscript><noscript>"
    assert edit_sheet("url(" + "(" * 100_000, StyleContent()) is not None
    assert edit_sheet("a{b:url(x);c:" + "(" * 100_000, StyleContent()) == ""


def test_a_document_that_scripts_have_made_shows_no_content_for_browsers_without_scripts():
    stored = "<noscript><p>Enable JavaScript.</p></noscript><p>content"
    assert "Enable JavaScript" in shown(stored)
    assert edit_page(stored, StyleContent(), is_rendered=True) == "<p>content"
