"""The pages of collections: the list, and one collection with its members, its captures of an
address, and its file. Also the forms that create, edit and delete a collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from redis.exceptions import RedisError

from allocation.wording import first_few_in_words
from crawling.archive.packages.reading import read_package
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.columns import column_head
from crawling.dashboard.base.known_addresses import known_address
from crawling.dashboard.base.named_things import NamedKind
from crawling.dashboard.base.panels import BulkPage, Link, Panel, Place
from crawling.dashboard.base.recently_deleted import DeletedRow, RestorableKind, kept_row
from crawling.dashboard.base.requests import latest_asked
from crawling.dashboard.base.run_pages import ask_by_button
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import show_message
from crawling.installation.permissions import crawls_within_reach, is_administrator
from crawling.models import CrawlJob, Page, Team
from crawling.runs.crawls.share_links import SharedKind
from crawling.uses.collections.asked import CHANGE, VIEW, collection_or_404, head_facts
from crawling.uses.collections.changes import (
    CollectionFields,
    create_collection,
    edit_collection,
    may_change,
    require_change,
)
from crawling.uses.collections.jobs import file_of, readable_file, request_file
from crawling.uses.collections.member_pages import (
    add_crawl,
    add_members_page,
    remove_posted_members,
    undo_member_change,
)
from crawling.uses.collections.members import (
    MemberRow,
    captures_of_collection,
    figures_of,
    hidden_member_count,
    member_rows,
    sort_member_rows,
)
from crawling.uses.collections.models import Collection
from crawling.uses.collections.restoring import (
    delete_collection,
    deleted_collections,
    remove_collection_now,
    restore_collection,
)
from crawling.uses.collections.share_links import hand_link_over, links_by
from crawling.uses.collections.share_pages import revoke_posted_link, share_links_page
from crawling.uses.collections.visitor_views import (
    shared_collection_page,
    shared_frame,
    shared_page,
)
from crawling.web.addresses import MAX_URL_LENGTH, BadUrl
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import Download, send
from serving.requests import asked_text, render_live

#: the number of rows on a page, and of crawls that a form offers
ROWS, OFFERED = 50, 100
TYPE = "application/wacz"
#: each column: whether it is hidden on a phone, its sort key, its heading, whether it is a number,
#: and whether the largest value comes first
COLUMNS = (
    (False, "name", "Name", False, False),
    (True, "", "Runs", True, False),
    (False, "pages", "Pages", True, True),
    (True, "bytes", "Size", True, True),
    (True, "first", "From", False, False),
    (False, "last", "To", False, True),
)


def listed_collections(text: str = "") -> QuerySet[Collection]:
    """The collections with the numbers of their members. text: a part of the name or
    description.
    """
    found = Collection.objects.select_related("created_by").annotate(
        crawls=Count("members", filter=Q(members__page=None)),
        singles=Count("members", filter=Q(members__page__isnull=False)),
    )
    if text:
        found = found.filter(Q(name__icontains=text) | Q(description__icontains=text))
    return found


@authenticated(needs=VIEW)
def collections_page(request: AuthenticatedRequest) -> HttpResponse:
    text = asked_text(request.GET, "q")
    here = latest_asked(request, listed_collections(text), ROWS) | {"text": text}
    here["any_at_all"] = bool(here["rows"]) or Collection.objects.exists()
    return render(request, "collections/collections.html", here)


def _posted_fields(request: AuthenticatedRequest) -> CollectionFields:
    return CollectionFields(
        *(request.POST.get(name, "") for name in ("name", "description", "team"))
    )


def _team_choices(user: User) -> Sequence[str]:
    """The teams to which a collection of this user may belong."""
    found = Team.objects.all() if is_administrator(user) else user.teams.all()
    return list(found.order_by("name").values_list("name", flat=True))


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
def new_collection_page(request: AuthenticatedRequest) -> HttpResponse:
    errors, typed = dict[str, str](), _posted_fields(request)
    if request.method == "POST":
        with mistakes_kept(errors):
            made = create_collection(typed, by=request.user)
            return redirect("collections:collection", made.pk)
    here = {"errors": errors, "typed": typed, "teams": _team_choices(request.user)}
    return render(request, "collections/edit.html", here, status=422 if errors else 200)


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
def edit_collection_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    collection, errors = collection_or_404(pk), dict[str, str]()
    require_change(request.user, collection)
    typed = CollectionFields(collection.name, collection.description, collection.team)
    if request.method == "POST":
        typed = _posted_fields(request)
        with mistakes_kept(errors):
            edit_collection(collection, typed, by=request.user)
            return redirect("collections:collection", pk)
    teams = [*dict.fromkeys([*_team_choices(request.user), *filter(None, [collection.team])])]
    here = {"collection": collection, "errors": errors, "typed": typed, "teams": teams}
    return render(request, "collections/edit.html", here, status=422 if errors else 200)


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
def delete_collection_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    collection = collection_or_404(pk)
    require_change(request.user, collection)
    if request.method == "POST":
        delete_collection(collection, by=request.user)
        back = reverse("crawling:restore-deleted", args=["collection", pk])
        show_message(
            request, f"{collection} is deleted. Its crawls and pages are kept.", address=back
        )
        return redirect("collections:collections")
    here = {"collection": collection, "links": collection.share_links.count()}
    return render(request, "collections/delete.html", here)


@authenticated(needs=VIEW)
def collection_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show the members whose name or address contains `?q=`, sorted by `?sort=`."""
    collection = collection_or_404(pk)
    rows = member_rows(collection)
    text, sort = asked_text(request.GET, "q"), request.GET.get("sort", "")
    found = sort_member_rows(_rows_with_text(rows, text), sort)
    here = head_facts(request, collection) | {
        "figures": figures_of(rows),
        "singles": sum(row.page is not None for row in rows),
        "hidden": hidden_member_count(collection, rows),
        "rows": Paginator(found, ROWS).get_page(request.GET.get("page")),
        "heads": [
            (is_aside, column_head(key, label, is_number, now=sort, falls_first=falls))
            for is_aside, key, label, is_number, falls in COLUMNS
        ],
        "text": text,
        "count": len(rows),
    }
    if here["may_change"]:
        here["offered"] = CrawlJob.objects.filter(crawls_within_reach(request.user)).order_by(
            "-pk"
        )[:OFFERED]
    return render(request, "collections/collection.html", here)


def _rows_with_text(rows: Sequence[MemberRow], text: str) -> Sequence[MemberRow]:
    wanted = text.casefold()
    return [row for row in rows if wanted in f"{row.name}\n{row.url}".casefold()]


@authenticated(needs=VIEW)
def captures_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show the captures of `?u=` in the collection, each with its predecessor."""
    collection, typed = collection_or_404(pk), asked_text(request.GET, "u", most=MAX_URL_LENGTH)
    here = head_facts(request, collection) | {"typed": typed}
    if typed:
        try:
            here["url"] = url = known_address(typed).url
            found = captures_of_collection(collection, url)
            here["captures"] = list(zip(found, [*found[1:], None], strict=True))
        except BadUrl as error:
            here["trouble"] = str(error)
    return render(request, "collections/captures.html", here)


@authenticated(needs=VIEW, methods=("GET", "HEAD", "POST"))
def wacz_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    collection = collection_or_404(pk)
    place = reverse("collections:wacz", args=[pk])
    if request.method == "POST":
        ask = partial(request_file, collection, by=request.user)
        return ask_by_button(request, ask, ArchiveTrouble, RedisError, then=place)
    here = head_facts(request, collection) | {"export": file_of(collection)}
    return render_live(request, "collections/wacz.html", "collections/_wacz.html", here)


@authenticated(needs=CHANGE)
def send_wacz(request: AuthenticatedRequest, pk: int) -> HttpResponseBase:
    collection = collection_or_404(pk)
    with errors_told(request, ArchiveTrouble):
        return send(collection_file(collection, by=request.user))
    return redirect("collections:wacz", pk)


def collection_file(collection: Collection, *, by: User | None) -> Download:
    """The WACZ file. Raises ArchiveTrouble if there is none, and PermissionDenied."""
    state = readable_file(collection, by=by)
    assert state.file is not None
    size = state.file.bytes
    return Download(state.name, TYPE, read_package(state.file, 0, size), size)


app_name = "collections"
urlpatterns = [
    path("", collections_page, name="collections"),
    path("new/", new_collection_page, name="new"),
    path("add/", add_members_page, name="add"),
    path("<int:pk>/", collection_page, name="collection"),
    path("<int:pk>/edit/", edit_collection_page, name="edit"),
    path("<int:pk>/delete/", delete_collection_page, name="delete"),
    path("<int:pk>/add-crawl/", add_crawl, name="add-crawl"),
    path("<int:pk>/remove/", remove_posted_members, name="remove"),
    path("<int:pk>/undo/", undo_member_change, name="undo"),
    path("<int:pk>/captures/", captures_page, name="captures"),
    path("<int:pk>/share/", share_links_page, name="share"),
    path("<int:pk>/share/<int:number>/revoke/", revoke_posted_link, name="share-revoke"),
    path("<int:pk>/wacz/", wacz_page, name="wacz"),
    path("<int:pk>/collection.wacz", send_wacz, name="wacz-file"),
]
open_urlpatterns = [
    path("shared/collections/<slug:token>/", shared_collection_page, name="shared-collection"),
    path(
        "shared/collections/<slug:token>/pages/<int:number>/",
        shared_page,
        name="shared-collection-page",
    ),
    path(
        "shared/collections/<str:token>/stored/<int:number>/",
        shared_frame,
        name="shared-collection-frame",
    ),
]


def _address_to_add(query: Mapping[str, Any]) -> str:
    return f"{reverse('collections:add')}?{urlencode(query, doseq=True)}"


def _address_to_add_page(page: Page, crawl: int) -> str:
    return _address_to_add({"page": page.pk}) if page.archive_file_id else ""


def _address_to_add_crawls(crawls: Sequence[int]) -> str:
    return _address_to_add({"crawl": list(crawls)})


def _panel_context(crawl: CrawlJob) -> Mapping[str, str]:
    return {"add_address": _address_to_add_crawls([crawl.pk])}


LINKS = (Link(Place.PAGE_MENU, "Add to a collection", _address_to_add_page, needs=CHANGE),)
PANELS = (Panel(Place.CRAWL_MENU, "collections/_crawl_menu.html", _panel_context),)
SHARED = (
    SharedKind(
        "share link",
        lambda link: reverse("collections:share", args=[link.collection_id]),
        links_by,
        hand_link_over,
        attrgetter("collection"),
        may_change,
    ),
)


def _collections_of_team(team: Team) -> str:
    # a deleted collection may be restored, and would then belong to another team of that name
    names = list(Collection.all_objects.filter(team=team.name).values_list("name", flat=True))
    return f"collections {first_few_in_words(names)}" if names else ""


TEAM_USES = (_collections_of_team,)


def _deleted_rows(user: User | None, **wanted: object) -> Iterator[DeletedRow]:
    deleted = deleted_collections().filter(**wanted)
    own = set(deleted.filter(crawls_within_reach(user)).values_list("pk", flat=True))
    for one in deleted:
        assert one.removal_asked_at is not None
        yield kept_row("collection", one.pk, one.name, one.removal_asked_at, may_act=one.pk in own)


RESTORABLE = (
    RestorableKind("collection", CHANGE, _deleted_rows, restore_collection, remove_collection_now),
)
BULK_PAGES = (BulkPage("collect", "Add to collection", "i-bookmark", _address_to_add_crawls),)
FOUND_BY_NAME = (
    NamedKind(
        "Collection",
        Collection.objects.all,
        lambda one: reverse("collections:collection", args=[one.pk]),
    ),
)
