"""Crawls whose pages a real browser renders, from a real site on loopback."""

import json
from base64 import b64decode
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from warcio.archiveiterator import ArchiveIterator

from crawling.dashboard.inspect.url_decision import decisions_about
from crawling.datasets.seen_text import seen_text
from crawling.datasets.stored_documents import stored_document
from crawling.fetching.pipeline import conclusion
from crawling.fetching.pipeline.browser_budget import BrowserBudget
from crawling.fetching.pipeline.page_browser import MIB
from crawling.fetching.shift import browser as shift_browser
from crawling.frontier import counts_of
from crawling.frontier.run_limits import reached_limit
from crawling.models import ArchiveFile, CrawlJob, Host, Page
from crawling.orders.rendering import Rendering
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from crawling.web.rendering.process import BrowserProcess
from crawling.web.statuses import FetchStatus
from tests.crawling.pages import browser
from tests.servers import serve_site
from tests.stack import wait_until
from tests.webs.rendered.hostile import hostile_web

SHELL = """<!doctype html><title>Shop</title><div id=app></div><script src=/app.js></script>"""
SCRIPT = """
fetch("/items.json").then(answer => answer.json()).then(items => {
  document.title = "Shop of " + items.length;
  for (const item of items) {
    const link = document.createElement("a");
    link.href = item.path; link.textContent = item.name;
    document.getElementById("app").append(link, " is a very good thing that you want to have. ");
  }
});
"""
NO_SCRIPT = "User-agent: *\nDisallow: /app.js"
CORS = {"Content-Type": "text/plain", "Access-Control-Allow-Origin": "*"}
ITEMS = [{"path": f"/item-{n}", "name": f"Item {n}"} for n in range(3)]
PLAIN = "<title>Item</title><p>" + "A long description of the item that needs no script. " * 20


def script(text):
    return 200, {"Content-Type": "text/javascript"}, text


pytestmark = pytest.mark.usefixtures("needs_browser", "browsers")


class LastingBrowser(BrowserProcess):
    """A browser that no shift ends."""

    def end(self) -> None:
        pass


@pytest.fixture(scope="module")
def lasting_browser(needs_browser):
    browser = LastingBrowser(memory_bytes=512 * MIB)
    yield browser
    BrowserProcess.end(browser)


@pytest.fixture
def crawl_in_one_browser(lasting_browser, crawl_to_the_end, monkeypatch):
    """As `crawl_to_the_end`, by a browser that is started once for the module: the start takes
    longer than most of these crawls.
    """
    monkeypatch.setattr(shift_browser, "BrowserProcess", lambda **_: lasting_browser)
    return crawl_to_the_end


@pytest.fixture
def shop():
    pages = {
        "/": SHELL,
        "/app.js": (200, {"Content-Type": "text/javascript"}, SCRIPT),
        "/items.json": (200, {"Content-Type": "application/json"}, json.dumps(ITEMS)),
        **{item["path"]: PLAIN for item in ITEMS},
    }
    with serve_site(pages) as site:
        yield site


def test_links_that_scripts_make_are_followed(shop, crawl_to_the_end):
    run = crawl_to_the_end(shop.url, render="when_needed")

    pages = {page.url.url: page for page in Page.objects.filter(run=run).select_related("url")}
    assert {url.removeprefix(shop.url) for url in pages} == {"/", "/item-0", "/item-1", "/item-2"}
    home = pages.pop(f"{shop.url}/")
    assert home.rendering == Rendering.MOUNT
    assert home.title == "Shop of 3"
    assert {page.rendering for page in pages.values()} == {Rendering.NOT_NEEDED}


def records_of(run):
    """The types and addresses of the records in the run's WARC files."""
    found = []
    for file in ArchiveFile.objects.filter(run=run):
        with file.path.open("rb") as stream:
            found += [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
                for record in ArchiveIterator(stream)
            ]
    return found


def test_files_pictures_and_the_rendered_page_are_archived(shop, crawl_in_one_browser):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    records = records_of(run)
    for path in ("/", "/app.js", "/items.json"):
        assert ("response", f"{shop.url}{path}") in records
        assert ("request", f"{shop.url}{path}") in records
    for kind in ("dom", "text", "view", "thumbnail"):
        assert ("resource", f"urn:{kind}:{shop.url}/") in records


def test_the_bytes_of_loaded_files_count_as_received_and_towards_the_limit_of_bytes(
    shop, crawl_in_one_browser
):
    shop.pages["/app.js"] = script(SCRIPT + "//" + "x" * 200_000)
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)
    limited = crawl_in_one_browser(shop.url, render="always", max_bytes=100_000, name="Limited")

    loaded = sum(len(shop.pages[path][2]) for path in ("/app.js", "/items.json"))
    received = counts_of([run.pk])[run.pk].bytes
    assert len(SHELL) + loaded <= received <= len(SHELL) + loaded + 1000
    assert reached_limit(limited).field == "max_bytes"
    assert counts_of([limited.pk])[limited.pk].queued


def test_a_page_is_fetched_once_and_its_files_once_a_shift(shop, crawl_in_one_browser):
    shop.pages["/item-0"] = SHELL
    crawl_in_one_browser(shop.url, render="when_needed")

    assert sorted(shop.paths) == sorted({*shop.paths})


def test_pages_of_one_shell_are_compared_by_what_scripts_made_of_them(shop, crawl_in_one_browser):
    shop.pages["/app.js"] = script(
        'document.getElementById("app").textContent = location.pathname == "/a" ? "One" : "Two"'
    )
    shop.pages |= dict.fromkeys(("/a", "/b", "/c"), SHELL)
    seeds = [f"{shop.url}/{name}" for name in "abc"]
    run = crawl_in_one_browser(*seeds, render="always", skip_copies=True)

    first, second, third = Page.objects.filter(run=run).order_by("url__url")
    assert first.duplicate_of is second.duplicate_of is None
    assert third.duplicate_of == second.pk
    assert first.payload_sha256 == second.payload_sha256 != first.digest


def test_a_file_that_the_run_has_fetched_comes_from_its_archive(shop, crawl_in_one_browser):
    shop.pages["/"] = f'{PLAIN}<script src="/app.js"></script><a href="/between">x</a>'
    shop.pages["/between"] = f'{PLAIN}<a href="/shop">x</a>'
    shop.pages["/shop"] = SHELL
    run = crawl_in_one_browser(
        shop.url, render="when_needed", requisites=True, order="breadth_first", batch_size=1
    )

    assert Page.objects.get(run=run, url__url=f"{shop.url}/shop").title == "Shop of 3"
    assert shop.paths.count("/app.js") == 1


def test_robots_txt_holds_for_files_unless_the_order_says_otherwise(shop, crawl_in_one_browser):
    shop.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, NO_SCRIPT)

    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)
    assert "/app.js" not in shop.paths
    assert Page.objects.get(run=run).title == "Shop"

    run = crawl_in_one_browser(
        shop.url, render="always", max_pages=1, name="another", render_obeys_robots=False
    )
    assert "/app.js" in shop.paths
    assert Page.objects.get(run=run).title == "Shop of 3"


def test_what_the_order_excludes_is_no_file_of_a_page(shop, crawl_in_one_browser):
    crawl_in_one_browser(shop.url, render="always", max_pages=1, exclude=["items[.]json"])

    assert "/app.js" in shop.paths
    assert "/items.json" not in shop.paths


def test_a_script_posts_with_its_own_type_and_headers(shop, crawl_in_one_browser):
    shop.pages["/app.js"] = script(
        'fetch("/api", {method: "POST", body: "<a/>", headers: {"content-type": "text/xml", '
        '"x-token": "t"}}).then(answer => answer.text()).then(text => document.title = text)'
    )
    shop.pages["/api"] = (200, {"Content-Type": "text/plain"}, "posted")
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    (asked,) = [request for request in shop.log if request.path == "/api"]
    assert (asked.method, asked.body) == ("POST", b"<a/>")
    assert asked.headers["Content-Type"] == "text/xml"
    assert asked.headers["X-Token"] == "t"
    assert asked.user_agent == shop.log[0].user_agent
    assert Page.objects.get(run=run).title == "posted"


def cookies_of(site, path):
    """The cookies of each request for a path, by name."""
    asked = [request.headers.get("Cookie", "") for request in site.log if request.path == path]
    return [dict(pair.split("=") for pair in filter(None, sent.split("; "))) for sent in asked]


def test_a_page_sends_its_own_cookies_and_no_other_page_has_them(shop, crawl_in_one_browser):
    page = '<title>x</title><script>document.cookie = "of={}"; fetch("/api").then(() => 0)</script>'
    shop.pages["/"] = page.format("home") + '<a href="/item-0">x</a>'
    shop.pages["/item-0"] = page.format("item")
    shop.pages["/api"] = lambda _request: (200, {"Set-Cookie": "seen=1"}, "x")
    crawl_in_one_browser(shop.url, render="always")

    assert cookies_of(shop, "/api") == [{"of": "home"}, {"of": "item"}]
    assert cookies_of(shop, "/item-0") == [{}]


def test_a_script_replaces_no_cookie_of_the_crawl(shop, crawl_in_one_browser):
    shop.pages["/"] = (
        200,
        {"Set-Cookie": "login=crawl; Path=/", "Content-Type": "text/html"},
        '<title>x</title><script>document.cookie = "login=script; path=/";'
        'document.cookie = "own=1"; fetch("/api")</script>',
    )
    shop.pages["/api"] = "x"
    crawl_in_one_browser(shop.url, render="always", max_pages=1, cookies=True)

    assert cookies_of(shop, "/api") == [{"login": "crawl", "own": "1"}]


def test_cookies_of_a_page_go_to_no_other_host(shop, crawl_in_one_browser):
    with serve_site({"/data": (200, CORS, "far")}, address="127.0.0.2") as other:
        shop.pages["/app.js"] = script(
            'document.cookie = "own=1"; '
            f'fetch("{other.url}/data", {{credentials: "include"}}).catch(() => 0); fetch("/api")'
        )
        shop.pages["/api"] = "x"
        crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert cookies_of(shop, "/api") == [{"own": "1"}]
    assert cookies_of(other, "/data") == [{}]


def test_routes_by_fragment_are_pages_of_their_own(shop, crawl_in_one_browser):
    shop.pages["/"] = """<title>x</title><nav><a href="#/one">one</a> <a href="#!two">two</a>
      <a href="#place">place</a> <a href="#/here">here</a></nav><p id="/here">here<p id=app>
      <script>document.getElementById("app").textContent = "shown at " + location.hash</script>"""
    run = crawl_in_one_browser(shop.url, render="always")

    pages = {page.url.url: page for page in Page.objects.filter(run=run).select_related("url")}
    texts = {url.removeprefix(shop.url): seen_text(page).text for url, page in pages.items()}
    assert sorted(texts) == ["/", "/#!two", "/#/one"]
    assert "shown at #/one" in texts["/#/one"]
    records = records_of(run)
    assert ("resource", f"urn:dom:{shop.url}/#/one") in records
    servers = {url for kind, url in records if kind in ("response", "revisit", "request")}
    assert servers == {f"{shop.url}/", f"{shop.url}/robots.txt"}
    assert set(shop.paths) == {"/"}
    route, _ = decisions_about(f"{shop.url}/#/one")
    document, _ = decisions_about(f"{shop.url}/#/unknown")
    assert (route, document) == (f"{shop.url}/#/one", f"{shop.url}/")


def test_a_plain_crawl_knows_no_routes_by_fragment(shop, crawl_in_one_browser):
    shop.pages["/"] = '<title>x</title><a href="#/one">one</a>'
    run = crawl_in_one_browser(shop.url)

    assert [page.url.url for page in Page.objects.filter(run=run)] == [f"{shop.url}/"]


#: labels of buttons by language: the first shows more, the others have consequences, and the last
#: of these look like the first
BUTTONS = {
    "en": "Load more | Log out | Buy now | Delete | Subscribe | Show more or log out | "
    "Load more and buy | View all and delete | Subscribe to see more",
    "de": "Mehr anzeigen | Abmelden | Jetzt kaufen | Löschen | Abonnieren | "
    "Mehr anzeigen und abmelden | Mehr laden und kaufen | Weitere laden, alle löschen | "
    "Abonnieren und mehr anzeigen | Mehr anzeigen und in den Warenkorb",
    "fr": "Voir plus | Se déconnecter | Acheter | Supprimer | S’abonner | "
    "Voir plus et se déconnecter | Voir plus et acheter | Afficher plus et supprimer | "
    "S’abonner pour voir plus | Commander et voir plus",
    "es": "Ver más | Cerrar sesión | Comprar ahora | Eliminar | Suscribirse | "
    "Ver más y cerrar sesión | Ver más y comprar | Mostrar más y eliminar | "
    "Suscribirse para ver más | Ver más o borrar",
}
BUTTON = (
    "<button onclick=\"fetch('{path}', {{method: 'POST'}}).then(() => hit({n}))\">{label}</button>"
)


def test_only_buttons_that_show_more_are_clicked(shop, crawl_in_one_browser):
    for language, words in BUTTONS.items():
        labels = words.split(" | ")
        buttons = "".join(
            BUTTON.format(path=f"/hit/{language}/{n}", n=n, label=label)
            for n, label in enumerate(labels)
        )
        shop.pages[f"/{language}"] = f"""<title>x</title>{buttons}
            <button title="Delete" onclick="fetch('/hit/{language}/title')">{labels[0]}</button>
            <form action="/hit/{language}/form"><button>{labels[0]}</button><input></form>
            <a href="/hit/{language}/link">{labels[1]}</a>
            <script>const hit = (n) => document.body.append("shown by " + n + " ")</script>"""
    shop.pages["/"] = "".join(f'<a href="/{language}">x</a>' for language in BUTTONS)
    run = crawl_in_one_browser(shop.url, render="always", exclude=["/hit/.*/link"])

    hits = {path for path in shop.paths if path.startswith("/hit/")}
    assert hits == {f"/hit/{language}/0" for language in BUTTONS}
    for page in Page.objects.filter(run=run).exclude(url__url=f"{shop.url}/"):
        assert "shown by 0" in seen_text(page).text


def test_a_script_leads_the_window_to_no_other_host(shop, crawl_in_one_browser):
    with serve_site({"/": "elsewhere"}, address="127.0.0.2") as other:
        shop.pages["/app.js"] = script(f'location.href = "{other.url}/"')
        crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert not other.log


def test_files_of_another_host_come_from_allowed_addresses_only(shop, crawl_in_one_browser):
    with serve_site({"/data": (200, CORS, "far")}, address="127.0.0.2") as other:
        shop.pages["/app.js"] = script(
            f'fetch("{other.url}/data").then(answer => answer.text()).then('
            "text => document.title = text);"
            'fetch("http://169.254.169.254/latest/").catch(() => 0)'
        )
        run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert Page.objects.get(run=run).title == "far"
    assert [request.path for request in other.log if request.path != "/robots.txt"] == ["/data"]


def test_a_page_reaches_no_address_inside(crawl_in_one_browser, loopback):
    """Loopback, link-local and local addresses, in every way that scripts have."""
    loopback.network = "127.0.8.1/32"
    loopback.save()
    with hostile_web() as web:
        run = crawl_in_one_browser(web.url("inside"), render="always", max_pages=1)

        assert web.canary.log == []
        assert web.canary.connections == []
        assert "/canary.js" in web.site.paths
    assert Page.objects.get(run=run).rendering == Rendering.ALWAYS


def test_a_host_rests_after_a_page_as_after_a_fetch(shop, crawl_in_one_browser):
    shop.pages["/item-0"] = SHELL
    crawl_in_one_browser(shop.url, render="always", max_pages=2, delay_seconds=0.7)

    asked = [request.at for request in shop.log if request.path.startswith("/item-")]
    before = max(request.at for request in shop.log if request.at < asked[0])
    assert asked[0] - before >= 0.7


def test_pages_beyond_the_limit_are_read_as_they_are(shop, crawl_in_one_browser):
    for path in ("/item-0", "/item-1", "/item-2"):
        shop.pages[path] = SHELL
    run = crawl_in_one_browser(shop.url, render="always", render_pages=2)

    counts = Counter(Page.objects.filter(run=run).values_list("rendering", flat=True))
    assert counts == {Rendering.ALWAYS: 2, Rendering.LIMIT: 2}


def test_a_page_that_takes_too_long_is_read_as_it_was_sent(shop, crawl_in_one_browser):
    shop.pages["/app.js"] = script("while (true);")
    run = crawl_in_one_browser(shop.url, render="always", render_seconds=2)

    page = Page.objects.get(run=run)
    assert page.rendering == FetchStatus.RENDER_TIMED_OUT
    assert page.status == 200
    assert page.title == "Shop"


def test_a_withdrawal_removes_what_the_browser_made_of_the_page(shop, crawl_in_one_browser):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=2)
    asked = {"kind": "page", "text": f"{shop.url}/", "reason": "asked for", "by": None}
    remove_records(withdraw_pages(run.crawl, run, **asked, at_once=True).pk)

    left = {url for _, url in records_of(run) if url}
    assert not any(url.endswith(f"{shop.url}/") for url in left)
    assert any(url.startswith("urn:view:") for url in left)


def test_what_is_read_of_a_stored_page_is_what_the_browser_made(
    shop, crawl_in_one_browser, admin_client
):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)
    page = Page.objects.get(run=run)

    with stored_document(run, page) as source:
        assert b"Item 2" in source.body.read()
    assert "Item 2" in seen_text(page).text
    assert page.rendition["requests"] == 2
    at = f"/crawls/{run.crawl_id}/pages/{page.pk}"
    assert b"Item 2" in admin_client.get(f"{at}/content/").content
    assert "2 files" in admin_client.get(f"{at}/").content.decode()
    for kind in ("view", "thumbnail"):
        picture = admin_client.get(f"{at}/picture/{kind}/")
        assert picture["Content-Type"] == "image/jpeg"
        assert picture.content.startswith(b"\xff\xd8")
    assert admin_client.get(f"{at}/picture/dom/").status_code == 404


def test_viewers_see_a_page_while_it_is_rendered(shop, crawl_in_one_browser):
    answers = []

    def look(*_):
        """Answer once the page that asks is seen, as its viewer and a program see it."""
        try:
            viewer, crawl = browser("viewer"), CrawlJob.objects.get()
            viewer.defaults["HTTP_HOST"] = "localhost"  # that of tests is this thread's only
            at = f"/crawls/{crawl.pk}/live-view/"
            wait_until(lambda: "data:image/jpeg" in viewer.get(at).content.decode())
            answers.append(viewer.get(f"/api/v1{at}".rstrip("/")).json())
        finally:
            connection.close()
        return 200, {"Content-Type": "application/json"}, "[]"

    shop.pages["/items.json"] = look
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    ((seen,), why_none) = answers[0].values()
    assert seen["url"] == f"{shop.url}/"
    assert b64decode(seen["picture"]).startswith(b"\xff\xd8")
    assert why_none == ""
    over = browser("operator").get(f"/crawls/{run.crawl_id}/live-view/").content.decode()
    assert "Run 1 has ended, so no browser works for it." in over


def test_pages_of_other_origins_act_without_the_secrets_of_a_host(shop, crawl_in_one_browser):
    asked = """<title>x</title><script>
      fetch("{0}/data", {{credentials: "include"}});
      fetch("{0}/form", {{method: "POST", mode: "no-cors"}});
      </script><script src="{0}/jsonp"></script>"""
    frame = "<iframe src={}/frame referrerpolicy=no-referrer></iframe>"
    paths = ("/data", "/form", "/jsonp")
    with serve_site({}, address="127.0.0.2") as other:
        other.pages |= {"/": asked.format(shop.url), "/frame": asked.format(shop.url)}
        shop.pages |= dict.fromkeys(paths, (200, CORS, "x"))
        own = asked.format(shop.url) + frame.format(other.url)
        cookie = {"Set-Cookie": "login=crawl; HttpOnly", "Content-Type": "text/html"}
        shop.pages["/"] = (200, cookie, own)
        crawl_in_one_browser(f"{shop.url}/", render="always", max_pages=1, cookies=True)
        of_own = [cookies_of(shop, path) for path in paths]
        shop.log.clear()
        shop.pages["/"] = (200, cookie, PLAIN)
        crawl_in_one_browser(
            f"{shop.url}/", f"{other.url}/", name="both", render="always", cookies=True
        )

    assert all({"login": "crawl"} in sent and {} in sent for sent in of_own), of_own
    assert [cookies_of(shop, path) for path in paths] == [[{}]] * 3


def test_no_answer_to_a_script_is_given_to_another(shop, crawl_in_one_browser):
    shop.pages["/"] = (
        '<title>x</title><a href="/item-0">x</a><script>fetch("/mine", {headers: {Authorization: '
        '"Bearer t"}}).then(() => fetch("/mine"))</script>'
    )
    shop.pages["/item-0"] = '<title>x</title><script>fetch("/mine")</script>'
    shop.pages["/mine"] = "x"
    crawl_in_one_browser(shop.url, render="always")

    sent = [request.headers.get("Authorization") for request in shop.log if request.path == "/mine"]
    assert sent == ["Bearer t", None]


def test_a_page_whose_scripts_lead_elsewhere_keeps_its_content(shop, crawl_in_one_browser):
    with serve_site({"/login": "elsewhere"}, address="127.0.0.2") as other:
        shop.pages["/"] = (
            f"<title>Kept</title><p>content<script>location = '{other.url}/login'</script>"
        )
        seeds = f"{shop.url}/", f"{other.url}/unknown"
        run = crawl_in_one_browser(
            *seeds, render="always", scope="anywhere", max_hosts=2, host_max_pages=4
        )

    pages = {page.url.url: page for page in Page.objects.filter(run=run).select_related("url")}
    home = pages[f"{shop.url}/"]
    assert (home.title, seen_text(home).text.split()) == ("Kept", ["Kept", "content"])
    assert not home.rendition["has_faults"]
    assert f"{other.url}/login" in pages


def test_a_host_that_has_too_much_to_do_gets_no_further_request_of_a_page(
    shop, crawl_in_one_browser
):
    many = "".join(f'<img src="/busy?{number}">' for number in range(40))
    shop.pages["/"] = f"<title>x</title>{many}"
    for number in range(40):
        shop.pages[f"/busy?{number}"] = (429, {"Retry-After": "1"}, "")
    crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert 1 <= len([path for path in shop.paths if path.startswith("/busy")]) <= 8


def test_a_host_of_files_that_has_too_much_to_do_rests_for_all_pages_and_crawls(
    shop, crawl_in_one_browser
):
    with serve_site({"/one": (429, {"Retry-After": "600"}, "")}, address="127.0.0.2") as other:
        asks = f'<title>x</title><img src="{other.url}/one">'
        shop.pages |= {"/": f'{asks}<a href="/item-0">x</a>', "/item-0": asks}
        host = Host.objects.create(name=other.url.partition("://")[2])
        crawl_in_one_browser(shop.url, render="always")

    assert shop.paths.count("/item-0") == 1
    assert other.paths.count("/one") == 1
    host.refresh_from_db()
    assert host.due_at > datetime.now(UTC) + timedelta(seconds=300)


def test_a_page_for_which_no_browser_came_free_is_tried_again(
    shop, crawl_in_one_browser, monkeypatch
):
    answers = [False, True]
    monkeypatch.setattr(BrowserBudget, "take", lambda *_: answers.pop(0) if answers else True)
    monkeypatch.setattr(BrowserBudget, "give_back", lambda _: None)
    monkeypatch.setattr(conclusion, "retry_seconds_after", lambda *_: 0.0)
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert Page.objects.get(run=run).title == "Shop of 3"
    assert shop.paths.count("/") == 2
