"""A crawl of a small site whose pages scripts make, for the tests of a module."""

from __future__ import annotations

from collections.abc import Callable

from allocation.services import add_resource_class
from crawling.models import CrawlJob, Run
from crawling.runs.start import start_run
from tests.crawling.conftest import OF_BROWSERS, do_shifts, the_pool
from tests.crawling.shared import Shared
from tests.servers import Reply, Site

SHELL = "<!doctype html><title>Lamp</title><div id=app></div><script src=/{}.js></script>"
SCRIPT = """
document.getElementById("app").innerHTML = '<h1>{}</h1><a href="/still">still</a>' +
  '<div style="width: 640px; height: 400px; background: {}"></div>';
"""


def script(content: str) -> Reply:
    return 200, {"Content-Type": "text/javascript"}, content


def page_script(heading: str, color: str) -> Reply:
    """A heading, and a box of a quarter of the window, 8 pixels from its left edge."""
    return script(SCRIPT.replace("{}", "%s") % (heading, color))


def add_browsers() -> None:
    pool = the_pool()
    for new in OF_BROWSERS:
        add_resource_class(pool=pool.pk, new=new)


def serve_lamp(shared: Shared) -> Site:
    """`/` says a price, and has a white box; `/still` stays as it is."""
    pages = {"/": SHELL.replace("{}", "app"), "/still": SHELL.replace("{}", "still")}
    scripts = {"/app.js": page_script("Price: 3", "white"), "/still.js": page_script("", "white")}
    return shared.serve(pages | scripts)


def crawl_lamp_twice(site: Site, shared: Shared, crawl_once: Callable[..., Run]) -> CrawlJob:
    """In the second run the price and the box of `/` differ, while its answer is the same."""
    shared.do(add_browsers)
    first = crawl_once(f"{site.url}/", render="always")
    site.pages["/app.js"] = page_script("Price: 4", "navy")
    shared.do(lambda: do_shifts(start_run(first.crawl)))
    return first.crawl
