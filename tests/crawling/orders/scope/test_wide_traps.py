"""Sites of one text, and lists whose parameters bring nothing, are held; honest ones are not."""

import hashlib
import json
import random
import re
from itertools import pairwise
from urllib.parse import parse_qsl, urlencode

import pytest

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.pages.trap_patterns import list_traps
from crawling.models import TrapPattern
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import PROBE_PAGES
from crawling.runs.crawls.traps import approve_trap
from crawling.uses.alerts.models import Delivery, Listener
from crawling.web.content.text_facts import distinctive_words, text_key
from crawling.web.simhash import is_alike
from crawlsite import demo
from tests.crawling.pages import browser

HTML = {"Content-Type": "text/html; charset=utf-8"}
FILTERS = {
    "color": ("red", "blue", "teal"),
    "size": ("s", "m", "xl"),
    "brand": ("acme", "zeta"),
    "sort": ("name", "price", "age"),
    "view": ("grid", "list"),
    "stock": ("yes", "no"),
    "rate": ("one", "two", "five"),
}
ITEMS = 40


def chance(*of):
    return random.Random(hashlib.md5(repr(of).encode()).digest())


def words(*of, count=1):
    """New words, the same for the same arguments."""
    told = chance(*of)
    return " ".join(
        "".join(told.choice("bdfgklmnprst") + told.choice("aeiou") for _ in range(4))
        for _ in range(count)
    )


def html(text, *links):
    return 200, HTML, text + "".join(f'<a href="{link}">on</a>' for link in links)


class Endless(dict):
    """Pages by their beginnings, each made by a function of the whole path."""

    def get(self, path, default=None):
        return next((made for start, made in self.items() if path.startswith(start)), default)


def endless(make_site, pages):
    site = make_site({})
    site.pages = Endless(pages)
    return site


def alike(request):
    """The title, the echo of the address and the id differ; the links are words."""
    ahead = [f"/{words(request.path, step)}/{words(step, request.path)}" for step in range(3)]
    told = (
        f"<title>{words(request.path, count=2)}</title><p>The page {request.path} is being made. "
        f"Please come again in a few days. Request {chance(request.path).getrandbits(60):x}.</p>"
    )
    return html(told, *ahead)


def narrowed(request):
    """Some items in an order of chance, and the list with each filter more or other."""
    chosen = dict(parse_qsl(request.path.partition("?")[2]))
    told = chance(sorted(chosen.items()))
    shown = told.sample(range(ITEMS), 12)
    lists = []
    for name, values in FILTERS.items():
        for value in values:
            query = [*(chosen | {name: value}).items()]
            told.shuffle(query)
            lists.append(f"/list?{urlencode(query)}")
    text = "".join(f'<p><a href="/item/{n}">{words("item", n, count=3)}</a></p>' for n in shown)
    return html(text, *lists)


def item(request):
    return html(words(request.path, count=60), "/")


def held(run):
    return [one for one in list_traps(run, most=20)[0] if one.state == TrapState.QUARANTINED]


def test_a_site_of_one_text_is_held_told_and_fetched_once_approved(
    make_site, crawl_to_the_end, work_off
):
    listener = Listener.objects.create(
        name="Chat", url="https://chat.example/", secret="s", events=["held"]
    )
    site = endless(make_site, {"/": alike})
    run = crawl_to_the_end(f"{site.url}/", max_pages=400)

    [trap] = held(run)
    assert (trap.pattern, trap.rule) == (f"{site.url}/…", "one text")
    assert PROBE_PAGES < len(site.paths) < 3 * PROBE_PAGES
    assert trap.held == crawl_view(run.crawl).counts.quarantined > 0
    [alert] = Delivery.objects.filter(listener=listener)
    assert (alert.event, json.loads(alert.body)["patterns"]) == ("held", [trap.pattern])
    page = browser("operator").get(f"/crawls/{run.crawl_id}/").content.decode()
    assert f"Approve {trap.pattern}" in page

    before = len(site.paths)
    run.crawl.max_pages = before + 100
    run.crawl.save(update_fields=["max_pages"])
    approve_trap(run.crawl, trap.key)
    run.refresh_from_db()
    work_off(run)

    assert len(site.paths) >= before + 90


def test_lists_are_held_by_parameters_that_bring_nothing_in_any_order(make_site, crawl_to_the_end):
    site = endless(make_site, {"/list": narrowed, "/item": item, "/": "<a href=/list?view=grid>x"})
    run = crawl_to_the_end(f"{site.url}/", max_pages=2_000)

    rules = {trap.rule for trap in held(run)}
    assert rules
    assert rules <= {"filter", "parameters"}
    assert {f"/item/{n}" for n in range(ITEMS)} <= set(site.paths)
    assert sum("/list" in path for path in site.paths) < 10 * PROBE_PAGES
    assert run.state == "finished"


def complete(request):
    """As `narrowed`, and each list has all filters in one order: there are 648 lists."""
    chosen = dict(parse_qsl(request.path.partition("?")[2]))
    shown = chance(sorted(chosen.items())).sample(range(ITEMS), 12)
    lists = [chosen | {name: value} for name, values in FILTERS.items() for value in values]
    text = "".join(f'<p><a href="/item/{n}">{words("item", n, count=3)}</a></p>' for n in shown)
    return html(text, *(f"/list?{urlencode(one)}" for one in lists))


def test_lists_are_held_though_each_has_all_parameters_and_no_line_breaks(
    make_site, crawl_to_the_end
):
    first = urlencode({name: values[0] for name, values in FILTERS.items()})
    start = f'<a href="/list?{first}">x'
    site = endless(make_site, {"/list": complete, "/item": item, "/": start})
    run = crawl_to_the_end(f"{site.url}/", max_pages=2_000)

    assert "filter" in {trap.rule for trap in held(run)}
    assert {f"/item/{n}" for n in range(ITEMS)} <= set(site.paths)
    assert sum("/list" in path for path in site.paths) < 4 * PROBE_PAGES


def paged(request):
    """Items by pages, which no other list leads to, and ever more ways to sort the same."""
    chosen = dict(parse_qsl(request.path.partition("?")[2]))
    number = int(chosen["page"])
    shown = range(number * 4, min(ITEMS, number * 4 + 4))
    following = [chosen | {"page": number + 1}] if number * 4 + 4 < ITEMS else []
    others = [chosen | {name: value} for name in FILTERS for value in FILTERS[name]]
    lists = [f"/list?{urlencode(one)}" for one in following + others]
    text = "".join(f'<p><a href="/item/{n}">{words("item", n, count=3)}</a></p>' for n in shown)
    return html(text, *lists)


def test_what_a_list_needs_is_fetched_though_other_parameters_are_held(make_site, crawl_to_the_end):
    site = endless(make_site, {"/list": paged, "/item": item, "/": "<a href=/list?cat=a&page=0>x"})
    run = crawl_to_the_end(f"{site.url}/", max_pages=2_000)

    assert {f"/item/{n}" for n in range(ITEMS)} <= set(site.paths)
    vain = [trap.pattern for trap in held(run) if trap.rule == "filter"]
    assert vain
    assert not [pattern for pattern in vain if re.search("cat|page", pattern)]


GALLERY = [words("photo", number) for number in range(70)]
FRAME = "Our photos. Home. Previous. Next. About us. All rights are the club's, and no one else's."


def gallery():
    return {
        f"/photo/{one}": f"<img src=/logo.png><img src=/{one}.jpg><p>{FRAME}</p>"
        f'<a href="/photo/{following}">next</a>'
        for one, following in pairwise([*GALLERY, "end"])
    } | {"/": f'<a href="/photo/{GALLERY[0]}">photos</a>', "/photo/end": "end"}


def months(request):
    """Each month of some years leads to the next, and has an event without a page."""
    asked = dict(parse_qsl(request.path.partition("?")[2]))
    year, month = int(asked["year"]), int(asked["month"])
    following = (year, month + 1) if month < 12 else (year + 1, 1)
    ahead = [f"/plan?year={following[0]}&month={following[1]}"] if following[0] < 2026 else []
    return html(f"<p>Events in {month}: {words(year, month, count=3)}</p><p>{FRAME}</p>", *ahead)


def products(request):
    """Each has a number, and words that others have."""
    number = int(request.path.rpartition("=")[2])
    told = f"{('red', 'blue', 'green')[number % 3]} {('shirt', 'hat')[number % 2]}"
    ahead = [f"/product?cat={(number + 1) % 3}&id={number + 1}"] if number < 70 else []
    return html(f"<img src=/{number}.jpg><h1>{told}</h1><p>{FRAME}</p>", *ahead)


@pytest.mark.parametrize(
    ("pages", "count"),
    [
        (gallery(), 72),
        ({"/plan": months, "/": "<a href='/plan?year=2020&month=1'>x"}, 73),
        ({"/product": products, "/": "<a href='/product?cat=1&id=1'>x"}, 71),
    ],
    ids=["gallery", "calendar", "products"],
)
def test_honest_pages_that_lead_on_are_fetched_whole(make_site, crawl_to_the_end, pages, count):
    site = make_site(pages)
    run = crawl_to_the_end(f"{site.url}/")

    assert held(run) == []
    assert crawl_view(run.crawl).counts.succeeded >= count


def test_one_text_on_many_pages_is_told_where_nothing_is_held(make_site, crawl_to_the_end):
    wall = "<p>Please log in to see this page. You need an account with us to read it.</p>"
    members = {f"/{words('member', number)}": wall for number in range(15)}
    open_ones = {f"/{words('open', number)}": words(number, count=50) for number in range(10)}
    pages = members | open_ones
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in pages), **pages})
    run = crawl_to_the_end(f"{site.url}/")

    told = f"14 of 26 pages of {site.url} have the same text as others."
    assert (run.state, run.reason) == ("finished", f"Every URL in scope is done. {told}")
    page = browser("viewer").get(f"/crawls/{run.crawl_id}/").content.decode()
    assert "Pages with the same text" in page
    assert TrapPattern.objects.get(run=run).state == TrapState.WATCHED


def test_one_text_on_fewer_than_half_of_the_pages_is_not_told(make_site, crawl_to_the_end):
    members = {f"/{words('member', number)}": "<p>No events this week.</p>" for number in range(14)}
    pages = members | {f"/{words('open', number)}": words(number, count=50) for number in range(20)}
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in pages), **pages})

    assert crawl_to_the_end(f"{site.url}/").reason == "Every URL in scope is done."


@pytest.mark.parametrize("section", demo.THINGS)
def test_each_page_of_the_demo_says_something(make_site, crawl_to_the_end, section):
    shelves = [f"/{section}/{shelf}" for shelf in range(demo.SHELVES)]
    books = [f"{shelf}/{book}" for shelf in shelves for book in range(demo.BOOKS) if book % 5 != 4]
    site = make_site(
        {path: demo.answer_path(path)[2] for path in [f"/{section}/", *shelves, *books]}
    )

    run = crawl_to_the_end(f"{site.url}/{section}/")

    assert run.total.succeeded > len(books)
    assert run.reason == "Every URL in scope is done."


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("The page /a is not here, id 8f3a21", "The page /b is not here, id 77c0de1", True),
        ("Nothing here. Ref 12", "Nothing here. Ref 47", True),
        ("Photo of Anna", "Photo of Bert", False),
        ("A cedar grows by the lake", "A willow grows by the lake", False),
        ("", "", True),
    ],
)
def test_numbers_ids_and_the_own_address_make_no_other_text(one, other, are_alike):
    keys = [
        text_key(distinctive_words(text, f"http://h.test/{name}", ""))
        for text, name in ((one, "a"), (other, "b"))
    ]

    assert (keys[0] == keys[1]) == are_alike


def test_a_calendar_with_few_events_is_not_one_text():
    months = [
        " ".join(words(month, day, count=3) if day % 9 == 0 else "nothing" for day in range(1, 31))
        for month in range(12)
    ]
    keys = [text_key(distinctive_words(text, "http://h.test/cal", "Events")) for text in months]

    assert not any(is_alike(key, keys[:number]) for number, key in enumerate(keys))
