"""Pages that edit limits, in the product and in the admin site: first the fields, then the pool's
answer, then the change.

A service makes the change, since it has to lock the pool, check the change, and serve waiting
processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.http import QueryDict

from allocation.forms import (
    CapacityForm,
    ClaimForm,
    LimitsForm,
    NewClassForm,
    PriorityForm,
    ShareForm,
    TurnsForm,
)
from allocation.models import Pool, Process, Share
from allocation.services import LimitsPreview, Override

Row = TypeVar("Row", Pool, Process, Share)


@dataclass(frozen=True)
class LimitsPage(Generic[Row]):
    """A page that edits limits: its name in addresses, its heading, its form, and the words of its
    link and in the activity log.
    """

    name: str
    title: str
    form: Callable[[Row, Any], LimitsForm]
    link: str
    done: str


POOL_PAGES: tuple[LimitsPage[Pool], ...] = (
    LimitsPage("capacity", "Capacity", CapacityForm, "Edit capacity", "capacity changed"),
    LimitsPage(
        "turns",
        "Turns and reserves",
        TurnsForm,
        "Edit turns and reserves",
        "turns and reserves changed",
    ),
    LimitsPage(
        "add-class",
        "New resource class",
        NewClassForm,
        "Add a resource class",
        "resource class added",
    ),
)
PROCESS_PAGES: tuple[LimitsPage[Process], ...] = (
    LimitsPage("claim", "Resource limits", ClaimForm, "Edit claim", "claim changed"),
    LimitsPage("priority", "Priority", PriorityForm, "Edit priority", "priority changed"),
)
SHARE_PAGES: tuple[LimitsPage[Share], ...] = (
    LimitsPage("limits", "Reserve and limit", ShareForm, "Edit limits", "share changed"),
)


@dataclass(frozen=True)
class LimitsAnswer:
    form: LimitsForm
    #: the effect of the change; None if nothing would change, or if the form is invalid
    preview: LimitsPreview | None = None
    #: the change that was made, in words; "" if none was made
    done: str = ""
    #: whether the numbers in the form are the current ones
    is_unchanged: bool = False


def process_limits_form(
    page: LimitsPage[Row], row: Row, sent: QueryDict | None, by: User
) -> LimitsAnswer:
    """Read the form. Make the change if it is confirmed or overridden; otherwise show its effect.

    A change is noted in the activity log.
    """
    form = page.form(row, sent)
    if sent is None or not form.is_valid():
        return LimitsAnswer(form)
    if _has_made_change(page, row, form, sent, by):
        return LimitsAnswer(form, done=f"{page.title} of {row} is {page.done.rpartition(' ')[2]}.")
    preview = form.preview() if form.is_valid() and form.changes() else None
    if preview and preview.error:
        form.show_refusal(preview.error)
    return LimitsAnswer(form, preview, is_unchanged=preview is None and not form.errors)


def _has_made_change(
    page: LimitsPage[Row], row: Row, form: LimitsForm, sent: QueryDict, by: User
) -> bool:
    if not {"confirm", "override"} & set(sent):
        return False
    reason = form.cleaned_data["override_reason"] if "override" in sent else None
    if not form.apply(None if reason is None else Override(by.get_username(), reason)):
        return False
    action = page.done + (f", an override if unsafe: {reason}" if reason else "")
    message = json.dumps({"action": action, "changes": form.changes()})
    LogEntry.objects.log_actions(by.pk, [row], CHANGE, message, single_object=True)
    return True
