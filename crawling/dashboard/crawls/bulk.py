"""One action on many crawls. It is applied to each crawl separately, so a crawl that has ended
meanwhile does not stop the others. Also the acts that undo the action.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from crawling.base.errors import CrawlError
from crawling.dashboard.crawls.filter import CrawlFilter, found_crawls
from crawling.installation.permissions import (
    STEER,
    crawls_acted_on,
    crawls_within_reach,
    refusal_in_words,
)
from crawling.models import CrawlJob, Run, Schedule
from crawling.models.jobs import ENDED_STATES
from crawling.orders.seeds import BadTags
from crawling.runs.crawls.schedules import remove_schedule, set_schedules
from crawling.runs.crawls.tags import tag_crawls
from crawling.runs.housekeeping.deletion import delete_crawl, restore_crawl
from crawling.runs.transitions import ACTIONS as RUN_ACTIONS
from crawling.runs.verbs import VERBS
from crawling.runs.wait_reason import waiting_runs

#: the most crawls of one action; more would take minutes
MOST = 500
TAGGING = {"tag": "add", "untag": "remove"}
#: actions for drafts and ended crawls only
AT_REST_ONLY = frozenset({"start", "delete"})
DELETING = "crawling.delete_crawljob"


@dataclass(frozen=True)
class BulkAction:
    """An action with its parameters, such as the fields of a schedule, and its crawls."""

    action: str
    crawls: Sequence[int] = ()
    tags: Sequence[str] = ()
    schedule: Mapping[str, Any] = field(default_factory=dict)
    #: minutes over which the starts of a schedule are spread
    over_minutes: int = 0

    def of(self, crawls: Sequence[int]) -> BulkAction:
        return BulkAction(self.action, list(crawls), self.tags, self.schedule)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class BulkResult:
    done: Sequence[int]
    #: a sentence for each crawl to which the action could not be applied, by crawl id
    refused: Mapping[int, str]
    #: the acts that undo the action; empty if it cannot be undone
    undo: Sequence[BulkAction] = ()

    @property
    def changed(self) -> int:
        return len(self.done)


def _apply_verb(crawl: CrawlJob, act: BulkAction, by: User | None) -> None:
    VERBS[act.action].do(crawl, by=by)


#: for each action, the function that applies it to a crawl
EACH: Mapping[str, Callable[[CrawlJob, BulkAction, User | None], object]] = {
    "start": _apply_verb,
    **dict.fromkeys(RUN_ACTIONS, _apply_verb),
    "unschedule": lambda crawl, act, by: remove_schedule(crawl, by=by),
    "delete": lambda crawl, act, by: delete_crawl(crawl, by=by),
    "restore": lambda crawl, act, by: restore_crawl(crawl.pk, by=by),
}
ACTIONS = (*EACH, "schedule", *TAGGING)


def needed_permission(action: str) -> str:
    """The permission of a role that the action requires."""
    return DELETING if action in ("delete", "restore") else STEER


def chosen_crawls(
    action: str, *, ids: Sequence[int] = (), wanted: CrawlFilter | None = None, by: User | None
) -> list[CrawlJob]:
    """The crawls with these ids, or all that match `wanted`, as far as the user may act on them and
    the action applies to them.

    Raises CrawlError if there are none or too many.
    """
    found = (CrawlJob.all_objects if action == "restore" else CrawlJob.objects).filter(pk__in=ids)
    if wanted is not None:
        found = found_crawls(wanted, waiting_runs()).filter(crawls_within_reach(by))
        if action in RUN_ACTIONS:
            found = found.filter(last__state__in=_selected_states(action, wanted))
        elif action in AT_REST_ONLY:
            found = found.filter(Q(last=None) | Q(last__state__in=ENDED_STATES))
    crawls = list(found.select_related("created_by").order_by("-pk")[: MOST + 1])
    if not crawls:
        raise CrawlError("No crawl is chosen: tick some, or choose all found.")
    if len(crawls) > MOST:
        raise CrawlError(
            f"More than {MOST} crawls match; narrow the filter, then continue with the rest."
        )
    return crawls


def _selected_states(action: str, wanted: CrawlFilter) -> frozenset[str]:
    """The states from which a filter selects crawls. Ended crawls are selected only if the filter
    names their state.
    """
    ended = frozenset(ENDED_STATES)
    return RUN_ACTIONS[action].allowed_from - (frozenset() if wanted.state in ended else ended)


def bulk_action(act: BulkAction, crawls: Sequence[CrawlJob], *, by: User | None) -> BulkResult:
    """Apply the action to the crawls on which the user may act, as far as the role permits.

    Raises BadTags if the action is about tags and names none, and BadOrder for an invalid schedule.
    """
    own = crawls_acted_on(by, [crawl.pk for crawl in crawls])
    refused = {crawl.pk: refusal_in_words(crawl) for crawl in crawls if crawl.pk not in own}
    mine = [crawl for crawl in crawls if crawl.pk in own]
    if act.action in TAGGING:
        return _change_tags(act, mine, refused, by)
    before = _undoing_acts(act, mine)
    if act.action == "schedule":
        set_schedules(mine, act.schedule, over_minutes=act.over_minutes, by=by)
        ids = [crawl.pk for crawl in mine]
        return BulkResult(ids, refused, _acts_that_undo(before, ids))
    done = []
    for crawl in mine:
        try:
            EACH[act.action](crawl, act, by)
            done.append(crawl.pk)
        except CrawlError as error:
            refused[crawl.pk] = str(error)
    return BulkResult(done, refused, _acts_that_undo(before, done))


def _change_tags(
    act: BulkAction, crawls: Sequence[CrawlJob], refused: Mapping[int, str], by: User | None
) -> BulkResult:
    if not act.tags:
        raise BadTags("Name the tags, with commas between them.")
    wanted, back = set(act.tags), {"tag": "untag", "untag": "tag"}[act.action]
    changed: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for crawl in crawls:
        has = set(crawl.tags)
        if tags := tuple(sorted(wanted - has if act.action == "tag" else wanted & has)):
            changed[tags].append(crawl.pk)
    tag_crawls([crawl.pk for crawl in crawls], **{TAGGING[act.action]: act.tags}, by=by)
    done = [pk for crawls_of in changed.values() for pk in crawls_of]
    undo = [BulkAction(back, crawls_of, tags) for tags, crawls_of in changed.items()]
    return BulkResult(done, refused, undo)


def _undoing_acts(act: BulkAction, crawls: Sequence[CrawlJob]) -> dict[int, BulkAction]:
    """The act that undoes the action, for each crawl in its current state."""
    ids = [crawl.pk for crawl in crawls]
    if act.action in ("schedule", "unschedule"):
        timings = dict(Schedule.objects.filter(crawl__in=ids).values_list("crawl", "timing"))
        return {
            pk: BulkAction("schedule", schedule=timings[pk])
            if pk in timings
            else BulkAction("unschedule")
            for pk in ids
        }
    if act.action == "resume":
        states = Run.objects.filter(crawl__in=ids, is_latest=True).values_list("crawl", "state")
        return {
            pk: BulkAction("stop" if state in ENDED_STATES else "pause") for pk, state in states
        }
    back = UNDONE_BY.get(act.action)
    return dict.fromkeys(ids, BulkAction(back)) if back else {}


#: the act that undoes each action; the undo of a start stops the new run, and leaves the run before
#: it unchanged
UNDONE_BY = {
    "start": "stop",
    "pause": "resume",
    "stop": "resume",
    "abort": "resume",
    "delete": "restore",
    "restore": "delete",
}


def _acts_that_undo(before: Mapping[int, BulkAction], done: Sequence[int]) -> list[BulkAction]:
    """Join equal acts into one act for all their crawls."""
    alike: dict[str, tuple[BulkAction, list[int]]] = {}
    for pk in done:
        if pk in before:
            alike.setdefault(repr(before[pk]), (before[pk], []))[1].append(pk)
    return [act.of(crawls) for act, crawls in alike.values()]
