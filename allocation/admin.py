"""Pools in the admin site: look, don't touch.

Limits alone can be edited, through services that check them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join

from allocation.forms import (
    CapacityForm,
    ClaimForm,
    LimitsForm,
    NewClassForm,
    PriorityForm,
    TurnsForm,
)
from allocation.models import Event, MatrixCell, Pool, Process, ResourceClass
from allocation.services import Override


class ReadOnlyAdmin(admin.ModelAdmin):
    """A row edited by hand would skip the safety check. Whoever has the permission may look."""

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


@dataclass(frozen=True)
class LimitsPage:
    """A page that edits limits: its name in addresses, its heading, its form, what its link says
    and what the audit log.
    """

    name: str
    title: str
    form: Callable[[Any, Any], LimitsForm]
    link: str
    done: str


class LimitsAdmin(ReadOnlyAdmin):
    """Read-only, but for pages that edit limits: fields, then what the pool would answer, then the
    change.

    Not an admin form's save, and not in the admin's transaction: the service locks, checks and
    serves those who wait.
    """

    pages: tuple[LimitsPage, ...] = ()

    def get_urls(self) -> list[URLPattern]:
        views = [
            (page, self.admin_site.admin_view(partial(self.limits_view, page=page)))
            for page in self.pages
        ]
        own = [
            path(f"<int:pk>/{page.name}/", view, name=self._name_of(page)) for page, view in views
        ]
        return [*own, *super().get_urls()]

    def _name_of(self, page: LimitsPage) -> str:
        return f"allocation_{self.opts.model_name}_{page.name.replace('-', '_')}"

    def links(self, row: models.Model) -> str:
        pages = [
            (reverse(f"admin:{self._name_of(page)}", args=[row.pk]), page.link)
            for page in self.pages
        ]
        return format_html_join(" · ", '<a href="{}">{}</a>', pages)

    def limits_view(self, request: HttpRequest, pk: int, *, page: LimitsPage) -> HttpResponse:
        if not request.user.has_perm("allocation.change_pool"):
            raise PermissionDenied
        row = get_object_or_404(self.model, pk=pk)
        form = page.form(row, request.POST if request.method == "POST" else None)
        preview = None
        if form.is_valid():
            if self._applied(request, row, page, form):
                return redirect(f"admin:allocation_{self.opts.model_name}_changelist")
            preview = form.preview() if form.is_valid() and form.changes() else None
            if preview and preview.refused:
                form.refuse(preview.refused, preview.resource)
            elif preview is None and not form.errors:
                messages.info(request, "Nothing would change: enter new numbers first.")
        title = f"{page.title} of {row}"
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "form": form,
            "row": row,
            "preview": preview,
            "title": title,
        }
        return TemplateResponse(request, "allocation/admin_limits.html", context)

    def _applied(
        self, request: HttpRequest, row: models.Model, page: LimitsPage, form: LimitsForm
    ) -> bool:
        """Make the change if it is confirmed, or overridden; and tell those whom it concerns: who
        did it, and the audit log.
        """
        if not {"confirm", "override"} & set(request.POST):
            return False
        reason = form.cleaned_data["override_reason"] if "override" in request.POST else None
        if not form.apply(
            None if reason is None else Override(request.user.get_username(), reason)
        ):
            return False
        action = page.done + (f", an override if unsafe: {reason}" if reason else "")
        self.log_change(request, row, json.dumps({"action": action, "changes": form.changes()}))
        messages.success(request, f"{page.title} of {row} is {page.done.rpartition(' ')[2]}.")
        return True


@admin.register(Pool)
class PoolAdmin(LimitsAdmin):
    pages = (
        LimitsPage("capacity", "Capacity", CapacityForm, "edit capacity", "capacity changed"),
        LimitsPage(
            "turns",
            "Turns and reserves",
            TurnsForm,
            "edit turns and reserves",
            "turns and reserves changed",
        ),
        LimitsPage(
            "add-class",
            "New resource class",
            NewClassForm,
            "add a resource class",
            "resource class added",
        ),
    )
    list_display = ["name", "policy", "is_safe", "version", "edit_limits"]
    fields = [
        "name",
        "policy",
        "capacity",
        "available",
        "reserved",
        "is_safe",
        "version",
        "bypass_limit",
        "updated_at",
        "edit_limits",
    ]
    readonly_fields = ["edit_limits"]

    @admin.display(description="limits")
    def edit_limits(self, pool: Pool) -> str:
        return self.links(pool)


@admin.register(ResourceClass)
class ResourceClassAdmin(ReadOnlyAdmin):
    """Words may be edited by those who set limits; place and key are what every array and every
    request go by.
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
    pages = (
        LimitsPage("claim", "Resource limits", ClaimForm, "edit claim", "claim changed"),
        LimitsPage("priority", "Priority", PriorityForm, "edit priority", "priority changed"),
    )
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
    search_fields = ["label", "run_ref"]

    @admin.display(description="limits")
    def edit_limits(self, process: Process) -> str:
        return self.links(process)


@admin.register(MatrixCell)
class MatrixCellAdmin(ReadOnlyAdmin):
    list_display = ["process", "key", "unit", "maximum", "allocation", "need"]
    list_select_related = ["process"]
    list_filter = ["pool", "key", ("process", admin.RelatedOnlyFieldListFilter)]
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
