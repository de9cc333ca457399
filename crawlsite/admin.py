"""Users, the audit log and the queues in the admin site."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Exists, OuterRef
from django.forms import ModelForm
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern
from django_rq.admin import QueueAdmin
from django_rq.models import Dashboard

from crawlsite.administration.passwords import mark_password_as_given
from serving.paging import BoundedPaginator


class LogEntryFilter(admin.RelatedFieldListFilter):
    """Offers the values that occur in entries. An index finds each value, and no entry is
    counted.
    """

    def field_choices(
        self, field: Any, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Any:
        entries = model_admin.model._default_manager.filter(**{field.name: OuterRef("pk")})
        named = field.related_model._default_manager.filter(Exists(entries))
        return [(str(one.pk), str(one)) for one in named]


@admin.register(LogEntry)
class AuditAdmin(admin.ModelAdmin):
    """Every action of a person or a program. Shown, but not editable."""

    list_display = ["action_time", "user", "action", "content_type", "object_repr", "changes"]
    list_select_related = ["user", "content_type"]
    list_filter = [
        "action_time",
        ("user", LogEntryFilter),
        ("content_type", LogEntryFilter),
        "action_flag",
    ]
    list_display_links = None
    search_fields = ["object_repr", "change_message", "user__username"]
    ordering = ["-pk"]  # the same order as by time, unless the clock was set
    show_full_result_count = False
    paginator = BoundedPaginator

    @admin.display(description="action")
    def action(self, entry: LogEntry) -> str:
        said = _format_note(entry)
        return str(said["action"]) if "action" in said else entry.get_action_flag_display().lower()

    @admin.display(description="changes")
    def changes(self, entry: LogEntry) -> str:
        said = _format_note(entry)
        if "changes" not in said:
            return str(entry.get_change_message())
        return "; ".join(f"{name}: {old} → {new}" for name, (old, new) in said["changes"].items())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def _format_note(entry: LogEntry) -> dict[str, Any]:
    """The content of entries made by our own code. Django reads the admin's own notes, which are
    lists.
    """
    try:
        said = json.loads(entry.change_message)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


admin.site.unregister(User)


@admin.register(User)
class PeopleAdmin(UserAdmin):
    """Administrators can create users and give them roles. Only a superuser creates or changes
    superusers, or grants single permissions.
    """

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        """Mark the password of a new user as given, since the user who entered it knows it."""
        super().save_model(request, obj, form, change)
        if not change:
            mark_password_as_given(obj)

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> LogEntry:
        """Mark the password as given. After the password of another user was set, Django calls only
        this method of ours.
        """
        is_password = request.resolver_match is not None and (
            request.resolver_match.url_name == "auth_user_password_change"
        )
        if is_password and obj != request.user:
            mark_password_as_given(obj)
        return super().log_change(request, obj, message)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        fields = [str(field) for field in super().get_readonly_fields(request, obj)]
        return (
            fields if request.user.is_superuser else [*fields, "is_superuser", "user_permissions"]
        )

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Whether an account may be deleted: never, since the audit log refers to accounts. They
        can be made inactive.

        Django would refuse, too, but only after listing all actions of the account.
        """
        return super().has_delete_permission(request, obj) and (
            obj is None or not LogEntry.objects.filter(user=obj).exists()
        )

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may = super().has_change_permission(request, obj)
        return may and (request.user.is_superuser or obj is None or not obj.is_superuser)


admin.site.unregister(Dashboard)


@admin.register(Dashboard)
class QueuesAdmin(QueueAdmin):
    """Queues and workers, to be viewed, emptied or stopped. django-rq itself requires only staff
    status, which a viewer may have.
    """

    MAY = "allocation.change_pool"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.MAY)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return request.user.has_perm(self.MAY)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return request.user.has_perm(self.MAY)

    def get_urls(self) -> list[URLPattern]:
        patterns = super().get_urls()  # type: ignore[no-untyped-call]
        return [self._guard_pattern(pattern) for pattern in patterns]

    def _guard_pattern(self, pattern: URLPattern) -> URLPattern:
        view: Callable[..., HttpResponseBase] = pattern.callback

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.has_perm(self.MAY):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        pattern.callback = self.admin_site.admin_view(guarded)
        return pattern
