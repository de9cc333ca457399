"""The news of all crawls for one user: the unread ones, and a feed for feed readers, which have no
account.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.signing import BadSignature, Signer
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from crawling.installation.news import PendingNews, latest_news, news_times, pending_news
from crawlsite.models import Preference
from crawlsite.preferences import preference_of
from serving.access import AuthenticatedRequest, authenticated
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

#: the cache key of the times of all news, which all users share, and the seconds for which it is
#: cached, since every page reads it
KEPT, KEPT_SECONDS = "news/times", 5
#: the cache key of the runs whose news are not known yet, since pages are refreshed every few
#: seconds
KEPT_PENDING = "news/pending"
MOST_ENTRIES = 50
TYPE = "application/atom+xml; charset=utf-8"
SIGNER = Signer(sep=".", salt="crawlsite.news.feed")


def unread_since(user: User) -> datetime:
    """The time after which news are unread. For a new user, news from before the account count as
    read.
    """
    return preference_of(user).news_read_until or user.date_joined


def unread_count(user: User) -> int:
    since = unread_since(user).timestamp()
    return sum(at > since for at in _news_times())


def _news_times() -> list[float]:
    """The times in seconds of the epoch, since the cache stores JSON."""
    with suppress(RedisError):  # without Redis each page asks the database
        found: list[float] | None = cache.get(KEPT)
        if found is None:
            found = [at.timestamp() for at in news_times()]
            cache.set(KEPT, found, KEPT_SECONDS)
        return found
    return [at.timestamp() for at in news_times()]


def pending_now() -> list[PendingNews]:
    """The latest runs whose news are not known yet, as they were a few seconds ago."""
    with suppress(RedisError):
        found: list[tuple[int, str, int, list[str]]] | None = cache.get(KEPT_PENDING)
        if found is None:
            found = [(one.crawl, one.name, one.run, [*one.labels]) for one in pending_news()]
            cache.set(KEPT_PENDING, found, KEPT_SECONDS)
        return [PendingNews(*one) for one in found]
    return pending_news()


def mark_read(user: User, until: datetime) -> None:
    """Mark all news found until this time as read. No news become unread, and later news stay
    unread.
    """
    until = min(until, timezone.now())
    if until > unread_since(user):
        Preference.objects.update_or_create(user=user, defaults={"news_read_until": until})


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def read_page(request: AuthenticatedRequest) -> HttpResponse:
    """Mark the news up to `until`, which the page has shown, as read. With `renew`, give the feed a
    new address.
    """
    if "renew" in request.POST:
        renew_feed(request.user)
        messages.success(request, "The feed has a new address; the old one opens nothing.")
    else:
        with suppress(ValueError):  # an invalid time marks nothing
            until = datetime.fromisoformat(request.POST.get("until", ""))
            if until.tzinfo:
                mark_read(request.user, until)
    return redirect(f"{reverse('attention')}#news")


def renew_feed(user: User) -> None:
    Preference.objects.get_or_create(user=user)
    Preference.objects.filter(user=user).update(news_feed_number=F("news_feed_number") + 1)


def feed_address(user: User) -> str:
    """The address of a user's feed. Its secret part is derived from the server's key, and not
    stored.
    """
    token = SIGNER.sign(f"{user.pk}-{preference_of(user).news_feed_number}")
    return settings.DASHBOARD_URL.rstrip("/") + reverse("news-feed", args=[token])


def _user_of(token: str) -> User | None:
    """The user of a token. None if the token is unknown or renewed, or if the user may no longer
    see crawls.
    """
    try:
        number, _, feed_number = SIGNER.unsign(token).partition("-")
    except BadSignature:
        return None
    user = User.objects.select_related("preference").filter(pk=number, is_active=True).first()
    if user is None or str(preference_of(user).news_feed_number) != feed_number:
        return None
    return user if user.has_perm("crawling.view_crawljob") else None


@require_safe
@sensitive_variables("token")
def feed(request: HttpRequest, token: str) -> HttpResponse:
    """Send the latest news, as long as the user may see crawls."""
    if exceeds_shared_reports(request):
        again = {"Retry-After": str(seconds_left())}
        return HttpResponse("Too many requests; try again later.", status=429, headers=again)
    user = _user_of(token)
    if user is None:
        return HttpResponse("This address opens no feed.", status=404, headers=HEADERS)
    return HttpResponse(_atom_feed(feed_address(user)), headers=HEADERS, content_type=TYPE)


def _atom_feed(address: str) -> str:
    site = settings.DASHBOARD_URL.rstrip("/")
    told = " ".join(f"{one.name}: {one.words}" for one in pending_now())
    feed = Atom1Feed(
        title="News of crawls", link=address, description="", subtitle=told, feed_url=address
    )
    for item in latest_news(most=MOST_ENTRIES)[0]:
        number = f"{item.crawl}-{item.run}-{item.kind}".replace(" ", "-")
        feed.add_item(
            title=f"{item.name}: {item.words}",
            link=site + item.address,
            description=f"Run {item.run}.",
            unique_id=f"tag:crawlsite,{item.at:%Y-%m-%d}:news-{number}",
            pubdate=item.at,
            updateddate=item.at,
        )
    return feed.writeString("utf-8")
