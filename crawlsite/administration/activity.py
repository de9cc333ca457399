"""The log of actions and their users, with a filter, on a page and as CSV."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from django.contrib.admin.models import ADDITION, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from allocation.wording import whole_number
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import row_file, send
from serving.listing.sources import QueryList
from serving.requests import asked_text

SHOWN = 100
#: the most rows of a file
MOST_EXPORTED = 100_000


@dataclass(frozen=True)
class Activity:
    at: datetime
    user: str
    action: str
    kind: str
    object: str
    #: sentences, one for each changed field
    changes: list[str]


@authenticated(needs="admin.view_logentry", methods=("GET", "HEAD"))
def activity(request: AuthenticatedRequest) -> HttpResponse:
    found = activities(asked_text(request.GET, "q"), asked_text(request.GET, "user"))
    before = whole_number(request.GET.get("before", ""))
    rows, following = ACTIVITIES.page(found, after=str(before or ""), most=SHOWN)
    facts = {
        "rows": rows,
        "following": following,
        "users": User.objects.filter(Exists(LogEntry.objects.filter(user=OuterRef("pk")))).order_by(
            "username"
        ),
        "asked_user": asked_text(request.GET, "user"),
        "text": asked_text(request.GET, "q"),
        "query": _filter_query(request),
    }
    return render(request, "administration/activity.html", facts)


@authenticated(needs="admin.view_logentry", methods=("GET", "HEAD"))
def activity_file(request: AuthenticatedRequest) -> StreamingHttpResponse:
    """Send the log as CSV, the latest action first."""
    found = activities(asked_text(request.GET, "q"), asked_text(request.GET, "user"))
    rows = islice(ACTIVITIES.each(found), MOST_EXPORTED)
    told = ({**row, "changes": "; ".join(row["changes"])} for row in rows)
    return send(row_file("activity", "csv", told))


def activities(text: str, user: str) -> QuerySet[LogEntry]:
    """The rows of one user that contain a text, the latest first. Empty values match all."""
    rows = LogEntry.objects.select_related("user", "content_type").order_by("-pk")
    if user:
        rows = rows.filter(user__username=user)
    if text := text.replace("\0", "").strip()[:200]:
        rows = rows.filter(Q(object_repr__icontains=text) | Q(change_message__icontains=text))
    return rows


def _filter_query(request: HttpRequest) -> str:
    """The filter as a query for an address, without the place in the list."""
    asked = request.GET.copy()
    asked.pop("before", None)
    return asked.urlencode()


def activity_of_entry(row: LogEntry) -> Activity:
    """A row in words, written by `crawling.base.audit` or the admin site."""
    action, changes = _action_and_changes(row)
    kind = str(row.content_type.name) if row.content_type else ""
    return Activity(
        row.action_time, row.user.get_username(), action, kind, row.object_repr, changes
    )


#: the latest action first
ACTIVITIES = QueryList(Activity, read=partial(map, activity_of_entry))


def _action_and_changes(row: LogEntry) -> tuple[str, list[str]]:
    try:
        said = json.loads(row.change_message)
    except ValueError:
        said = None
    if isinstance(said, dict) and "action" in said:
        changes = said.get("changes") or {}
        pairs = changes.items() if isinstance(changes, dict) else ()
        return str(said["action"]), [_change_in_words(field, pair) for field, pair in pairs]
    verb = {ADDITION: "added", DELETION: "deleted"}.get(row.action_flag, "changed")
    return f"{verb} in the admin site", [row.get_change_message()]


def _change_in_words(field: str, pair: Any) -> str:
    if isinstance(pair, list) and len(pair) == 2:
        return f"{field}: {_value_in_words(pair[0])} → {_value_in_words(pair[1])}"
    return f"{field}: {_value_in_words(pair)}"


def _value_in_words(value: Any) -> str:
    text = (
        "–"
        if value in (None, "", [], {})
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= 200 else f"{text[:199]}…"
