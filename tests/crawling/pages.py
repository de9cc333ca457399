"""Users of each role with a browser without scripts."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group, User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client

from crawlsite.administration.accounts import make_roles
from tests.crawling.page_tree import tree_of


def browser(role: str, **user_fields) -> Client:
    """A browser in which a user of that role has logged in."""
    make_roles()
    user = User.objects.create_user(role, **user_fields)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    log_in(client, user)
    return client


def log_in(client: Client, user: User) -> None:
    """Set the session of a log-in, which is all that tests of pages need, with a quarter of the
    queries.
    """
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key


def soup(response) -> BeautifulSoup:
    return tree_of(response.content)


def timeless(page: str) -> str:
    """The page without times such as `3 seconds ago`, which a moment later are 4."""
    return re.sub(r">[^<]* ago</time>|>now</time>", "></time>", page)
