"""Certificates that end soon are a problem of all links to their hosts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from crawling.datasets.catch_up import catch_up
from crawling.models import HostQueue
from crawling.uses.link_check.link_check import list_problems, problem_rows
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.web.fetch import adapter
from tests.crawling.pages import browser, soup
from tests.servers import make_certificate, require_openssl, tls_context

KIND = ProblemKind.CERTIFICATE


@pytest.fixture
def run(make_site, crawl_to_the_end, dns_server, identified, tmp_path, monkeypatch):
    require_openssl()
    certificate = make_certificate(tmp_path, "secure.test")
    monkeypatch.setattr(adapter.certifi, "where", lambda: str(certificate))
    dns_server.hosts = {"secure.test": ["127.0.0.1"], "plain.test": ["127.0.0.1"]}
    page = '<nav><a href="/a">A</a> <a href="/b#c">B</a></nav>'
    secure = make_site({"/": page, "/a": "", "/b": ""}, tls=tls_context(certificate))
    address = f"https://secure.test:{secure.port}/"
    plain = make_site({"/": f'<a href="{address}a">there</a>'})
    run = crawl_to_the_end(f"http://plain.test:{plain.port}/", address)
    catch_up(run.pk)
    return run


def test_a_certificate_that_the_crawl_met_is_told_with_the_links_to_its_host(run, capsys):
    (problem,), following = list_problems(run, KIND, most=50)

    queue = HostQueue.objects.get(run=run, certificate_ends_at__isnull=False)
    assert problem.url == f"https://{queue.host.name}/"
    assert problem.detail.startswith("Its certificate ends on ")
    assert problem.detail.endswith(", in 1 day.")
    assert (problem.links, following) == (3, None)
    assert sorted(source.anchor for source in problem.sources) == ["A", "B", "there"]
    rows = list(problem_rows(run, [KIND]))
    assert sorted(row["anchor"] for row in rows) == ["A", "B", "there"]
    viewer, crawl = browser("viewer"), run.crawl_id
    page = soup(viewer.get(f"/crawls/{crawl}/links/?kind=certificate"))
    links = viewer.get(f"/crawls/{crawl}/links/{page.select_one('main tbody th a')['href']}")
    assert len(soup(links).select("main tbody tr")) == 3
    listed = viewer.get(f"/api/v1/crawls/{crawl}/links", {"host": queue.host.name}).json()
    assert sorted(one["anchor"] for one in listed["items"]) == ["A", "B", "there"]


def test_only_those_that_end_soon_are_listed_the_first_first(run):
    now, queues = timezone.now(), list(HostQueue.objects.filter(run=run).order_by("pk"))
    for queue, days in zip(queues, (29, -3), strict=True):
        queue.certificate_ends_at = now + timedelta(days=days, hours=1)
        queue.save()

    first, after = list_problems(run, KIND, most=1)
    second, end = list_problems(run, KIND, after=after, most=1)

    assert "ended on" in first[0].detail
    assert ", in 29 days." in second[0].detail
    assert end is None
    HostQueue.objects.filter(pk=queues[0].pk).update(certificate_ends_at=now + timedelta(days=31))
    assert len(list_problems(run, KIND, most=50)[0]) == 1
