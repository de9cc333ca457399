"""Exceptions from robots.txt: only by administrators, with a reason, for a limited time."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Level, RobotsException
from crawling.runs.crawls.blocklist import reason_errors
from crawling.web.addresses import BadUrl, read_address

LONGEST_HOURS = 24 * 90


def except_host(
    crawl: CrawlJob, host: str, reason: str, hours: float, *, by: User | None = None
) -> RobotsException:
    """Let a crawl fetch URLs that a host's robots.txt forbids. Its Crawl-delay still applies.

    Raises BadOrder with a sentence for each field.
    """
    errors = reason_errors(reason)
    if not 0 < hours <= LONGEST_HOURS:
        errors["hours"] = f"must be more than 0 and at most {LONGEST_HOURS:,}"
    try:
        address = read_address(f"http://{host.strip()}/")
        if address.target != "/":
            raise BadUrl(f"{host!r} is no host; write its name alone, like example.org")
    except BadUrl as error:
        errors["host"] = str(error)
    if errors:
        raise BadOrder(errors)
    with transaction.atomic():
        expires = timezone.now() + timedelta(hours=hours)
        row = RobotsException.objects.create(
            crawl=crawl, host=address.host_key, reason=reason.strip(), by=by, expires_at=expires
        )
        until = f"until {expires:%Y-%m-%d %H:%M} UTC"
        record_action(
            by,
            crawl,
            "excepted a host from robots.txt",
            {row.host: ("obeyed", f"not obeyed {until}: {row.reason}")},
        )
        _log_exception(
            crawl,
            f"robots.txt of {row.host} does not bind this crawl {until}, says "
            f"{_actor_in_words(by)}: {row.reason}",
        )
    return row


@transaction.atomic
def end_exception(crawl: CrawlJob, number: int, *, by: User | None = None) -> RobotsException:
    """End an exception from robots.txt before its time is over. Raises NotFound."""
    row = (
        RobotsException.objects.select_for_update()
        .filter(crawl=crawl, pk=number, expires_at__gt=timezone.now())
        .first()
    )
    if row is None:
        raise NotFound(f"{crawl.name} has no exception {number} from robots.txt that holds.")
    row.expires_at = timezone.now()
    row.save(update_fields=["expires_at"])
    record_action(
        by, crawl, "ended an exception from robots.txt", {row.host: ("not obeyed", "obeyed")}
    )
    _log_exception(crawl, f"robots.txt of {row.host} holds again, says {_actor_in_words(by)}.")
    return row


def _log_exception(crawl: CrawlJob, sentence: str) -> None:
    if latest := crawl.runs.first():
        write(latest.pk, sentence, level=Level.WARNING)


def _actor_in_words(by: User | None) -> str:
    return str(by or "the command line")
