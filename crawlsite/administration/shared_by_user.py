"""What a user has opened to people without an account: share links of crawls, and feeds of watches.
They stop with the account, unless another user takes them over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from allocation.wording import some
from crawling.installation.permissions import may_act
from crawling.models import ShareLink, Watch
from crawling.runs.crawls.share_links import hand_link_over, share_links_by
from crawling.runs.crawls.teams import steering_user
from crawling.uses.watches.watching import hand_watch_over, watches_by
from crawlsite.administration.accounts import BadAccount, set_active
from crawlsite.models import ApiToken


class SharedByUser(NamedTuple):
    """What stops with an account."""

    links: Sequence[ShareLink]
    watches: Sequence[Watch]
    tokens: int

    def __bool__(self) -> bool:
        return bool(self.links or self.watches)


def shared_by(user: User) -> SharedByUser:
    tokens = ApiToken.objects.filter(user=user).count()
    return SharedByUser(share_links_by(user), watches_by(user), tokens)


@transaction.atomic
def deactivate(user: User, *, hand_to: str = "", by: User) -> None:
    """Lock the account. `hand_to`: the name of the user who gets the links and feeds, so that they
    stay open. Raises BadAccount, and what `set_active` raises; then nothing has changed.
    """
    shared = shared_by(user)
    if hand_to:
        receiver = _receiver(hand_to, shared)
        if receiver == user:
            raise BadAccount({"hand_to": "Name another user: this one's stop with the account."})
        for link in shared.links:
            hand_link_over(link, receiver, by=by)
        for watch in shared.watches:
            hand_watch_over(watch, receiver, by=by)
    set_active(user, is_active=False, by=by)


def _receiver(name: str, shared: SharedByUser) -> User:
    """The user of that name, who may act on all their crawls. Raises BadAccount."""
    receiver = steering_user(name)
    if receiver is None:
        sentence = (
            f"No active user {name!r} may steer crawls; name another, or leave the field empty."
        )
        raise BadAccount({"hand_to": sentence})
    crawls = {one.crawl_id: one.crawl for one in shared.links}
    crawls |= {one.crawl_id: one.crawl for one in shared.watches}
    if closed := [crawl.name for crawl in crawls.values() if not may_act(receiver, crawl)]:
        raise BadAccount(
            {
                "hand_to": f"{name} may not act on {some(closed)}; name the "
                "owner, a member of the team, or an administrator."
            }
        )
    return receiver
