"""Create, list and remove watches, and delete events of withdrawn pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.installation.events import page_alerts_withdrawn
from crawling.models import CrawlJob
from crawling.models.deleted import RESTORABLE
from crawling.orders.scope.blocklist import BadEntry
from crawling.orders.scope.url_rules import UrlRule, UrlRuleKind
from crawling.uses.watches.models import PageEvent, Watch, WatchEvent
from crawling.web.documents.css_selectors import BadSelector, read_selector
from crawling.web.expressions import check_expressions

LONGEST_TEXT = 5_000
LONGEST_SELECTOR = 500
#: the most watches of a crawl
MOST_WATCHES = 50
#: the most expressions of one watch, and the most characters of an expression
MOST_IGNORED, LONGEST_IGNORED = 20, 500
#: the largest place and side of a region, in pixels
LARGEST_PIXELS = 20_000


class WatchFields(NamedTuple):
    kind: str
    text: str
    selector: str = ""
    events: Sequence[str] = tuple(PageEvent)
    ignore: Sequence[str] = ()
    ignore_numbers: bool = False
    #: the share of pixels that must differ, in per cent; None: texts are compared
    picture_percent: float | None = None
    #: left, top, width and height, in pixels
    ignored_regions: Sequence[Sequence[int]] = ()


def create_watch(crawl: CrawlJob, fields: WatchFields, *, by: User | None) -> Watch:
    """Watch pages of a crawl, beginning with the next run that ends. Raises BadOrder and
    WrongState.
    """
    checked = _checked_fields(fields)
    with transaction.atomic():
        locked = _lock_crawl_with_room(crawl)
        watch = Watch.objects.create(crawl=locked, created_by=by, **checked._asdict())
        record_action(by, locked, f"created {watch}")
    return watch


def _lock_crawl_with_room(crawl: CrawlJob) -> CrawlJob:
    """The crawl, locked so that two simultaneous requests do not exceed the limit. Raises
    WrongState if the limit is reached.
    """
    locked = CrawlJob.objects.select_for_update(no_key=True).filter(pk=crawl.pk).first()
    if locked is None:
        raise WrongState(f"{crawl.name} is being deleted.")
    if Watch.objects.filter(crawl=locked).count() >= MOST_WATCHES:
        raise WrongState(f"{crawl.name} has {MOST_WATCHES} watches; remove one first.")
    return locked


def remove_watch(crawl: CrawlJob, number: int, *, by: User | None) -> None:
    """Remove a watch with its events, and end its feed. The watch can be restored for a day. Raises
    NotFound.
    """
    with transaction.atomic():
        watch = find_watch(crawl, number)
        record_action(by, crawl, f"removed {watch}")
        Watch.objects.filter(pk=watch.pk).update(removal_asked_at=timezone.now())


def restore_watch(crawl: CrawlJob, number: int, *, by: User | None) -> Watch:
    """Restore the watch. Runs that have ended meanwhile are compared. Raises NotFound and
    WrongState.
    """
    with transaction.atomic():
        _lock_crawl_with_room(crawl)
        if not removed_watches().filter(crawl=crawl, pk=number).update(removal_asked_at=None):
            raise NotFound(f"Crawl {crawl.pk} has no removed watch {number}.")
        watch = find_watch(crawl, number)
        record_action(by, crawl, f"restored {watch}")
    return watch


def removed_watches() -> QuerySet[Watch]:
    """The watches that can be restored, with their crawls, the latest deletion first."""
    since = timezone.now() - RESTORABLE
    found = Watch.all_objects.filter(removal_asked_at__gt=since, crawl__removal_asked_at=None)
    return found.select_related("crawl__created_by").order_by("-removal_asked_at")


def removed_watch(number: int) -> Watch:
    """Raises NotFound."""
    found = removed_watches().filter(pk=number).first()
    if found is None:
        raise NotFound(f"There is no removed watch {number}.")
    return found


def remove_watch_now(number: int, *, by: User | None) -> None:
    """Delete a removed watch permanently, with its events. Raises NotFound."""
    with transaction.atomic():
        watch = removed_watch(number)
        record_action(by, watch.crawl, f"removed {watch} permanently")
        watch.delete()


def delete_removed_watches() -> None:
    """Delete watches that can no longer be restored, with their events."""
    Watch.all_objects.filter(removal_asked_at__lte=timezone.now() - RESTORABLE).delete()


def renew_feed(crawl: CrawlJob, number: int, *, by: User | None) -> Watch:
    """Give a watch's feed a new secret address. The old address stops working. The watch belongs to
    the renewing user after that, since the feed works as long as its user may act on the crawl.
    Raises NotFound.
    """
    with transaction.atomic():
        watch = find_watch(crawl, number)
        owner = by or watch.created_by
        Watch.objects.filter(pk=watch.pk).update(feed_number=F("feed_number") + 1, created_by=owner)
        record_action(by, crawl, f"renewed the address of the feed of {watch}")
    return find_watch(crawl, number)


def watches_by(user: User) -> Sequence[Watch]:
    """The watches that a user has created, with their crawls."""
    found = Watch.objects.filter(created_by=user, crawl__removal_asked_at=None)
    return list(found.select_related("crawl"))


def hand_watch_over(watch: Watch, receiver: User, *, by: User | None) -> None:
    """Give a watch to another user, so that its feed keeps working. The caller is in a
    transaction.
    """
    record_action(by, watch.crawl, f"handed {watch} over", {"owner": (watch.created_by, receiver)})
    Watch.objects.filter(pk=watch.pk).update(created_by=receiver)


def find_watch(crawl: CrawlJob, number: int) -> Watch:
    """Raises NotFound."""
    watch = Watch.objects.filter(crawl=crawl, pk=number).select_related("created_by").first()
    if watch is None:
        raise NotFound(f"Crawl {crawl.pk} has no watch {number}.")
    return watch


def events_of(crawl: CrawlJob) -> QuerySet[WatchEvent]:
    """The events of runs that are not deleted, the latest first."""
    shown = {"watch__removal_asked_at": None, "run__removal_asked_at": None}
    found = WatchEvent.objects.filter(watch__crawl=crawl, **shown)
    return found.select_related("run", "watch")


def delete_events_of_withdrawn(crawl: CrawlJob, rule: UrlRule) -> None:
    """Delete the events of pages that a rule covers, and deliveries about pages of the crawl, in
    the transaction that withdraws the pages. The pages' rows are taken out before.
    """
    rows = WatchEvent.objects.filter(watch__crawl=crawl).values_list("pk", "url")
    gone = [pk for pk, url in rows.iterator() if rule.covers(url)]
    if gone:
        WatchEvent.objects.filter(pk__in=gone).delete()
        page_alerts_withdrawn(crawl)


def _checked_fields(fields: WatchFields) -> WatchFields:
    """The fields in their stored form. Raises BadOrder with a sentence for each field."""
    errors: dict[str, str] = {}
    text, selector = fields.text, fields.selector.strip()
    if fields.kind not in set(UrlRuleKind):
        errors["kind"] = "must be one of " + ", ".join(UrlRuleKind)
    elif not text.strip() or len(text) > LONGEST_TEXT or not text.isprintable():
        errors["text"] = f"must be one line of 1 to {LONGEST_TEXT:,} characters"
    else:
        try:
            text = UrlRule.read(UrlRuleKind(fields.kind), text).text
        except BadEntry as error:
            errors["text"] = str(error)
    if selector and (wrong := _selector_error(selector)):
        errors["selector"] = wrong
    events = [kind for kind in PageEvent if kind in fields.events]
    if not events or set(fields.events) - set(PageEvent):
        errors["events"] = "must be one or more of " + ", ".join(PageEvent)
    ignore = [line for line in fields.ignore if line.strip()]
    if wrong := _expressions_error(ignore):
        errors["ignore"] = wrong
    errors |= _picture_field_errors(fields, has_text_fields=bool(selector or ignore))
    if errors:
        raise BadOrder(errors)
    return fields._replace(
        text=text,
        selector=selector,
        events=events,
        ignore=ignore,
        ignored_regions=[list(region) for region in fields.ignored_regions],
    )


def _picture_field_errors(fields: WatchFields, *, has_text_fields: bool) -> dict[str, str]:
    errors: dict[str, str] = {}
    percent, regions = fields.picture_percent, fields.ignored_regions
    if percent is None:
        if regions:
            errors["ignored_regions"] = "are parts of pictures; state picture_percent, too"
        return errors
    if not 0 <= percent <= 100:
        errors["picture_percent"] = "must be a number from 0 to 100"
    elif has_text_fields or fields.ignore_numbers:
        errors["picture_percent"] = (
            "compares pictures, so region, ignored text and numbers, which are of texts, must be "
            "empty"
        )
    if len(regions) > MOST_IGNORED or not all(map(_is_region, regions)):
        errors["ignored_regions"] = (
            f"must be at most {MOST_IGNORED} rectangles, one a line: left, top, width and height, "
            f"in pixels up to {LARGEST_PIXELS:,}"
        )
    return errors


def _is_region(region: Sequence[int]) -> bool:
    return (
        len(region) == 4
        and all(0 <= side <= LARGEST_PIXELS for side in region)
        and min(region[2:]) > 0
    )


def _selector_error(selector: str) -> str:
    if len(selector) > LONGEST_SELECTOR or not selector.isprintable():
        return f"must be one line of at most {LONGEST_SELECTOR} characters"
    try:
        attribute = read_selector(selector)[1]
    except BadSelector as error:
        return str(error)
    return "must be a selector of elements, without ::attr()" if attribute else ""


def _expressions_error(ignore: Sequence[str]) -> str:
    if len(ignore) > MOST_IGNORED or any(
        len(text) > LONGEST_IGNORED or not text.isprintable() for text in ignore
    ):
        return (
            f"must be at most {MOST_IGNORED} expressions, one a line, of at most "
            f"{LONGEST_IGNORED} characters"
        )
    try:
        check_expressions(ignore)
    except ValueError as error:
        return str(error)
    return ""
