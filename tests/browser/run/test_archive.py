"""A stored page in a real browser: it is to be seen, and it can do nothing."""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path

import pytest
from playwright.sync_api import expect

from crawling.models import Page as Fetched
from crawling.runs.start import start_run
from crawling.uses.collections.changes import CollectionFields, add_members, create_collection
from crawling.uses.collections.share_links import create_link
from tests.browser.axe import violations
from tests.browser.house import make_crawl
from tests.browser.test_accessible import faults, open_as  # noqa: F401
from tests.crawling.conftest import do_shifts

HOME = """<title>Home</title><meta http-equiv="refresh" content="1;/spy"><link rel="stylesheet"
href="/spy.css"><style>@import "/spy"; h1 {background: url(/spy.png)}</style><h1 onclick="x()">As it
was</h1><a href="/stored">on</a><img src="/spy.png" alt="spy"><iframe src="/spy"></iframe>
<script>document.querySelector("h1").textContent = "changed"; fetch("/spy")</script>
<noscript><img src="/spy.gif"></noscript><form action="/spy"><input autofocus><button>send</button>
</form>"""
PLAIN = "<title>Plain</title><h1>Plain</h1>"


@pytest.fixture
def stored(request, make_web, make_site, user_of):
    """The site and the address of its stored home page."""
    make_web()
    site = make_site({"/": request.param}, address="127.0.0.3")
    crawl = make_crawl("Library", f"{site.url}/", by=user_of("operator"))
    do_shifts(start_run(crawl, by=user_of("operator")))
    return (
        site,
        f"/crawls/{crawl.pk}/pages/"
        f"{Fetched.objects.get(run__crawl=crawl, url__url=f'{site.url}/').pk}/",
    )


def look_at(stored, page):
    """Open the stored page and press its button: nothing leaves its frame."""
    site, address = stored
    asked = len(site.log)
    reached = []
    page.on("response", lambda response: reached.append(response.url))

    page.goto(address)
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="send").click()

    assert frame.get_by_role("heading").inner_text() == "As it was"
    assert len(site.log) == asked
    assert not [url for url in reached if "spy" in url]


@pytest.mark.parametrize("stored", [HOME], indirect=True)
def test_a_stored_page_is_seen_and_gives_the_browser_nothing_to_block(stored, operator, watch):
    look_at(stored, operator)

    assert watch.complaints == []


#: {a}: the server of its author
HOSTILE = """<!doctype html><title>Hostile</title><base href="{a}/base/">
<meta http-equiv="refresh" content="0;url={a}/refresh">
<meta http-equiv="Content-Security-Policy" content="default-src *">
<link rel="stylesheet" href="{a}/sheet.css"><link rel="preload" as="image" href="{a}/preload">
<link rel="prefetch" href="{a}/prefetch"><link rel="preconnect" href="{a}">
<link rel="dns-prefetch" href="{a}"><link rel="prerender" href="{a}/prerender">
<link rel="modulepreload" href="{a}/module.js"><link rel="icon" href="{a}/icon">
<link rel="manifest" href="{a}/manifest">
<script src="{a}/script.js"></script><script>top.location = "{a}/top"</script>
<script type="speculationrules">{{"prefetch":[{{"source":"list","urls":["{a}/rules"]}}]}}</script>
<style>@import "{a}/import.css"; @import url({a}/import2.css);
@font-face {{font-family: f; src: url({a}/font.woff2)}} h1 {{font-family: f}}
body {{background: u\\72l("{a}/escaped")}} h1::after {{content: url({a}/content)}}
p {{background: image-set("{a}/set.png" 1x)}} a:hover {{cursor: url({a}/cursor), auto}}</style>
<body onload="location='{a}/onload'" background="{a}/background">
<h1>As it was</h1><p style="background:url({a}/style)" onclick="location='{a}/click'">text</p>
<img src="{a}/image" srcset="{a}/srcset 1x" onerror="location='{a}/onerror'">
<picture><source srcset="{a}/source"><img src="{a}/picture"></picture>
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><image href='{a}/svg'/></svg>">
<svg><script>top.location = "{a}/svg-script"</script><image href="{a}/drawn" />
<a href="{a}/svg-link"><text y="20">svg link</text></a><rect mask="url({a}/mask#m)" width="9"
height="9" /><use href="{a}/use#u" /><foreignObject><iframe src="{a}/foreign"></iframe>
</foreignObject><a><set attributeName="href" to="{a}/set" /><text y="40">set link</text></a></svg>
<iframe src="{a}/frame"></iframe><iframe srcdoc="<img src={a}/srcdoc>"></iframe>
<object data="{a}/object"></object><embed src="{a}/embed"><applet code="{a}/applet"></applet>
<video src="{a}/video" poster="{a}/poster" autoplay></video><audio src="{a}/audio" autoplay></audio>
<form action="{a}/form" id="f"><input name="q" value="secret"><button>send</button></form>
<button form="f" formaction="{a}/formaction" formtarget="_top">send to the top</button>
<input type="image" src="{a}/input" alt="send an image">
<a href="javascript:top.location='{a}/javascript'">javascript link</a>
<a href="{a}/foreign" ping="{a}/ping" target="_top">foreign link</a>
<a href="data:text/html,<img src={a}/data>">data link</a>
<a href="{a}/download" download>download</a>
<map name="m"><area shape="default" href="{a}/area" target="_blank"></map>
<noscript><img src="{a}/noscript"><meta http-equiv="refresh" content="0;url={a}/late"></noscript>
<div><template shadowrootmode="open"><img src="{a}/shadow"></template></div>"""
TRIES = ("send", "send to the top", "javascript link", "foreign link", "data link", "download")


@pytest.fixture
def author(make_site):
    """The server of a hostile page's author, which the crawl does not fetch."""
    return make_site({"/": "none"}, address="127.0.0.4")


@pytest.fixture
def hostile(make_web, make_site, user_of, author):
    make_web()
    markup = HOSTILE.replace("{{", "{").replace("}}", "}").replace("{a}", author.url)
    site = make_site({"/": markup}, address="127.0.0.3")
    crawl = make_crawl("Hostile", f"{site.url}/", by=user_of("operator"))
    do_shifts(start_run(crawl, by=user_of("operator")))
    page = Fetched.objects.get(run__crawl=crawl, url__url=f"{site.url}/")
    return markup, site, f"/crawls/{crawl.pk}/pages/{page.pk}/"


def try_all(page, address):
    page.goto(address)
    frame = page.frame_locator("iframe#stored")
    expect(frame.get_by_role("heading", name="As it was")).to_be_visible()
    for words in TRIES:
        found = frame.get_by_text(words, exact=True)
        if found.count():
            found.first.click(force=True, no_wait_after=True)
    # the page is still ours, and so is what its frame shows
    expect(page.get_by_role("heading", name="As archived")).to_be_visible()
    assert page.url.endswith(address)


def test_a_hostile_page_asks_its_author_for_nothing(hostile, author, operator, watch):
    _, site, address = hostile
    asked = len(site.log)

    try_all(operator, address)

    assert (author.connections, len(site.log)) == ([], asked)
    # all that was left to complain of is the font that is not archived
    assert all("decode downloaded font: data:," in said for said in watch.complaints)
    watch.complaints.clear()


def test_the_policy_and_the_frame_alone_stop_a_hostile_page(hostile, author, operator, watch):
    """The same page as its author wrote it, with the headers of our answer."""
    markup, site, address = hostile
    asked = len(site.log)

    def as_written(route):
        answer = route.fetch()
        assert answer.status == 200
        early = ('rel="preconnect"', 'rel="dns-prefetch"')  # no policy stops these
        lines = (line for line in markup.splitlines() if not any(one in line for one in early))
        route.fulfill(response=answer, body="\n".join(lines))

    operator.route("**/content/*", as_written)
    try_all(operator, address)

    assert (author.log, len(site.log)) == ([], asked)
    assert watch.complaints != []
    watch.complaints.clear()


STYLED = """<title>Styled</title><link rel="stylesheet" href="/css/a.css"><h1>Styled</h1>
<img id="one" src="/i.png"><img id="two" srcset="/none.png 1x, /i.png 2x">
<a href="/b#part">to b</a> <a href="/nowhere">to nowhere</a>"""
PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
#: Chromium says this of the questions of this test in the frame
OF_THIS_TEST = "console: Blocked script execution"
FONT = Path("static/vendor/inter-5.3.0/inter-latin-wght-normal.woff2")


def css(text):
    return 200, {"Content-Type": "text/css"}, text


@pytest.fixture
def styled(make_web, make_site, user_of):
    make_web()
    site = make_site(
        {
            "/": STYLED,
            "/css/a.css": css('@import "b.css" screen; h1 { color: rgb(1, 2, 3) }'),
            "/css/b.css": css(
                "@import 'a.css'; @font-face { font-family: stored; src: url(/f) } h1 { "
                "font-family: stored; background-image: url(../i.png) }"
            ),
            "/i.png": (200, {"Content-Type": "image/png"}, PIXEL),
            "/f": (200, {"Content-Type": "font/woff2"}, FONT.read_bytes()),
            "/b": "<title>B</title><h1 id=part>Page B</h1><a href='/'>home</a>",
        },
        address="127.0.0.3",
    )
    crawl = make_crawl("Styled", f"{site.url}/", by=user_of("operator"), requisites=True)
    do_shifts(start_run(crawl, by=user_of("operator")))
    page = Fetched.objects.get(run__crawl=crawl, url__url=f"{site.url}/")
    return site, crawl, f"/crawls/{crawl.pk}/pages/{page.pk}/"


def test_a_stored_page_looks_as_it_did_and_its_links_lead_to_stored_pages(styled, browse, watch):
    site, _, address = styled
    asked = len(site.log)
    page = browse("viewer", address)
    frame = page.frame_locator("iframe#stored")

    heading = frame.get_by_role("heading", name="Styled")
    expect(heading).to_have_css("color", "rgb(1, 2, 3)")
    expect(heading).to_have_css("background-image", re.compile("^url..data:image/png"))
    assert frame.locator("body").evaluate("() => document.fonts.check('16px stored')")
    for name in ("#one", "#two"):
        assert frame.locator(name).evaluate("image => image.naturalWidth") == 1
    expect(page.locator("#shown")).to_contain_text(re.compile(r"4 archived;\s+1 not archived\."))
    nowhere = frame.get_by_text("to nowhere")
    expect(nowhere).to_have_attribute("title", "Not archived: /nowhere")

    frame.get_by_role("link", name="to b").click()
    expect(frame.get_by_role("heading", name="Page B")).to_be_visible()
    expect(page.locator("#shown a")).to_have_text("B")
    expect(page.locator("#shown")).to_contain_text("no styles, images or fonts of its own")
    frame.get_by_role("link", name="home").click()
    expect(heading).to_have_css("color", "rgb(1, 2, 3)")
    expect(page.locator("#shown a")).to_have_text("Styled")

    assert len(site.log) == asked
    assert all(complaint.startswith(OF_THIS_TEST) for complaint in watch.complaints)
    watch.complaints.clear()


def test_files_that_a_run_lacks_come_from_the_run_nearest_in_time(styled, browse):
    site, crawl, _ = styled
    del site.pages["/css/a.css"]
    do_shifts(start_run(crawl))
    page = Fetched.objects.get(run__crawl=crawl, run__number=2, url__url=f"{site.url}/")

    shown = browse("viewer", f"/crawls/{crawl.pk}/pages/{page.pk}/")

    heading = shown.frame_locator("iframe#stored").get_by_role("heading", name="Styled")
    expect(heading).to_have_css("color", "rgb(1, 2, 3)")
    expect(shown.locator("#shown")).to_contain_text("from other runs, nearest in time")


#: axe-core would look into the frame as well, which lets nothing in; Chromium says so in one way or
#: the other
AXE_IN_THE_FRAME = ("console: Blocked script execution", "console: Failed to execute 'postMessage'")


@pytest.mark.parametrize("stored", [PLAIN], indirect=True)
def test_its_pages_are_accessible(stored, open_as, watch):  # noqa: F811
    _, address = stored
    crawl = address.split("/pages/")[0]

    found = [
        fault
        for one in (address, f"{crawl}/archive/", f"{crawl}/pages/")
        for fault in faults(open_as("operator"), one)
    ]
    assert not found, "\n".join(found)
    assert all(complaint.startswith(AXE_IN_THE_FRAME) for complaint in watch.complaints)
    watch.complaints.clear()


def test_a_visitor_of_a_shared_collection_follows_links_in_a_stored_page(styled, browse, watch):
    site, crawl, _ = styled
    collection = create_collection(CollectionFields("Town library"), by=None)
    add_members(collection, crawls=[crawl.pk], by=None)
    _, token = create_link(collection, days=7, by=None)
    asked = len(site.log)
    page = browse("viewer", f"/shared/collections/{token}/")
    assert violations(page) == []

    page.get_by_role("link", name="Styled").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Styled")
    assert violations(page) == []
    page.get_by_role("table").get_by_role("link", name="Styled").click()
    frame = page.frame_locator("iframe.stored")
    expect(frame.get_by_role("heading", name="Styled")).to_have_css("color", "rgb(1, 2, 3)")
    assert violations(page) == []
    frame.get_by_role("link", name="to b").click()
    expect(frame.get_by_role("heading", name="Page B")).to_be_visible()

    assert len(site.log) == asked
    # of this test, and of axe-core, which calls into the frame and is not let in
    told = (OF_THIS_TEST, "console: Failed to execute 'postMessage'")
    assert all(complaint.startswith(told) for complaint in watch.complaints)
    watch.complaints.clear()
