"""The replay in a browser: pages with their styles and images out of the archive alone, and
scripts on its origin that can do nothing to the dashboard.
"""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Error, expect

from crawling.models import AllowedNetwork, Page
from crawling.runs.start import start_run
from crawling.uses.exports.wacz.origins import LOCAL_SITE
from crawlsite.models import Preference
from tests.browser.conftest import PATIENCE_MS, session_of
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts
from tests.crawling.uses.exports.wacz.test_wacz_file import made

pytestmark = pytest.mark.drill

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
HOME = """<title>Home</title><link rel=stylesheet href="/a.css"><h1>Kept</h1>
<img id=here src="/i.png"><img src="{elsewhere}/asked.png"><a href="/b">to b</a>
<script>new Image().src = "{elsewhere}/script"; document.title = "Ran"</script>"""
#: a form that is sent is answered within this
GRACE_MS = 1000
#: what a script of an archived page may try that has freed itself of the player's rewriting
POST = """async look => (await fetch(look, {method: "POST", mode: "no-cors",
  credentials: "include", body: new URLSearchParams({theme: "dark"})})).status"""
READ = """async crawls => (await fetch(crawls, {credentials: "include"})).text()"""
SUBMIT = """look => { const form = document.createElement("form"); form.method = "post";
  form.action = look; form.innerHTML = "<input name=theme value=dark>";
  document.body.append(form); form.submit(); }"""


@pytest.fixture
def sites(make_site):
    """A site, and another that its page refers to."""
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    elsewhere = make_site({}, address="127.0.0.2")
    pages = {
        "/": HOME.replace("{elsewhere}", elsewhere.url),
        "/a.css": (200, {"Content-Type": "text/css"}, "h1 { color: rgb(1, 2, 3) }"),
        "/i.png": (200, {"Content-Type": "image/png"}, PIXEL),
        "/b": "<title>B</title><h1>Page B</h1>",
    }
    return make_site(pages), elsewhere


def stored_page(page):
    """In the player's frame, which is in that of our page."""
    return page.frame_locator("iframe").frame_locator("iframe")


@pytest.fixture
def run(pool, sites):
    crawl = make_crawl("Replayed", f"{sites[0].url}/", requisites=True)
    run = do_shifts(start_run(crawl))
    made(run)
    return run


@pytest.fixture
def open_player(chromium, live_server, user_of, sites, run):
    """Return a function that opens the home page's replay from the dashboard, as an operator."""
    contexts = []

    def player(dashboard=live_server.url, **options):
        context = chromium.new_context(base_url=dashboard, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies([session_of(user_of("operator"), dashboard)])
        page, home = context.new_page(), Page.objects.get(url__url=f"{sites[0].url}/")
        page.goto(reverse("crawling:replay", args=[run.crawl_id]) + f"?page={home.pk}")
        expect(stored_page(page).get_by_role("heading")).to_have_text("Kept")
        return page

    yield player
    for context in contexts:
        context.close()


def test_a_stored_page_has_its_styles_and_images_and_asks_the_web_for_nothing(
    replay_port, sites, open_player
):
    asked = [site.paths for site in sites]
    page = open_player()
    shown = stored_page(page)

    expect(shown.get_by_role("heading", name="Kept")).to_have_css("color", "rgb(1, 2, 3)")
    expect(shown.locator("#here")).to_have_js_property("naturalWidth", 1)
    assert shown.locator("h1").evaluate("() => document.title") == "Ran"
    shown.get_by_role("link", name="to b").click()
    expect(shown.get_by_role("heading", name="Page B")).to_be_visible()

    assert [site.paths for site in sites] == asked


@pytest.mark.parametrize("policy", ["obeyed", "ignored"])
@pytest.mark.parametrize("host", ["another", "the dashboard's"])
def test_a_script_there_can_do_nothing_to_the_dashboard(
    settings, replay_port, live_server, open_player, user_of, policy, host
):
    """Neither where browsers send the dashboard's cookies along, since the host is the same, nor
    where they do not obey the policy of the replay.
    """
    dashboard = live_server.url
    if host == "the dashboard's":
        settings.ALLOWED_HOSTS = [LOCAL_SITE]
        settings.REPLAY_URL = f"http://{LOCAL_SITE}:{replay_port}"
        dashboard = f"http://{LOCAL_SITE}:{urlsplit(live_server.url).port}"
    page = open_player(dashboard, bypass_csp=policy == "ignored")
    player, answers = page.frames[1], []
    assert urlsplit(player.url).hostname.endswith(f".{LOCAL_SITE}")
    page.context.on("response", lambda answer: answers.append((answer.url, answer.status)))
    look = f"{dashboard}/account/look/"

    # by the policy of the player's service worker, through which each request goes
    for script, address in ((POST, look), (READ, f"{dashboard}/api/v1/crawls")):
        with pytest.raises(Error, match="Failed to fetch"):
            player.evaluate(script, address)
    player.evaluate(SUBMIT, look)
    page.wait_for_timeout(GRACE_MS)

    tried = (look, f"{dashboard}/api/")
    allowed = {403} if policy == "ignored" else set()
    assert {status for url, status in answers if url.startswith(tried)} <= allowed
    assert not Preference.objects.filter(user=user_of("operator"), theme="dark").exists()
