"""Following a run that changes while a shift works: its order, its processes, and its granted
units.
"""

from __future__ import annotations

from django.utils import timezone

from crawling.fetching.shift.parts import ShiftParts, bytes_per_second
from crawling.frontier.admit.crawl_rules import unbound_hosts
from crawling.frontier.admit.quarantine import pattern_states
from crawling.frontier.record.renderings import stored_renderings
from crawling.models import CrawlJob, Run


def follow_order(parts: ShiftParts, run: Run, *, has_work: bool) -> str:
    """Follow the run's present order. Return the edit that needs another shift, or "".

    has_work: URLs are in hand, so that more units may be of use.
    """
    parts.context.links.traps.states = pattern_states(run.pk)
    if parts.recorder.look():
        parts.hosts.hand_over()
        parts.archive.is_alone = parts.archive.is_alone and len(parts.recorder.numbers) == 1
    parts.hosts.names.write_counts()
    parts.hosts.obey(run)
    parts.recorder.progress.show()
    edit = _follow_edits(parts, run.crawl)
    if has_work:
        _use_more_threads(parts, run.crawl)
    parts.grants.reread()
    fit_threads(parts, run)
    parts.context.client.bandwidth.set_rate(
        bytes_per_second(parts.context.pace.politeness, parts.grants, len(parts.recorder.numbers))
    )
    return edit


def fit_threads(parts: ShiftParts, run: Run) -> None:
    """Run as many fetch threads as are granted and ordered (B11's `setSize`)."""
    ordered = 1 if run.crawl.has_exact_order else run.crawl.claim["fetch_slots"]
    slots = min(parts.grants.held["fetch_slots"], ordered)
    parts.threads.set_size(min(slots, parts.memory.most_threads()))
    parts.memory.set_limit()
    parts.grants.obey(run.crawl.claim, parts.threads.at_work())


def _follow_edits(parts: ShiftParts, crawl: CrawlJob) -> str:
    context, begun_with = parts.context, parts.shift.process.run.crawl
    context.copies.is_on = crawl.order.filters.skip_copies
    context.links.ascends = crawl.order.ordering.path_ascending
    unbound = unbound_hosts(crawl, timezone.now())
    newly_unbound = unbound - context.robots.unbound
    context.robots.unbound &= unbound
    if crawl.order.ordering.topic != begun_with.order.ordering.topic:
        return "its topic was edited"
    if newly_unbound:
        return "hosts were excepted from robots.txt, and the archive must say so first"
    if ended := _follow_rendering(parts, crawl):
        return ended
    return "how it asks was edited" if crawl.fetching != begun_with.fetching else ""


def _follow_rendering(parts: ShiftParts, crawl: CrawlJob) -> str:
    """Render by the order's present rules and limits. A run that begins to render, or no longer
    does, needs another shift, which may need another worker.
    """
    rendering, part = parts.context.rendering, crawl.order.rendering
    if part.may_render != (rendering is not None):
        return "whether it renders pages was edited"
    if rendering:
        rendering.part = part
        if part.render_pages is not None:
            rendering.note_pages(stored_renderings(parts.shift.process.run_id).pages)
        if parts.browsers:
            parts.browsers.budget.each = part.render_memory_mib
    return ""


def _use_more_threads(parts: ShiftParts, crawl: CrawlJob) -> None:
    parts.grants.look()
    names = parts.hosts.names.waiting()
    parts.grants.grow(
        {"fetch_slots": parts.bench.overdue() + names, "dns_slots": names},
        parts.memory.units_for,
        is_idle_only=crawl.idle_only,
    )
