"""The permission to read a WACZ file on the origin of its replay. A ticket works once and for a
short time. It is exchanged for a grant, which is kept in a cookie. Each ticket and grant belongs to
one user and one file.
"""

from __future__ import annotations

from datetime import timedelta
from secrets import token_urlsafe

from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache

from crawling.base.errors import NotFound
from crawling.installation.permissions import may_act
from crawling.uses.exports.jobs import WACZ
from crawling.uses.exports.run_export import RunExport
from crawling.uses.exports.state import made_export

#: the same permission as for a WARC file: both contain answers unchanged, with the cookies that
#: they set
PERMISSION = "crawling.change_crawljob"
#: the time between a click on *Replay* and the answer of the replay server
TICKET_LASTS = timedelta(minutes=1)
TICKET = "crawling.wacz.ticket"
GRANT_LASTS = timedelta(hours=1)
GRANT = "crawling.wacz.grant"
EXPIRED = "The link has expired; open the replay from the dashboard again."
CHANGED = "The archive has changed; open the replay from the dashboard again."


def ticket_for(user: User, export: RunExport) -> str:
    """The secret part of an address. It is valid until the ticket is exchanged."""
    return signing.dumps([user.pk, export.id, token_urlsafe(9)], salt=TICKET)


def redeem(ticket: str) -> tuple[str, RunExport]:
    """Exchange a ticket for a grant to its file. A second exchange is refused. Raises NotFound."""
    user_id, job_id, nonce = _signed(ticket, TICKET, TICKET_LASTS)
    export = _file(user_id, job_id)
    # kept longer than the ticket is valid, since the clocks of the two servers may differ
    if not cache.add(f"{TICKET}:{nonce}", True, 2 * TICKET_LASTS.total_seconds()):
        raise NotFound(EXPIRED)
    return signing.dumps([user_id, job_id], salt=GRANT), export


def export_of_grant(granted: str) -> RunExport:
    """The file of a grant. Raises NotFound if the grant has expired, the user has lost the
    permission, or the file may no longer be given out.
    """
    return _file(*_signed(granted, GRANT, GRANT_LASTS))


def _signed(text: str, salt: str, lasts: timedelta) -> list[int]:
    try:
        values: list[int] = signing.loads(text, salt=salt, max_age=lasts)
    except signing.BadSignature as error:
        raise NotFound(EXPIRED) from error
    return values


def _file(user_id: int, job_id: int) -> RunExport:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or not user.has_perm(PERMISSION):
        raise NotFound("You may not see this archive.")
    export = made_export(WACZ, job_id)
    if export is None:
        raise NotFound(CHANGED)
    if not may_act(user, export.run.crawl):
        raise NotFound("You may not see this archive.")
    if not export.is_readable:
        raise NotFound(CHANGED)
    return export
