"""A stored page is shown without what a browser would have to block."""

from __future__ import annotations

import pytest

from crawling.archive.snapshots import MOST_REWRITTEN_BYTES, without_requests


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('<script>if (a<b) "<img src=q>"</script>fine', "fine"),
        ('<meta http-equiv=refresh content="0;/x"><link href=a.css><base href=//x/>', ""),
        ("<iframe src=a>no frames</iframe><embed src=b>", ""),
        ("<object data=a><p>instead</p></object>", "<p>instead</p>"),
        ("<form action=/a><button formaction=/b>Go</button></form>", "<button>Go</button>"),
        ("<body onload='go()' background=a.gif>", "<body>"),
        ("<input autofocus name=q>", '<input name="q">'),
        ('<img src="/a.png" srcset="b.png 2x" alt="A">', '<img alt="A">'),
        ('<img src="data:image/png;base64,AA==">', '<img src="data:image/png;base64,AA==">'),
        ("<svg><image href=/a xlink:href=/b /><use href=#c /></svg>", None),
        ('<a href="/b?x=1" target=_blank>b</a>', '<a href="#" title="/b?x=1">b</a>'),
        ('<a href="/b" title="B">b</a>', '<a href="#" title="B">b</a>'),
        ("<a href='#part'>part</a>", "<a href='#part'>part</a>"),
        ("<p style=\"background:URL( 'a;b' ) red\">x</p>", '<p style="background:none red">x</p>'),
        ('<style>@import "a.css";a>b{c:url(d)}</style>', "<style>a>b{c:none}</style>"),
        (
            "<style>a{b:url(data:image/gif;base64,AA)}</style>",
            "<style>a{b:url(data:image/gif;base64,AA)}</style>",
        ),
        ("<noscript><img src=a>no scripts</noscript>", "<noscript><img>no scripts</noscript>"),
        ("<!-- <img src=a> --><textarea><img src=a></textarea>", None),
        ("<p class='a &amp; b'>caf&eacute; <br/></P>", None),
    ],
)
def test_what_would_load_run_or_send_is_gone_and_the_rest_stays(stored, shown):
    expected = "<svg><image/><use href=#c /></svg>" if "<svg>" in stored else stored
    assert without_requests(stored.encode(), "utf-8").decode() == (
        expected if shown is None else shown
    )


@pytest.mark.parametrize("charset", ["gbk", "shift_jis", "windows-1252", "utf-16le"])
def test_a_page_keeps_its_encoding(charset):
    stored = '<p title="&eacute;é" onclick="a">é&#20013;</p>'.encode(charset, "xmlcharrefreplace")

    shown = without_requests(stored, charset).decode(charset)

    assert shown.endswith("&#20013;</p>")
    assert "onclick" not in shown


@pytest.mark.parametrize("charset", ["x-user-defined", "rot13", "", "undefined"])
def test_a_page_of_an_unknown_encoding_is_shown_as_it_is(charset):
    assert without_requests(b"<p onclick=a>\xe9</p>", charset) == b"<p onclick=a>\xe9</p>"


def test_a_long_page_is_shown_as_it_is():
    stored = b"<p onclick=a>" * (MOST_REWRITTEN_BYTES // 13 + 1)
    assert without_requests(stored, "utf-8") == stored


def test_markup_within_markup_is_read_once():
    nested = b"<noscript>" * 50_000
    assert without_requests(nested, "utf-8") == nested
