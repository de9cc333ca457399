"""The Atom feed of a watch. Its address is a secret, since feed readers cannot log in."""

from __future__ import annotations

from django.core.signing import BadSignature, Signer
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape

from crawling.installation.permissions import may_still_share
from crawling.uses.watches.models import PageEvent, Watch
from crawling.uses.watches.watching import events_of
from crawling.web.secret_headers import masked_url

#: the most entries of a feed
MOST_ENTRIES = 50
SIGNER = Signer(sep=".", salt="crawling.watches.feed")


def feed_token(watch: Watch) -> str:
    """The secret part of the address. It is derived from the server's key, and stored nowhere."""
    return SIGNER.sign(f"{watch.pk}-{watch.feed_number}")


def watch_of(token: str) -> Watch | None:
    """The watch of a token. None if the token is unknown or renewed, if the crawl is deleted, or if
    the user may no longer act on the crawl.
    """
    try:
        number, _, feed_number = SIGNER.unsign(token).partition("-")
    except BadSignature:
        return None
    watches = Watch.objects.select_related("crawl", "created_by")
    watches = watches.filter(crawl__removal_asked_at=None)
    watch = watches.filter(pk=number, feed_number=feed_number).first()
    return watch if watch and may_still_share(watch.created_by, watch.crawl) else None


def atom_feed(watch: Watch, address: str) -> str:
    """The latest events. Diffs are escaped as HTML text, so that pages cannot insert markup."""
    title = f"{watch.crawl.name}: {masked_url(watch.text)}"
    feed = Atom1Feed(title=title, link=address, description="", feed_url=address)
    for event in events_of(watch.crawl).filter(watch=watch)[:MOST_ENTRIES]:
        url = masked_url(event.url)
        said = escape(event.note or event.diff_text)
        feed.add_item(
            title=f"{PageEvent(event.kind).label}: {url}",
            link=url,
            description=f"<pre>{said}</pre>" if said else "",
            unique_id=f"tag:crawlsite,{event.found_at:%Y-%m-%d}:watch-event-{event.pk}",
            pubdate=event.found_at,
            updateddate=event.found_at,
        )
    return feed.writeString("utf-8")
