"""Tokens by which the player reads a WACZ file: of one user and one file, and short-lived."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing

from crawling.errors import NotFound
from crawling.exports.rows import is_readable
from crawling.models import Run, RunExport
from crawling.models.datasets import ExportKind
from crawling.teams.permissions import may_act

#: as for a WARC file: answers are in it as they came, with the cookies that they set
PERMISSION = "crawling.change_crawljob"
LASTS = timedelta(hours=1)
SALT = "crawling.wacz"


def token_for(user: User, row: RunExport) -> str:
    """Opens the file to its holder until it expires, the user loses the permission, or the file is
    no longer given out.
    """
    return signing.dumps([user.pk, row.pk], salt=SALT)


def wacz_by(token: str) -> RunExport:
    """Raises NotFound."""
    try:
        user_id, row_id = signing.loads(token, salt=SALT, max_age=LASTS)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise NotFound("The link has expired; open the replay from the dashboard again.") from error
    user = User.objects.filter(pk=user_id, is_active=True).first()
    rows = RunExport.objects.filter(kind=ExportKind.WACZ, written_at__isnull=False)
    row = rows.filter(pk=row_id).first()
    run = Run.objects.select_related("crawl").filter(exports=row_id).first()
    if user is None or not user.has_perm(PERMISSION) or (run and not may_act(user, run.crawl)):
        raise NotFound("You may not see this archive.")
    if row is None or run is None or not is_readable(row):
        raise NotFound("The archive has changed; open the replay from the dashboard again.")
    return row
