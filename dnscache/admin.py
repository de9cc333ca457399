"""The cache in the admin site, where wrong answers can be seen and flushed."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from dnscache import services
from dnscache.models import DnsEntry


@admin.register(DnsEntry)
class DnsEntryAdmin(admin.ModelAdmin):
    """Answers can be seen, but not edited, since an edited answer would not be DNS's. A flushed
    name is looked up again when it is needed.
    """

    list_display = [
        "name",
        "status",
        "addresses",
        "address_classes",
        "ttl",
        "resolve_ms",
        "expires_at",
        "retry_at",
        "fails",
        "error",
    ]
    list_filter = ["status"]
    search_fields = ["name", "canonical"]
    actions = ["flush"]
    show_full_result_count = False
    list_per_page = 50

    @admin.action(description="Flush the selected names", permissions=["flush"])
    def flush(self, request: HttpRequest, queryset: QuerySet[DnsEntry]) -> None:
        self.log_deletions(request, queryset)
        count = services.flush_names(list(queryset.values_list("name", flat=True)))
        self.message_user(request, f"{count} names flushed.", messages.SUCCESS)

    def has_flush_permission(self, request: HttpRequest) -> bool:
        """Users who may delete entries may flush them; entries are deleted in no other way."""
        return request.user.has_perm("dnscache.delete_dnsentry")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: DnsEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: DnsEntry | None = None) -> bool:
        return False
