"""The crawling apps in the admin site.

The identity and the access rules are edited here. All other rows are only shown.
"""

from __future__ import annotations

from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from allocation.admin import ReadOnlyAdmin
from crawling.models import (
    AllowedDirectory,
    AllowedNetwork,
    CrawlJob,
    Host,
    Identity,
    Page,
    Run,
    SharedNetwork,
    Shift,
    Team,
    TrustedProxy,
    Url,
)
from crawling.runs.crawls.teams import team_uses_in_words
from serving.paging import BoundedPaginator


class ViewOnlyAdmin(ReadOnlyAdmin):
    """Shows rows without letting them be edited, since an edit by hand would bypass the locks of
    the frontier and of the pool.
    """

    show_full_result_count = False
    paginator = BoundedPaginator
    permission = "crawling.view_crawljob"


@admin.register(Identity)
class IdentityAdmin(admin.ModelAdmin):
    """The admin of the single identity. Opening the list opens the identity."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, str] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            return super().changelist_view(request, extra_context)
        Identity.objects.get_or_create(pk=1)
        return redirect("admin:crawling_identity_change", 1)


@admin.register(AllowedNetwork)
class AllowedNetworkAdmin(admin.ModelAdmin):
    list_display = ["network", "port_from", "port_to", "note"]


@admin.register(TrustedProxy)
class TrustedProxyAdmin(admin.ModelAdmin):
    list_display = ["host", "port", "note"]


@admin.register(SharedNetwork)
class SharedNetworkAdmin(admin.ModelAdmin):
    list_display = ["network", "note"]


@admin.register(AllowedDirectory)
class AllowedDirectoryAdmin(admin.ModelAdmin):
    list_display = ["path", "note"]


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    """The admin of teams. A team keeps its name, since crawls and pools refer to it by name."""

    list_display = ["name"]
    filter_horizontal = ["members"]

    def get_readonly_fields(self, request: HttpRequest, obj: Team | None = None) -> list[str]:
        return ["name"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Team | None = None) -> bool:
        """Whether the team may be deleted alone, because nothing uses it. Several teams cannot be
        deleted at once.
        """
        return (
            obj is not None
            and not team_uses_in_words(obj)
            and super().has_delete_permission(request, obj)
        )


@admin.register(CrawlJob)
class CrawlJobAdmin(ViewOnlyAdmin):
    exclude = ["fetching"]  # the crawl's page shows these fields, without the sealed ones
    list_display = [
        "name",
        "scope",
        "visit_order",
        "max_pages",
        "max_depth",
        "delay_seconds",
        "processes",
        "claim",
        "created_by",
        "created_at",
    ]
    list_select_related = ["created_by"]
    search_fields = ["name"]


@admin.register(Run)
class RunAdmin(ViewOnlyAdmin):
    list_display = ["crawl", "number", "state", "reason", "created_at", "started_at", "finished_at"]
    list_select_related = ["crawl"]
    list_filter = ["state"]
    search_fields = ["crawl__name"]


@admin.register(Shift)
class ShiftAdmin(ViewOnlyAdmin):
    list_display = ["process", "epoch", "worker", "started_at", "ended_at", "ending"]
    list_select_related = ["process__run__crawl"]
    ordering = ["-pk"]


@admin.register(Host)
class HostAdmin(ViewOnlyAdmin):
    list_display = ["name", "due_at", "delay_seconds", "shift", "lease_until"]
    list_select_related = ["shift"]
    search_fields = ["name"]


@admin.register(Url)
class UrlAdmin(ViewOnlyAdmin):
    list_display = ["url", "run", "depth", "state", "status", "attempts", "due_at", "error"]
    list_select_related = ["run__crawl"]
    search_fields = ["=url"]
    ordering = ["-pk"]


@admin.register(Page)
class PageAdmin(ViewOnlyAdmin):
    list_display = ["final_url", "run", "status", "content_type", "bytes", "title", "fetched_at"]
    list_select_related = ["run__crawl"]
    search_fields = ["=final_url"]
    ordering = ["-pk"]
