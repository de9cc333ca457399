"""Every address that can be viewed, from the URL map itself, so that no page and no endpoint is
missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.admin.utils import quote
from django.urls import URLPattern, get_resolver
from django.utils.regex_helper import normalize

from allocation.models import Process
from allocation.services import ensure_share
from benchmarks.scene.installation import Filled
from crawling.models import Host, Page, Url
from experiments.models import Experiment

#: the pages of numbered rows, the first of which is viewed
NUMBERED = (
    *("administration/", "alerts/", "collections/", "crawls/extractors/", "crawls/templates/"),
    "account/tokens/",
)
#: pages of Django and other libraries, and ways to log out
UNSEEN = ("admin/logout", "admin/password", "admin/r/", "admin/django_rq", "logout/")
#: the first row of each kind provides the name
FIRST = """
number run_number revision_number test_fetch_id text text_id inquiry_id job_id template_id token_id
view_id alert_id rule_id entry_id exception_id link_id withdrawal_id watch_id source_id import_id
item_id team_id user_id delivery delivery_id collection_id member_id extractor_id
"""
RUNS = re.compile("runs|compare|changes|archive|checkpoints")
#: by route, queries that ask more of a page than its address alone
QUERIES = """
home: hours=24 hours=168
crawls/: state=failed state=waiting state=finished state=draft q=crawl+29999 q=crawl q=zz
    tag=team+3 sort=name sort=-name sort=state sort=-state sort=started sort=-started sort=made
    sort=-fetched&state=waiting after=%(twice)s sort=name&after=%(twice)s
    sort=-started&after=%(twice)s sort=state&after=%(twice)s
api/v1/crawls: state=waiting q=crawl limit=200
crawls/<int:pk>/: run=1 level=error level=warning text=3abc text=nothing+has+this
crawls/<int:pk>/pages/: fields=price status=404 status=4xx status=500 q=123abc q=article q=zzzzzz
    after=%(url)s before=%(url)s sort=-size sort=size&after=%(url)s sort=-status sort=type
    sort=-type&after=%(url)s type=pdf type=html&after=%(url)s type=image&sort=-size
crawls/<int:pk>/tree/: path=%(host_name)s/
crawls/<int:pk>/hosts/: q=site5 q=zzzzzz sort=host sort=-done page=400
crawls/<int:pk>/frontier/: q=3abc q=zzzzzz place=quarantined place=taken+out place=in+hand
    place=quarantined&q=zzzzzz host=%(host_name)s after=%(waiting)s
api/v1/crawls/<crawl_id>/frontier: q=3abc place=quarantined
crawls/<int:pk>/freshness/: sort=rate q=article host=%(host_name)s
api/v1/crawls/<crawl_id>/freshness/pages: sort=rate q=article
crawls/<int:pk>/structured-data/: kind=microformats kind=entry kind=table
api/v1/crawls/<crawl_id>/structured-data: kind=microformats
crawls/<int:pk>/compare/: kind=changed host=%(host_name)s
crawls/url/: u=%(address)s
crawls/blocklist/: page=90
crawls/new/: clone=%(crawl)s template=1
hosts/: q=site5 q=zzzzzz blocked=1 after=www5 q=www1&after=www5
api/v1/hosts: q=site5
search/: q=123abc q=article q=zzzzzz
search/text/: q=article q=zzzzzz
api/v1/search: q=article
api/v1/pages: q=123abc
api/v1/url-history: url=%(address)s
dns/: registered=site5 behind=site5 domain=site5.example q=site5 status=timeout sort=fails
    status=evicted
dns/why/: host=%(host_name)s
experiments/: page=3
crawls/<int:pk>/log/: text=3abc text=nothing+has+this level=error level=warning
api/v1/crawls/<crawl_id>/log: q=3abc level=error
api/v1/crawls/<crawl_id>/changes: against=1
api/v1/crawls/<crawl_id>/link-changes: against=1
resources/<int:pool>/: q=crawl+7 page=3
resources/<int:pool>/history/: span=hour span=day span=week event=50000 kind=granted
"""


def page_urls(filled: Filled) -> list[tuple[str, str]]:
    """Route and address of each page, also with its queries.

    Raises KeyError for a route with a name that has no value.
    """
    values, queries, found = _values_of_names(filled), _queries(), []
    for route, form in _routes(get_resolver().url_patterns):
        if route.startswith(UNSEEN):
            continue
        for own in _other_ids(route) or _crawls(route, filled):
            address = form % (values | own)
            found += [
                (route, f"{address}{query % values and '?' + query % values}")
                for query in ("", *queries.get(route, ()))
            ]
    return found


def _queries() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in QUERIES.replace("\n    ", " ").strip().splitlines():
        route, _, queries = line.partition(": ")
        found[route.replace("home", "")] = queries.split()
    return found


def _routes(patterns: Any, prefix: str = "", path: str = "/") -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        route, form = (
            prefix + str(pattern.pattern),
            path + normalize(pattern.pattern.regex.pattern)[0][0],
        )
        if isinstance(pattern, URLPattern):
            yield route, form
        else:
            yield from _routes(pattern.url_patterns, route, form)


def _crawls(route: str, filled: Filled) -> list[dict[str, Any]]:
    """Values for crawls. Facts about runs are also requested from the crawls with two large runs
    and with many runs.
    """
    crawls = (filled.crawl, filled.twice, filled.often) if RUNS.search(route) else (filled.crawl,)
    return [dict.fromkeys(("pk", "crawl", "crawl_id"), crawl) for crawl in crawls]


def _values_of_names(filled: Filled) -> dict[str, Any]:
    """The value of each name in routes and queries."""
    page = Page.objects.filter(run__crawl=filled.crawl).latest("fetched_at")
    host = Host.objects.filter(name__startswith="www5").earliest("name")
    old, new = (
        Url.objects.get(run__crawl=filled.twice, run__number=n, fingerprint=5).pk for n in (1, 2)
    )
    share = ensure_share(pool=filled.pool, ref="team/a", name="A team").pk
    waiting = Url.objects.filter(run__crawl=filled.crawl, state="q").earliest("pk").pk
    process = Process.objects.filter(pool=filled.pool).earliest("pk").pk
    values: list[tuple[object, str]] = [
        (1, FIRST),
        (filled.crawl, "crawl"),
        (filled.twice, "twice"),
        (filled.pool, "pool pool_id"),
        (page.pk, "url page_id"),
        (page.final_url, "address"),
        (old, "old old_id"),
        (new, "new new_id"),
        (waiting, "waiting"),
        (share, "share share_id"),
        (process, "process_id"),
        (host.pk, "host_id"),
        (host.name, "host_name name"),
        (Experiment.objects.latest("pk").pk, "experiment_id"),
        (0, "drawing_number"),
        (50, "key"),
        (50_000, "version"),
        ("csv", "kind"),
        ("text", "data"),
        ("start", "verb"),
        ("pin", "deed action"),
        ("unknown", "token"),
        ("txt", "ending"),
        ("glossary", "document"),
        ("capacity", "page"),
    ]
    return {name: value for value, names in values for name in names.split()}


def _other_ids(route: str) -> list[dict[str, Any]]:
    """The values of `pk` and `object_id` in routes that are not about a crawl."""
    parts = route.split("/")
    if parts[0] in ("hosts", "experiments"):
        model = Host if parts[0] == "hosts" else Experiment
        return [{"pk": model._default_manager.latest("pk").pk}]
    if parts[0] == "admin":
        first = None
        if len(parts) > 3 and parts[1] in apps.app_configs:
            rows = apps.get_model(parts[1], parts[2])._default_manager.order_by("pk")
            first = rows.values_list("pk", flat=True).first()
        ours = {"pk": first, "id": first, "object_id": quote(first or "")}
        return [{**ours, "app_label": "crawling", "url": "nothing"}]
    return [{"pk": 1}] if route.startswith(NUMBERED) else []
