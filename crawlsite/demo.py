"""A small web on loopback, with which new users see working crawls in the first minute, offline: a
WSGI application with two invented sites at one address, a library and a shop.

Each page depends on its path alone, so the web is the same each time. As on real sites, there are a
robots.txt, redirects, dead links and slow pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

#: the subject of each shelf, with a sentence about it
SUBJECTS = {
    "ships": "They were built of oak, rigged by hand, and left with the morning tide.",
    "gardens": "Roses climb the south wall, and the gardener keeps a diary of every frost.",
    "clocks": "A spring drives a hundred small wheels, and none of them may hurry.",
    "mountains": "Snow lies on the pass until June, so travellers wait in the valley below.",
    "rivers": "Water remembers its old bed and returns to it in a wet spring.",
    "birds": "Swallows arrive in April; at dawn a patient listener counts thirty voices.",
    "bridges": "One arch of stone carries the road, a second one carries the wind.",
    "lighthouses": "A lamp was lit each evening, and a diary names the vessels that passed.",
    "markets": "Farmers unload cheese, onions and honey before the church bell strikes six.",
    "maps": "Coasts were measured by rope and compass, deserts often by guesswork.",
    "songs": "Most have five verses, and singers quarrel over the last.",
    "stars": "On clear nights an old telescope shows rings, moons and double suns.",
    "trains": "The express needs nine hours, and its dining car serves soup until midnight.",
    "islands": "A ferry calls on Tuesdays, if the sea allows it.",
    "winters": "Ice covered the lake, and children skated to school with lanterns.",
}
#: the items on each shelf of a section, with a sentence about them
THINGS = {
    "library": {
        "A history of": "Twelve chapters lead from the earliest drawings to our own century.",
        "Letters about": "Two friends write to each other, and never meet in thirty years.",
        "A year among": "The author kept a notebook and left nothing out, not even the rain.",
        "Questions about": "Short answers for curious readers, with an index at the end.",
        "The art of painting": "Eighty plates in colour, printed on heavy paper.",
        "Travels to see": "A walker with a small bag describes inns, storms and good company.",
        "An atlas of": "Large sheets fold out; the scale is given below every figure.",
        "Tales of": "Grandmothers told them first, a teacher collected them later.",
        "A child's guide to": "Simple words, brave animals, and a riddle on each page.",
        "The science of": "Experiments with string, candles and patience explain the theory.",
        "Poems on": "Some rhyme, others do not, all can be read aloud.",
        "The last of the": "A novel in which a stranger inherits a house and a debt.",
    },
    "shop": {
        "A poster of": "Printed in four colours, rolled, and sent in a sturdy tube.",
        "A puzzle of": "One thousand pieces of recycled board, with a linen bag.",
        "A calendar of": "Thirteen sheets with room for birthdays and appointments.",
        "A mug with": "Fired stoneware that holds a third of a litre; dishwasher safe.",
        "A tea towel with": "Pure cotton, woven in a mill near the coast.",
        "Postcards of": "A set of ten with envelopes, on matt card.",
        "A notebook with": "Two hundred dotted pages bound in cloth.",
        "A lamp with": "Its shade turns slowly when the bulb grows warm.",
        "Playing cards with": "A full deck in a tin, jokers included.",
        "A scarf with": "Soft merino wool, to be washed by hand.",
        "Stamps of": "Rubber on beech wood, delivered with a blue ink pad.",
        "A kite with": "Ripstop nylon and a line of fifty metres for windy afternoons.",
    },
}
SHELVES, BOOKS = len(SUBJECTS), 12
SLOW_SECONDS = 0.3
ROBOTS = "User-agent: *\nDisallow: /library/staff/\n"
Answer = tuple[str, str, str]
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    status, content_type, body = answer_path(environ.get("PATH_INFO", "/"))
    headers = [("Content-Type", content_type)]
    if status.startswith("301"):
        headers.append(("Location", body))
    start_response(status, headers)
    return [body.encode()]


def answer_path(path: str) -> Answer:
    """Return status, content type and body; the body of a redirect is its location."""
    if path == "/robots.txt":
        return "200 OK", "text/plain", ROBOTS
    if path == "/":
        return html_page("The demo web", ["/library/", "/shop/"])
    section, _, rest = path.strip("/").partition("/")
    if section in ("library", "shop"):
        return section_page(section, rest)
    return "404 Not Found", "text/plain", "Nothing is here."


def section_page(section: str, rest: str) -> Answer:
    """The front page of a section, a shelf (`3`), a book (`3/7`), or nothing."""
    parts = rest.split("/") if rest else []
    if not parts:
        return html_page(
            f"The {section}",
            [f"/{section}/{shelf}" for shelf in range(SHELVES)]
            + [f"/{section}/staff/rota", f"/{section}/old"],
        )
    if parts == ["old"]:
        return "301 Moved Permanently", "text/plain", f"/{section}/0"
    if not all(part.isdigit() for part in parts) or int(parts[0]) >= SHELVES or len(parts) > 2:
        return "404 Not Found", "text/plain", "Nothing is here."
    shelf = int(parts[0])
    if len(parts) == 1:
        return html_page(
            f"The {section}: {list(SUBJECTS)[shelf]}",
            [f"/{section}/{shelf}/{book}" for book in range(BOOKS)] + [f"/{section}/{shelf}/lost"],
        )
    if int(parts[1]) >= BOOKS:
        return "404 Not Found", "text/plain", "Nothing is here."
    if int(parts[1]) % 5 == 4:
        time.sleep(SLOW_SECONDS)  # real sites have slow pages
    subject, about = list(SUBJECTS.items())[shelf]
    thing, told = list(THINGS[section].items())[int(parts[1])]
    return html_page(
        f"{thing} {subject}",
        [f"/{section}/", f"/{section}/{(shelf + 1) % SHELVES}/{parts[1]}"],
        f"{told} {about}",
    )


def html_page(title: str, links: list[str], text: str = "") -> Answer:
    told = f"<p>{escape(text)}</p>" if text else ""
    items = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links)
    return (
        "200 OK",
        "text/html; charset=utf-8",
        "<!doctype html><html "
        f'lang="en"><title>{escape(title)}</title><h1>{escape(title)}</h1>{told}'
        f"<ul>{items}</ul></html>",
    )
