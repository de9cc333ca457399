"""The users who may cancel jobs that users have asked for."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied

from crawling.installation.permissions import may_end, require_own
from crawling.runs.crawls.teams import set_team_rule
from crawlsite.administration.accounts import make_roles

ROLES = ("viewer", "operator", "administrator")


@pytest.fixture
def users(db):
    make_roles()
    found = {role: User.objects.create_user(role) for role in ROLES}
    for role, user in found.items():
        user.groups.add(Group.objects.get(name=role))
    return found


@pytest.mark.parametrize("own_crawls_only", [True, False])
def test_who_ends_what_was_asked_for(users, own_crawls_only):
    set_team_rule(own_crawls_only=own_crawls_only)
    asker = User.objects.create_user("asker")

    def may(asker):
        return [role for role in ROLES if may_end(users[role], asker)]

    assert may(asker) == ["operator", "administrator"][own_crawls_only:]
    # the command line, or a user who was deleted
    assert may(None) == ["operator", "administrator"]
    assert [may_end(users["viewer"], users["viewer"]), may_end(None, asker)] == [True, True]


def test_a_refusal_names_who_may(users):
    with pytest.raises(PermissionDenied, match="an operator cancels it"):
        require_own(users["viewer"], None, "inquiry 7")
