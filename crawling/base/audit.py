"""The audit log: one row for each action, in Django's own log of administrators' actions, so that a
single list has all actions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import models

#: the account for actions from the command line, without a log-in
COMMAND_LINE = "command-line"
#: the account for actions by rules that a user has set
SCHEDULER = "scheduler"


def record_action(
    by: User | None,
    thing: models.Model,
    action: str,
    changes: Mapping[str, tuple[Any, Any]] | None = None,
) -> None:
    """Add a row for an action on `thing`. by: None for the command line. changes: the old and the
    new value by field.
    """
    LogEntry.objects.create(
        user=by or account_of(COMMAND_LINE),
        content_type=ContentType.objects.get_for_model(thing),
        object_id=str(thing.pk),
        object_repr=str(thing)[:200],
        action_flag=CHANGE,
        change_message=json.dumps(
            {
                "action": action,
                "changes": {name: list(pair) for name, pair in (changes or {}).items()},
            },
            default=str,
        ),
    )


def account_of(name: str) -> User:
    """Return the account without a log-in that has this name. Create it if it is missing."""
    user, is_new = User.objects.get_or_create(username=name, defaults={"is_active": False})
    if is_new:
        user.set_unusable_password()
        user.save()
    return user
