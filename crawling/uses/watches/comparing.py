"""The work of a background job that finds changes of the watched pages in ended runs, stores them
and sends alerts. The job continues after a kill and may run twice. Foreign documents are read here,
within the limits for comparing two texts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import groupby
from typing import Any

import re2
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from allocation.wording import beginning_of_list
from crawling.base.errors import ArchiveTrouble
from crawling.datasets.picture_diff import picture_diff, share_in_words
from crawling.datasets.seen_text import SeenText, seen_text
from crawling.datasets.text_diff import text_diff
from crawling.installation.events import alert
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.watches.models import PageEvent, Watch, WatchEvent
from crawling.uses.watches.news import TOLD_AS, WATCHES_PAGE
from crawling.uses.watches.page_states import StateChange, StateChanges, state_changes
from crawling.web.addresses import fingerprint, signed_64_bits
from crawling.web.content.normal_text import normalized_line
from crawling.web.expressions import read_expression
from crawling.web.secret_headers import masked_url
from crawling.web.statuses import status_sentence

logger = logging.getLogger(__name__)

#: the most changed pages of one watch whose texts are compared after a run
MOST_COMPARED = 2_000
#: the same of pages whose screenshots are compared, which takes a quarter of a second each
MOST_PICTURES = 300
#: the most events of one watch that a run adds
MOST_FOUND = 200
#: the number of events of one watch that are kept
KEPT = 1_000
MOST_LINES = 200
#: the most characters of the diff in a message, and the most URLs in its sentence
MOST_TOLD, URLS_TOLD = 2_000, 5
REST_TOLD = "… The rest of the diff is on the page of the watch."
NUMBER = re2.compile(r"\d+(?:[.,:/-]\d+)*")


def due_crawls() -> list[int]:
    """The ids of crawls whose watches have to be compared with an ended run."""
    due = Watch.objects.filter(
        Exists(_runs_ended_after(OuterRef("crawl"), OuterRef("compared_until")))
    )
    return list(due.order_by("crawl").values_list("crawl", flat=True).distinct())


def _runs_ended_after(crawl: Any, after: Any) -> QuerySet[Run]:
    ended = Run.objects.filter(crawl=crawl, state__in=ENDED_STATES, finished_at__gt=after)
    return ended.order_by("finished_at")


def compare_watched(crawl_id: int) -> None:
    """Compare all runs of a crawl that have ended since each of its watches was last compared."""
    for watch in Watch.objects.filter(crawl=crawl_id):
        for run in _runs_ended_after(crawl_id, watch.compared_until).select_related("crawl"):
            _compare_run(watch, run)
            watch.refresh_from_db(fields=["compared_until"])


def _compare_run(watch: Watch, run: Run) -> None:
    changes = state_changes(watch.rule, run, by_picture=watch.is_by_picture)
    found: list[WatchEvent] = []
    for event in _watch_events(watch, run, changes):
        found.append(event)
        if len(found) > MOST_FOUND:
            break
    notes = []
    if len(found) > MOST_FOUND:
        notes.append(f"Run {run.number} has more events; the first {MOST_FOUND} are listed.")
    elif PageEvent.CHANGED in watch.events and len(changes.changed) > _comparison_limit(watch):
        content, parts = ("picture", "pictures") if watch.is_by_picture else ("content", "texts")
        notes.append(
            f"Of {len(changes.changed):,} pages whose {content} differs in run {run.number}, the "
            f"{parts} of {_comparison_limit(watch):,} were compared."
        )
    if PageEvent.CHANGED in watch.events and changes.unpictured:
        pages = "1 page has" if changes.unpictured == 1 else f"{changes.unpictured:,} pages have"
        notes.append(f"{pages} no picture in run {run.number} or before, so none was compared.")
    if changes.unanswered:
        notes.append(_unanswered_sentence(run, changes.unanswered))
    _store_events(watch, run, found[:MOST_FOUND], " ".join(notes))


def _comparison_limit(watch: Watch) -> int:
    return MOST_PICTURES if watch.is_by_picture else MOST_COMPARED


def _unanswered_sentence(run: Run, urls: Sequence[tuple[str, int]]) -> str:
    """A sentence about pages whose requests do not show whether they are gone or changed."""
    said = [
        f"{masked_url(url)} (status {status}: {status_sentence(status).rstrip('.')})"
        for url, status in urls
    ]
    told = beginning_of_list(said, URLS_TOLD, between="; ")
    pages = "1 page" if len(urls) == 1 else f"{len(urls):,} pages"
    return f"Run {run.number} got no answer that can be compared from {pages}: {told}."


def _watch_events(watch: Watch, run: Run, changes: StateChanges) -> Iterator[WatchEvent]:
    """The events that the watch reports. The texts of changed pages are compared last."""
    for kind, some in ((PageEvent.GONE, changes.gone), (PageEvent.NEW, changes.new)):
        if kind in watch.events:
            yield from (_watch_event(watch, run, kind, change) for change in some)
    if PageEvent.CHANGED in watch.events:
        find = _set_share if watch.is_by_picture else _set_diff
        for change in changes.changed[: _comparison_limit(watch)]:
            event = _watch_event(watch, run, PageEvent.CHANGED, change)
            if find(event, change):
                yield event


def _watch_event(watch: Watch, run: Run, kind: PageEvent, change: StateChange) -> WatchEvent:
    return WatchEvent(
        watch=watch,
        run=run,
        kind=kind,
        url=change.url,
        fingerprint=signed_64_bits(fingerprint(change.url)),
        page=change.new and change.new.page,
        earlier=change.old and change.old.page,
    )


def _set_share(event: WatchEvent, change: StateChange) -> bool:
    """Set the share of the pixels that differ, and a sentence. Return whether it is as large as the
    watch's.
    """
    watch, pages = event.watch, _pages_of(change)
    if len(pages) < 2:
        return False
    try:
        event.picture_share = picture_diff(pages[0], pages[1], watch.ignored_regions).share
    except ArchiveTrouble as trouble:
        event.note = f"The pictures differ, and are not compared. {trouble}"
        return True
    event.note = f"{share_in_words(event.picture_share)} of the pixels of its picture differ."
    assert watch.picture_percent is not None
    return event.picture_share > 0 and 100 * event.picture_share >= watch.picture_percent


def _pages_of(change: StateChange) -> list[Page]:
    """The page in the earlier and in the later run; fewer if one was withdrawn or deleted
    meanwhile.
    """
    assert change.old is not None
    assert change.new is not None
    ids = (change.old.page, change.new.page)
    found = Page.objects.select_related("url", "run__crawl", "archive_file").in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]


def _set_diff(event: WatchEvent, change: StateChange) -> bool:
    """Set the event's diff, or a sentence in its place. Return whether there is a change that the
    watch does not ignore.
    """
    assert change.old is not None
    assert change.new is not None
    watch = event.watch
    if change.old.target or change.new.target:
        event.note = (
            f"It redirects to {change.new.target}."
            if change.new.target
            else "It redirects no longer."
        )
        return True
    pages = _pages_of(change)
    if len(pages) < 2:
        return False
    try:
        old, new = (remove_noise(watch, seen_text(page, watch.selector)) for page in pages)
    except ArchiveTrouble as trouble:
        event.note = f"The content differs, and the texts are not compared. {trouble}"
        return True
    event.diff = [[line.kind, line.text] for line in text_diff(old, new, MOST_LINES)]
    return bool(event.diff)


def remove_noise(watch: Watch, seen: SeenText) -> SeenText:
    """The text without the parts that this watch ignores: matches of expressions, numbers, and
    dates in digits.
    """
    expressions = [read_expression(text) for text in watch.ignore]
    if not (expressions or watch.ignore_numbers):
        return seen
    kept = StringIO()
    for line in StringIO(seen.text):
        rest = line
        for expression in expressions:
            rest = expression.sub("", rest)
        if watch.ignore_numbers:
            rest = NUMBER.sub("#", rest)
        if rest := normalized_line(rest):
            kept.write(rest + "\n")
    return seen._replace(text=kept.getvalue())


@transaction.atomic
def _store_events(watch: Watch, run: Run, found: Sequence[WatchEvent], note: str) -> None:
    """Store the events that no other job has stored, and alert listeners of them. Locks are taken
    in the order run, page, watch.

    A locked page cannot be withdrawn until this is committed. A later withdrawal removes the
    events.
    """
    if not Run.objects.select_for_update(no_key=True).filter(pk=run.pk).exists():
        return
    wanted = {pk for event in found for pk in (event.page, event.earlier) if pk}
    pages = Page.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=wanted)
    there = set(pages.order_by("pk").values_list("pk", flat=True))
    same = Watch.objects.select_for_update(no_key=True).filter(
        pk=watch.pk, compared_until=watch.compared_until
    )
    if not same.exists():
        return
    known = set(watch.found.filter(run=run).values_list("fingerprint", flat=True))
    fresh = [
        event
        for event in found
        if event.fingerprint not in known and {event.page, event.earlier} - {None} <= there
    ]
    WatchEvent.objects.bulk_create(fresh)
    Watch.objects.filter(pk=watch.pk).update(compared_until=run.finished_at, note=note)
    old = watch.found.order_by("-pk").values_list("pk", flat=True)[KEPT:]
    WatchEvent.objects.filter(pk__in=list(old)).delete()
    _send_messages(watch, run, fresh)
    facts = {"watch": watch.pk, "run": run.pk, "events": len(fresh)}
    logger.info("a watch was compared", extra=facts)


def _send_messages(watch: Watch, run: Run, events: Sequence[WatchEvent]) -> None:
    """Send one message for all events of a kind."""
    for kind, group in groupby(sorted(events, key=_kind_of_event), key=_kind_of_event):
        some = list(group)
        urls = [masked_url(event.url) for event in some]
        told = [event for event in some if event.diff or event.note]
        diffs = "\n\n".join(
            f"{masked_url(event.url)}\n{event.diff_text or event.note}" for event in told
        )
        facts: dict[str, Any] = {"watch": watch.pk, "urls": urls}
        if diffs:
            facts["diff"] = _whole_lines(diffs)
        shares = {
            masked_url(event.url): round(100 * event.picture_share, 4)
            for event in some
            if event.picture_share is not None
        }
        if shares:
            facts["picture_percents"] = shares
        alert(
            run,
            TOLD_AS[PageEvent(kind)],
            f"{PageEvent(kind).label.capitalize()}: {beginning_of_list(urls, URLS_TOLD)}.",
            more=facts,
            page=WATCHES_PAGE.format(watch.crawl_id),
        )


def _whole_lines(diffs: str) -> str:
    """The beginning of diffs that are too long for a message, in whole lines, with a note that they
    continue.
    """
    if len(diffs) <= MOST_TOLD:
        return diffs
    return diffs[: MOST_TOLD + 1].rpartition("\n")[0] + f"\n{REST_TOLD}"


def _kind_of_event(event: WatchEvent) -> str:
    return event.kind
