"""No regular expression takes long, whatever strangers write."""

import ast
import importlib
import os
import pkgutil
import re
import resource
import string
import time
from functools import partial
from pathlib import Path

import pytest

import crawling
import dnscache

pytestmark = pytest.mark.slow

LENGTH = 8_000
#: of one search, three times in a row; a linear expression needs a fortieth, a quadratic one twice
#: as much
MOST_SECONDS = 0.02
#: of all searches with one expression, after which the kernel ends the process that tries it
MOST_SECONDS_IN_ALL = 20
UNITS = [
    *string.printable,
    "\\a",
    "\\aa ",
    "a=",
    "=1",
    "/#",
    "/a",
    "//a",
    ".a",
    "é",
    "--",
    "<a",
    "->",
]
#: how a text may begin so that the expression's inner parts are reached; "" is tried with every one
PREFIXES = {
    "crawling.uses.bulk_data.field_values:PLAIN": ["1", "1.1", "-1e"],
    "crawling.uses.bulk_data.field_values:SIGNED": ["-"],
    "crawling.web.documents.css_selectors:TYPE": ["a::", "::text", "a::number"],
    "crawling.uses.exports.replay.answers:FRAME": ["/run/1", "/run/1/a"],
    "crawling.uses.exports.replay.answers:ENGINE": ["Chrome/1", "Chromium/"],
    "crawling.uses.imports.foreign_answers:NOTE": ["dns:", "urn:text:", "urn:a", "youtube-dl:1"],
    "crawling.uses.imports.foreign_answers:URI": ["http:"],
    "crawling.uses.imports.foreign_answers:WITHOUT_SCHEME": ["a.", "a.b:", "//a.b"],
    "crawling.uses.imports.foreign_records:VERSION": ["WARC/", "WARC/1.0"],
    "crawling.uses.imports.foreign_records:VERSION_IN_A_LINE": ["WARC/", "WARC/1.0"],
    "crawling.uses.imports.foreign_records:FIELD": ["A", "WARC-Date"],
    "crawling.uses.imports.foreign_records:LENGTH": ["+", "1"],
    "crawling.uses.imports.foreign_records:NEXT_RECORD": [
        "\r\n\r\n",
        "WARC/1.0\r\n",
        "WARC/1.0\r\nA",
    ],
    "crawling.uses.imports.foreign_records:ARC_URL": ["http"],
    "crawling.uses.imports.foreign_records:ARC_DATE": ["2008", "20080430"],
    "crawling.uses.imports.http_blocks:STATUS_LINE": ["HTTP/", "HTTP/1.1 "],
    "crawling.uses.imports.http_blocks:CHUNK_SIZE": ["f", "f;"],
    "crawling.uses.imports.moments:DATE": ["2008", "2008-04-30T10:20:30."],
    "crawling.uses.imports.request_bodies:METHOD": ["POST"],
    "crawling.uses.imports.request_bodies:HEAD_END": ["\r", "\r\n"],
    "crawling.uses.imports.unpacked_bytes:ZSTD_SKIPPABLE": [],
    "crawling.uses.imports.unpacked_bytes:RECORD": ["WARC/", "http"],
    "crawling.orders.scope.trap_patterns:PARAMETERS": ["a="],
    "crawling.web.content.text_facts:AT_A_MARK": ["\n"],
    "crawling.web.words:BETWEEN_WORDS": [],
    "crawling.web.words:LEFT_TO_EXPRESSION": [],
    "crawling.web.content.text_facts:WORD": [],
    "crawling.uses.exports.wacz.origins:OF_RUN": ["run-", "run-1"],
    "crawling.archive.adoption:OURS": ["run1-"],
    "crawling.archive.files:NOT_OF_NAMES": [],
    "crawling.archive.rewriting:DERIVED": ["urn:", "urn:a:", "urn:a:http", "urn:a:http:"],
    "crawling.archive.rewriting:REWRITTEN": [".r1", ".warc"],
    "crawling.archive.snapshots:IMPORT": ["@import", "@import "],
    "crawling.archive.snapshots:INLINE_IMAGE": ["url(", "url('", "data:image/"],
    "crawling.archive.snapshots:LOADED": ["url(", 'url("', "url('", "url(a"],
    "crawling.base.storage:NAME": ["run1/", "a/"],
    "crawling.orders.seeds:SCHEMELESS": ["a.", "a.b:", "[", "[1]:1/"],
    "crawling.orders.ranking:NAME": ["a"],
    "crawling.datasets.seen_text:BROKEN_LINE": [],
    "crawling.datasets.seen_text:LINE": [],
    "crawling.web.content.normal_text:INVISIBLE": [],
    "crawling.web.content.normal_text:BASIC_LONG_RUN": ["\u0301", "\u0301\u0316"],
    "crawling.web.content.normal_text:FURTHER": [],
    "crawling.web.content.normal_text:LONG_RUN": ["\u0301", "\u0301\u0316"],
    "crawling.web.documents.structured_items:COMMENTED": ['"', "/*", "//", "<!--", "-"],
    "crawling.web.documents.structured_items:TOO_MANY": ['"', ",", ";"],
    "crawling.web.documents.structured_items:WRAPPED": ['"', "/*", "//", "<!--", "]]"],
    "crawling.web.documents.registry:TYPE": ["a", "a/", "a/a"],
    "crawling.web.protocols:SCHEME": ["a"],
    "crawling.web.documents.charsets:STATED": [
        "<?xml",
        "<?xml encoding",
        "@charset ",
        '@charset "',
    ],
    "crawling.machine.browser:VERSION": ["-", "a-1"],
    "crawling.web.content.script_signs:ASKS_FOR_SCRIPTS": [
        *("enable ", "without ", "please turn on ", "javascript ", "javascript is "),
    ],
    "crawling.web.content.script_signs:WAITS": ["loading", "please wait", "wird "],
    "crawling.web.content.script_signs:BY_ITSELF": ["load", "every 2s, revealed"],
    "crawling.web.documents.sitemap:BARE_MARK": ["&", "&#", "&#x", "&a"],
    "crawling.web.documents.sitemap:DECLARATION": ["<?", "<!"],
    "crawling.web.documents.sitemap:ENTRY": ["<", "<a:", "<url"],
    "crawling.web.documents.sitemap:NO_CHARACTERS": [],
    "crawling.web.documents.sitemap:UNKNOWN": ["&", "&a"],
    "crawling.web.documents.tree:INLINED": ["data:", "data:a", "data:;", "data:,", "data:a;a"],
    "crawling.web.documents.text:LINE_END": [],
    "crawling.web.documents.text:WRITTEN": ["http://"],
    "crawling.web.robots:RELATIVE_SITEMAP": ["sitemap", "sitemap:", "sitemap:a"],
    "crawling.web.content.encodings:NOT_ASCII": [],
    "crawling.web.fetch.content_codings:NO_TEXT": [],
    "crawling.web.fetch.content_codings:ZSTD_MAGIC": [],
    "crawling.web.fetch.transfer_errors:AGAINST_RULES": [],
    "crawling.web.fetch.http:WHOLE_RANGE": ["bytes 0-", "bytes 0-1/"],
    "crawling.web.content.media_types:ADDRESSES": ["http://a", "http://a\n", "https://a b"],
    "crawling.web.content.media_types:LISTED": ['"', '"\\', "a"],
    "crawling.web.content.media_types:MARKUP": [" ", "<", "<!"],
    "crawling.web.content.media_types:PAGE": [" ", "<"],
    "crawling.web.content.media_types:PARAMETER": ["a=", 'a="', 'a="\\', 'a="b"', " "],
    "crawling.web.content.media_types:QUOTABLE": [],
    "crawling.web.content.media_types:QUOTED_PAIR": ["\\"],
    "crawling.web.content.media_types:ROOT": [
        "<!--",
        "<?",
        "<!doctype a",
        "<!doctype a[",
        "<a",
        "<!---->",
    ],
    "crawling.web.content.media_types:TOKEN": ["a"],
    "crawling.web.content.media_types:XML_START": [" "],
    "crawling.web.documents.css_selectors:TOKEN": ['"', "'", " ", ":has("],
    "crawling.web.documents.css:COMMENT": ["/*"],
    "crawling.web.documents.css:ESCAPE": ["\\"],
    "crawling.web.content.link_fields:TARGET": ["<", ","],
    "crawling.web.content.link_fields:PARAMETER": [";", ";a", ";a=", ';a="'],
    "crawling.web.content.link_fields:REST": ['"', "a"],
    "crawling.web.content.link_fields:ESCAPED": ["\\"],
    "crawling.web.content.link_fields:AGENT": ["a", "a/", "a/1"],
    "crawling.web.documents.html:REFRESH_TIME": ["0", ".", "0 "],
    "crawling.web.documents.html:REFRESH_URL": ["url", "url="],
    "crawling.web.documents.css:IMAGE_SET": ["image-set(", 'image-set("', "image-set(("],
    "crawling.web.documents.css:FUNCTION": ["("],
    "crawling.web.documents.css:STRING": ['"', "'"],
    "crawling.web.documents.css:NAMED": [
        *("a{background:url(", 'url("', "url('", "url(x", "url(\\", '@import "', "@import '"),
        "@import",
    ],
    "crawling.web.documents.markup:CDATA": ["<![CDATA[", "<![CDATA[]]"],
    "crawling.web.documents.markup:LINK": ["<link", "</link"],
    "crawling.datasets.microformats:ROOT": ["h-", "h-a-", "h-1-a-"],
    "crawling.web.documents.tree:LATE_META": ["<meta ", "<meta charset", "<meta charset ="],
    "crawling.web.documents.text:BARE": ["http://", "https://a"],
    "crawling.frontier.sql_rows:SPECIAL": [],
    "crawling.archive.packages.wacz_index:WWW": ["http://www", "https://www1"],
    "crawling.web.fetch.adapter:HEADER": ["X-A: ", "X-A:"],
    "crawling.web.fetch.transfer_errors:FINAL_TLS": [],
    "crawling.models.access:CONTACT": ["https://", "mailto:"],
    "crawling.models.access:PRODUCT_TOKEN": [],
    "crawling.dashboard.run.log:WORKER": [],
    "crawling.uses.link_check.link_check:NO_XML": [],
    "crawling.dashboard.pages.filter:STATUS": ["1"],
    "crawling.web.addresses:PORT": ["a:1", ":"],
    "crawling.web.fetch.challenges:TOKEN": ["a"],
    "crawling.web.fetch.challenges:TOKEN68": [" a", " a="],
    "crawling.web.fetch.challenges:VALUE": ["=", '="', "=a"],
    "crawling.web.fetch.challenges:BETWEEN": [","],
    "crawling.web.fetch.challenges:REST": ['"', "a"],
    "crawling.web.fetch.challenges:ESCAPED": ["\\"],
    "crawling.web.fetch.cookies:CONTROL": [],
    "crawling.web.fetch.cookies:DELIMITERS": ["a"],
    "crawling.web.fetch.cookies:CLOCK": ["1:", "1:1:"],
    "crawling.web.fetch.cookies:DAY": ["1"],
    "crawling.web.fetch.cookies:YEAR": ["11"],
    "crawling.web.fetch.cookies:MAX_AGE": ["-", "1"],
    "crawling.web.forms.controls:COLOUR": ["#"],
    "crawling.web.forms.controls:NUMBER": ["-", "1", "1.", "1e"],
    "crawling.web.forms.controls:DATE": ["1111-"],
    "crawling.web.forms.controls:MONTH": ["1111-"],
    "crawling.web.forms.controls:WEEK": ["1111-W"],
    "crawling.web.forms.controls:TIME": ["11:11", "11:11:11."],
    "crawling.web.forms.controls:DATE_AND_TIME": ["1111-11-11T11:11"],
    "crawling.uses.alerts.wording:MAILBOX": ["a@"],
    "crawling.web.file_names:DEVICES": ["con", "con.", "com", "com1"],
    "crawling.web.file_names:UNSAFE": [],
    "crawling.web.http_caching:MAX_AGE": ["max-age", "max-age=", " max-age "],
    "crawling.web.links:PLAIN": ["/", "/a", "a/"],
    "crawling.web.http_caching:PERSONAL": ["cookie", "\ncookie "],
    "crawling.web.http_caching:ETAG": ["W/"],
    "crawling.web.robots:AGENT_LINE": ["user", "user-agent", "user agent:", " "],
    "crawling.web.robots:PRODUCT_TOKEN": [],
    "crawling.web.robots:RULE_LINE": ["allow", "disallow", " "],
    "crawling.web.robots:SITEMAP_LINE": ["sitemap", "site-map", " "],
    "crawling.web.secret_headers:PASSWORD": ["//", "//a:", "//:"],
    "crawling.orders.sections.fetching:HEADER_NAME": [],
    "crawling.orders.sections.filters:MEDIA_TYPE": ["a/"],
    "crawling.web.documents.css_selectors:ATTRIBUTE": ["::attr(", "::attr(a", "::attr(a)"],
    "crawling.orders.scope.trap_patterns:CALENDAR": [],
    "crawling.orders.scope.trap_patterns:DIGITS": [],
    "crawling.orders.scope.trap_patterns:HEXADECIMAL": ["a", "#"],
    "crawling.orders.scope.trap_patterns:NUMBERED": ["/#"],
    "crawling.orders.scope.trap_patterns:SESSION": ["?sid=", ";jsessionid=", "sessionid"],
    "crawling.orders.scope.trap_patterns:SESSION_NAME": [";", "/("],
    "crawling.orders.scope.trap_patterns:YEAR": ["19"],
    "crawling.archive.snapshot_styles:HIDING": ["<!", "<!-", "-", "<![CDATA", "]"],
    "crawling.archive.snapshot_styles:MARKUP": ["<"],
    "crawling.dashboard.crawls.export:PLAIN": [],
    "crawling.dashboard.pages.stored_view:CHARSET": [],
    "crawling.dashboard.pages.stored_view:VIEWER": [],
    "crawling.web.secret_headers:USER_INFORMATION": ["//", "//a"],
    "dnscache.protocol.names:_ASCII_LABEL": [],
    "dnscache.protocol.names:_NUMBER": ["0x"],
}


def expressions():
    """Every compiled expression, by the module that compiles it."""
    found = {}
    for package in (crawling, dnscache):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            path = Path(package.__path__[0], *module.name.split(".")[1:]).with_suffix(".py")
            if path.exists() and "re.compile(" in (source := path.read_text()):
                names = re.findall(r"^(\w+)(?:: [^=]+)? = re\.compile\(", source, re.MULTILINE)
                whole = importlib.import_module(module.name)
                found |= {f"{module.name}:{name}": getattr(whole, name) for name in names}
    return found


EXPRESSIONS = expressions()


def test_every_expression_of_the_product_is_tried():
    assert not EXPRESSIONS.keys() - PREFIXES, "write down how texts may begin that it meets"


def test_expressions_stand_in_modules_where_they_are_found():
    hidden = []
    for package in (crawling, dnscache):
        for path in Path(package.__path__[0]).rglob("*.py"):
            text = path.read_text()
            if "import re\n" not in text:
                continue  # to parse all modules takes seconds
            tree = ast.parse(text)
            at_top = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
            hidden += [
                f"{path}:{node.lineno}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and id(node) not in at_top
            ]
    assert hidden == []


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_no_repetition_holds_an_expression_up(name):
    ways = ways_of(name)
    slow = in_a_process(lambda: slowest(ways, ["", *PREFIXES.get(name, [])]))

    assert slow == "", f"{name} takes too long on {slow}"


def ways_of(name):
    """How the expression is used: one that is only matched from the start need not be searched
    for."""
    module, _, own_name = name.partition(":")
    source = Path(importlib.import_module(module).__file__).read_text()
    expression = EXPRESSIONS[name]
    # one that is handed on may be searched for anywhere
    is_searched = re.search(rf"(?<![.\w]){own_name}(?:[,)]|\.(?!match\b|fullmatch\b))", source)
    everywhere = [expression.search, partial(expression.sub, expression.pattern[:0])]
    return [expression.match, expression.fullmatch, *(everywhere if is_searched else [])]


def slowest(ways, prefixes):
    """The first text that takes too long; "" if none does."""
    for prefix in prefixes:
        for unit in UNITS:
            text = prefix + unit * (LENGTH // len(unit))
            # A short one first: what is exponential never comes to the end of a long one. An
            # expression that looks ahead to the end fails at another.
            for given in (text[:60], text, f"{text}x"):
                if isinstance(ways[0].__self__.pattern, bytes):
                    given = given.encode()
                if all(takes_long(ways, given) for _ in range(3)):
                    return repr(given[:50])
    return ""


def takes_long(ways, given):
    began = time.process_time()
    for way in ways:
        way(given)
    return time.process_time() - began > MOST_SECONDS


def in_a_process(attempt):
    """The result of an attempt, or which limit ended it: an expression cannot be interrupted."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS_IN_ALL, MOST_SECONDS_IN_ALL))
        os.write(write, attempt().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        said = told.read()
    status = os.waitpid(child, 0)[1]
    return said if status == 0 else f"a text that it never came to the end of ({status})"
