"""An operator looks through the frontier and changes it by hand; the next claim goes by it, and no
URL is lost on the way.
"""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from crawling.base.errors import WrongState
from crawling.frontier.change.manual_order import UrlAction
from crawling.models import HostQueue, LogLine, Run, UrlState
from crawling.models.jobs import RunState
from crawling.runs import waiting_urls
from crawling.runs.waiting_urls import (
    TAKEN_OUT,
    FrontierFilter,
    change_found_urls,
    change_urls,
    frontier_of,
    url_lines,
    waiting_count,
)
from tests.crawling.frontiers import Frontier
from tests.crawling.pages import browser, soup

pytestmark = pytest.mark.django_db


@pytest.fixture
def frontier():
    frontier = Frontier()
    frontier.sow("a.test/1", "a.test/2", "b.test/1", "a.test/3", "b.test/News")
    return frontier


def listed(run, wanted=FrontierFilter(), most=100):  # noqa: B008  # frozen
    return [url.url.removeprefix("http://") for url in frontier_of(run, wanted, most=most)[0]]


def ids(frontier, *urls):
    key_of = dict(frontier.run.urls.values_list("url", "pk"))
    return [key_of[f"http://{url}"] for url in urls]


def claimed(frontier):
    frontier.lease()
    return [url.url.removeprefix("http://") for url in frontier.claim()]


def test_what_waits_is_listed_host_by_host_in_the_order_of_visits(frontier):
    change_urls(frontier.run, UrlAction.LAST, ids(frontier, "a.test/1"))

    assert listed(frontier.run) == ["a.test/2", "a.test/3", "a.test/1", "b.test/1", "b.test/News"]
    assert listed(frontier.run, FrontierFilter(host="b.test")) == ["b.test/1", "b.test/News"]
    assert listed(frontier.run, FrontierFilter(text="NEWS")) == ["b.test/News"]
    assert waiting_count(frontier.run) == 5


def test_what_was_done_before_the_run_ended_is_told(frontier, monkeypatch):
    def handle_and_end(run, *args):
        count = waiting_urls.handle_(run, *args)
        Run.objects.update(state=RunState.FINISHED)
        return count

    monkeypatch.setattr(waiting_urls, "BATCH", 2)
    monkeypatch.setattr(waiting_urls, "handle_", waiting_urls.apply_action, raising=False)
    monkeypatch.setattr(waiting_urls, "apply_action", handle_and_end)
    with pytest.raises(WrongState):
        change_urls(
            frontier.run, UrlAction.TAKE_OUT, ids(frontier, "a.test/1", "a.test/2", "b.test/1")
        )

    assert frontier.run.urls.filter(state=UrlState.EXCLUDED).count() == 2
    assert LogLine.objects.latest("pk").message.startswith("2 URLs removed from the queue")
    assert '"frontier: take out"' in LogEntry.objects.latest("pk").change_message


def test_pages_of_the_list_go_on_where_the_last_ended(frontier):
    change_urls(frontier.run, UrlAction.FIRST, ids(frontier, "a.test/3", "b.test/News"))
    found, after = [], None
    while True:
        urls, after = frontier_of(frontier.run, FrontierFilter(after=after), most=2)
        found += [url.url for url in urls]
        if after is None:
            break

    assert found == [
        f"http://{url}" for url in ("a.test/3", "a.test/1", "a.test/2", "b.test/News", "b.test/1")
    ]
    assert "".join(url_lines(frontier.run, FrontierFilter(), batch=2)).split() == found


def test_what_is_sent_ahead_is_claimed_first_of_its_host_and_what_is_sent_to_the_end_last(frontier):
    change_urls(frontier.run, UrlAction.FIRST, ids(frontier, "a.test/3"))
    change_urls(frontier.run, UrlAction.LAST, ids(frontier, "a.test/1"))
    of_a = [url for url in claimed(frontier) if url.startswith("a.")]

    assert of_a == ["a.test/3", "a.test/2", "a.test/1"]


def test_a_place_by_hand_is_taken_back(frontier):
    change_urls(frontier.run, UrlAction.FIRST, ids(frontier, "a.test/3"))

    assert change_urls(frontier.run, UrlAction.USUAL, ids(frontier, "a.test/3", "a.test/1")) == 1
    assert listed(frontier.run)[:3] == ["a.test/1", "a.test/2", "a.test/3"]


def test_what_is_taken_out_is_not_claimed_and_counts_as_excluded_until_it_is_put_back(frontier):
    out = ids(frontier, "a.test/1", "b.test/1")
    assert change_urls(frontier.run, UrlAction.TAKE_OUT, out) == 2

    assert listed(frontier.run, FrontierFilter(TAKEN_OUT)) == ["a.test/1", "b.test/1"]
    assert (frontier.counts()["excluded"], waiting_count(frontier.run)) == (2, 3)
    assert change_urls(frontier.run, UrlAction.PUT_BACK, out[:1]) == 1
    assert (frontier.counts()["excluded"], waiting_count(frontier.run)) == (1, 4)
    assert sorted(claimed(frontier)) == ["a.test/1", "a.test/2", "a.test/3", "b.test/News"]
    assert sum(HostQueue.objects.filter(run=frontier.run).values_list("queued", flat=True)) == 0


def test_what_a_fetch_thread_has_in_hand_stays_there(frontier):
    claimed(frontier)

    assert change_urls(frontier.run, UrlAction.TAKE_OUT, ids(frontier, "a.test/1")) == 0
    assert frontier.states() == {UrlState.IN_PROCESS: 5}


def test_what_a_rule_excluded_is_not_for_a_hand_to_put_back(frontier):
    frontier.run.urls.filter(url="http://a.test/1").update(state=UrlState.EXCLUDED, status=-40)

    assert change_urls(frontier.run, UrlAction.PUT_BACK, ids(frontier, "a.test/1")) == 0


def test_all_that_is_found_is_changed_and_the_log_tells_who_asked(frontier, django_user_model):
    ada = django_user_model.objects.create_user("ada")

    assert change_found_urls(
        frontier.run, UrlAction.TAKE_OUT, FrontierFilter(host="a.test"), by=ada
    ) == (
        3,
        False,
    )
    assert listed(frontier.run) == ["b.test/1", "b.test/News"]
    assert (
        LogLine.objects.get(run=frontier.run).message
        == "3 URLs removed from the queue, asked for by ada."
    )


def test_a_run_that_is_over_is_left_alone(frontier):
    Run.objects.filter(pk=frontier.run.pk).update(state="finished")

    with pytest.raises(WrongState, match="nothing waits in it any more"):
        change_urls(frontier.run, UrlAction.FIRST, ids(frontier, "a.test/1"))


def test_an_operator_does_it_on_the_page_and_all_that_is_found_is_asked_about_first(frontier):
    operator, address = (
        browser("operator"),
        reverse("crawling:frontier", args=[frontier.run.crawl_id]),
    )
    [news] = ids(frontier, "b.test/News")

    said = operator.post(
        address,
        {"place": "waiting", "deed": "first", "url": news, "query": "host=b.test"},
        follow=True,
    )
    assert "1 URL sent ahead of all others of the host." in said.content.decode()
    rows = [row.get_text(" ", strip=True) for row in soup(said).select("tbody tr")]
    assert "b.test/News" in rows[0]
    assert rows[0].endswith("first")

    form = {"place": "waiting", "deed": "take_out", "which": "all", "host": "a.test"}
    asked = soup(operator.post(address, form))
    assert "3 URLs waiting in" in asked.main.get_text(" ", strip=True)
    assert "on a.test" in asked.main.get_text(" ", strip=True)
    assert asked.select_one("[name=deed]").get_text() == "Remove: 3"
    assert frontier.states() == {UrlState.QUEUED: 5}
    operator.post(address, form | {"confirmed": "yes"})
    assert frontier.states() == {UrlState.QUEUED: 2, UrlState.EXCLUDED: 3}


def test_a_viewer_looks_and_finds_no_buttons(frontier):
    page = soup(browser("viewer").get(reverse("crawling:frontier", args=[frontier.run.crawl_id])))

    assert len(page.select("tbody tr")) == 5
    assert not page.select("main [name=deed], main [name=url]")


def test_programs_do_the_same(frontier):
    operator, path = browser("operator"), f"/api/v1/crawls/{frontier.run.crawl_id}/frontier"

    first = operator.get(f"{path}?limit=3").json()
    rest = operator.get(f"{path}?limit=3&cursor={first['next']}").json()
    assert [item["url"] for item in first["items"] + rest["items"]] == operator.get(
        f"{path}/export"
    ).getvalue().decode().split()
    assert (first["waiting"], rest["next"]) == (5, None)
    done = operator.post(
        path, {"action": "take_out", "q": "news"}, content_type="application/json"
    ).json()
    assert done == {"changed": 1, "is_more": False}
    assert operator.get(f"{path}?place=taken out").json()["items"][0]["host"] == "b.test"
