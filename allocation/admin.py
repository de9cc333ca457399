"""The bank in the admin site: look, don't touch. Limits alone can be edited, through services that check them."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from allocation.forms import CapacityForm, ClaimForm, LimitsForm
from allocation.models import Event, MatrixCell, Pool, Process, ResourceClass

Row = TypeVar("Row", Pool, Process)


class ReadOnlyAdmin(admin.ModelAdmin):
    """A row edited by hand would skip the safety check. Whoever may see a pool may look."""

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return bool(request.user.has_perm("allocation.view_pool"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class LimitsAdmin(ReadOnlyAdmin, Generic[Row]):
    """Read-only, but for a page that edits limits: fields, then what the bank would answer, then the change.

    Not an admin form's save, and not in the admin's transaction: the service locks, checks and serves those who wait.
    """

    form_class: type[Any]
    page: str
    what: str

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.limits_view)
        return [path(f"<int:pk>/{self.page}/", view, name=f"allocation_{self.opts.model_name}_{self.page}"), *super().get_urls()]

    def link_to_limits(self, row: Row) -> str:
        address = reverse(f"admin:allocation_{self.opts.model_name}_{self.page}", args=[row.pk])
        return format_html('<a href="{}">edit {}</a>', address, self.page)

    def limits_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if not request.user.has_perm("allocation.change_pool"):
            raise PermissionDenied
        row = get_object_or_404(self.model, pk=pk)
        form: LimitsForm = self.form_class(row, request.POST if request.method == "POST" else None)
        preview = None
        if form.is_valid():
            if "confirm" in request.POST and form.apply():
                self._tell(request, row, form)
                return redirect(f"admin:allocation_{self.opts.model_name}_changelist")
            preview = form.preview() if form.is_valid() and form.new() else None
            if preview and preview.refused:
                form.refuse(preview.refused, preview.resource)
            elif preview is None and not form.errors:
                messages.info(request, "Nothing would change: enter new numbers first.")
        title = f"{self.what} of {row}"
        context = {**self.admin_site.each_context(request), "opts": self.opts, "form": form, "row": row, "preview": preview, "title": title}
        return TemplateResponse(request, "allocation/admin_limits.html", context)

    def _tell(self, request: HttpRequest, row: Row, form: LimitsForm) -> None:
        """To whom it concerns: the one who changed it, and the audit log."""
        self.log_change(request, row, json.dumps({"action": f"{self.page} changed", "changes": form.changes()}))
        messages.success(request, f"{self.what} of {row} is changed.")


@admin.register(Pool)
class PoolAdmin(LimitsAdmin[Pool]):
    form_class, page, what = CapacityForm, "capacity", "Capacity"
    list_display = ["name", "policy", "is_safe", "version", "edit_limits"]
    fields = ["name", "policy", "capacity", "available", "is_safe", "version", "bypass_limit", "updated_at", "edit_limits"]
    readonly_fields = ["edit_limits"]

    @admin.display(description="limits")
    def edit_limits(self, pool: Pool) -> str:
        return self.link_to_limits(pool)


@admin.register(ResourceClass)
class ResourceClassAdmin(ReadOnlyAdmin):
    """Words may be edited by those who set limits; place and key are what every array and every request go by."""

    list_display = ["key", "pool", "unit", "sentence"]
    list_select_related = ["pool"]
    list_filter = ["pool"]
    fields = ["pool", "ordinal", "key", "unit", "sentence"]
    readonly_fields = ["pool", "ordinal", "key"]

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return bool(request.user.has_perm("allocation.change_pool"))


@admin.register(Process)
class ProcessAdmin(LimitsAdmin[Process]):
    form_class, page, what = ClaimForm, "claim", "Claim (Max)"
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
        "edit_claim",
    ]
    readonly_fields = ["edit_claim"]
    list_select_related = ["pool"]
    list_filter = ["pool", "state", "holding"]
    search_fields = ["label", "run_ref"]

    @admin.display(description="claim (Max)")
    def edit_claim(self, process: Process) -> str:
        return self.link_to_limits(process)


@admin.register(MatrixCell)
class MatrixCellAdmin(ReadOnlyAdmin):
    list_display = ["process", "key", "unit", "maximum", "allocation", "need"]
    list_select_related = ["process"]
    list_filter = ["pool", "key", ("process", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["process__label"]
    list_display_links = None


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["version", "pool", "at", "kind", "process", "amounts", "available_before", "available_after", "reason"]
    list_select_related = ["pool", "process"]
    list_filter = ["pool", "kind"]
    show_full_result_count = False
