"""Links of pages, in parts like those that the product writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils import timezone

from crawling.base.storage import storage
from crawling.datasets.parquet import put_findings, put_part
from crawling.datasets.parts import new_part
from crawling.models import LinksPart, Page
from crawling.web.addresses import fingerprint

#: the links of a page: entries in its host's menu, links to other pages of the run, and images
MENU, OTHERS, IMAGES = 60, 30, 10
OF_A_PAGE = MENU + OTHERS + IMAGES
PAGES_OF_A_PART = 1_000
#: the number of a page's places that fragments can name; each link to another page names one, and
#: the last names none
PLACES = 72


def fill_links(run_id: int, links: int, *, earlier: int | None = None) -> None:
    """Give the run's first pages a number of links, in parts like those that the product writes.

    earlier: the id of the earlier run, which gets the same links, except some of them.
    """
    found = Page.objects.filter(run=run_id).order_by("pk").values_list("pk", "final_url")
    pages = list(found[: links // OF_A_PAGE])
    urls = [url for _, url in pages]
    for at in range(0, len(pages), PAGES_OF_A_PART):
        some = pages[at : at + PAGES_OF_A_PART]
        rows = [row for page_id, url in some for row in _links_of_page(page_id, url, urls)]
        if earlier:
            rows = list(map(_as_before, rows))
        part = written_part(earlier or run_id)
        part.links, part.bytes = len(rows), put_part(part.name, rows)
        put_findings(part.findings_name, [row for page in some for row in _findings_of_page(*page)])
        part.save()


def written_part(run_id: int) -> LinksPart:
    """A part of the run, not saved yet."""
    part = new_part(run_id, None)
    part.collected_at = part.written_at = timezone.now()
    return part


def _links_of_page(page_id: int, url: str, urls: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    host, first = "/".join(url.split("/")[:3]), fingerprint(url)
    for place in range(OF_A_PAGE):
        if place < MENU:
            target, says = f"{host}/menu/entry-{place}", ("a", "href", "", f"Entry {place}", "nav")
        elif place < MENU + OTHERS:
            target = urls[first * (place + 1) % len(urls)]
            says = ("a", "href", "", f"An article like {target[-8:]}", "main")
        else:
            at = host.replace("https:", "http:") if first % 100 == 0 else host
            target = f"{at}/images/{(first + place) % 997}.png"
            says = ("img", "src", "", "" if place % 2 else "An image", "main")
        fragment = f"part-{place}" if says[4] == "main" and says[0] == "a" else ""
        yield page_id, url, place, target, fragment, *says, fingerprint(target)


def _as_before(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row in the earlier run: the page's last link to another page leads elsewhere if its
    fingerprint ends in 0.
    """
    page_id, url, place, *rest = row
    if place != MENU + OTHERS - 1 or fingerprint(url) % 10:
        return row
    target = f"{url}/earlier"
    return (page_id, url, place, target, *rest[1:-1], fingerprint(target))


def _findings_of_page(page_id: int, url: str) -> Iterator[tuple[Any, ...]]:
    known = page_id, fingerprint(url)
    yield *known, "read", url, 1, 0
    for place in range(MENU + OTHERS - PLACES, MENU + OTHERS - 1):
        yield *known, "place", f"part-{place}", 1, 0
    if page_id % 10 == 0:
        yield *known, "error", "duplicate-attribute", 3, 17


def forget_links() -> None:
    """Remove the files. The rows are removed with the database."""
    for part in LinksPart.objects.all():
        storage().delete(part.name)
        storage().delete(part.findings_name)
