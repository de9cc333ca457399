"""Share links of crawls and feeds of watches, which a user has opened to people without an account.
They stop with the account, unless another user takes them over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from allocation.wording import some
from crawling.installation.permissions import may_act
from crawling.runs.crawls.shared_items import SharedItem, shared_items
from crawling.runs.crawls.teams import steering_user
from crawlsite.administration.accounts import BadAccount, set_active
from crawlsite.models import ApiToken


class SharedByUser(NamedTuple):
    """Items and tokens that stop with an account."""

    items: Sequence[SharedItem]
    tokens: int

    def __bool__(self) -> bool:
        return bool(self.items)


def shared_by(user: User) -> SharedByUser:
    tokens = ApiToken.objects.filter(user=user).count()
    return SharedByUser(shared_items(user), tokens)


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
        for item in shared.items:
            item.kind.hand_over(item.row, receiver, by)
    set_active(user, is_active=False, by=by)


def _receiver(name: str, shared: SharedByUser) -> User:
    """The user of that name, who may act on all their crawls. Raises BadAccount."""
    receiver = steering_user(name)
    if receiver is None:
        sentence = (
            f"No active user {name!r} may steer crawls; name another, or leave the field empty."
        )
        raise BadAccount({"hand_to": sentence})
    crawls = {item.crawl.pk: item.crawl for item in shared.items}
    if closed := [crawl.name for crawl in crawls.values() if not may_act(receiver, crawl)]:
        raise BadAccount(
            {
                "hand_to": f"{name} may not act on {some(closed)}; name the "
                "owner, a member of the team, or an administrator."
            }
        )
    return receiver
