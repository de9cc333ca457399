"""The directories above a URL (SEEDS W4)."""

import pytest

from crawling.orders.scope.trap_patterns import directories_above
from crawling.web.addresses import read_address


@pytest.mark.parametrize(
    ("target", "above"),
    [
        ("/a/b/page.html", ["/a/b/", "/a/", "/"]),
        ("/a/b/", ["/a/", "/"]),
        ("/", []),
        ("/a/?q=/x/", ["/a/", "/"]),
        ("/page?q=1", ["/"]),
        ("/?q=1", ["/"]),
        ("//x", ["//", "/"]),
    ],
)
def test_a_url_lies_in_the_directories_of_its_path(target, above):
    origin = "http://a.test:8080"

    assert [address.url for address in directories_above(read_address(origin + target))] == [
        origin + path for path in above
    ]
