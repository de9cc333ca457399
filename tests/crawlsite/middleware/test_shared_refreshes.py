"""Live pages are rendered once for all who look at them, and no user sees what his role forbids."""

from __future__ import annotations

import re
from threading import Barrier, Thread

import pytest
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.db import connection
from django.middleware.csrf import get_token
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from allocation.services import create_pool
from crawling.models import AllowedNetwork, CrawlJob, Run
from crawling.runs.crawls.creation import create_crawl
from crawlsite.administration.accounts import make_roles
from crawlsite.middleware import shared_refreshes as refreshes
from serving.requests import render_live
from tests.crawling.conftest import CLASSES
from tests.every_page import addresses, furnish

REFRESH = {"HX-Request": "true", "HX-Target": "live"}


@pytest.fixture
def shared(monkeypatch):
    """As in the product, but for a clock that a slow machine does not run out of."""
    monkeypatch.setattr(refreshes, "FRESH_SECONDS", 600)
    monkeypatch.setattr(refreshes, "MOST_SECONDS", 600)
    monkeypatch.setattr(refreshes, "PATIENCE_SECONDS", 60)
    cache.clear()


@pytest.fixture
def house(db):
    make_roles()
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    return create_crawl({"name": "Manuals", "seeds": ["http://127.0.0.1:8900/"]})


def browser(name: str, role: str) -> Client:
    user = User.objects.create_user(name)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def rendered(monkeypatch):
    """The addresses whose pages were rendered, in turn."""
    found = []
    own = refreshes.SharedRefreshMiddleware._rendered

    def render(self, request, *args):
        found.append(request.path)
        return own(self, request, *args)

    monkeypatch.setattr(refreshes.SharedRefreshMiddleware, "_rendered", render)
    return found


def test_many_viewers_are_answered_by_one_rendering(shared, house, rendered):
    viewers = [browser(f"viewer{n}", "viewer") for n in range(5)]

    answers = [viewer.get("/crawls/", headers=REFRESH) for viewer in viewers]

    assert rendered == ["/crawls/"]
    assert len({answer.content for answer in answers}) == 1
    assert "Manuals" in answers[-1].content.decode()
    etag = answers[0].headers["ETag"]
    assert viewers[1].get("/crawls/", headers={**REFRESH, "If-None-Match": etag}).status_code == 304


def test_results_while_typing_are_those_of_another_user_who_typed_the_same(shared, house, rendered):
    typing = {"HX-Request": "true", "HX-Target": "results"}
    first, second = (browser(f"viewer{n}", "viewer") for n in range(2))

    answers = [one.get("/search/text/?q=tree", headers=typing) for one in (first, second)]

    assert rendered == ["/search/text/"]
    assert answers[0].content == answers[1].content
    assert "has this word" in answers[0].text


def test_a_refresh_of_the_list_is_shared_by_operators_who_act_on_the_same_crawls_only(
    shared, house, rendered
):
    owner, other = browser("owner", "operator"), browser("other", "operator")
    CrawlJob.objects.update(created_by=User.objects.get(username="owner"))

    first, second = (one.get("/crawls/", headers=REFRESH).text for one in (owner, other))

    assert f"?clone={house.pk}" in first
    assert f"?clone={house.pk}" not in second
    refreshed = [one.get(f"/crawls/{house.pk}/", headers=REFRESH).text for one in (owner, other)]
    assert refreshed[0] != refreshed[1]
    assert len(rendered) == 4


def test_a_shared_refresh_asks_only_who_looks(shared, house):
    first, second = browser("one", "viewer"), browser("two", "viewer")
    first.get("/crawls/", headers=REFRESH)

    with CaptureQueriesContext(connection) as queries:
        second.get("/crawls/", headers=REFRESH)

    tables = [query["sql"].split(" FROM ")[1].split()[0] for query in queries]
    assert {table.strip('"') for table in tables} == {
        "django_session",
        "auth_user",
        "auth_user_user_permissions",
    }


def test_who_may_more_or_less_gets_his_own(shared, house):
    operator, viewer = browser("olga", "operator"), browser("vera", "viewer")

    assert "clone=" in operator.get("/crawls/", headers=REFRESH).content.decode()
    assert "clone=" not in viewer.get("/crawls/", headers=REFRESH).content.decode()


def test_who_chose_other_columns_or_another_zone_gets_his_own(shared, house):
    Run.objects.create(crawl=house, number=1, state="finished", started_at=timezone.now())
    plain, other, far = (browser(name, "viewer") for name in ("plain", "other", "far"))
    hidden = {"refresh_seconds": 2, "hidden_columns": {"crawls": ["queued"]}}
    other.put("/api/v1/preferences", hidden, content_type="application/json")
    zone = {"refresh_seconds": 2, "time_zone": "Asia/Tokyo"}
    far.put("/api/v1/preferences", zone, content_type="application/json")

    pages = [one.get("/crawls/", headers=REFRESH).text for one in (plain, other, far)]

    assert ["Queued" in page for page in pages] == [True, False, True]
    assert ["JST" in page for page in pages] == [False, False, True]


def test_who_may_nothing_sees_nothing_that_others_have_had_rendered(shared, house):
    browser("vera", "viewer").get("/crawls/", headers=REFRESH)
    stranger, nobody = Client(), Client()
    nobody.force_login(User.objects.create_user("nobody"))

    assert stranger.get("/crawls/", headers=REFRESH).status_code == 302
    assert nobody.get("/crawls/", headers=REFRESH).status_code == 403


def test_a_right_that_is_taken_away_is_gone_at_once(shared, house):
    operator = browser("olga", "operator")
    operator.get("/crawls/", headers=REFRESH)
    User.objects.get(username="olga").groups.clear()

    assert operator.get("/crawls/", headers=REFRESH).status_code == 403


def test_what_somebody_changes_everybody_sees_in_the_next_refresh(shared, house):
    operator, viewer = browser("olga", "operator"), browser("vera", "viewer")
    before = viewer.get(f"/crawls/{house.pk}/", headers=REFRESH).content.decode()
    operator.post(f"/crawls/{house.pk}/start/")

    assert viewer.get(f"/crawls/{house.pk}/", headers=REFRESH).content.decode() != before
    assert CrawlJob.objects.get().runs.count() == 1


def test_without_redis_each_renders_his_own(shared, house, settings):
    settings.CACHES = {
        "default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    }
    viewer = browser("vera", "viewer")

    assert "Manuals" in viewer.get("/crawls/", headers=REFRESH).content.decode()


def test_viewers_who_come_at_once_wait_for_one_rendering(shared, transactional_db, rendered):
    make_roles()
    create_pool(name="default", classes=CLASSES)
    viewers = [browser(f"viewer{n}", "viewer") for n in range(4)]
    together, statuses = Barrier(4), []

    def look(viewer):
        together.wait()
        statuses.append(viewer.get("/", headers=REFRESH).status_code)
        connection.close()

    threads = [Thread(target=look, args=(viewer,)) for viewer in viewers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [200] * 4
    assert rendered == ["/"]


@pytest.mark.timeout(400)  # other tests write nearly always on a slow machine
def test_nothing_is_rendered_anew_while_nothing_is_written(transactional_db, monkeypatch, rendered):
    make_roles()
    create_pool(name="default", classes=CLASSES)
    monkeypatch.setattr(refreshes, "UNWRITTEN_SECONDS", 600)
    viewer, before, after = browser("vera", "viewer"), "", None

    while before != after:  # until no other test has written to a database of the server meanwhile
        cache.clear()
        rendered.clear()
        before = refreshes._current_changes()
        etag = viewer.get("/", headers=REFRESH).headers["ETag"]
        again = viewer.get("/", headers={**REFRESH, "If-None-Match": etag})
        after = refreshes._current_changes()

    assert (rendered, again.status_code) == (["/"], 304)

    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    viewer.get("/", headers=REFRESH)
    assert rendered == ["/"] * 2


def test_no_refresh_has_anything_of_its_viewer_in_it(transactional_db, make_site):
    make_roles()
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    values = furnish(make_site({}), by=User.objects.create_superuser("boss"))
    one, other = browser("a-certain-one", "administrator"), browser("another", "administrator")
    pages = addresses(values, asked=False)
    live = [place for place in pages if b'id="live"' in one.get(place, follow=True).content]

    assert len(live) > 8
    for place in live:
        his, hers = _refreshed_at_once(place, one, other)
        assert his == hers, place
        assert b"a-certain-one" not in his
        assert b"csrfmiddlewaretoken" not in his


@pytest.mark.parametrize(
    "heads",
    [
        {"HX-Target": "live"},
        {"HX-Target": "live", "HX-Request": "false"},
        {"HX-Target": "live", "HX-Request": "TRUE"},
        {"HX-Target": "live", "HX-Boosted": "true"},
        {"HX-Request": "true"},
        {"HX-Request": "true", "HX-Target": "other"},
    ],
)
def test_a_request_that_is_no_refresh_leaves_nothing_for_others(shared, house, heads):
    place = f"/crawls/{house.pk}/"
    eve, ada = browser("eve-the-other", "operator"), browser("ada", "operator")
    own = ada.get(place, headers=REFRESH).text
    cache.clear()

    eve.get(place, headers=heads)
    refreshed = ada.get(place, headers=REFRESH).text

    assert "eve-the-other" not in refreshed
    assert "csrfmiddlewaretoken" not in refreshed
    assert ("<html" in refreshed, len(refreshed) // 100) == ("<html" in own, len(own) // 100)


@pytest.mark.parametrize(
    "place", ["/account/tokens/", "/account/preferences/", "/administration/users/", "/help/"]
)
def test_a_page_that_is_not_live_is_never_shared(shared, house, place):
    names = ("a-certain-one", "another")
    own, others = (browser(name, "administrator").get(place, headers=REFRESH) for name in names)

    assert ["a-certain-one" in answer.text.partition("<main")[0] for answer in (own, others)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("use", ["nothing", "token", "message", "session", "cookie", "user"])
def test_a_fragment_with_something_of_its_user_is_not_kept(shared, house, rf, use):
    answers = []

    def view(request):
        facts = {"alarms": ()}
        answer = render_live(
            request, "403.html", "_alarms_now.html", facts, depends_on_user=use == "user"
        )
        if use == "token":
            get_token(request)
        elif use == "message":
            list(messages.get_messages(request))
        elif use == "session":
            request.session["seen"] = 1
        elif use == "cookie":
            answer.set_cookie("a", "b")
        answers.append(answer)
        return answer

    middleware = refreshes.SharedRefreshMiddleware(view)
    for name in ("one", "other"):
        request = rf.get("/", headers=REFRESH)
        request.user = User.objects.create_superuser(name)
        request.htmx = True
        request.session = SessionStore()
        request._messages = FallbackStorage(request)
        middleware(request)

    assert len(answers) == (1 if use == "nothing" else 2)


def _refreshed_at_once(place: str, *viewers: Client) -> list[bytes]:
    """The page that each sees but for its digits, of five attempts the first without difference:
    between two renderings "a second ago" may become "2 seconds ago", and a chart gain a row.
    """
    for _ in range(5):
        seen = [re.sub(rb"\d", b"", one.get(place, headers=REFRESH).content) for one in viewers]
        if seen[0] == seen[1]:
            break
    return seen
