"""Every address states who may ask for it, and the one check before all views enforces that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import URLPattern, get_resolver

from crawlsite.api.root import api
from serving.access import authenticated, needs

#: public, or, as /metrics, with a check of its own
PUBLIC = {
    "about-this-crawler/",
    "shared/<slug:token>/",
    "shared/collections/<slug:token>/",
    "shared/collections/<slug:token>/pages/<int:number>/",
    "shared/collections/<str:token>/stored/<int:number>/",
    "watches/<str:token>/feed.atom",
    "news/<str:token>/feed.atom",
    "stored/<str:token>/<int:number>/",  # its token names a user, whose rights are asked for
    "login/",
    "logout/",
    "healthz",
    "readyz",
    "metrics",
}
#: Django and ninja check these themselves
OTHERS = ("admin/", "api/")


def views(patterns, prefix: str = "") -> Iterator[tuple[str, object]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route, pattern.callback
        else:
            yield from views(pattern.url_patterns, route)


def endpoints() -> Iterator[tuple[str, object]]:
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                yield f"{'/'.join(operation.methods)} {prefix}{path}", operation.view_func


PAGES = dict(views(get_resolver().url_patterns))
ENDPOINTS = dict(endpoints())


def test_every_page_is_guarded_or_listed_as_public():
    open_to_all = {
        route
        for route, view in PAGES.items()
        if not route.startswith(OTHERS) and "needs" not in vars(view)
    }

    assert open_to_all == PUBLIC


def test_every_endpoint_states_its_permission():
    assert len(ENDPOINTS) > 100
    assert {name for name, view in ENDPOINTS.items() if "needs" not in vars(view)} == set()


def test_every_permission_that_is_asked_for_exists(db):
    asked = {vars(view).get("needs", "") for view in [*PAGES.values(), *ENDPOINTS.values()]}
    known = Permission.objects.values_list("content_type__app_label", "codename")

    assert asked - {""} <= {".".join(names) for names in known}


@pytest.fixture
def answer(db, rf: RequestFactory):
    """Return a function that asks a view for operators as a user: `answer("POST", user)`."""

    @authenticated(needs="crawling.change_crawljob", methods=("POST",))
    def view(request):
        return HttpResponse(request.user.username)

    def answer(method: str, user: object) -> HttpResponse:
        request = rf.generic(method, "/somewhere/")
        request.user = user
        return view(request)

    return answer


def test_the_method_is_checked_before_the_log_in_and_that_before_the_permission(answer):
    nobody, somebody = AnonymousUser(), User.objects.create_user("somebody")
    boss = User.objects.create_superuser("boss")

    assert [answer("GET", user).status_code for user in (nobody, somebody, boss)] == [405] * 3
    assert answer("POST", nobody).url == "/login/?next=/somewhere/"
    with pytest.raises(PermissionDenied):
        answer("POST", somebody)
    assert answer("POST", boss).content == b"boss"


def test_a_part_of_a_page_can_need_more_than_the_page(rf, db):
    @needs("crawling.delete_crawljob")
    def part(request, what: str) -> str:
        return what

    request = rf.post("/somewhere/")
    request.user = User.objects.create_user("somebody")
    with pytest.raises(PermissionDenied):
        part(request, "it")
    request.user = User.objects.create_superuser("boss")
    assert part(request, "it") == "it"
