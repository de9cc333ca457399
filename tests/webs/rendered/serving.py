"""The servers of the rendered sites: one for each, on an address of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers import Reply, Site, serve_site
from tests.webs.rendered.expected import FOLDER, SITES, ExpectedSite

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


@dataclass(frozen=True)
class RenderedSite:
    """A site that is served. `server.log` has its requests."""

    expected: ExpectedSite
    server: Site

    @property
    def url(self) -> str:
        """The address without a path."""
        return self.server.url

    @property
    def counts(self) -> Counter[str]:
        """The number of requests by path, without queries."""
        return Counter(request.path.partition("?")[0] for request in list(self.server.log))


def files_of(folder: Path) -> dict[str, Reply]:
    """The answers by path; `index.html` of a folder also answers for the folder."""
    answers: dict[str, Reply] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        path = f"/{file.relative_to(folder)}"
        answers[path] = (200, {"Content-Type": TYPES[file.suffix]}, file.read_bytes())
        answers[path.removesuffix("index.html")] = answers[path]
    return answers


def answers_of(site: ExpectedSite) -> dict[str, Reply]:
    """The files of a site, and its document for each route without a file; other paths are
    missing, so that a wrong link shows.
    """
    answers = files_of(FOLDER / "built" / site.name)
    routes = {page.path.partition("#")[0] for page in site.pages}
    document = answers[f"/{site.document}"]
    return dict.fromkeys(routes, document) | answers


@contextmanager
def rendered_web(*names: str, subnet: str = "127.0.7") -> Iterator[dict[str, RenderedSite]]:
    """Serve the sites of these names, or all, each on an address of its own in `subnet`."""
    with ExitStack() as stack:
        yield {
            name: RenderedSite(
                site, stack.enter_context(serve_site(answers_of(site), address=f"{subnet}.{last}"))
            )
            for last, (name, site) in enumerate(SITES.items(), 1)
            if name in (names or SITES)
        }
