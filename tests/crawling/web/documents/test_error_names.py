"""Each error that the HTML Standard has a name for (13.2.2) is reported by that name, but for
two: no surrogate can be in UTF-8, and processing instructions have come to be read since.
"""

from __future__ import annotations

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.html_findings import find_in_html
from crawling.web.documents.tree import parse_html

DOCUMENTS = {
    "abrupt-closing-of-empty-comment": "<!-->",
    "abrupt-doctype-public-identifier": '<!DOCTYPE html PUBLIC "foo>',
    "abrupt-doctype-system-identifier": '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN" "foo>',
    "absence-of-digits-in-numeric-character-reference": "<!doctype html>&#qux;",
    "cdata-in-html-content": "<!doctype html><![CDATA[x]]>",
    "character-reference-outside-unicode-range": "<!doctype html>&#x110000;",
    "control-character-in-input-stream": "<!doctype html>a\x01b",
    "control-character-reference": "<!doctype html>&#1;",
    "duplicate-attribute": "<!doctype html><p id=a id=b>",
    "end-tag-with-attributes": "<!doctype html><p></p id=a>",
    "end-tag-with-trailing-solidus": "<!doctype html><p></p/>",
    "eof-before-tag-name": "<!doctype html>a<",
    "eof-in-cdata": "<!doctype html><svg><![CDATA[x",
    "eof-in-comment": "<!doctype html><!-- x",
    "eof-in-doctype": "<!DOCTYPE html",
    "eof-in-script-html-comment-like-text": "<!doctype html><script><!-- x",
    "eof-in-tag": "<!doctype html><div id=",
    "incorrectly-closed-comment": "<!doctype html><!-- x --!>",
    "incorrectly-opened-comment": "<!doctype html><!x>",
    "invalid-character-sequence-after-doctype-name": "<!DOCTYPE html foo>",
    "invalid-first-character-of-tag-name": "<!doctype html><42>",
    "missing-attribute-value": "<!doctype html><div id=>",
    "missing-doctype-name": "<!DOCTYPE>",
    "missing-doctype-public-identifier": "<!DOCTYPE html PUBLIC >",
    "missing-doctype-system-identifier": "<!DOCTYPE html SYSTEM >",
    "missing-end-tag-name": "<!doctype html></>",
    "missing-quote-before-doctype-public-identifier": "<!DOCTYPE html PUBLIC -//x>",
    "missing-quote-before-doctype-system-identifier": "<!DOCTYPE html SYSTEM http://x>",
    "missing-semicolon-after-character-reference": "<!doctype html>&#169 x",
    "missing-whitespace-after-doctype-public-keyword": '<!DOCTYPE html PUBLIC"-//x//">',
    "missing-whitespace-after-doctype-system-keyword": '<!DOCTYPE html SYSTEM"http://x">',
    "missing-whitespace-before-doctype-name": "<!DOCTYPEhtml>",
    "missing-whitespace-between-attributes": '<!doctype html><div id="a"class="b">',
    "missing-whitespace-between-doctype-public-and-system-identifiers": (
        '<!DOCTYPE html PUBLIC "-//x//""http://x">'
    ),
    "nested-comment": "<!doctype html><!-- <!-- x --> -->",
    "noncharacter-character-reference": "<!doctype html>&#xFFFE;",
    "noncharacter-in-input-stream": "<!doctype html>\ufffe",
    "non-void-html-element-start-tag-with-trailing-solidus": "<!doctype html><div/>x",
    "null-character-reference": "<!doctype html>&#0;",
    "surrogate-character-reference": "<!doctype html>&#xD800;",
    "unexpected-character-after-doctype-system-identifier": '<!DOCTYPE html SYSTEM "x" y>',
    "unexpected-character-in-attribute-name": "<!doctype html><div foo<div>",
    "unexpected-character-in-unquoted-attribute-value": "<!doctype html><div foo=b'ar>",
    "unexpected-equals-sign-before-attribute-name": '<!doctype html><div ="b">',
    "unexpected-null-character": "<!doctype html><di\x00v>",
    "unexpected-solidus-in-tag": "<!doctype html><div / id=a>",
    "unknown-named-character-reference": "<!doctype html>&foo;",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_error_has_its_name(name):
    body = DocumentStream.of(DOCUMENTS[name].encode())

    document, _, _ = parse_html(body, "utf-8")

    assert name in find_in_html(document).errors
