"""The three roles, as groups with permissions: what a viewer sees, an operator does and an
administrator sets up.

Views and endpoints ask for permissions, never for roles, so that an installation may make groups of
its own.
"""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission

#: sees everything but secrets
VIEW = ("crawling.view_crawljob", "allocation.view_pool", "dnscache.view_dnsentry")
#: makes and steers crawls
OPERATE = (
    "crawling.add_crawljob",
    "crawling.change_crawljob",
    "crawling.delete_crawljob",
    "crawling.change_identity",
    "crawling.add_blocklistentry",
    "dnscache.change_dnsentry",
)
#: sets limits, networks and users; in the admin site
ADMINISTER = (
    "allocation.change_pool",
    "crawling.add_allowednetwork",
    "crawling.change_allowednetwork",
    "crawling.delete_allowednetwork",
    *(
        f"crawling.{verb}_{what}"
        for what in ("alloweddirectory", "sharednetwork", "team", "trustedproxy")
        for verb in ("view", "add", "change", "delete")
    ),
    "crawling.delete_blocklistentry",
    "crawling.add_robotsexception",
    "crawling.view_listener",
    "crawling.change_listener",
    "crawling.delete_listener",
    "dnscache.delete_dnsentry",
    "dnscache.change_dnsserver",
    "auth.add_user",
    "auth.change_user",
    "auth.view_group",
    "admin.view_logentry",
)
ROLES = {"viewer": VIEW, "operator": VIEW + OPERATE, "administrator": VIEW + OPERATE + ADMINISTER}


def make_roles() -> None:
    """Make the groups that are missing and give each the permissions of its role; others that it
    was given stay.
    """
    known = {
        f"{app}.{codename}": pk
        for app, codename, pk in Permission.objects.values_list(
            "content_type__app_label", "codename", "pk"
        )
    }
    for name, permissions in ROLES.items():
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.add(*(known[permission] for permission in permissions))
