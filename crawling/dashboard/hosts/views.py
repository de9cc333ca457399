"""Hosts and pages of all crawls: a list with a search of each, and the page of one host, where it
can be blocked.
"""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from crawling.crawls.blacklist import block_host, unblock_host
from crawling.dashboard.base.responses import send
from crawling.dashboard.hosts.export import hosts_file
from crawling.dashboard.hosts.filter import WORDS, HostFilter, host_counts
from crawling.dashboard.hosts.reads import list_hosts, summarize_hosts, visitors_of
from crawling.dashboard.pages.search import SHORTEST, PageSearchResult, search_pages
from crawling.errors import CrawlError
from crawling.models import Host
from crawling.timed import SearchTookTooLong


@require_GET
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def hosts(request: HttpRequest) -> HttpResponse:
    """List hosts by name: those that hold `?q=`, those in `?state=`, those after `?after=`."""
    wanted = HostFilter.read(request.GET)
    rows, following = list_hosts(wanted)
    counts = host_counts(wanted)
    tabs = [(state, words, counts[state]) for state, words in WORDS.items()]
    return render(
        request,
        "hosts/hosts.html",
        {"rows": rows, "following": following, "wanted": wanted, "tabs": tabs},
    )


@require_GET
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def hosts_as_file(request: HttpRequest, kind: str) -> HttpResponseBase:
    """All that the list finds, as a table or a JSON object a line."""
    return send(hosts_file(HostFilter.read(request.GET), kind))


@require_GET
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def host(request: HttpRequest, pk: int) -> HttpResponse:
    """All that is known of one host, and the crawls that have met it."""
    found = get_object_or_404(Host.objects.select_related("shift__process__run__crawl"), pk=pk)
    return render(
        request,
        "hosts/host.html",
        {"one": summarize_hosts([found])[0], "visitors": visitors_of(found)},
    )


@require_POST
@login_required
@permission_required("crawling.add_blacklistentry", raise_exception=True)
def block(request: HttpRequest, pk: int) -> HttpResponse:
    """Block the host for all crawls, saying why; or let it go, which is for administrators, like
    everything on the black list.
    """
    assert isinstance(request.user, User)
    found = get_object_or_404(Host, pk=pk)
    try:
        if "unblock" in request.POST:
            if not request.user.has_perm("crawling.delete_blacklistentry"):
                raise PermissionDenied
            unblock_host(found, by=request.user)
            messages.success(request, f"Crawls may fetch from {found.name} again.")
        else:
            block_host(found, request.POST.get("reason", ""), by=request.user)
            messages.success(request, f"No crawl fetches from {found.name} any more.")
    except CrawlError as error:
        messages.error(request, str(error))
    return redirect("hosts:host", pk)


@require_GET
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def search(request: HttpRequest) -> HttpResponse:
    """Find pages of all crawls that hold `?q=` in address or title."""
    text = _text(request, "q")
    found = None
    if len(text) >= SHORTEST:
        try:
            found = search_pages(text)
        except SearchTookTooLong as error:
            messages.error(request, str(error))
            found = PageSearchResult((), is_more=False)
    return render(
        request, "hosts/search.html", {"text": text, "found": found, "shortest": SHORTEST}
    )


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\0", "").strip()[:260]
