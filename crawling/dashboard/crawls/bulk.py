"""One action on many crawls, each by itself, so that one that has ended meanwhile keeps none of the
others from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.models import User

from crawling.base.errors import CrawlError
from crawling.dashboard.crawls.filter import CrawlFilter, found_crawls
from crawling.installation.permissions import acted_on, refusal, within_reach
from crawling.models import CrawlJob
from crawling.models.jobs import ENDED_STATES
from crawling.orders.seeds import BadTags
from crawling.runs.crawls.tags import tag_crawls
from crawling.runs.transitions import ACTIONS as RUN_ACTIONS
from crawling.runs.verbs import VERBS
from crawling.runs.wait_reason import waiting_runs

#: more at once would take minutes
MOST = 500
TAGGING = {"tag": "add", "untag": "remove"}
ACTIONS = (*RUN_ACTIONS, *TAGGING)


class BulkResult(NamedTuple):
    changed: int
    refused: list[str]


def chosen(
    action: str, *, ids: Sequence[int] = (), wanted: CrawlFilter | None = None, by: User
) -> list[CrawlJob]:
    """The crawls with these ids, or all that are wanted, that the user may act on, and that can be
    steered so.

    Raises CrawlError for none or too many.
    """
    found = CrawlJob.objects.filter(pk__in=ids)
    if wanted is not None:
        found = found_crawls(wanted, waiting_runs()).filter(within_reach(by))
        if action in RUN_ACTIONS:
            found = found.filter(last__state__in=_steered(action, wanted))
    crawls = list(found.select_related("created_by").order_by("-pk")[: MOST + 1])
    if not crawls:
        raise CrawlError("No crawl is chosen: tick some, or choose all found.")
    if len(crawls) > MOST:
        raise CrawlError(
            f"More than {MOST} crawls match; narrow the filter, then continue with the rest."
        )
    return crawls


def _steered(action: str, wanted: CrawlFilter) -> frozenset[str]:
    """States from which a filter's crawls are taken: those that have ended only if it names one."""
    ended = frozenset(ENDED_STATES)
    return RUN_ACTIONS[action].allowed_from - (frozenset() if wanted.state in ended else ended)


def bulk_action(
    action: str, crawls: Sequence[CrawlJob], *, tags: Sequence[str] = (), by: User
) -> BulkResult:
    """Do one of ACTIONS to the crawls that the user may act on. Raises BadTags if it is about tags
    and names none.
    """
    own = acted_on(by, [crawl.pk for crawl in crawls])
    refused = [refusal(crawl) for crawl in crawls if crawl.pk not in own]
    if action in TAGGING:
        if not tags:
            raise BadTags("Name the tags, with commas between them.")
        return BulkResult(tag_crawls(own, **{TAGGING[action]: tags}, by=by), refused)
    for crawl in (crawl for crawl in crawls if crawl.pk in own):
        try:
            VERBS[action].do(crawl, by=by)
        except CrawlError as error:
            refused.append(str(error))
    return BulkResult(len(crawls) - len(refused), refused)
