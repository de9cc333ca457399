"""Tokens by which programs log in: made once, shown once, kept as a digest."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from crawlsite.models import ApiToken

#: makes a token easy to find where it should not be, for people and for scanners of repositories
PREFIX = "crawlsite_"
#: the time of use is kept no finer than this, so that a busy program does not write with every request
USED_EVERY = timedelta(minutes=1)


def make_token(user: User, name: str) -> str:
    """Make a token and return it; nobody can read it again. Raises IntegrityError if the user has one of that name."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(user=user, name=name, digest=_digest(token))
    return token


def user_of(token: str) -> User | None:
    """The user that a token stands for, if it is known and its user may log in."""
    found = ApiToken.objects.select_related("user").filter(digest=_digest(token), user__is_active=True).first()
    if found is None:
        return None
    now = timezone.now()
    ApiToken.objects.filter(Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY), pk=found.pk).update(last_used_at=now)
    return found.user


def _digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()
