"""People of each role in front of a browser without scripts."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup
from django.contrib.auth.models import Group, User
from django.test import Client

from crawlsite.administration.accounts import make_roles


def browser(role: str, **user_fields) -> Client:
    """A browser in which a user of that role has logged in."""
    make_roles()
    user = User.objects.create_user(role, **user_fields)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def soup(response) -> BeautifulSoup:
    return BeautifulSoup(response.content, "html.parser")


def timeless(page: str) -> str:
    """Without `3 seconds ago`, which a moment later is 4."""
    return re.sub(r">[^<]* ago</time>|>now</time>", "></time>", page)
