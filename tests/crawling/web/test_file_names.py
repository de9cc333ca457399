"""The name of a saved document is one that every file system takes, made of address and type."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.addresses import Address, read_address
from crawling.web.file_names import file_name

NAMES = [
    ("https://example.org/a/report.pdf", "application/pdf", "report.pdf"),
    ("https://example.org/a/photo.JPG", "image/jpeg", "photo.JPG"),
    ("https://example.org/program", "application/x-sh", "program.sh"),
    ("https://example.org/list.php", "text/html", "list.php.html"),
    ("https://example.org/", "text/html", "index.html"),
    ("https://example.org/manual/", "text/html", "index.html"),
    ("https://example.org/view?id=3&page=2", "text/html", "view-id=3-page=2.html"),
    ("https://example.org/pic?w=90", "image/webp", "pic-w=90.webp"),
    ("https://example.org/data.bin", "application/octet-stream", "data.bin"),
    ("https://example.org/data.xyz", "application/of-its-own", "data.xyz"),
    ("https://example.org/%E5%B9%B4.txt", "text/plain", "年.txt"),
    ("https://example.org/..%2F..%2Fetc%2Fpasswd", "text/plain", "etc-passwd.txt"),
    ("https://example.org/.htaccess", "text/plain", "htaccess.txt"),
    ("https://example.org/con.txt", "text/plain", "_con.txt"),
    ("ftp://example.org/pub/x.tar.gz", "application/gzip", "x.tar.gz"),
    ("http://a.test/sitemap.xml", "application/xml", "sitemap.xml"),
    ("http://a.test/map", "application/xml", "map.xml"),
    ("http://a.test/a.rdf", "application/xml", "a.rdf"),
]


@pytest.mark.parametrize(("url", "content_type", "name"), NAMES)
def test_a_file_is_named_after_its_address_and_its_type(url, content_type, name):
    assert file_name(read_address(url), content_type) == name


@given(st.text(max_size=300), st.sampled_from(["", "text/html", "image/png", "a/b\r\nX: y"]))
def test_no_address_makes_a_name_that_a_file_system_refuses(target, content_type):
    address = Address(f"https://example.org/{target}", "https", "example.org", 443)

    name = file_name(address, content_type)

    assert name
    assert len(name.encode(errors="surrogatepass")) <= 255
    assert not re.search(r'[\x00-\x1f/\\:*?"<>|]', name)
    assert not name.startswith((".", "-"))
    assert not name.endswith(".")
