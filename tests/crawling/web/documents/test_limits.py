"""Every reader takes time and memory in proportion to what it reads, whatever strangers write."""

import gzip
import os
import resource
import time

import pytest

from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.registry import read_document
from crawling.web.documents.tree import MOST_BYTES, SMALL_BYTES, SMALL_TAGS, parse_html
from crawling.web.fetch.cookies import Cookies

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
#: processor time for one document of any size, on a machine that is busy with other things
MOST_SECONDS = 4
#: by which reading it may let a process grow; what it holds itself comes on top
MOST_GROWTH = 140 * MIB

FORMATTING = ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]


def times(unit, size, before="", after=""):
    unit = unit.encode()
    return before.encode() + unit * (size // len(unit)) + after.encode()


def numbered(unit, size, before="", after=""):
    count = size // len(unit.format(100_000))
    return (before + "".join(unit.format(number) for number in range(count)) + after).encode()


def opened_again(size):
    """The standard opens all of these anew in each paragraph."""
    fonts = "".join(f"<{name}>" * 3 for name in FORMATTING)
    return times("<p>x", size, f"<p>{fonts}</p>")


def opened_again_with_attributes(size):
    marks = "".join(f"<b a{number}=b>" for number in range(size // 20))
    return times("<p>x", size // 2, f"<p>{marks}</p>")


HTML = {
    "nested": lambda size: times("<div>", size),
    "nested formatting": lambda size: times("<b><p>", size),
    "formatting opened again": opened_again,
    "formatting with attributes": lambda size: numbered("<b a{0}=b><p>", size),
    "formatting with attributes opened again": opened_again_with_attributes,
    "adoption agency": lambda size: times("<a><b><div>", size),
    "attributes of html": lambda size: numbered("<html a{0}=b>", size),
    "attributes of body": lambda size: numbered("<body a{0}=b>", size, "<body>"),
    "attributes": lambda size: numbered(" a{0}=b", size, "<a", ">"),
    "one attribute": lambda size: times("x", size, '<a href="', '">'),
    "comments": lambda size: times("<!--", size),
    "open links": lambda size: times("<a ", size),
    "open ends": lambda size: times("</a ", size),
    "instructions": lambda size: times("<?", size),
    "marked sections": lambda size: times("<![x", size),
    "less-than signs": lambda size: times("<", size),
    "ampersands": lambda size: times("&", size),
    "zero bytes": lambda size: times("\0", size),
    "tables": lambda size: numbered("<table><td><a href={0}><b>", size),
    "foreign": lambda size: times("<svg><desc>", size),
    "scripts": lambda size: times("<script><!--<script>", size),
    "unmatched ends": lambda size: times("<span>", size // 2) + times("</x>", size // 2),
    "links": lambda size: numbered("<a href=/{0}>", size),
    "titles": lambda size: times("<title>", size),
}
XML = {
    "nested": lambda size: times("<a>", size, "<{root}>"),
    "nested locations": lambda size: times("<loc>http://aaa", size, "<{root}>"),
    "nested identities": lambda size: times("<guid>http://aaa", size, "<{root}>"),
    "nested titles": lambda size: times("<title>", size, "<{root}>"),
    "nested links": lambda size: times("<link>http://aaa", size, "<{root}>"),
    "names": lambda size: numbered("<a{0}/>", size, "<{root}>"),
    "namespaces": lambda size: numbered('<a xmlns:n{0}="u">', size, "<{root}>"),
    "attributes": lambda size: numbered(' a{0}=""', size, "<{root}", "/>"),
    "long tag": lambda size: times("x", size, '<{root} a="', '"/>'),
    "entities": lambda size: numbered(
        '<!ENTITY e{0} "b">', size, "<!DOCTYPE {root} [", "]><{root}/>"
    ),
    "references": lambda size: times("&e;", size, "<{root}><loc>"),
    "sections": lambda size: times("<![CDATA[", size, "<{root}>"),
    "text": lambda size: times("x", size, "<{root}><loc>"),
}
CSS = {
    "escapes": lambda size: times("\\a", size, "a{background:url("),
    "urls": lambda size: times("url(", size),
    "strings": lambda size: times("@import '", size),
    "comments": lambda size: times("/*", size),
    "blocks": lambda size: times("a{", size),
    "brackets": lambda size: times("(", size, "a{b:"),
}
TEXT = {
    "addresses": lambda size: times("http://", size),
    "brackets": lambda size: times("http://a.test/" + ")" * 3900 + " ", size),
    "one line": lambda size: times("x", size),
}


def packed(make, root):
    return lambda size: gzip.compress(make(size).replace(b"{root}", root), 1)


CASES = {
    **{f"html: {name}": ("text/html", make) for name, make in HTML.items()},
    **{f"css: {name}": ("text/css", make) for name, make in CSS.items()},
    **{f"text: {name}": ("text/plain", make) for name, make in TEXT.items()},
    **{
        f"{kind}: {name}": (
            "text/xml",
            lambda size, make=make, root=root: make(size).replace(b"{root}", root),
        )
        for kind, root in (("feed", b"rss"), ("sitemap", b"urlset"), ("xml", b"other"))
        for name, make in XML.items()
    },
    **{
        f"packed sitemap: {name}": ("application/gzip", packed(make, b"urlset"))
        for name, make in XML.items()
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_document_is_read_within_limits(case):
    check(case, MIB)


def formatting_at_once(tags, size):
    """A third of the tags are opened again by each of the others."""
    marks = numbered("<b a{0}=b>", tags // 3 * len("<b a100000=b>"), "<p>", "</p>")
    return (marks + times("<p>x", 4 * (tags - tags // 3 - 2))).ljust(size)


def attributes_at_once(tags, size):
    return numbered("<html a{0}=b>", min(size, tags * len("<html a100000=b>")))


@pytest.mark.parametrize("make", [formatting_at_once, attributes_at_once])
def test_what_is_parsed_at_once_takes_no_more_than_what_is_parsed_in_slices(make):
    source = DocumentStream.of(make(SMALL_TAGS, SMALL_BYTES))
    _, growth = in_a_process(lambda: parse_html(source, "utf-8"))

    assert growth < 64 * MIB


@pytest.mark.drill
@pytest.mark.parametrize("size", [4 * MIB, 16 * MIB, 50 * MIB])
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_document_of_any_size_is_read_within_limits(case, size):
    check(case, size)


@pytest.mark.parametrize(
    "unit", [";", " ", "=", '\\"', ", ", "; x=y", "; domain=.", "; path=/", "; expires=1 ", ":"]
)
def test_cookies_of_any_shape_are_read_in_moments(unit):
    cookies, address = Cookies(), read_address("http://a.test/")
    field = 'a="b' + unit * (64_000 // len(unit))
    began = time.process_time()

    cookies.take(address, [field, *["b=1"] * 2_000, *(f"{n}=1" for n in range(2_000))])
    cookies.header(address)
    assert time.process_time() - began < 1


def check(case, size):
    content_type, make = CASES[case]
    rules = {"x": "p > b", "y": "li:nth-of-type(2)", "z": "a ~ a::attr(href)"}
    reading = ReadingRules(requisites=True, extract=rules)
    source = DocumentSource(
        DocumentStream.of(make(size)), "http://a.test/d/e", content_type, None, reading
    )
    seconds, growth = in_a_process(lambda: read_document(source))

    assert seconds < MOST_SECONDS
    assert growth < MOST_GROWTH


def in_a_process(attempt):
    """Processor time and bytes of memory that an attempt takes; a crash is none of ours."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        attempt()
        seconds = time.process_time() - began
        growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os.write(write, f"{seconds} {growth * 1024}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        said = told.read()
    assert os.waitpid(child, 0)[1] == 0, "the reader was ended by a limit or by a crash"
    seconds, growth = said.split()
    return float(seconds), int(growth)


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252"])
@pytest.mark.parametrize("shift", [0, 1, 65_536 * 3 - 30, 65_536 * 3 - 11, 65_536 * 3 - 3])
def test_images_within_a_page_keep_none_of_its_links_from_being_read(charset, shift):
    image = b'<img src="data:image/png;base64,' + b"iVBORw0K" * 250_000 + b'">'
    body = b"<p>" + b"x" * shift + (image + b"<a href=/%d>x</a>") * 4 % (1, 2, 3, 4)
    assert len(body) > MOST_BYTES
    document = read_document(
        DocumentSource(DocumentStream.of(body), "http://a.test/", "text/html", charset)
    )

    assert [link.url for link in document.links] == [f"http://a.test/{n}" for n in range(1, 5)]
    assert document.unread is None
