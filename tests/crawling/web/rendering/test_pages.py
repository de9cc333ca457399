"""A page is rendered by its own scripts, and everything that it loads comes through the door."""

import threading
from io import BytesIO

import pytest
from PIL import Image

from crawling.web.rendering.types import BrowserCookie, DoorAnswer, RenderVerdict, Route
from tests.crawling.web.rendering.conftest import ADDRESS, HTML, REFUSED, SiteDoor

SHOP = """<!doctype html><html lang=de><title>empty</title><link rel=stylesheet href=/a.css>
<body><script src=/a.js></script>"""
SCRIPT = """
fetch('/data.json').then((answer) => answer.json()).then((names) => {
  document.title = 'full';
  for (const name of names)
    document.body.insertAdjacentHTML('beforeend', `<a href=/${name}>${name}</a> `);
});"""


def test_links_and_text_of_scripts_are_in_the_result(render):
    door = SiteDoor({"/a.js": SCRIPT, "/a.css": "a {color: red}", "/data.json": '["one", "two"]'})

    page = render(SHOP, door=door)

    assert page.verdict is RenderVerdict.RENDERED
    assert '<a href="/one">one</a> <a href="/two">two</a>' in page.document.html
    assert page.document.html.startswith('<!DOCTYPE html>\n<html lang="de">')
    assert (page.document.title, page.document.text.split(), page.document.url) == (
        "full",
        ["one", "two"],
        ADDRESS,
    )
    assert door.paths == ["/a.css", "/a.js", "/data.json"]
    assert (page.counts.requests, page.counts.body_bytes) == (
        3,
        sum(len(str(f)) for f in door.files.values()),
    )
    assert {request.resource_type for request in door.requests} == {"stylesheet", "script", "xhr"}


def test_the_crawls_user_agent_and_languages_are_sent_and_seen(render):
    door = SiteDoor({})
    page = render(
        "<script>document.title = navigator.userAgent; fetch('/x')</script>",
        door=door,
        accept_language="de-CH,fr;q=0.5",
    )

    headers = {name.lower(): value for name, value in door.requests[0].headers}
    assert page.document.title == headers["user-agent"] == "crawlsite/1 (+about)"
    assert headers["accept-language"] == "de-CH,fr;q=0.5"


def test_a_request_has_its_method_and_body(render):
    door = SiteDoor({})
    render("<script>fetch('/search', {method: 'POST', body: 'ä'})</script>", door=door)

    assert [(one.method, one.body) for one in door.requests] == [("POST", "ä".encode())]


def test_redirects_of_the_door_are_followed_through_the_door(render):
    moved = DoorAnswer(302, "Found", [("Location", "/two.js")])
    door = SiteDoor({"/one.js": moved, "/two.js": "document.title = 'moved'"})

    assert render("<script src=/one.js></script>", door=door).document.title == "moved"
    assert door.paths == ["/one.js", "/two.js"]


def test_a_refused_request_and_an_error_are_told_of(render):
    page = render(
        """<img src=/secret><img src=/none>
        <script>fetch('/secret').catch(() => console.log('no'))</script>""",
        {"/secret": REFUSED},
    )

    assert {(one.url.rpartition("/")[2], one.reason) for one in page.failed_requests} == {
        ("secret", "by_robots"),
        ("none", "404"),
    }
    assert "log: no" in page.console


def test_cookies_of_the_crawl_are_there_and_none_of_the_page_before(render):
    cookie = BrowserCookie("login", "secret", "site.example", is_http_only=True)
    door = SiteDoor({"/x": ""})
    html = "<script>document.cookie = 'own=1'; fetch('/x')</script>"

    render(html, door=door, cookies=(cookie,))
    render(html, door=door)

    sent = [dict(request.headers).get("Cookie") for request in door.requests]
    assert sent == ["login=secret; own=1", "own=1"]


def test_pages_of_one_context_share_storage_and_others_share_nothing(render):
    html = "<script>document.title = localStorage.n = 1 + Number(localStorage.n || 0)</script>"

    titles = [render(html, context=name).document.title for name in ("a", "a", "b", "", "")]

    assert titles == ["1", "2", "1", "1", "1"]


def test_many_hosts_keep_their_contexts_between_two_of_their_pages(render):
    html = "<script>document.title = localStorage.n = 1 + Number(localStorage.n || 0)</script>"

    titles = [render(html, context=name).document.title for name in "cdefghc"]

    assert titles == ["1"] * 6 + ["2"]


def test_cross_origin_answers_need_permission_as_in_any_browser(render):
    page = render(
        """<body><script>
        fetch('http://other.example/x').catch(() => document.body.append('refused '));
        fetch('http://other.example/y').then(() => document.body.append('allowed '))</script>""",
        {"/x": "x", "/y": DoorAnswer(200, "", [("Access-Control-Allow-Origin", "*")], b"y")},
    )

    assert sorted(page.document.text.split()) == ["allowed", "refused"]


def test_preflights_come_through_the_door(render):
    door = SiteDoor({"/y": DoorAnswer(200, "", [("Access-Control-Allow-Origin", "*")], b"y")})

    render("<script>fetch('http://other.example/y', {method: 'PUT'})</script>", door=door)

    assert [request.method for request in door.requests] == ["OPTIONS"]


def test_several_pages_are_rendered_at_once_each_with_its_own_door(browser, render):
    """Each door waits until all pages ask."""
    together = threading.Barrier(3, timeout=30)
    titles = []

    def one(name):
        def answer(_request):
            together.wait()
            return DoorAnswer(200, "", [], f"document.title = '{name}'".encode())

        page = render(
            "<script src=/n.js></script>", {"/n.js": answer}, url=f"http://{name}.example/"
        )
        titles.append(page.document.title)

    threads = [threading.Thread(target=one, args=(name,)) for name in "abc"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    assert sorted(titles) == ["a", "b", "c"]


def test_at_most_four_requests_of_a_page_are_at_the_door_at_once(render):
    lock, inside, most = threading.Lock(), [0], [0]

    def answer(_request):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.05)  # so that others could come
        with lock:
            inside[0] -= 1
        return DoorAnswer(200)

    page = render("".join(f"<img src=/i?{n}>" for n in range(20)), {"/i": answer})

    assert (page.counts.requests, most[0]) == (20, 4)


def test_an_error_of_the_door_ends_the_page_and_is_raised(browser, render):
    def answer(_request):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        render("<img src=/x>", {"/x": answer})
    assert render("<title>next</title>").document.title == "next"


def test_a_document_that_is_no_page_is_not_shown(render):
    headers = [("Content-Type", "application/zip"), ("Content-Disposition", "attachment")]

    assert render(b"PK", headers=headers).verdict is RenderVerdict.NOT_SHOWN


def test_pictures_are_jpeg_of_the_window_and_small(render):
    page = render("<body style='background: red'>", wants_picture=True)

    pictures = [Image.open(BytesIO(data)) for data in (page.picture, page.thumbnail)]
    assert [(one.format, one.size) for one in pictures] == [
        ("JPEG", (1280, 800)),
        ("JPEG", (320, 200)),
    ]
    for one in pictures:
        red, green, blue = one.convert("RGB").getpixel((100, 100))
        assert red > 250
        assert green + blue < 10


def test_routes_without_navigation_are_told_of_with_their_dom(render):
    page = render(
        """<main>one</main><script>setTimeout(() => {
        history.pushState({}, '', '/two'); document.querySelector('main').textContent = 'two';
        location.hash = 'three'; }, 50)</script>"""
    )

    assert page.document.url == "http://site.example/two#three"
    assert page.routes == (
        Route("http://site.example/two", ""),
        Route("http://site.example/two#three", page.document.fingerprint),
    )


def test_content_of_shadow_roots_is_in_html_and_text(render):
    page = render(
        """<x-list></x-list><script>customElements.define('x-list', class extends HTMLElement {
        connectedCallback() {
          this.attachShadow({mode: 'open'}).innerHTML = '<a href=/in>inside</a>' }
        })</script>"""
    )

    assert (
        '<template shadowrootmode="open"><a href="/in">inside</a></template>' in page.document.html
    )
    assert "inside" in page.document.text


def test_a_page_that_moves_on_by_itself_is_read_where_it_arrives(render):
    door = SiteDoor({"/there.html": "<title>there</title>"})
    page = render("<script>location.replace('/there.html')</script>", door=door)

    assert (page.document.title, page.document.url) == ("there", "http://site.example/there.html")
    assert [request.is_navigation for request in door.requests] == [True]


def test_frames_come_through_the_door_and_are_no_navigation(render):
    door = SiteDoor({"/f.html": "<script src=/f.js></script>", "/f.js": ""})
    render("<iframe src=http://frame.example/f.html></iframe>", door=door)

    assert door.paths == ["/f.html", "/f.js"]
    assert not any(request.is_navigation for request in door.requests)


def test_what_scrolling_loads_is_in_the_result(render):
    html = """<style>div {height: 900px}</style><script>
    let n = 0;
    const more = () => {
      n++; document.body.insertAdjacentHTML('beforeend', `<div>item${n}</div>`) };
    addEventListener('load', () => { more(); more(); });
    addEventListener('scroll', () => {
      const rest = document.body.offsetHeight - innerHeight - scrollY;
      if (n < 6 && rest < 50) fetch('/more').then(more) });
    </script><body>"""

    assert "item6" in render(html, {"/more": ""}).document.text
    assert "item3" not in render(html, {"/more": ""}, limits={"scrolls": 0}).document.text


def test_load_more_is_clicked_within_its_bound_and_nothing_with_consequences_is(render):
    html = """<ul></ul><button id=more>Load more</button>
    <button onclick="hit('logout')">Show more or log out</button>
    <button onclick="hit('delete')">Delete all more</button>
    <form onsubmit="hit('form'); return false"><button>Load more</button></form>
    <a href=/more.html onclick="hit('link')">Load more</a>
    <script>const hit = (name) => document.title += name; let n = 0;
    more.onclick = () => {
      n++; document.querySelector('ul').insertAdjacentHTML('beforeend', `<li>item${n}`) }
    </script>"""

    page = render(html, clicks=3)

    assert page.document.title == ""
    assert [state.label for state in page.states] == ["Load more"] * 3
    assert "item3" in page.document.html
    assert "item4" not in page.document.html
    assert len({state.fingerprint for state in page.states}) == 3


def test_states_that_differ_in_nothing_are_one(render):
    page = render("<button onclick='0'>Show more</button>", clicks=5)

    assert (page.verdict, page.states) == (RenderVerdict.RENDERED, ())


def test_html_is_cut_at_its_limit_and_the_page_counts_as_rendered_in_part(render):
    page = render("<p>" + "x" * 5000, limits={"html_bytes": 1000})

    assert (page.verdict, len(page.document.html)) == (RenderVerdict.PARTLY, 1000)


def test_a_policy_of_the_page_binds_the_page_and_not_our_script(render):
    headers = [*HTML, ("Content-Security-Policy", "default-src 'none'")]
    page = render("<p>text</p><script>document.title = 'ran'</script>", headers=headers)

    assert (page.verdict, page.document.title, page.document.text) == (
        RenderVerdict.RENDERED,
        "",
        "text",
    )


def test_a_page_of_its_hosts_other_site_is_not_taken_for_dead(render):
    """A navigation from http to https gives a page another process, and ends the one it had."""
    html = "<script>setTimeout(() => { document.title = 'late' }, 300)</script>"

    urls = "http://site.example/", "https://site.example/", "http://site.example/"
    assert [render(html, context="one", url=url).document.title for url in urls] == ["late"] * 3
