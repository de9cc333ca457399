"""Before rules are saved they say what they would remove from what is queued: exactly, or as an
estimate that says so.
"""

from __future__ import annotations

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from crawling.frontier.change import rejudgement
from crawling.frontier.change.rejudgement import sample_of_waiting
from crawling.frontier.rules.sample_share import SampleShare
from crawling.models import HostQueue, Run, UrlState
from crawling.runs.crawls.rejudgement import rejudge_live_runs
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.scope_tests import preview_changes
from tests.crawling.dashboard.orders.test_scope_pages import filled
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup

FIELDS = {"exclude": [r"\.zip$"], "off_site_hops": 1}


@pytest.fixture
def frontier(db):
    """300 queued URLs; every tenth of a.test is a ZIP file, and none of b.test."""
    frontier = Frontier()
    frontier.sow("a.test/")
    frontier.sow(*(f"a.test/{n}{'.zip' if n % 10 == 0 else ''}" for n in range(200)), depth=1)
    frontier.sow(*(f"b.test/{n}" for n in range(99)), depth=1)
    edit_crawl(frontier.run.crawl, {"off_site_hops": 1})
    return frontier


def test_it_tells_what_saving_then_does_to_the_url(frontier):
    crawl = frontier.run.crawl

    preview, _ = preview_changes(crawl, FIELDS)

    assert preview.sentence == "This would remove 20 of 300 queued URLs."
    assert [(row.host, row.removed, row.looked_at, row.waiting) for row in preview.hosts] == [
        ("a.test", 20, 201, 201)
    ]
    assert len(preview.examples) == 10
    assert all(
        url.endswith(".zip") and why.startswith("Rule 5, exclude") for url, why in preview.examples
    )
    assert frontier.states() == {UrlState.QUEUED: 300}
    edit_crawl(crawl, FIELDS)
    rejudge_live_runs()
    assert frontier.states() == {UrlState.QUEUED: 280, UrlState.EXCLUDED: 20}


def test_of_more_than_can_be_judged_a_sample_is_and_the_sentence_says_so(frontier, monkeypatch):
    monkeypatch.setattr(rejudgement, "MOST_SAMPLED", 150)

    preview, _ = preview_changes(frontier.run.crawl, FIELDS)

    least, most = preview.share.bounds
    assert (preview.share.looked_at, preview.share.total) == (150, 300)
    assert least <= 20 <= most
    assert preview.sentence.startswith(
        f"This would remove about {preview.share.about} of 300 queued URLs, between {least} and "
        f"{most}: "
    )
    assert preview.sentence.endswith("an estimate from 150 of them, drawn at random.")
    # who tries on expressions sees what these change
    assert preview_changes(frontier.run.crawl, FIELDS)[0] == preview


def test_a_sample_reads_so_many_rows_at_most_however_little_waits_among_them(frontier, monkeypatch):
    monkeypatch.setattr(rejudgement, "MOST_READ", 40)
    frontier.run.urls.filter(url__contains="b.test").update(state=UrlState.SUCCEEDED)

    urls, total = sample_of_waiting(frontier.run, 201, most=200)

    assert total == 201
    assert 0 < len(urls) < 40


def test_nothing_found_in_a_sample_is_no_promise(frontier, monkeypatch):
    monkeypatch.setattr(rejudgement, "MOST_SAMPLED", 100)

    preview, _ = preview_changes(
        frontier.run.crawl, {"exclude": ["nothing like it"], "off_site_hops": 1}
    )

    assert preview.sentence.startswith("This would remove none, or at most about ")
    assert preview.share.bounds[1] > 0


@given(st.integers(1, 500), st.integers(0, 500), st.integers(1, 10_000))
def test_bounds_hold_what_was_seen_and_never_more_than_there_is(looked_at, hits, more):
    share = SampleShare(min(hits, looked_at), looked_at, looked_at + more)
    least, most = share.bounds

    assert share.hits <= least <= most <= share.total - (looked_at - share.hits)
    assert SampleShare(share.hits, looked_at, looked_at).bounds == (share.hits, share.hits)


@pytest.mark.parametrize("state", ["finished", None])
def test_where_nothing_waits_nothing_would_be_removed(frontier, state):
    Run.objects.filter(pk=frontier.run.pk).update(state=state or "running")
    if state is None:
        frontier.run.urls.all().delete()
        HostQueue.objects.update(queued=0)

    assert (
        preview_changes(frontier.run.crawl, FIELDS)[0].sentence
        == "Nothing waits, so nothing would be removed."
    )


def test_the_page_tells_it_before_saving_and_keeps_what_was_typed(frontier):
    operator, crawl = browser("operator"), frontier.run.crawl
    address = reverse("crawling:scope", args=[crawl.pk])
    data = filled(operator.get(address)) | {"exclude": r"\.zip$"}

    page = soup(operator.post(address, {**data, "preview": "1"}))

    assert "This would remove 20 of 300 queued URLs." in page.select_one("#preview").get_text(
        " ", strip=True
    )
    assert page.find(id="id_exclude").get_text().strip() == r"\.zip$"
    assert frontier.states() == {UrlState.QUEUED: 300}
    fragment = operator.post(
        address, {**data, "preview": "1"}, headers={"HX-Request": "true"}
    ).content
    assert b"<html" not in fragment
    wrong = soup(operator.post(address, {**data, "exclude": "(", "preview": "1"}))
    assert "no regular expression of RE2" in wrong.select_one("#preview").get_text(" ", strip=True)


def test_a_program_gets_the_figures_and_mistakes_by_field(frontier):
    viewer, path = browser("viewer"), f"/api/v1/crawls/{frontier.run.crawl_id}/preview"

    told = viewer.post(path, FIELDS, content_type="application/json").json()

    assert {
        name: told[name]
        for name in ("queued", "looked_at", "is_estimate", "removed", "at_least", "at_most")
    } == {
        "queued": 300,
        "looked_at": 300,
        "is_estimate": False,
        "removed": 20,
        "at_least": 20,
        "at_most": 20,
    }
    assert told["hosts"] == [{"host": "a.test", "removed": 20, "looked_at": 201, "waiting": 201}]
    refused = viewer.post(path, {"exclude": ["("]}, content_type="application/json")
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["exclude"])


def test_it_asks_the_same_queries_however_much_waits(frontier, django_assert_max_num_queries):
    with django_assert_max_num_queries(10):
        preview_changes(frontier.run.crawl, FIELDS)
