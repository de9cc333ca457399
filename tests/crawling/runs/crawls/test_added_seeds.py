"""Seeds are added to a crawl while it runs: all mistakes told at once, nothing done twice, and the
next claim has them.
"""

from __future__ import annotations

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from allocation.services import create_pool
from crawling.base.errors import BadSeeds, WrongState
from crawling.frontier.change.manual_order import UrlAction
from crawling.models import BlocklistEntry, CrawlJob, Identity, LogLine, Run, RunTotal, UrlState
from crawling.runs.crawls.added_seeds import add_seeds_to_crawl
from crawling.runs.crawls.rejudgement import rejudge_live_runs
from crawling.runs.crawls.revisions import edit_crawl, revert_edit
from crawling.runs.waiting_urls import change_urls
from tests.crawling.conftest import CLASSES
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def frontier():
    """A run at work on a.test, that knows three of its addresses."""
    Identity.objects.update_or_create(
        pk=1, defaults={"product_token": "crawlsite", "contact_url": "mailto:ops@example.org"}
    )
    frontier = Frontier()
    frontier.sow("a.test/")
    frontier.sow("a.test/1", "a.test/2", depth=1)
    return frontier


@pytest.fixture
def crawl(frontier):
    return frontier.run.crawl


def waiting(frontier):
    return {
        url.removeprefix("http://")
        for url in frontier.run.urls.filter(state=UrlState.QUEUED).values_list("url", flat=True)
    }


def test_new_seeds_are_queued_at_once_and_are_a_revision_of_the_order(
    frontier, crawl, django_user_model
):
    ada = django_user_model.objects.create_user("ada")

    added = add_seeds_to_crawl(
        crawl, ["HTTP://A.test:80/new#top", "http://a.test/x/../other"], by=ada
    )

    assert (added.added, added.queued, added.known) == (
        ["http://a.test/new", "http://a.test/other"],
        2,
        {},
    )
    assert {"a.test/new", "a.test/other"} <= waiting(frontier)
    assert frontier.run.urls.get(url="http://a.test/new").depth == 0
    crawl.refresh_from_db()
    assert crawl.seeds == ["http://a.test/", *added.added]
    assert (crawl.revision, crawl.revisions.get().changes) == (
        2,
        {"seeds added": [[], added.added]},
    )
    assert LogEntry.objects.latest("pk").user == ada
    assert "2 start URLs added by ada: 2 queued" in LogLine.objects.latest("pk").message
    frontier.check()


def test_the_same_request_again_changes_nothing(frontier, crawl):
    first = add_seeds_to_crawl(crawl, ["http://a.test/new"])
    before = frontier.counts()

    again = add_seeds_to_crawl(crawl, ["http://a.test/new", "http://a.test/new#x"])

    assert (again.added, again.queued, again.known) == (
        [],
        0,
        {"http://a.test/new": "a start URL already"},
    )
    assert (frontier.counts(), crawl.revisions.count(), again.revision) == (
        before,
        1,
        first.revision,
    )


def test_what_the_run_has_met_is_told_with_what_became_of_it_and_is_not_fetched_again(
    frontier, crawl
):
    frontier.run.urls.filter(url="http://a.test/1").update(state=UrlState.SUCCEEDED, status=200)

    added = add_seeds_to_crawl(crawl, ["http://a.test/1", "http://a.test/2"])

    assert added.queued == 0
    assert added.known == {
        "http://a.test/1": "met by this run already: succeeded",
        "http://a.test/2": "met by this run already: queued",
    }
    assert frontier.run.urls.get(url="http://a.test/2").depth == 0


def test_what_a_rule_or_a_hand_kept_out_comes_back_as_a_seed_and_stays(frontier, crawl):
    edit_crawl(crawl, {"exclude": ["/1$"]})
    rejudge_live_runs()
    change_urls(
        frontier.run,
        UrlAction.TAKE_OUT,
        list(frontier.run.urls.filter(url="http://a.test/2").values_list("pk", flat=True)),
    )
    assert waiting(frontier) == {"a.test/"}

    assert add_seeds_to_crawl(crawl, ["http://a.test/1", "http://a.test/2"]).queued == 2

    # so that all that waits is judged anew
    edit_crawl(CrawlJob.objects.get(pk=crawl.pk), {"exclude": ["/1$", "/3$"]})
    for _ in range(4):
        rejudge_live_runs()
    assert waiting(frontier) == {"a.test/", "a.test/1", "a.test/2"}
    frontier.check()


def test_all_mistakes_are_told_at_once_and_nothing_is_added(frontier, crawl):
    BlocklistEntry.objects.create(kind="host", text="bad.test", reason="asked for")
    wrong = [
        "nonsense",
        "http://a.test/fine",
        "gopher://a.test/",
        "http://u:p@a.test/",
        "http://a..test/",
        "http://bad.test/",
    ]

    with pytest.raises(BadSeeds) as refused:
        add_seeds_to_crawl(crawl, wrong)

    told = " ".join(refused.value.mistakes)
    assert [text for text in wrong if text not in told] == ["http://a.test/fine"]
    assert len(refused.value.mistakes) == 5
    assert refused.value.outside == ["http://a..test/", "http://bad.test/"]
    crawl.refresh_from_db()
    assert (crawl.revision, "a.test/fine" in waiting(frontier)) == (1, False)


def test_what_the_scope_does_not_reach_widens_it_only_if_that_is_said(frontier, crawl):
    with pytest.raises(BadSeeds, match="outside the scope") as refused:
        add_seeds_to_crawl(crawl, ["http://b.test/x"])
    assert refused.value.outside == ["http://b.test/x"]

    assert add_seeds_to_crawl(crawl, ["http://b.test/x"], widen=True).queued == 1
    crawl.refresh_from_db()
    assert add_seeds_to_crawl(crawl, ["http://b.test/y"]).queued == 1


@pytest.mark.parametrize("state", ["finished", "stopping"])
def test_a_run_that_is_over_is_left_alone_and_the_next_one_has_them(frontier, crawl, state):
    Run.objects.filter(pk=frontier.run.pk).update(state=state)

    added = add_seeds_to_crawl(crawl, ["http://a.test/new"])

    assert (added.added, added.queued) == (["http://a.test/new"], None)
    assert "a.test/new" not in waiting(frontier)
    crawl.refresh_from_db()
    assert crawl.seeds[-1] == "http://a.test/new"


def test_an_order_takes_no_more_seeds_than_it_can_hold(crawl, monkeypatch):
    monkeypatch.setattr("crawling.runs.crawls.added_seeds.MAX_SEEDS", 2)

    with pytest.raises(BadSeeds, match="at most 2 are accepted"):
        add_seeds_to_crawl(crawl, ["http://a.test/8", "http://a.test/9"])


def test_a_revision_that_added_seeds_says_why_it_is_not_reverted(crawl):
    add_seeds_to_crawl(crawl, ["http://a.test/new"])

    with pytest.raises(WrongState, match="Revision 2 added start URLs, which are queued already"):
        revert_edit(crawl, 2)


def test_an_operator_adds_them_on_a_page_that_keeps_what_was_typed(frontier, crawl):
    operator, address = browser("operator"), reverse("crawling:seeds", args=[crawl.pk])
    typed = "http://a.test/new\nnonsense\ngopher://a.test/\nhttp://b.test/"

    refused = soup(operator.post(address, {"seeds": typed}))
    assert [item.get_text() for item in refused.select("[role=alert] li")][-1] == "http://b.test/"
    assert len(refused.select("[role=alert] li")) == 3
    assert refused.textarea.get_text().strip() == typed

    said = operator.post(
        address,
        {"seeds": "http://a.test/\nhttp://a.test/new\nhttp://b.test/", "widen": "on"},
        follow=True,
    )
    words = soup(said).main.get_text(" ", strip=True)
    assert "2 start URLs are added by revision 2; 2 queued in the active run." in words
    assert "Known: http://a.test/ (a start URL already)." in words
    assert said.redirect_chain[0][0] == reverse("crawling:frontier", args=[crawl.pk])
    assert (
        "Revision 2: operator"
        in operator.get(reverse("crawling:scope", args=[crawl.pk])).content.decode()
    )


def test_programs_and_the_command_line_do_the_same(crawl, capsys):
    operator, path = browser("operator"), f"/api/v1/crawls/{crawl.pk}/seeds"
    done = operator.post(
        path, {"seeds": ["http://a.test/new", "http://a.test/"]}, content_type="application/json"
    ).json()
    assert done == {
        "added": ["http://a.test/new"],
        "queued": 1,
        "known": {"http://a.test/": "a start URL already"},
        "revision": 2,
        "without_secrets": [],
    }
    refused = operator.post(
        path, {"seeds": ["http://b.test/", "x"]}, content_type="application/json"
    )
    assert refused.status_code == 422
    assert "outside the scope" in refused.json()["errors"]["seeds"]

    call_command("crawl", "add", str(crawl.pk), "http://a.test/newer", "http://a.test/new")
    assert (
        capsys.readouterr().out == "1 added; 1 queued.\n  http://a.test/new: a start URL already\n"
    )
    call_command("crawl", "add", str(crawl.pk), "http://b.test/", "--widen", "--json")
    assert json.loads(capsys.readouterr().out)["added"] == ["http://b.test/"]
    with pytest.raises(
        CommandError,
        match=r"nothing was added:\n  'x' is not a URL.*\n  http://c.test/ is outside the "
        r"scope; --widen",
    ):
        call_command("crawl", "add", str(crawl.pk), "x", "http://c.test/")


@pytest.fixture
def pool(frontier):
    """The pool of the run, which has ended with nothing left to fetch."""
    pool = create_pool(name="default", classes=CLASSES)
    CrawlJob.objects.filter(pk=frontier.run.crawl_id).update(claim={"fetch_slots": 1})
    claimed = frontier.run.urls.filter(state=UrlState.QUEUED).values_list("pk", flat=True)
    change_urls(frontier.run, UrlAction.TAKE_OUT, list(claimed))
    Run.objects.filter(pk=frontier.run.pk).update(state="finished", finished_at=timezone.now())
    return pool


def test_an_ended_run_is_resumed_for_new_seeds_if_that_is_asked(frontier, crawl, pool):
    added = add_seeds_to_crawl(crawl, ["http://a.test/", "http://a.test/new"], resume=True)

    run = Run.objects.get(pk=frontier.run.pk)
    assert (added.queued, waiting(frontier)) == (1, {"a.test/new"})
    assert (run.state, run.finished_at) == ("queued", None)
    assert list(run.processes.values_list("bank_process__state", flat=True)) == ["active"]


def test_an_ended_run_stays_so_without_new_seeds_or_beyond_a_limit(frontier, crawl, pool):
    assert add_seeds_to_crawl(crawl, ["http://a.test/"], resume=True).queued is None
    frontier.run.urls.filter(url="http://a.test/1").update(state=UrlState.SUCCEEDED, status=200)
    met = add_seeds_to_crawl(crawl, ["http://a.test/1"], resume=True)
    assert (met.queued, list(met.known)) == (None, ["http://a.test/1"])
    CrawlJob.objects.filter(pk=crawl.pk).update(max_pages=1)
    RunTotal.objects.update_or_create(run=frontier.run, defaults={"fetched": 1})

    assert add_seeds_to_crawl(crawl, ["http://a.test/new"], resume=True).queued is None
    assert Run.objects.get(pk=frontier.run.pk).state == "finished"
    crawl.refresh_from_db()
    assert crawl.seeds[-1] == "http://a.test/new"
