"""The bank in the admin site: look, don't touch. Limits alone can be edited, through a service that checks them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from allocation.forms import CapacityForm
from allocation.models import Event, MatrixCell, Pool, Process, ResourceClass


class ReadOnlyAdmin(admin.ModelAdmin):
    """A row edited by hand would skip the safety check."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


@admin.register(Pool)
class PoolAdmin(ReadOnlyAdmin):
    list_display = ["name", "policy", "is_safe", "version", "edit_limits"]
    fields = ["name", "policy", "capacity", "available", "is_safe", "version", "bypass_limit", "updated_at", "edit_limits"]
    readonly_fields = ["edit_limits"]

    @admin.display(description="limits")
    def edit_limits(self, pool: Pool) -> str:
        return format_html('<a href="{}">edit capacity</a>', reverse("admin:allocation_pool_capacity", args=[pool.pk]))

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.capacity_view)
        return [path("<int:pool>/capacity/", view, name="allocation_pool_capacity"), *super().get_urls()]

    def capacity_view(self, request: HttpRequest, pool: int) -> HttpResponse:
        """Edit capacity by class. Not an admin form's save: the service has to lock, check and serve those who wait."""
        row = get_object_or_404(Pool, pk=pool)
        if not request.user.has_perm("allocation.change_pool"):
            return HttpResponse("Only administrators who may change pools edit limits.", status=403, content_type="text/plain")
        form = CapacityForm(row, request.POST if request.method == "POST" else None)
        if form.is_valid() and form.apply():
            messages.success(request, f"The limits of {row.name} are changed.")
            return redirect("admin:allocation_pool_changelist")
        context: dict[str, Any] = {**self.admin_site.each_context(request), "opts": Pool._meta, "form": form, "pool": row}
        return TemplateResponse(request, "allocation/admin_capacity.html", context | {"title": f"Capacity of {row.name}"})


@admin.register(ResourceClass)
class ResourceClassAdmin(admin.ModelAdmin):
    """Words may be edited; place and key are what every array and every request go by."""

    list_display = ["key", "pool", "unit", "sentence"]
    list_select_related = ["pool"]
    list_filter = ["pool"]
    fields = ["pool", "ordinal", "key", "unit", "sentence"]
    readonly_fields = ["pool", "ordinal", "key"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


@admin.register(Process)
class ProcessAdmin(ReadOnlyAdmin):
    list_display = ["label", "pool", "state", "holding", "max_claim", "allocated", "epoch", "lease_until", "worker"]
    list_select_related = ["pool"]
    list_filter = ["pool", "state", "holding"]
    search_fields = ["label", "run_ref"]


@admin.register(MatrixCell)
class MatrixCellAdmin(ReadOnlyAdmin):
    list_display = ["process", "key", "unit", "maximum", "allocation", "need"]
    list_select_related = ["process"]
    list_filter = ["pool", "key"]
    list_display_links = None


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["version", "pool", "at", "kind", "process", "amounts", "available_before", "available_after", "reason"]
    list_select_related = ["pool", "process"]
    list_filter = ["pool", "kind"]
    show_full_result_count = False
