"""Pools in the admin site. Only limits can be edited there, by services that check them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join

from allocation.limits_pages import (
    POOL_PAGES,
    PROCESS_PAGES,
    SHARE_PAGES,
    LimitsPage,
    process_limits_form,
)
from allocation.models import Event, MatrixCell, Pool, Process, ResourceClass, Share
from allocation.wording import UnitWords
from serving.paging import BoundedPaginator


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows rows that cannot be edited, since an edit by hand would bypass the safety check. Users
    with the permission may see them.
    """

    permission = "allocation.view_pool"

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return bool(request.user.has_perm(self.permission))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class LimitsAdmin(ReadOnlyAdmin):
    """Read-only, except for the pages that edit limits (`allocation.limits_pages`)."""

    pages: tuple[LimitsPage[Any], ...] = ()

    def get_urls(self) -> list[URLPattern]:
        views = [
            (page, self.admin_site.admin_view(partial(self.limits_view, page=page)))
            for page in self.pages
        ]
        own = [
            path(f"<int:pk>/{page.name}/", view, name=self._url_name(page)) for page, view in views
        ]
        return [*own, *super().get_urls()]

    def _url_name(self, page: LimitsPage[Any]) -> str:
        return f"allocation_{self.opts.model_name}_{page.name.replace('-', '_')}"

    def links(self, row: models.Model) -> str:
        pages = [
            (reverse(f"admin:{self._url_name(page)}", args=[row.pk]), page.link)
            for page in self.pages
        ]
        return format_html_join(" · ", '<a href="{}">{}</a>', pages)

    def limits_view(self, request: HttpRequest, pk: int, *, page: LimitsPage[Any]) -> HttpResponse:
        if not request.user.has_perm("allocation.change_pool"):
            raise PermissionDenied
        row = get_object_or_404(self.model, pk=pk)
        sent = request.POST if request.method == "POST" else None
        answer = process_limits_form(page, row, sent, cast("User", request.user))
        if answer.done:
            messages.success(request, answer.done)
            return redirect(f"admin:allocation_{self.opts.model_name}_changelist")
        if answer.is_unchanged:
            messages.info(request, "Nothing would change: enter new numbers first.")
        title = f"{page.title} of {row}"
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "form": answer.form,
            "row": row,
            "preview": answer.preview,
            "title": title,
        }
        return TemplateResponse(request, "allocation/admin_limits.html", context)


@admin.register(Pool)
class PoolAdmin(LimitsAdmin):
    pages = POOL_PAGES
    list_display = ["name", "policy", "is_safe", "version", "edit_limits"]
    fields = [
        "name",
        "policy",
        "capacity_by_class",
        "available_by_class",
        "reserved_by_class",
        "is_safe",
        "version",
        "bypass_limit",
        "updated_at",
        "edit_limits",
    ]
    readonly_fields = [
        "capacity_by_class",
        "available_by_class",
        "reserved_by_class",
        "edit_limits",
    ]

    @admin.display(description="capacity")
    def capacity_by_class(self, pool: Pool) -> str:
        return _units_in_words(pool, pool.capacity)

    @admin.display(description="available")
    def available_by_class(self, pool: Pool) -> str:
        return _units_in_words(pool, pool.available)

    @admin.display(description="reserved for urgent starts")
    def reserved_by_class(self, pool: Pool) -> str:
        return _units_in_words(pool, pool.reserved)

    @admin.display(description="limits")
    def edit_limits(self, pool: Pool) -> str:
        return self.links(pool)


def _units_in_words(pool: Pool, units: Sequence[int]) -> str:
    """Units by class, each behind the name of the class: `worker 4, memory 3,013`."""
    named = [(UnitWords(one.key, one.unit), units[one.ordinal]) for one in pool.classes.all()]
    return ", ".join(f"{words.name} {count:,}" for words, count in named)


@admin.register(Share)
class ShareAdmin(LimitsAdmin):
    pages = SHARE_PAGES
    list_display = ["name", "pool", "ref", "edit_limits"]
    fields = ["name", "pool", "ref", "reserved", "limits", "edit_limits"]
    readonly_fields = ["edit_limits"]
    list_select_related = ["pool"]
    list_filter = ["pool"]

    @admin.display(description="limits")
    def edit_limits(self, share: Share) -> str:
        return self.links(share)


@admin.register(ResourceClass)
class ResourceClassAdmin(ReadOnlyAdmin):
    """Users who may set limits may edit the words. Place and key are fixed, since all arrays and
    requests refer to them.
    """

    list_display = ["key", "pool", "unit", "sentence"]
    list_select_related = ["pool"]
    list_filter = ["pool"]
    fields = ["pool", "ordinal", "key", "unit", "sentence"]
    readonly_fields = ["pool", "ordinal", "key"]

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return bool(request.user.has_perm("allocation.change_pool"))


@admin.register(Process)
class ProcessAdmin(LimitsAdmin):
    pages = PROCESS_PAGES
    list_display = [
        "label",
        "pool",
        "state",
        "holding",
        "max_claim",
        "allocated",
        "epoch",
        "lease_until",
        "kept_until",
        "worker",
        "priority",
        "edit_limits",
    ]
    readonly_fields = ["edit_limits"]
    list_select_related = ["pool"]
    list_filter = ["pool", "state", "holding"]
    list_per_page = 50
    search_fields = ["label", "run_ref"]

    @admin.display(description="limits")
    def edit_limits(self, process: Process) -> str:
        return self.links(process)


@admin.register(MatrixCell)
class MatrixCellAdmin(ReadOnlyAdmin):
    list_display = ["process", "key", "unit", "maximum", "allocation", "need"]
    list_select_related = ["process"]
    list_filter = ["pool", "key", ("process", admin.RelatedOnlyFieldListFilter)]
    list_per_page = 50
    search_fields = ["process__label"]
    list_display_links = None


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = [
        "version",
        "pool",
        "at",
        "kind",
        "process",
        "amounts",
        "available_before",
        "available_after",
        "reason",
    ]
    list_select_related = ["pool", "process"]
    list_filter = ["pool", "kind"]
    show_full_result_count = False
    paginator = BoundedPaginator
