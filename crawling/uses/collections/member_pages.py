"""Adds and removes members: the page that asks for the collection, the form on a collection's page,
and the undoing of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from allocation.wording import whole_number
from crawling.base.errors import CrawlError
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import asked_ids, next_page
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import acts_of, show_message
from crawling.installation.permissions import crawls_within_reach
from crawling.models import CrawlJob, Page
from crawling.uses.collections.asked import CHANGE, collection_or_404
from crawling.uses.collections.changes import (
    CollectionFields,
    MembersAdded,
    add_members,
    create_collection,
    get_collection,
    remove_members,
)
from crawling.uses.collections.models import Collection, CollectionMember
from serving.access import AuthenticatedRequest, authenticated

#: the most collections that are offered
OFFERED = 100


@authenticated(needs=CHANGE, methods=("GET", "HEAD", "POST"))
def add_members_page(request: AuthenticatedRequest) -> HttpResponse:
    """Ask to which collection the crawls `?crawl=` and pages `?page=` are to be added. A POST adds
    them.
    """
    crawls, pages = asked_ids(request, "crawl"), asked_ids(request, "page")
    errors = dict[str, str]()
    if request.method == "POST":
        # a new collection is kept only if something is added to it
        with mistakes_kept(errors, CrawlError), transaction.atomic():
            collection = _chosen_collection(request)
            said = add_members(collection, crawls=crawls, pages=pages, by=request.user)
            _tell_result(request, collection, said)
            return redirect(
                next_page(request) or reverse("collections:collection", args=[collection.pk])
            )
    stored = Page.objects.filter(pk__in=pages, run__removal_asked_at=None).select_related("url")
    own = Collection.objects.filter(crawls_within_reach(request.user)).order_by("-changed_at")
    here = {
        "crawls": CrawlJob.objects.filter(pk__in=crawls).order_by("name"),
        "pages": stored,
        "own": own[:OFFERED],
        "errors": errors,
        "typed": request.POST,
    }
    return render(request, "collections/add.html", here, status=422 if errors else 200)


def _chosen_collection(request: AuthenticatedRequest) -> Collection:
    """A new collection with the name in the form, or the selected one. Raises BadOrder or
    NotFound.
    """
    name, number = request.POST.get("name", ""), request.POST.get("collection", "")
    if number and not name.strip():
        return get_collection(whole_number(number) or 0)
    return create_collection(CollectionFields(name), by=request.user)


def _tell_result(request: AuthenticatedRequest, collection: Collection, said: MembersAdded) -> None:
    count = len(said.added)
    known = f" {said.known:,} were in it before." if said.known else ""
    done = f"{count:,} added to {collection}.{known}"
    acts = [{"members": [one.pk for one in said.added]}] if said.added else []
    show_message(request, done, acts, address=reverse("collections:undo", args=[collection.pk]))
    if said.refused:
        messages.warning(request, f"{len(said.refused):,} could not be: {said.refused[0]}")


@authenticated(needs=CHANGE, methods=("POST",))
def add_crawl(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Add the crawl that is named in the form."""
    collection = collection_or_404(pk)
    with errors_told(request, CrawlError):
        crawl = find_crawl(request.POST.get("crawl", "").replace("\0", "").strip())
        said = add_members(collection, crawls=[crawl.pk], by=request.user)
        _tell_result(request, collection, said)
    return redirect("collections:collection", pk)


@authenticated(needs=CHANGE, methods=("POST",))
def remove_posted_members(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    collection = collection_or_404(pk)
    gone = remove_members(collection, asked_ids(request, "member"), by=request.user)
    words = f"{len(gone):,} member{'s' * (len(gone) != 1)} removed. Crawls and pages are kept."
    show_message(
        request, words, [_undo_fields(gone)], address=reverse("collections:undo", args=[pk])
    )
    return redirect(next_page(request) or reverse("collections:collection", args=[pk]))


def _undo_fields(gone: Sequence[CollectionMember]) -> dict[str, list[int]]:
    """The action that adds these members again."""
    return {
        "crawls": [one.crawl_id for one in gone if one.page is None],
        "pages": [one.page for one in gone if one.page is not None],
    }


@authenticated(needs=CHANGE, methods=("POST",))
def undo_member_change(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Undo the action that a message has reported: remove added members, or add removed members
    again.
    """
    collection = collection_or_404(pk)
    with errors_told(request, CrawlError):
        for act in acts_of(request, request.user):
            if "members" in act:
                remove_members(collection, act["members"], by=request.user)
            else:
                add_members(collection, **act, by=request.user)
            messages.success(request, "Undone.")
    return redirect("collections:collection", pk)
