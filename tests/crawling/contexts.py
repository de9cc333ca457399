"""Fetch contexts for tests: this machine is allowed, no limits are set, and there is no shift."""

from ipaddress import ip_network

from crawling.fetching.pipeline.client import Client, Egress, RequestPolicy
from crawling.fetching.pipeline.context import (
    CrawlPace,
    FetchContext,
    LinkJudge,
    NoShift,
    RobotsPolicy,
)
from crawling.orders.scope.filters import UrlFilters
from crawling.orders.scope.scope import Reach, Scope
from crawling.orders.sections.fetching import FetchingPart
from crawling.web.fetch.budgets import Bandwidth
from crawling.web.secret_headers import Recipients
from crawling.web.vetting import AllowedRange, DialPolicy

HERE = AllowedRange(ip_network("127.0.0.0/8"), 1, 65535)


def make_client(*, allowed=(HERE,), most=1_000_000, fetching=None, recipients=None, pause=None):
    policy = RequestPolicy("crawlsite/1.0", fetching or FetchingPart(), recipients or Recipients())
    return Client(
        policy,
        Egress(DialPolicy(tuple(allowed))),
        Bandwidth(1e9),
        most,
        **({"pause": pause} if pause else {}),
    )


class NotingPort(NoShift):
    """Keeps the robots.txt files that are given to it."""

    def __init__(self):
        self.robots = []

    def keep_robots(self, *found):
        self.robots.append(found)


def make_fetch_context(*, scope=None, delay_seconds=0.0, client=None, port=None):
    pace = CrawlPace(delay_seconds)
    links = LinkJudge(UrlFilters(scope or Scope(Reach.HOST, frozenset(), None)))
    client = client or make_client(pause=pace.pause)
    return FetchContext(client, links, RobotsPolicy("crawlsite"), pace, port or NoShift())
