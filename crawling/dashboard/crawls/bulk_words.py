"""The words of the page of an action on many crawls: its name, its effect on crawls to which it
applies, and why it does not apply to the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.contrib.auth.models import User
from django.template.defaultfilters import filesizeformat

from crawling.dashboard.base.crawl_views import CrawlView, crawl_views
from crawling.dashboard.base.panels import bulk_pages
from crawling.dashboard.crawls.bulk import AT_REST_ONLY, needed_permission
from crawling.installation.permissions import STEER, crawls_acted_on
from crawling.models import CrawlJob, Run, RunState
from crawling.runs.housekeeping.retention_view import deletion_loss
from crawling.runs.transitions import ACTIONS as RUN_ACTIONS
from crawling.runs.transitions import AT_REST, ENDING, loss_sentence, possible_actions
from crawling.runs.verbs import AGAIN, VERBS

OTHERS = "only their owners, their teams and administrators act on them"


@dataclass(frozen=True, slots=True)
class BulkVerb:
    #: the label of its button in the list
    label: str
    icon: str
    #: the words before and after the number of crawls in the heading of its page
    head: tuple[str, str]
    #: the label of the button that confirms the action
    button: str
    #: the participle that reports the action
    done: str
    #: the crawls to which the action applies, as a part of a sentence
    fits: str = ""
    #: whether the action is in the menu
    is_rare: bool = False
    is_danger: bool = False


_AT_REST = "only a draft or a crawl that has ended can be"
_UNDER_WAY = "only a crawl under way can be"
#: the words of each action, in the order of the buttons
BULK_VERBS: Mapping[str, BulkVerb] = {
    "start": BulkVerb(
        "Run again", AGAIN.icon, ("Run", ""), "Run", "started", f"{_AT_REST} started"
    ),
    "pause": BulkVerb(
        "Pause",
        VERBS["pause"].icon,
        ("Pause", ""),
        "Pause",
        "paused",
        "only a crawl that is queued or runs can be paused",
    ),
    "resume": BulkVerb(
        "Resume",
        VERBS["resume"].icon,
        ("Resume", ""),
        "Resume",
        "resumed",
        "only a paused crawl, or one that ended with URLs in its queue, can be resumed",
    ),
    "stop": BulkVerb(
        "Stop",
        VERBS["stop"].icon,
        ("Stop", ""),
        "Stop",
        "stopped",
        f"{_UNDER_WAY} stopped",
        is_rare=True,
        is_danger=True,
    ),
    "schedule": BulkVerb("Schedule", "i-calendar-clock", ("Schedule", ""), "Schedule", "scheduled"),
    "export": BulkVerb("Export", "i-download", ("Export", ""), "Export", "exported"),
    "delete": BulkVerb(
        "Delete",
        "i-trash-2",
        ("Delete", ""),
        "Delete",
        "deleted",
        f"{_AT_REST} deleted",
        is_danger=True,
    ),
    "tag": BulkVerb(
        "Add tags", "i-plus", ("Add tags to", ""), "Add tags to", "tagged", is_rare=True
    ),
    "untag": BulkVerb(
        "Remove tags", "i-x", ("Remove tags from", ""), "Remove tags from", "untagged", is_rare=True
    ),
    "abort": BulkVerb(
        "Abort",
        VERBS["abort"].icon,
        ("Abort", ""),
        "Abort",
        "aborted",
        f"{_UNDER_WAY} aborted",
        is_rare=True,
        is_danger=True,
    ),
}


def verbs_for(user: User) -> dict[str, BulkVerb]:
    """The actions that the user's role permits, and the pages of uses that ask for more input."""
    verbs = {
        word: verb for word, verb in BULK_VERBS.items() if user.has_perm(needed_permission(word))
    }
    pages = bulk_pages() if user.has_perm(STEER) else {}
    return verbs | {
        word: BulkVerb(page.label, page.icon, ("", ""), "", "") for word, page in pages.items()
    }


class BulkRefusal(NamedTuple):
    """The number of crawls to which the action does not apply, and the reason."""

    crawls: int
    why: str


@dataclass(frozen=True)
class BulkPreview:
    able: Sequence[CrawlJob]
    unable: Sequence[BulkRefusal]
    effect: str

    @property
    def refused(self) -> int:
        return sum(one.crawls for one in self.unable)


def bulk_preview(action: str, crawls: Sequence[CrawlJob], by: User) -> BulkPreview:
    """The crawls to which the action applies now, and its effect. Takes a fixed number of
    queries.
    """
    own = crawls_acted_on(by, [crawl.pk for crawl in crawls])
    able, reasons = [], Counter[str]()
    for crawl, view in zip(crawls, crawl_views(crawls), strict=True):
        why = _why_not(action, view) if crawl.pk in own else OTHERS
        if why:
            reasons[why] += 1
        else:
            able.append((crawl, view))
    unable = [BulkRefusal(count, why) for why, count in reasons.most_common()]
    return BulkPreview(
        [crawl for crawl, _ in able], unable, _effect_in_words(action, able) if able else ""
    )


def _why_not(action: str, view: CrawlView) -> str:
    if action in AT_REST_ONLY:
        fits = view.state in AT_REST
    else:
        fits = action not in RUN_ACTIONS or action in possible_actions(
            view.state, queued=view.counts.queued
        )
    return "" if fits else f"{view.state}; {BULK_VERBS[action].fits}"


def _effect_in_words(action: str, able: Sequence[tuple[CrawlJob, CrawlView]]) -> str:
    queued = sum(view.counts.queued for _, view in able)
    if action in ENDING:
        in_hand = sum(view.counts.in_process for _, view in able)
        return loss_sentence(action, queued=queued, in_hand=in_hand)
    if action == "start":
        cut = sum(view.counts.queued for _, view in able if view.state == RunState.STOPPED)
        lost = (
            f" Stopped runs cannot be resumed any more: their {cut:,} queued URLs are not fetched "
            "unless the new runs find them."
        )
        begun = "A new run of each begins with its start URLs; pages of earlier runs are kept."
        return begun + lost if cut else begun
    crawls = [crawl.pk for crawl, _ in able]
    return _loss_words(crawls) if action == "delete" else EFFECTS.get(action, "")


EFFECTS = {
    "pause": "Fetches under way are finished first, and what the crawls hold is released. Each can "
    "be resumed.",
    "resume": "Each continues where it was as soon as it has its resources.",
    "export": "One ZIP file: the list as CSV and as JSON Lines, and the order of each crawl as a "
    "JSON file, which ./crawl new --file takes. Secret headers and passwords are masked.",
}


def _loss_words(crawls: Sequence[int]) -> str:
    loss = deletion_loss(list(Run.objects.filter(crawl__in=crawls).values_list("pk", flat=True)))
    size = filesizeformat(loss.file_bytes).replace("\xa0", " ")
    return (
        "For 24 hours they can be restored. After that they are gone with "
        f"{loss.runs:,} run{'s' * (loss.runs != 1)}, {loss.pages:,} page{'s' * (loss.pages != 1)} "
        f"and {loss.files:,} archive file{'s' * (loss.files != 1)} ({size})."
    )
