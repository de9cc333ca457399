"""The users who may see what was done, and who may make whom."""

from __future__ import annotations

import json
from functools import partialmethod

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse

from crawling.models import Team
from crawling.runs.crawls.teams import create_team
from crawling.uses.collections.changes import CollectionFields, create_collection
from crawling.uses.collections.models import Collection
from serving import paging
from serving.listing.sources import QueryList
from tests.crawling.pages import browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("contexts")]
AUDIT = "admin:admin_logentry_changelist"


def log_in(role: str):
    """A browser of a member of staff in that role."""
    return browser(role, is_staff=True)


@pytest.fixture
def entry(django_user_model):
    user = django_user_model.objects.create_user("anna")
    said = json.dumps({"action": "paused", "changes": {"state": ["running", "pausing"]}})
    return LogEntry.objects.create(
        user=user,
        content_type=ContentType.objects.get_for_model(User),
        object_repr="the crawl",
        action_flag=CHANGE,
        change_message=said,
    )


def test_audit_log_tells_who_did_what_from_and_to(entry):
    page = log_in("administrator").get(reverse(AUDIT)).content.decode()

    assert "anna" in page
    assert "paused" in page
    assert "state: running → pausing" in page


def test_audit_log_reads_the_admins_own_notes(entry):
    LogEntry.objects.update(change_message='[{"changed": {"fields": ["Email address"]}}]')

    assert "Changed Email address." in log_in("administrator").get(reverse(AUDIT)).content.decode()


def test_a_long_list_is_counted_so_far_and_files_have_all(entry, monkeypatch):
    monkeypatch.setattr(paging, "MOST_NUMBERED", 3)
    monkeypatch.setattr(QueryList, "each", partialmethod(QueryList.each, chunk=2))
    other = User.objects.create_user("bert")
    for _ in range(4):
        LogEntry.objects.create(user=other, action_flag=CHANGE, object_repr="another")
    browser = log_in("administrator")

    page = browser.get(reverse(AUDIT)).content.decode()
    file = browser.get(reverse("administration:activity-file"))

    assert "3+ log entries" in page
    assert f'?user__id__exact={entry.user.pk}"' in page
    assert len(b"".join(file.streaming_content).splitlines()) == 1 + 5


def test_an_account_that_has_done_something_is_not_deleted_and_its_record_with_it(
    admin_client, entry
):
    client, idle = admin_client, User.objects.create_user("idle")

    for name in ("anna", "idle"):
        client.post(
            reverse("admin:auth_user_delete", args=[User.objects.get(username=name).pk]),
            {"post": "yes"},
        )
    both = {"action": "delete_selected", "_selected_action": [entry.user_id], "post": "yes"}
    client.post(reverse("admin:auth_user_changelist"), both)

    assert not User.objects.filter(pk=idle.pk).exists()
    assert LogEntry.objects.get(pk=entry.pk).user.username == "anna"


def test_audit_log_is_never_edited(entry):
    client = log_in("administrator")

    assert client.get(reverse("admin:admin_logentry_add")).status_code == 403
    assert (
        client.post(
            reverse("admin:admin_logentry_delete", args=[entry.pk]), {"post": "yes"}
        ).status_code
        == 403
    )
    assert LogEntry.objects.filter(pk=entry.pk).exists()


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_audit_log_and_users_are_for_administrators(entry, role):
    client = log_in(role)

    for name in (AUDIT, "admin:auth_user_changelist", "admin:auth_group_changelist"):
        assert client.get(reverse(name)).status_code == 403


def test_a_team_that_is_used_cannot_be_deleted_here_either():
    client, team = log_in("administrator"), create_team("Press")
    create_collection(CollectionFields("Town library", team="Press"), by=None)
    page = reverse("admin:crawling_team_delete", args=[team.pk])

    assert client.post(page, {"post": "yes"}).status_code == 403
    Collection.objects.all().delete()
    assert client.post(page, {"post": "yes"}).status_code == 302
    assert not Team.objects.exists()


def test_administrators_give_roles_but_no_powers_beyond_them():
    client, root, clerk = (
        log_in("administrator"),
        User.objects.create_superuser("root"),
        User.objects.create_user("clerk"),
    )

    assert (
        client.post(
            reverse("admin:auth_user_change", args=[root.pk]), {"username": "root"}
        ).status_code
        == 403
    )
    fields = (
        client.get(reverse("admin:auth_user_change", args=[clerk.pk]))
        .context["adminform"]
        .form.fields
    )
    assert "groups" in fields
    assert not {"is_superuser", "user_permissions"} & set(fields)
