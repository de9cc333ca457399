"""Secrets of a crawl go to the origins that they were given for, whoever edits the crawl later."""

from __future__ import annotations

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User

from crawling.base.errors import BadOrder, WrongState
from crawling.models import CrawlJob
from crawling.runs.crawls.added_seeds import add_seeds_to_crawl
from crawling.runs.crawls.creation import clone_crawl, create_crawl, order_of
from crawling.runs.crawls.fetching_section import fetching_of, origins_of_secrets
from crawling.runs.crawls.revisions import edit_crawl, revert_edit
from crawling.runs.start import start_run
from crawling.web.secret_headers import MASK
from tests.crawling.conftest import do_shifts
from tests.crawling.pages import browser

FORM = """<form method=post action="/session"><input name=user><input type=password name=password>
</form>"""
KEY, PASSWORD = "SECRET-KEY", "SECRET-PASSWORD"
FIELDS = {"user": "alice", "password": PASSWORD}
HEADERS = {"X-Api-Key": KEY, "Accept-Language": "de"}


@pytest.fixture
def sites(make_site):
    """The owner's site, and that of another."""
    pages = {"/": "<title>a</title>", "/login": FORM, "/session": "<title>in</title>"}
    return make_site(pages), make_site({**pages, "/b/": "<title>b</title>"})


@pytest.fixture
def crawl(order, sites) -> CrawlJob:
    own = sites[0].url
    fields = order(f"{own}/", headers=HEADERS, login_url=f"{own}/login", login_fields=FIELDS)
    proxy = {"credentials": {own.removeprefix("http://"): f"alice:{PASSWORD}"}}
    return create_crawl(fields | proxy, by=User.objects.create_user("alice"))


def sent(site) -> str:
    """All that a site was sent."""
    return "\n".join(f"{one.path} {dict(one.headers)} {one.body!r}" for one in site.log)


def told(crawl, fields) -> dict[str, str]:
    with pytest.raises(BadOrder) as refused:
        edit_crawl(crawl, fields)
    return refused.value.errors


def test_a_seed_of_another_site_gets_no_secret_and_the_answer_says_so(crawl, sites):
    other = sites[1]

    added = add_seeds_to_crawl(crawl, [f"{other.url}/b/", f"{sites[0].url}/x"], widen=True)
    do_shifts(start_run(CrawlJob.objects.get(pk=crawl.pk)))

    assert added.without_secrets == [other.url]
    assert "/b/" in sent(other)
    assert "/robots.txt" in sent(other)
    assert "Accept-Language" in sent(other)
    assert KEY not in sent(other)
    assert PASSWORD not in sent(other)
    assert KEY in sent(sites[0])
    assert PASSWORD in sent(sites[0])
    note = json.loads(
        LogEntry.objects.filter(change_message__contains="added start URLs").get().change_message
    )
    assert note["changes"]["without secrets"] == [None, other.url]


def test_headers_that_are_given_anew_go_to_all_present_seeds(crawl, sites):
    own, other = (site.url for site in sites)
    add_seeds_to_crawl(crawl, [f"{other}/b/"], widen=True)
    given = {"X-Api-Key": MASK, "X-More": "more", "Accept-Language": "de"}

    kept = edit_crawl(crawl, {"headers": given})
    assert origins_of_secrets(kept)["headers", "X-Api-Key"] == {own}
    assert origins_of_secrets(kept)["headers", "X-More"] == {own, other}

    anew = edit_crawl(crawl, {"headers": {**given, "X-Api-Key": KEY}})
    assert origins_of_secrets(anew)["headers", "X-Api-Key"] == {own, other}
    assert fetching_of(anew).headers["X-Api-Key"] == KEY
    audit = LogEntry.objects.filter(change_message__contains="X-Api-Key for").latest("pk")
    changes = json.loads(audit.change_message)["changes"]
    assert changes["headers X-Api-Key for"] == [own, " and ".join(sorted([own, other]))]
    assert KEY not in audit.change_message
    do_shifts(start_run(anew))
    assert KEY in sent(sites[1])
    assert PASSWORD not in sent(sites[1])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"login_fields": {"user": MASK, "password": MASK}},
        {"login_fields": {"user": "mallory", "password": MASK}},
    ],
)
def test_log_in_fields_go_to_another_site_only_if_given_anew(crawl, sites, fields):
    other = sites[1].url
    add_seeds_to_crawl(crawl, [f"{other}/b/"], widen=True)

    errors = told(crawl, {"login_url": f"{other}/login", **fields})

    assert set(errors) == {"login_fields"}
    assert "give password" in errors["login_fields"]
    moved = edit_crawl(
        crawl, {"login_url": f"{other}/login", "login_fields": {"user": "m", "password": "x"}}
    )
    assert origins_of_secrets(moved)["login_fields", "password"] == {other}
    assert fetching_of(edit_crawl(moved, {"login_url": f"{other}/b/"})).login_fields["user"] == "m"
    assert "login_fields" in told(moved, {"login_url": f"{sites[0].url}/login"})
    with pytest.raises(WrongState):
        revert_edit(moved, moved.revision)


def test_another_proxy_asks_for_the_secrets_anew(crawl):
    errors = told(crawl, {"proxy": "http://127.0.0.1:9"})

    assert set(errors) == {"proxy"}
    assert "headers X-Api-Key" in errors["proxy"]
    edit_crawl(
        crawl,
        {
            "headers": {},
            "credentials": {},
            "login_url": None,
            "login_fields": {},
            "proxy": "http://127.0.0.1:9",
        },
    )


def test_the_owner_clones_secrets_for_the_same_sites_and_others_clone_none(crawl, sites):
    other = sites[1].url
    add_seeds_to_crawl(crawl, [f"{other}/b/"], widen=True)
    crawl.refresh_from_db()
    owner = crawl.created_by

    own = clone_crawl(crawl, by=owner)
    assert fetching_of(own).headers["X-Api-Key"] == KEY
    assert origins_of_secrets(own) == origins_of_secrets(crawl)
    bare = clone_crawl(crawl, by=User.objects.create_user("bob"))
    assert order_of(bare)["headers"] == {"Accept-Language": "de"}
    assert fetching_of(bare).login_url is None
    assert PASSWORD not in str(fetching_of(bare))

    done = browser("administrator").post(
        f"/api/v1/crawls/{crawl.pk}/clone", {}, content_type="application/json"
    )
    assert done.status_code == 201, done.content
    assert done.json()["without_secrets"] == ["credentials", "headers", "login_fields"]
