"""`/metrics`: pools and crawls in Prometheus' text format, for users who may see the pools."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from ninja.errors import AuthenticationError, Throttled
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from allocation.metrics import BankCollector
from crawling.models import Run
from crawling.models.jobs import RunState
from crawlsite.api.auth import Token
from crawlsite.health.browsers import browser_report


class RunCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        # only columns of the index `runs_by_state`, so that the index alone is read
        found = dict(Run.objects.order_by().values_list("state").annotate(number=Count("*")))
        runs = GaugeMetricFamily("crawlsite_runs", "Runs of crawls, by state.", labels=["state"])
        for state in RunState.values:
            runs.add_metric([state], found.get(state, 0))
        yield runs


class BrowserCollector(Collector):
    """Open pages and memory of browsers are units of pools, which `BankCollector` has."""

    def collect(self) -> Iterator[Metric]:
        now = browser_report()
        yield GaugeMetricFamily(
            "crawlsite_rendered_pages", "Pages rendered by runs of the last day.", now.rendered
        )
        ended = GaugeMetricFamily(
            "crawlsite_renderings_ended",
            "Pages of these runs that were not rendered to the end, by fetch status.",
            labels=["status"],
        )
        for one in now.ended:
            ended.add_metric([str(one.status)], one.pages)
        yield ended


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Send the metrics to a client with a token or a session. A request from loopback is not
    trusted, since a proxy sends its requests from there.
    """
    try:
        Token()(request)
    except AuthenticationError:
        return _refusing_answer(401)
    except Throttled as error:
        return _wait_answer(error)
    if not request.user.is_authenticated:
        return _refusing_answer(401)
    if not request.user.has_perm("allocation.view_pool"):
        return _refusing_answer(403)
    registry = CollectorRegistry()
    registry.register(BankCollector())
    registry.register(RunCollector())
    registry.register(BrowserCollector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _refusing_answer(status: int) -> HttpResponse:
    sentence = "Send the token of a user who may view pools: Authorization: Bearer TOKEN\n"
    answer = HttpResponse(sentence, status=status, content_type="text/plain")
    if status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _wait_answer(error: Throttled) -> HttpResponse:
    sentence = f"Too many wrong tokens in this minute; ask again in {error.wait} s.\n"
    return HttpResponse(
        sentence,
        status=error.status_code,
        content_type="text/plain",
        headers={"Retry-After": str(error.wait)},
    )
