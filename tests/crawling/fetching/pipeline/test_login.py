"""A crawl logs in by sites' forms as they are, and tells no other site."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest

from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.fetching.pipeline.test_crawl_path import links

PASSWORD = "grün"
HTML = {"Content-Type": "text/html"}
FORM = (
    "<table><form method=post action=in><tr><td><input name=user><input name=pass type=password>"
    "</tr></table><input type=submit name=go value=1></form>"
)


def logging_in(site, **more):
    login = {"login_url": f"{site.url}/login", "login_fields": {"user": "me", "pass": PASSWORD}}
    return {"delay_seconds": 0, **login, **more}


def inside(request):
    """The pages, for those who are logged in."""
    if "in=yes" in request.headers.get("Cookie", ""):
        return 200, HTML, links("/inside") if request.path == "/" else "papers"
    return 302, {"Location": "/login"}, ""


def entrance(request):
    said = unquote_to_bytes(request.body or b"")
    if said == b"user=me&pass=gr\xfcn&go=1":
        return 307, {"Location": "/app/again"}, ""
    return 403, HTML, FORM


def again(request):
    if unquote_to_bytes(request.body or b"").startswith(b"user=me"):
        return 303, {"Location": "/", "Set-Cookie": "in=yes; Path=/"}, ""
    return 403, HTML, ""


@pytest.mark.parametrize("name", ["", "<input type=hidden name=user value=me>"])
def test_a_password_that_a_second_form_asks_for_lets_the_crawl_in(
    make_site, crawl_to_the_end, name
):
    def password(request):
        said = unquote_to_bytes(request.body or b"").decode()
        if said.startswith("token=1&pass="):
            return 303, {"Location": "/", "Set-Cookie": "in=yes; Path=/"}, ""
        return 403, HTML, ""

    site = make_site(
        {
            "/login": "<form method=post action=/name><input name=user></form>",
            "/name": "<form method=post action=/in><input type=hidden name=token value=1>"
            f"<input type=password name=pass>{name}</form><form action=/find><input name=q></form>",
            "/in": password,
            "/": inside,
            "/inside": inside,
        }
    )

    crawl_to_the_end(f"{site.url}/", **logging_in(site))

    assert site.paths == ["/login", "/name", "/in", "/", "/", "/inside"]


def test_a_form_behind_redirects_with_a_refusal_lets_the_crawl_in(make_site, crawl_to_the_end):
    latin = {"Content-Type": "text/html; charset=iso-8859-1"}
    site = make_site(
        {
            "/login": (302, {"Location": "/login/", "Set-Cookie": "seen=1"}, ""),
            "/login/": (403, latin, f"<base href=/app/>{FORM}"),
            "/app/in": entrance,
            "/app/again": again,
            "/": inside,
            "/inside": inside,
        }
    )

    run = crawl_to_the_end(f"{site.url}/", **logging_in(site))

    assert dict(run.urls.values_list("url", "status")) == {
        f"{site.url}/": 200,
        f"{site.url}/inside": 200,
    }


@pytest.mark.parametrize(
    ("web", "sentence"),
    [
        ({"/login": (302, {"Location": "{other}/login"}, "")}, "redirects to"),
        ({"/login": FORM.replace("action=in", "action={other}/in")}, "sent to another site"),
        (
            {"/login": FORM, "/in": (307, {"Location": "{other}/in"}, "")},
            "sent on to another site",
        ),
        ({"/login": FORM.replace("action=in", "action=javascript:go()")}, "no address"),
        ({"/login": FORM, "/in": FORM}, "shows its form again"),
        ({"/login": FORM, "/in": (302, {"Location": "/in"}, "")}, "302"),
        ({"/login": (404, HTML, "")}, "could not be had"),
        ({"/login": "<form><input name=q>"}, "no form with the fields"),
    ],
)
def test_a_login_that_does_not_go_is_told_and_no_other_site_hears_of_it(
    make_site, order, work_off, web, sentence
):
    other = make_site({"/login": FORM, "/in": "x"}, address="127.0.0.2")
    answers = {
        path: (*said[:1], {k: v.replace("{other}", other.url) for k, v in said[1].items()}, said[2])
        if isinstance(said, tuple)
        else said.replace("{other}", other.url)
        for path, said in web.items()
    }
    site = make_site({"/": "x", **answers})
    crawl = create_crawl(order(f"{site.url}/", **logging_in(site)))

    run = work_off(start_run(crawl), until=lambda run: run.state == "paused")

    assert sentence in run.reason
    assert PASSWORD not in run.reason
    assert other.log == []
