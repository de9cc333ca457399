"""Hosts and pages of all crawls: a list of each with a search, the page of one host, where it can
be blocked, and the reason why a host waits for its name.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from crawling.base.errors import CrawlError
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.hosts.filter import LONGEST, WORDS, HostFilter, host_counts
from crawling.dashboard.hosts.listing import (
    SHORTEST,
    PageSearchResult,
    hosts_file,
    list_hosts,
    search_pages,
    summarize_hosts,
    visitors_of,
)
from crawling.dashboard.hosts.name_wait import why_waits
from crawling.models import Host
from crawling.runs.crawls.blocklist import block_host, unblock_host
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import send
from serving.requests import asked_text


@authenticated(needs="crawling.view_crawljob")
def hosts(request: AuthenticatedRequest) -> HttpResponse:
    """List hosts by name: those that contain `?q=`, are in `?state=` and follow `?after=`."""
    wanted = HostFilter.read(request.GET)
    rows, following = list_hosts(wanted)
    counts = host_counts(wanted)
    tabs = [(state, words, f"{counts[state]:,}") for state, words in WORDS.items()]
    return render(
        request,
        "hosts/hosts.html",
        {"rows": rows, "following": following, "wanted": wanted, "tabs": tabs},
    )


@authenticated(needs="crawling.view_crawljob")
def hosts_as_file(request: AuthenticatedRequest, kind: str) -> HttpResponseBase:
    return send(hosts_file(HostFilter.read(request.GET), kind))


@authenticated(needs="crawling.view_crawljob")
def host(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Host.objects.select_related("shift__process__run__crawl"), pk=pk)
    return render(
        request,
        "hosts/host.html",
        {"one": summarize_hosts([found])[0], "visitors": visitors_of(found)},
    )


@authenticated(needs="crawling.add_blocklistentry", methods=("POST",))
def block(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Block the host for all crawls, with a reason, or unblock it. Only administrators may, as for
    the whole blocklist.
    """
    found = get_object_or_404(Host, pk=pk)
    with errors_told(request, CrawlError):
        if "unblock" in request.POST:
            _unblock(request, found)
        else:
            block_host(found, request.POST.get("reason", ""), by=request.user)
            messages.success(request, f"No crawl fetches from {found.name} any more.")
    return redirect("hosts:host", pk)


@needs("crawling.delete_blocklistentry")
def _unblock(request: AuthenticatedRequest, host: Host) -> None:
    unblock_host(host, by=request.user)
    messages.success(request, f"Crawls may fetch from {host.name} again.")


@authenticated(needs="crawling.view_crawljob")
def search(request: AuthenticatedRequest) -> HttpResponse:
    """Find pages of all crawls that contain `?q=` in their address or title."""
    text = asked_text(request.GET, "q", most=LONGEST)
    found = None
    if len(text) >= SHORTEST:
        found = PageSearchResult((), is_more=False)
        with errors_told(request, SearchTookTooLong):
            found = search_pages(text)
    return render(
        request, "hosts/search.html", {"text": text, "found": found, "shortest": SHORTEST}
    )


@authenticated(needs="dnscache.view_dnsentry")
def why(request: AuthenticatedRequest) -> HttpResponse:
    host = asked_text(request.GET, "host", most=LONGEST).lower()
    return render(
        request, "names/why.html", {"host": host, "wait": why_waits(host) if host else None}
    )
