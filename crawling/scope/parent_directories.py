"""The directories above a URL (SEEDS W4): what nothing links to may be listed in one of them."""

from __future__ import annotations

from crawling.web.addresses import Address


def directories_above(address: Address) -> list[Address]:
    """The directories that a URL lies in, nearest first: of `/a/b/page.html` they are `/a/b/`,
    `/a/` and `/`.
    """
    target = address.target
    origin = address.url.removesuffix(target)
    path = target.partition("?")[0]
    above = []
    if path != target:
        path += "?"  # a directory asked with a query lies in itself
    while path := path[: path.rfind("/", 0, -1) + 1]:
        above.append(address._replace(url=origin + path))
    return above
