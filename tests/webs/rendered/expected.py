"""The pages of the rendered sites, and what a visitor of each sees: its sentence, its links, and
the states that acts of the visitor lead to. Paths are URLs without scheme and host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

FOLDER = Path(__file__).parent


class Bird(NamedTuple):
    slug: str
    name: str
    text: str


@dataclass(frozen=True)
class State:
    """A state of a page after an act, which begins at the state before it in `Page.states`."""

    act: Literal["click", "scroll"]
    #: the text of the button; empty if the act is to scroll to the end
    label: str
    #: the address in the state, which differs from the page's for a route of `pushState`
    path: str
    #: a sentence that only this state shows
    text: str
    #: all that the state shows
    links: frozenset[str]


@dataclass(frozen=True)
class ExpectedPage:
    """`text` and `links` are there as soon as the page has loaded and its scripts have run."""

    path: str
    text: str
    links: frozenset[str]
    #: false: all of it stands in the answer's HTML
    needs_browser: bool = True
    states: tuple[State, ...] = ()

    @property
    def all_links(self) -> frozenset[str]:
        """The links of the page and of its states."""
        return self.links.union(*(state.links for state in self.states))


@dataclass(frozen=True)
class ExpectedSite:
    """One site; `document` is the file that answers for a path of a page without a file."""

    name: str
    pages: tuple[ExpectedPage, ...]
    #: the pinned packages that the site is built with
    packages: tuple[str, ...]
    #: whether data comes by requests of scripts, and not with the scripts
    fetches: bool
    document: str = "index.html"

    @property
    def links(self) -> frozenset[str]:
        """The links of all pages and states."""
        return frozenset().union(*(page.all_links for page in self.pages))


def read_birds() -> list[Bird]:
    rows = json.loads((FOLDER / "sources" / "birds.json").read_text())
    return [Bird(row["slug"], row["name"], row["text"]) for row in rows]


BIRDS = read_birds()
#: the number of birds that one part of a list shows
PART = 4


def bird_pages(
    site: str, birds: Sequence[Bird], path: str, nav: set[str], *, needs_browser: bool = True
) -> list[ExpectedPage]:
    """A page for each bird, which links to the next one; `path` has `{}` for the slug."""
    after = [*birds[1:], birds[0]]
    return [
        ExpectedPage(
            path.format(bird.slug),
            f"{bird.name}, shown by {site}: {bird.text}.",
            frozenset({path.format(next_bird.slug), *nav}),
            needs_browser,
        )
        for bird, next_bird in zip(birds, after, strict=True)
    ]


def links_to(birds: Sequence[Bird], path: str, nav: set[str]) -> frozenset[str]:
    return frozenset({path.format(bird.slug) for bird in birds} | nav)


def about(site: str, path: str, nav: set[str]) -> ExpectedPage:
    return ExpectedPage(path, f"Some birds, explained by {site}.", frozenset(nav))


def growing_list(
    birds: Sequence[Bird],
    path: str,
    nav: set[str],
    act: Literal["click", "scroll"],
    text_of: Callable[[int], str],
) -> ExpectedPage:
    """A list at `/` that shows one more part after each act; `text_of` gets the number shown."""
    label = "Load more" if act == "click" else ""
    shown = range(PART, len(birds) + 1, PART)
    first, *later = (
        State(act, label, "/", text_of(number), links_to(birds[:number], path, nav))
        for number in shown
    )
    return ExpectedPage("/", first.text, first.links, states=tuple(later))


def router_site(name: str, packages: tuple[str, ...], *, root: str, fetches: bool) -> ExpectedSite:
    """A list, its birds and a page about them, on routes of one document."""
    birds = BIRDS[:12] if fetches else BIRDS[:8]
    nav = {root, f"{root}about"}
    path = f"{root}birds/{{}}"
    listed = ExpectedPage(
        root, f"{len(birds)} birds, listed by {name}.", links_to(birds, path, nav)
    )
    pages = (listed, about(name, f"{root}about", nav), *bird_pages(name, birds, path, nav))
    return ExpectedSite(name, pages, packages, fetches)


def elements_site(
    name: str, packages: tuple[str, ...], birds: Sequence[Bird], *, fetches: bool
) -> ExpectedSite:
    """A list and its birds in shadow roots."""
    path, nav = "/birds/{}", {"/"}
    listed = ExpectedPage("/", f"{len(birds)} birds, listed by {name}.", links_to(birds, path, nav))
    return ExpectedSite(name, (listed, *bird_pages(name, birds, path, nav)), packages, fetches)


def vue() -> ExpectedSite:
    birds, path, nav = BIRDS[:12], "/birds/{}", {"/"}
    listed = growing_list(birds, path, nav, "click", "{} birds, listed by vue.".format)
    pages = (listed, *bird_pages("vue", birds, path, nav))
    return ExpectedSite("vue", pages, ("vue", "vue-router"), fetches=True)


def svelte() -> ExpectedSite:
    """The buttons of its list push routes that no link leads to."""
    birds, path, nav = BIRDS[:12], "/birds/{}", {"/"}
    parts = [
        State(
            "click",
            f"Page {number}",
            "/" if number == 1 else f"/page/{number}",
            f"Page {number} of birds, listed by svelte.",
            links_to(birds[(number - 1) * PART : number * PART], path, nav),
        )
        for number in (1, 2, 3)
    ]
    first, *routes = (ExpectedPage(part.path, part.text, part.links) for part in parts)
    listed = ExpectedPage(first.path, first.text, first.links, states=tuple(parts[1:]))
    pages = (listed, *routes, *bird_pages("svelte", birds, path, nav))
    return ExpectedSite("svelte", pages, ("svelte",), fetches=False)


def htmx() -> ExpectedSite:
    birds, path, nav = BIRDS[:12], "/birds/{}.html", {"/"}

    def text_of(number: int) -> str:
        return f"Part {number // PART} of the birds, listed by htmx."

    listed = growing_list(birds, path, nav, "click", text_of)
    pages = (listed, *bird_pages("htmx", birds, path, nav))
    return ExpectedSite("htmx", pages, ("htmx.org",), fetches=True)


def scroll() -> ExpectedSite:
    path, nav = "/birds/{}", {"/"}
    listed = growing_list(BIRDS, path, nav, "scroll", "{} birds, listed by scroll.".format)
    pages = (listed, *bird_pages("scroll", BIRDS, path, nav))
    return ExpectedSite("scroll", pages, ("preact",), fetches=True)


def exported_next() -> ExpectedSite:
    """Half of its pages are prerendered with all that they show."""
    plain, live, nav = BIRDS[:6], BIRDS[6:12], {"/", "/live/"}
    pages = (
        ExpectedPage(
            "/", "6 birds, listed by next.", links_to(plain, "/birds/{}/", nav), needs_browser=False
        ),
        *bird_pages("next", plain, "/birds/{}/", nav, needs_browser=False),
        ExpectedPage("/live/", "6 live birds, listed by next.", links_to(live, "/live/{}/", nav)),
        *bird_pages("next", live, "/live/{}/", nav),
    )
    return ExpectedSite("next", pages, ("next", "react", "react-dom"), fetches=True)


def half() -> ExpectedSite:
    """Eight plain articles, eight rendered pages of a shop, and a plain page with all of them."""
    articles, goods = BIRDS[:8], BIRDS[8:]
    links = links_to(articles, "/articles/{}.html", set()) | links_to(goods, "/shop/{}", set())
    pages = (
        ExpectedPage("/", "16 birds, listed by half.", links, needs_browser=False),
        *bird_pages("half", articles, "/articles/{}.html", {"/"}, needs_browser=False),
        *bird_pages("half", goods, "/shop/{}", {"/"}),
    )
    return ExpectedSite("half", pages, ("preact",), fetches=True, document="shop.html")


SITES = {
    site.name: site
    for site in (
        router_site("react", ("react", "react-dom", "react-router"), root="/", fetches=True),
        vue(),
        svelte(),
        router_site("angular", ("@angular/core", "@angular/router"), root="/", fetches=True),
        exported_next(),
        htmx(),
        elements_site("lit", ("lit",), BIRDS[:10], fetches=True),
        elements_site("shadow", (), BIRDS[:8], fetches=False),
        scroll(),
        router_site("hash", ("vue", "vue-router"), root="/#/", fetches=False),
        half(),
    )
}
