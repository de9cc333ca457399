"""The replay in a browser: pages with their styles and images out of the archive alone, and
scripts on its origin that can do nothing to the dashboard.
"""

from __future__ import annotations

import shlex
import subprocess
from base64 import b64decode
from string import Template
from urllib.parse import urlsplit

import pytest
from django.conf import settings as project
from django.urls import reverse
from playwright.sync_api import Error, expect

from crawling.crawls.creation import start_run
from crawling.models import AllowedNetwork, Page
from crawlsite.env import BASE_DIR
from crawlsite.models import Preference
from tests.browser.conftest import PATIENCE_MS, session_of
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts
from tests.crawling.wacz.test_wacz_file import made
from tests.crawlsite.programs import free_port
from tests.stack import running_stack, wait_until

pytestmark = pytest.mark.drill

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
HOME = """<title>Home</title><link rel=stylesheet href="/a.css"><h1>Kept</h1>
<img id=here src="/i.png"><img src="{elsewhere}/asked.png"><a href="/b">to b</a>
<script>new Image().src = "{elsewhere}/script"; document.title = "Ran"</script>"""
#: what a script of an archived page may try that has freed itself of the player's rewriting
POST = """async look => (await fetch(look, {method: "POST", mode: "no-cors",
  credentials: "include", body: new URLSearchParams({theme: "dark"})})).status"""
READ = """async crawls => (await fetch(crawls, {credentials: "include"})).text()"""
SUBMIT = """look => { const form = document.createElement("form"); form.method = "post";
  form.action = look; form.innerHTML = "<input name=theme value=dark>";
  document.body.append(form); form.submit(); }"""
#: what the policy forbids next
FORBIDDEN = """() => { window.forbidden = new Promise(tell => document.addEventListener(
  "securitypolicyviolation", event => tell(event.effectiveDirective))); }"""


@pytest.fixture
def port(settings, tmp_path, transactional_db):
    """Of the server of the replay, started as the Procfile says."""
    assert (project.REPLAY_DIR / "sw.js").is_file(), "`make drill` installs ReplayWeb.page"
    settings.REPLAY_PORT = free_port()
    line = (BASE_DIR / "Procfile").read_text().partition("\nreplay: ")[2].partition("\n")[0]
    words = {"HOST": "127.0.0.1", "REPLAY_PORT": str(settings.REPLAY_PORT), "WEB_THREADS": "4"}
    command, log = shlex.split(Template(line).substitute(words)), tmp_path / "replay.log"
    with running_stack(tmp_path) as stack, log.open("wb") as printed:
        # gunicorn stands beside the interpreter, which is not always first in PATH
        command = [str(BASE_DIR / ".venv/bin" / command[0]), *command[1:]]
        with subprocess.Popen(
            command, cwd=BASE_DIR, env=stack.env, stdout=printed, stderr=printed
        ) as server:
            wait_until(lambda: b"Listening at" in log.read_bytes())
            yield settings.REPLAY_PORT
            server.terminate()
    assert server.returncode == 0


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

    def player(**options):
        context = chromium.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies([session_of(user_of("operator"), live_server.url)])
        page, home = context.new_page(), Page.objects.get(url__url=f"{sites[0].url}/")
        page.goto(reverse("crawling:replay", args=[run.crawl_id]) + f"?page={home.pk}")
        expect(page.frame_locator("iframe").get_by_role("heading")).to_have_text("Kept")
        return page

    yield player
    for context in contexts:
        context.close()


def test_a_stored_page_has_its_styles_and_images_and_asks_the_web_for_nothing(
    port, sites, open_player
):
    asked = [site.paths for site in sites]
    page = open_player()
    shown = page.frame_locator("iframe")

    expect(shown.get_by_role("heading", name="Kept")).to_have_css("color", "rgb(1, 2, 3)")
    assert shown.locator("#here").evaluate("image => image.naturalWidth") == 1
    assert shown.locator("h1").evaluate("() => document.title") == "Ran"
    shown.get_by_role("link", name="to b").click()
    expect(shown.get_by_role("heading", name="Page B")).to_be_visible()

    assert [site.paths for site in sites] == asked


@pytest.mark.parametrize("policy", ["obeyed", "ignored"])
@pytest.mark.parametrize("host", ["another", "the dashboard's"])
def test_a_script_there_can_do_nothing_to_the_dashboard(
    settings, port, live_server, open_player, user_of, policy, host
):
    """Neither where browsers send the dashboard's cookies along, since the host is the same, nor
    where they do not obey the policy of the replay.
    """
    dashboard = urlsplit(live_server.url)
    if host == "the dashboard's":
        settings.REPLAY_URL = f"http://{dashboard.hostname}:{port}"
    page = open_player(bypass_csp=policy == "ignored")
    assert (urlsplit(page.url).hostname == dashboard.hostname) == (host == "the dashboard's")
    answers = []
    page.context.on("response", lambda answer: answers.append((answer.url, answer.status)))
    look = f"{live_server.url}/account/look/"

    # by the policy of the player's service worker, through which each request goes
    for script, address in ((POST, look), (READ, f"{live_server.url}/api/v1/crawls")):
        with pytest.raises(Error, match="Failed to fetch"):
            page.evaluate(script, address)
    page.evaluate(FORBIDDEN)
    page.evaluate(SUBMIT, look)
    if policy == "ignored":
        page.wait_for_url(look)
    else:
        assert page.evaluate("window.forbidden") == "form-action"

    refused = [(look, 403)] if policy == "ignored" else []
    tried = (look, f"{live_server.url}/api/")
    assert [answer for answer in answers if answer[0].startswith(tried)] == refused
    assert not Preference.objects.filter(user=user_of("operator"), theme="dark").exists()
