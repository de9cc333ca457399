"""The blocklist of all crawls, and the page with the reasons why a URL was fetched or not."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.base.errors import CrawlError
from crawling.dashboard.base.requests import asked_number, latest_asked
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import tell_deleted
from crawling.dashboard.inspect.url_inspection import inspect
from crawling.installation.permissions import acts_on_own_only
from crawling.models import BlocklistEntry, CrawlJob
from crawling.orders.scope.blocklist import BlocklistKind
from crawling.runs.crawls.blocklist import add_entry, remove_entry
from crawling.web.addresses import MAX_URL_LENGTH, BadUrl
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.requests import asked_text

ENTRIES = 100
#: a kind of entry, its words, and an example
KINDS = (
    (BlocklistKind.HOST, "one host", "www.example.org"),
    (BlocklistKind.DOMAIN, "a domain with all names below it", "example.org"),
    (BlocklistKind.PREFIX, "all addresses that begin so", "https://example.org/private/"),
    (BlocklistKind.REGEX, "all addresses that hold this expression (RE2)", "[?&]sid="),
)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def blocklist(request: AuthenticatedRequest) -> HttpResponse:
    errors: dict[str, str] = {}
    if request.method == "POST":
        errors = _add_entry(request)
        if not errors:
            return redirect("crawling:blocklist")
    found = BlocklistEntry.objects.select_related("by").filter(removed_at=None)
    typed = {name: request.POST.get(name, "") for name in ("kind", "text", "reason")}
    here = {
        **latest_asked(request, found, ENTRIES),
        "kinds": KINDS,
        "typed": typed,
        "errors": errors,
        "own_crawls_only": acts_on_own_only(),
    }
    return render(request, "crawling/blocklist.html", here)


@needs("crawling.add_blocklistentry")
def _add_entry(request: AuthenticatedRequest) -> dict[str, str]:
    """Add the entry in the form. Return its mistakes by field."""
    asked = [request.POST.get(name, "") for name in ("kind", "text", "reason")]
    errors: dict[str, str] = {}
    with mistakes_kept(errors):
        entry = add_entry(*asked, by=request.user)
        messages.success(request, f"No crawl fetches {entry.kind} {entry.text} any more.")
    return errors


@authenticated(needs="crawling.delete_blocklistentry", methods=("POST",))
def remove(request: AuthenticatedRequest, number: int) -> HttpResponse:
    with errors_told(request, CrawlError):
        item = remove_entry(number, by=request.user)
        tell_deleted(request, f"Crawls may fetch {item.name} again.", item)
    return redirect("crawling:blocklist")


@authenticated(needs="crawling.view_crawljob")
def url(request: AuthenticatedRequest) -> HttpResponse:
    """Show the facts about the address `?u=`, and the verdict of each crawl, or of `?crawl=`."""
    text, number = (
        asked_text(request.GET, "u", most=MAX_URL_LENGTH),
        asked_number(request, "crawl"),
    )
    crawl = get_object_or_404(CrawlJob, pk=number) if number is not None else None
    here: dict[str, object] = {"typed": text, "crawl": crawl}
    if text:
        try:
            here["found"] = inspect(text, crawl=crawl)
        except BadUrl as error:
            here["trouble"] = str(error)
    return render(request, "crawling/url.html", here)
