"""Declarative shadow trees are read as browsers show them."""

import time

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.registry import read_document
from crawling.web.documents.tree import SMALL_BYTES

TREE = """<p>Light</p><x-card><template shadowrootmode="open"><a href="/shadow">hey</a>
<x-inner><template shadowrootmode=open><a href="/deep">deep</a></template></x-inner>
<slot></slot></template><a href="/light">slotted</a></x-card>"""


def read(html):
    body = DocumentStream.of(html.encode())
    return read_document(DocumentSource(body, "http://a.example/", "text/html", "utf-8"))


@pytest.mark.parametrize("before", ["", "x" * 3000 + "<p>" * (SMALL_BYTES // 2)])
def test_links_and_text_of_shadow_trees_are_read(before):
    document = read(before + TREE)

    paths = [link.url.removeprefix("http://a.example") for link in document.links]
    assert paths == ["/shadow", "/deep", "/light"]
    assert all(word in document.text for word in ("Light", "hey", "deep", "slotted"))


def test_the_mark_is_found_across_pieces():
    for cut in range(4080, 4100):
        html = "<p>" * SMALL_BYTES
        assert "hey" in read(html[:cut] + TREE).text


def test_a_template_without_a_mode_is_no_content():
    assert read("<template><p>hidden</template><p>seen").text == "seen"


def test_many_nested_trees_take_linear_time():
    def seconds(depth):
        html = "<x-a><template shadowrootmode=open><i>i</i>" * depth + "</template></x-a>" * depth
        began = time.process_time()
        read(html)
        return time.process_time() - began

    seconds(50)
    assert seconds(400) < 20 * max(seconds(100), 0.001)
