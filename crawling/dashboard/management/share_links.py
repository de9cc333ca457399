"""`crawl share`: links that show a crawl's report without a log-in."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from crawling.dashboard.management.command_errors import page_address
from crawling.models import CrawlJob, ShareLink
from crawling.runs.crawls.share_links import (
    MOST_DAYS,
    USUAL_DAYS,
    create_share_link,
    revoke_share_link,
    share_links_of,
)


def add_share_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days",
        type=int,
        default=USUAL_DAYS,
        metavar="N",
        help=f"until the link expires, 1 to {MOST_DAYS} (default: {USUAL_DAYS})",
    )
    parser.add_argument("--list", action="store_true", help="list the links instead")
    parser.add_argument("--revoke", type=int, metavar="LINK", help="revoke this link instead")


def change_share_links(crawl: CrawlJob, options: dict[str, Any]) -> str:
    """Run the command with its options and return the text to print. Raises CrawlError and
    CommandError.
    """
    if options["revoke"] is not None:
        return _revoke(crawl, options)
    if options["list"]:
        return _printed_links(crawl, options)
    link, token = create_share_link(crawl, days=options["days"], by=None)
    url = page_address("shared-report", token)
    if options["json"]:
        return json.dumps({**_link_facts(link), "url": url}, indent=2)
    return f"{url}\nExpires at {link.expires_at:%Y-%m-%d %H:%M} UTC. It is not shown again."


def _revoke(crawl: CrawlJob, options: dict[str, Any]) -> str:
    number = options["revoke"]
    link = ShareLink.objects.filter(crawl=crawl, pk=number).first()
    if link is None:
        raise CommandError(f"{crawl.name} has no share link {number}; see --list.")
    revoke_share_link(link, by=None)
    return (
        json.dumps({"revoked": number}) if options["json"] else f"Share link {number} is revoked."
    )


def _printed_links(crawl: CrawlJob, options: dict[str, Any]) -> str:
    links = share_links_of(crawl)
    if options["json"]:
        return json.dumps([_link_facts(link) for link in links], indent=2)
    if not links:
        return f"{crawl.name} has no share links."
    return "\n".join(f"{link.pk}  expires {link.expires_at:%Y-%m-%d %H:%M} UTC" for link in links)


def _link_facts(link: ShareLink) -> dict[str, Any]:
    return {
        "id": link.pk,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat(),
    }
