"""What is known of hosts before a shift first asks them: their robots.txt, and the cookies that the
run has of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawling.frontier.cookie_jars import jars_of
from crawling.frontier.robots_store import known_robots, old_robots
from crawling.pipeline.context import FetchContext
from crawling.pipeline.preconditions import set_robots
from crawling.pipeline.visit import Visit
from crawling.web.addresses import read_address
from crawling.web.fetch.cookies import Cookies


def set_known_robots(visits: Sequence[Visit], context: FetchContext) -> None:
    """Let what is kept of the origins of the visits' URLs hold, with one query for all."""
    origins = {
        visit.host.queue_id: {read_address(claimed.url).origin for claimed in visit.urls}
        for visit in visits
    }
    every = set().union(*origins.values()) if visits else set()
    known = (known_robots(every) if every else {}) | {
        origin: context.robots.own[origin] for origin in every & context.robots.own.keys()
    }
    old = old_robots(every - known.keys()) if every - known.keys() else {}
    for visit in visits:
        for origin in origins[visit.host.queue_id] & known.keys():
            set_robots(visit, origin, context.robots.read(*known[origin]))
        visit.robots.outdated.update(
            {origin: old[origin] for origin in origins[visit.host.queue_id] & old.keys()}
        )


def set_known_cookies(visits: Sequence[Visit], context: FetchContext, run_id: int) -> None:
    """Another shift of the run may have had the host meanwhile."""
    if not visits or not context.client.fetching.keeps_cookies:
        return
    jars = jars_of(run_id, [visit.host.host_id for visit in visits])
    for visit in visits:
        context.client.session_of(visit.host.name).cookies = Cookies(
            jars.get(visit.host.host_id, ())
        )
