"""The pages about extractors: the list; an extractor with its revisions and the crawls that use it;
and a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse

from crawling.base.errors import BadOrder, CrawlError, NotFound
from crawling.dashboard.base.named_things import NamedKind
from crawling.dashboard.base.recently_deleted import DeletedRow, RestorableKind, kept_row
from crawling.dashboard.base.requests import next_page
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import show_message
from crawling.installation.permissions import crawls_acted_on
from crawling.orders.sections.reading import read_reference
from crawling.uses.extraction.extractors import (
    MOST_CRAWLS,
    crawls_of,
    edit_extractor,
    extractor_rows,
    extractors,
    find_extractor,
    give_newest,
    may_edit,
    remove_extractor,
    removed_extractors,
    restore_extractor,
    save_extractor,
)
from crawling.uses.extraction.models import Extractor
from crawling.uses.extraction.rule_previews import read_rules
from crawling.uses.extraction.rules_page import LONGEST, rules_as_lines
from serving.access import AuthenticatedRequest, authenticated, require
from serving.requests import asked_text

#: the number of crawls, and of revisions, that an extractor's page shows
SHOWN, REVISIONS = 50, 20


@authenticated(needs="crawling.view_crawljob")
def extractors_page(request: AuthenticatedRequest) -> HttpResponse:
    rows = extractor_rows(list(extractors()))
    return render(request, "extraction/extractors.html", {"rows": rows})


@authenticated(needs="crawling.add_crawljob", methods=("GET", "HEAD", "POST"))
def new_extractor_page(request: AuthenticatedRequest) -> HttpResponse:
    """Save `rules` under a `name`. The form begins with the values in the address. `next` leads
    back to the page on which the rules were tried.
    """
    asked, errors = request.POST if request.method == "POST" else request.GET, dict[str, str]()
    typed = {"name": asked_text(asked, "name"), "rules": asked_text(asked, "rules", most=LONGEST)}
    if request.method == "POST":
        with mistakes_kept(errors, CrawlError):
            made = save_extractor(typed["name"], read_rules(typed["rules"]), by=request.user)
            messages.success(request, f"{made.name} is saved as an extractor.")
            return redirect(next_page(request) or reverse("crawling:extractor", args=[made.pk]))
    here = {"typed": typed, "errors": errors}
    return render(request, "extraction/extractor_new.html", here, status=422 if errors else 200)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def extractor_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show one extractor. A POST saves its `rules` as the next revision."""
    if request.method == "POST":
        require(request.user, "crawling.change_crawljob")
    one, errors = _extractor_or_404(pk), dict[str, str]()
    rules = rules_as_lines(one.rules)
    if request.method == "POST":
        rules = asked_text(request.POST, "rules", most=LONGEST)
        errors = _save_rules(request, one, rules)
        if not errors:
            return redirect("crawling:extractor", pk)
    (row,) = extractor_rows([one])
    found = list(crawls_of(one).select_related("created_by").order_by("name")[:SHOWN])
    mine = crawls_acted_on(request.user, [crawl.pk for crawl in found])
    here: dict[str, Any] = {
        "extractor": one,
        "row": row,
        "rules": rules,
        "errors": errors,
        "may_edit": may_edit(one, request.user),
        "crawls": [(crawl, read_reference(crawl.extractor)[1]) for crawl in found],
        "older": sum(crawl.extractor != one.reference and crawl.pk in mine for crawl in found),
        "revisions": [
            (kept, rules_as_lines(kept.rules))
            for kept in one.revisions.select_related("by")[:REVISIONS]
        ],
    }
    return render(request, "extraction/extractor.html", here, status=422 if errors else 200)


def _extractor_or_404(pk: int) -> Extractor:
    try:
        return find_extractor(pk)
    except NotFound as error:
        raise Http404(str(error)) from error


def _save_rules(request: AuthenticatedRequest, one: Extractor, rules: str) -> dict[str, str]:
    """Save the rules. Return the mistakes by field, which are empty if the rules are saved."""
    errors: dict[str, str] = {}
    number = request.POST.get("revision", "")
    based_on = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
    with mistakes_kept(errors, CrawlError):
        saved = edit_extractor(one, read_rules(rules), by=request.user, revision=based_on)
        is_new = saved.revision != one.revision
        used = crawls_of(one).count() if is_new else 0
        kept = "crawl keeps the revision that it uses"
        if used > 1:
            kept = "crawls keep the revision that they use"
        told = f" {used:,} {kept}." if used else ""
        said = f"Revision {saved.revision} is saved.{told}"
        messages.success(request, said if is_new else "Nothing was changed.")
    return errors


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def remove_extractor_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Ask for a confirmation, with the crawls that use the extractor. Once confirmed, delete it."""
    one = _extractor_or_404(pk)
    if request.method == "POST":
        remove_extractor(one, by=request.user)
        back = reverse("crawling:extractor-restore", args=[pk])
        show_message(request, f"The extractor {one.name} is deleted.", address=back)
        return redirect("crawling:extractors")
    used = crawls_of(one).order_by("name")
    here = {"extractor": one, "crawls": used[:SHOWN], "count": used.count()}
    return render(request, "extraction/extractor_remove.html", here)


@authenticated(needs="crawling.delete_crawljob", methods=("POST",))
def restore_removed_extractor(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    with errors_told(request, NotFound):
        one = restore_extractor(pk, by=request.user)
        messages.success(request, f"The extractor {one.name} is there again.")
    return redirect("crawling:extractors")


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def give_newest_revision_to_crawls(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Give its newest revision to the crawls that use it and on which the user may act."""
    one = _extractor_or_404(pk)
    with errors_told(request, BadOrder):
        done, refused = give_newest(one, by=request.user)
        if done or not refused:
            more = f", {MOST_CRAWLS} at a time" if done >= MOST_CRAWLS else ""
            told = f"{done:,} crawl{'s' * (done != 1)}{more}"
            said = (
                f"Revision {one.revision} is used by {told}. Runs that are over stay as they are."
            )
            messages.success(request, said)
        for sentence in refused[:3]:
            messages.error(request, sentence)
    return redirect("crawling:extractor", pk)


urlpatterns = [
    path("extractors/", extractors_page, name="extractors"),
    path("extractors/new/", new_extractor_page, name="extractor-new"),
    path("extractors/<int:pk>/", extractor_page, name="extractor"),
    path("extractors/<int:pk>/remove/", remove_extractor_page, name="extractor-remove"),
    path("extractors/<int:pk>/restore/", restore_removed_extractor, name="extractor-restore"),
    path("extractors/<int:pk>/crawls/", give_newest_revision_to_crawls, name="extractor-crawls"),
]


def _deleted_rows(user: User | None, **wanted: object) -> Iterator[DeletedRow]:
    for one in removed_extractors().filter(**wanted):
        assert one.removed_at is not None
        facts = {"may_act": may_edit(one, user), "is_removable": False}
        yield kept_row("extractor", one.pk, one.name, one.removed_at, **facts)


DELETED = RestorableKind("extractor", "crawling.delete_crawljob", _deleted_rows, restore_extractor)
EXTRACTOR = NamedKind(
    "Extractor", extractors, lambda one: reverse("crawling:extractor", args=[one.pk])
)
