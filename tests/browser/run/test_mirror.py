"""A mirror in a browser, from a disk: with its styles and images, and without a request to the
web.
"""

from __future__ import annotations

from base64 import b64decode

from django.core.management import call_command
from playwright.sync_api import expect

from crawling.models import AllowedNetwork
from crawling.runs.start import start_run
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts

PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
HOME = """<title>Home</title><link rel=stylesheet href="/s/a.css"><img id=here src="/i.png">
<img src="{elsewhere}/gone.png"><a href="/b?n=1">to b</a>
<script>new Image().src = "{elsewhere}/asked"; document.title = "Ran"</script>"""


def test_a_mirror_is_opened_from_a_disk_and_asks_the_web_for_nothing(
    pool, make_site, chromium, tmp_path
):
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    css = {"Content-Type": "text/css"}
    elsewhere = make_site({}, address="127.0.0.2")
    site = make_site(
        {
            "/": HOME.replace("{elsewhere}", elsewhere.url),
            "/s/a.css": (200, css, "@import 'b.css';"),
            "/s/b.css": (200, css, "h1,a{color:rgb(1, 2, 3)} body{background:url(/i.png)}"),
            "/i.png": (200, {"Content-Type": "image/png"}, PIXEL),
            "/b?n=1": "<title>B</title><h1>Page B</h1><a href='/'>home</a>",
        }
    )
    crawl = make_crawl("Mirrored", f"{site.url}/", requisites=True)
    do_shifts(start_run(crawl))
    call_command("crawl", "mirror", str(crawl.pk), "--output", str(tmp_path / "m"))

    asked = [site.paths, elsewhere.paths]

    context = chromium.new_context()
    page = context.new_page()
    page.goto((tmp_path / "m" / "index.html").as_uri())
    page.get_by_role("link", name="Home").click()
    expect(page).to_have_title("Ran")
    expect(page.get_by_role("link", name="to b")).to_have_css("color", "rgb(1, 2, 3)")
    assert page.evaluate("document.querySelector('#here').naturalWidth") == 1
    page.get_by_role("link", name="to b").click()
    expect(page.get_by_role("heading", name="Page B")).to_be_visible()
    page.get_by_role("link", name="home").click()
    expect(page).to_have_title("Ran")
    context.close()

    assert [site.paths, elsewhere.paths] == asked
