"""The page of a crawl, as a browser without scripts gets it, and as the live refresh does."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.crawls.overview import read_overview
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.run import log, numbers
from crawling.dashboard.run.numbers import numbers_of
from crawling.dashboard.run.pages import pages_of
from crawling.dashboard.run.rates import rates_of
from crawling.installation.run_log import write
from crawling.models import Host, HostQueue, Level, LogLine, Page, Run, RunCount, Shift
from crawling.models.jobs import RunState
from crawling.runs.crawls.blocklist import block_host
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawlsite.administration.accounts import make_roles
from crawlsite.templatetags.page_tags import intcomma
from serving import paging
from tests.crawling.frontiers import Frontier
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser, timeless

MINUTE = timedelta(minutes=1)


@pytest.fixture
def visit(client, django_user_model, db):
    """Return a function that fetches a page of a crawl as an account of the given role."""
    make_roles()

    def get(crawl, name="crawl", role="operator", headers=None, **query):
        user, _ = django_user_model.objects.get_or_create(username=role)
        user.groups.set(user.groups.model.objects.filter(name=role))
        client.force_login(user)
        answer = client.get(
            reverse(f"crawling:{name}", args=[getattr(crawl, "pk", crawl)]), query, headers=headers
        )
        return answer.status_code, answer.content.decode()

    return get


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {
            "/": '<title>Home</title><a href="/a">a</a><a href="/gone">x</a><a href="/no/1">x</a>',
            "/a": "x",
            "/robots.txt": "User-agent: *\nDisallow: /no/",
        }
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", name="<Library>")


@pytest.fixture
def finished(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def frontier_of_hosts(order):
    """A run of five hosts, some of which have as much queued or done as others."""
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    run.queues.all().delete()
    for letter, queued, done in zip("abcde", (3, 1, 1, 1, 0), (0, 5, 5, 2, 9), strict=True):
        host = Host.objects.create(name=f"{letter}.test")
        HostQueue.objects.create(run=run, host=host, process_number=0, queued=queued, done=done)
    return run


def soup_of(text):
    return tree_of(text)


def seen(page, *words):
    # as a browser shows it, however the lines of the template are broken
    text = re.sub(r"[ \n]+", " ", page)
    for word in words:
        assert word in text, word


def test_a_finished_run_shows_what_became_of_every_url(visit, finished):
    _, page = visit(finished.crawl)

    seen(
        page,
        "&lt;Library&gt;",
        "state-finished",
        "Every URL in scope is done.",
        "Nothing is left.",
        "2 succeeded",
    )
    seen(
        page,
        "200 OK",
        "404 Not Found",
        "The site&#x27;s robots.txt forbids this page.",
        "/gone",
        "Home",
        "the queue is empty for now",
    )
    seen(page, 'value="404"', "Retry 1 failed URL", "Run again")
    assert "Pause</button>" not in page


def test_a_draft_says_what_will_happen(visit, order):
    _, page = visit(create_crawl(order("http://127.0.0.1:8900/")))

    seen(
        page,
        "state-draft",
        "Not started yet",
        "Press <strong>Start</strong>",
        "http://127.0.0.1:8900/",
    )


def test_a_run_that_waits_says_for_what_since_when_on_whom_and_what_ends_it(visit, order):
    holder = create_crawl(
        order("http://127.0.0.1:8900/", name="holder", claim={"bandwidth": 60_000})
    )
    start_run(holder)
    waiter = create_crawl(
        order("http://127.0.0.1:8901/", name="waiter", claim={"bandwidth": 60_000})
    )
    start_run(waiter)

    _, page = visit(waiter)

    seen(
        page,
        "state-waiting",
        "Requested 1 worker",
        "58.6 MB/s of bandwidth",
        "since <time",
        reverse("allocation:pool", args=[1])[:6],
    )
    seen(page, ">Pause<", ">Stop<")
    found = tree_of(page)
    found.select_one(".log").decompose()
    line = found.select_one("#wait > p")
    assert " ".join(line.get_text().split()) == (
        "Waits for 58.6 MB/s of bandwidth (39.1 of 97.7 MB/s free). Held by holder. "
        "No estimate yet."
    )
    assert line.select_one("a")["href"] == reverse("crawling:crawl", args=[holder.pk])
    assert found.get_text().count("39.1 of 97.7 MB/s free") == 1
    assert not found.select("summary a, summary button")  # of two controls in one neither is sure


def test_what_a_run_holds_is_shown_with_its_units(visit, order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    start_run(crawl)

    _, page = visit(crawl)

    table = tree_of(page).select_one("section[aria-labelledby=grants] table")
    rows = [[cell.get_text(strip=True) for cell in row(["th", "td"])] for row in table("tr")]
    assert rows == [
        ["Resource", "Granted", "Used"],
        ["worker", "1", "–"],
        ["fetch slots", "1", "–"],
        ["bandwidth", "24.4 MB/s", "–"],
        ["memory", "14 MB", "–"],
        ["DNS slots", "1", "–"],
    ]
    assert table.caption.time


def test_a_run_that_fetched_nothing_with_success_has_failed_wherever_it_is_met(
    make_site, crawl_to_the_end, visit, client
):
    site = make_site({"/robots.txt": "User-agent: *\nDisallow: /no"})
    run = crawl_to_the_end(f"{site.url}/", f"{site.url}/a", f"{site.url}/no", name="Vain")

    _, text = visit(run.crawl)

    assert run.reason == "No page could be fetched: 404 Not Found (2 of 3 URLs)."
    seen(text, '<span class="state state-failed">failed</span>', run.reason)
    failed = client.get(reverse("crawling:crawls"), {"state": "failed"}).content.decode()
    seen(failed, "Vain", '<span class="state state-failed">failed</span>')
    assert [(worry.word, worry.sentence) for worry in read_overview().worries] == [
        ("failed", run.reason)
    ]


@pytest.mark.parametrize(
    ("state", "shown", "hidden"),
    [
        (
            RunState.RUNNING,
            [">Pause<", ">Stop<", ">Abort<"],
            [">Resume<", ">Start<", ">Run again<"],
        ),
        (RunState.PAUSED, [">Resume<", ">Stop<"], [">Pause<", ">Start<", ">Run again<"]),
        (RunState.STOPPING, [">Abort<", "cut off"], [">Pause<", ">Stop<", ">Resume<"]),
        (RunState.STOPPED, [">Run again<"], [">Pause<", ">Stop<"]),
    ],
)
def test_only_what_can_be_done_is_offered(visit, order, state, shown, hidden):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    Run.objects.filter(pk=run.pk).update(state=state)

    _, page = visit(run.crawl)

    seen(page, *shown)
    assert not [word for word in hidden if word in page]


def test_a_viewer_sees_why_the_buttons_do_nothing(visit, finished, client):
    _, page = visit(finished.crawl, role="viewer")

    seen(page, "disabled", "control needs the operator role")
    assert "failed URL" not in page
    assert client.post(reverse("crawling:retry", args=[finished.crawl.pk])).status_code == 403


def test_the_operators_retry_queues_what_failed_and_comes_back(visit, finished, client):
    visit(finished.crawl)
    address = reverse("crawling:crawl", args=[finished.crawl.pk])

    answer = client.post(
        reverse("crawling:retry", args=[finished.crawl.pk]),
        {"status": "404", "next": address},
        follow=True,
    )

    assert answer.redirect_chain == [(address, 302)]
    seen(answer.content.decode(), "The failed URL is queued again.")
    assert Run.objects.get().state == "queued"


@pytest.mark.parametrize("nonsense", ["x", "9" * 12, "٣", "4-4"])
def test_a_retry_of_nonsense_is_refused_in_words(visit, finished, client, nonsense):
    visit(finished.crawl)

    answer = client.post(
        reverse("crawling:retry", args=[finished.crawl.pk]), {"status": nonsense}, follow=True
    )

    seen(answer.content.decode(), "A status is a number, like 404.")


def test_an_earlier_run_can_be_looked_at_but_not_steered(visit, finished):
    start_run(finished.crawl)

    _, page = visit(finished.crawl, run="1")

    seen(page, "This is an earlier run.", "Show run 2, the latest.")
    assert "Run again" not in page
    assert "failed URL" not in page


def test_the_live_refresh_gets_the_same_without_the_frame(visit, finished):
    _, whole = visit(finished.crawl)
    _, fragment = visit(finished.crawl, headers={"HX-Request": "true"})

    assert "<html" not in fragment
    assert timeless(fragment) in timeless(whole)
    assert "csrfmiddlewaretoken" not in fragment  # it differs each time, and nothing else does


@pytest.mark.parametrize("number", [0, 10**20])
def test_an_unknown_crawl_or_run_is_not_found(visit, finished, number):
    assert visit(number)[0] == 404
    assert visit(finished.crawl, run=str(number)[:18])[0] == 404


def test_nonsense_in_the_address_does_no_harm(visit, finished):
    assert visit(finished.crawl, run="x", level="x", text="\0", before="-1")[0] == 200
    assert visit(finished.crawl, "pages", q="\0%_", status="x", before="9" * 30)[0] == 200
    assert visit(finished.crawl, "hosts", page="x")[0] == 200


def test_the_progress_has_a_bar_only_where_there_is_a_limit(visit, finished, order):
    assert "<progress" not in visit(finished.crawl)[1]

    finished.crawl.max_pages = 50
    finished.crawl.save()
    seen(visit(finished.crawl)[1], 'value="50" max="50"', "of at most 50 pages")


def test_the_log_can_be_filtered_and_paged(visit, finished, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.run.overview.LINES", 3)
    write(finished.pk, "the worst", level=Level.ERROR)

    seen(visit(finished.crawl)[1], 'class="level-error"', "the worst", 'rel="next">older')
    _, errors = visit(finished.crawl, level="error")
    assert errors.count('<li class="level-') == 1
    assert "No lines match" in visit(finished.crawl, text="nowhere")[1]
    assert "Work session began" in visit(finished.crawl, text="session BEGAN")[1]
    older = visit(finished.crawl, before=str(LogLine.objects.latest("pk").pk))[1]
    assert "the worst" not in older


def test_a_search_in_the_log_goes_back_piece_by_piece(finished, monkeypatch):
    monkeypatch.setattr(log, "SEARCHED", 2)

    found, before = [], None
    for _ in range(LogLine.objects.count()):
        window = log.log_before(finished, log.LogFilter(text="started"), before=before, most=50)
        found += window.lines
        before = window.older
        if before is None:
            break

    assert [line.message for line in found] == ["Run 1 started by the command line."]


def test_all_pages_can_be_searched_and_paged(visit, finished, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.run.views.page.PAGES", 1)

    _, first = visit(finished.crawl, "pages")
    seen(first, 'rel="next">Next')
    seen(visit(finished.crawl, "pages", q="home")[1], "Home")
    seen(visit(finished.crawl, "pages", status="404")[1], "/gone")
    seen(visit(finished.crawl, "pages", q="nowhere")[1], "No pages match these filters")
    after, shown = None, []
    while len(shown) < 5:
        _, page = visit(finished.crawl, "pages", **({"after": after} if after else {}))
        shown.append(page)
        following = re.search(r'after=(\d+)[^"]*" rel="next"', page)
        if not following:
            break
        after = following[1]
    assert len(shown) == Page.objects.count() == 3


def test_all_hosts_are_listed_with_what_is_queued_and_done(visit, finished):
    _, page = visit(finished.crawl, "hosts")

    seen(page, "127.0.0.1:", "nothing queued", "fetched", '<td class="number">4</td>')


@pytest.mark.parametrize("sort", ["", "host", "-host", "queued", "-done"])
def test_page_after_page_shows_every_host_once_whatever_they_are_sorted_by(
    visit, frontier_of_hosts, monkeypatch, sort
):
    monkeypatch.setattr("crawling.dashboard.run.views.page.HOSTS", 2)
    run, found, query = frontier_of_hosts, [], {"sort": sort}
    while True:
        page = soup_of(visit(run.crawl, "hosts", **query)[1])
        found += [cell.get_text(strip=True) for cell in page.select("tbody th")]
        link = page.find("a", rel="next")
        if link is None:
            break
        query = {"sort": sort, "after": link["href"].rpartition("after=")[2]}
        Host.objects.create(name=f"z{len(found)}.test")  # one more that the run has not met

    names = {f"{letter}.test" for letter in "abcde"}
    assert (set(found), len(found)) == (names, 5)
    if sort in ("host", "-host"):
        assert found == sorted(found, reverse=sort == "-host")


def test_a_host_that_another_crawl_fetches_from_names_it(visit, order):
    from crawling.frontier import lease_hosts

    url = "http://127.0.0.1:8900/"
    shift = begin_shift(
        start_run(create_crawl(order(url, name="first"))).processes.get(), epoch=1, worker="me"
    )
    lease_hosts(shift, limit=1, soon_seconds=1, delay_seconds=1, lease_seconds=60)
    second = start_run(create_crawl(order(url, name="second"))).crawl

    seen(visit(second)[1], "after first")
    seen(visit(shift.process.run.crawl)[1], "fetching", "running")


def test_the_speed_covers_every_minute_and_never_shows_less_than_nothing(finished):
    now = timezone.now()
    start = now.replace(second=0, microsecond=0) - timedelta(minutes=3)
    Run.objects.filter(pk=finished.pk).update(started_at=start, finished_at=now)
    RunCount.objects.filter(run=finished).delete()  # one row, or two if a minute passed meanwhile
    RunCount.objects.create(run=finished, process_number=0, minute=start, fetched=12)
    RunCount.objects.create(
        run=finished, process_number=1, minute=start + timedelta(minutes=1), fetched=-5
    )

    rates = rates_of(Run.objects.get(pk=finished.pk), is_live=False, fetched=12)

    assert [pages for _, pages in rates.counts][:3] == [12, 0, 0]
    assert rates.most == 12


def test_the_page_tells_how_hosts_stand_and_what_was_received_twice(
    visit, make_site, crawl_to_the_end
):
    site = make_site(
        {"/": '<a href="/a">a</a><a href="/b">b</a>', "/a": "the same", "/b": "the same"}
    )
    run = crawl_to_the_end(f"{site.url}/")
    host = run.queues.get().host

    _, page = visit(run.crawl)
    seen(page, "1 host: 0 with URLs not fetched, 0 blocked", "8\xa0bytes duplicate")

    run.queues.update(queued=3)
    Run.objects.update(state="running", finished_at=None)
    seen(visit(run.crawl)[1], "1 host: 0 active, 1 waiting, 0 blocked")
    block_host(host, "asked for")
    seen(visit(run.crawl)[1], "1 host: 0 active, 0 waiting, 1 blocked")
    Host.objects.update(
        shift=Shift.objects.create(process=run.processes.get(), epoch=99, worker="w"),
        lease_until=timezone.now(),
    )
    seen(visit(run.crawl)[1], "1 host: 1 active, 0 waiting")


def test_hosts_are_counted_up_to_so_many(monkeypatch, db):
    for module in (numbers, paging):
        monkeypatch.setattr(module, "MOST_NUMBERED", 3)
    frontier = Frontier()
    frontier.sow(*(f"{name}.test/" for name in "abcdef"))
    run, host = frontier.run, Host.objects.get(name="a.test")

    hosts = numbers_of(run).hosts
    assert [intcomma(number) for number in (hosts.every, hosts.waiting)] == ["3+", "3+"]

    block_host(host, "asked for")
    assert intcomma(numbers_of(run).hosts.waiting) == "3+", "all but a: five"
    run.queues.filter(host__name__in=["e.test", "f.test"]).update(queued=0)
    hosts = numbers_of(run).hosts
    assert (hosts.blocked, intcomma(hosts.waiting)) == (1, "3"), "b, c and d"


def test_a_search_of_a_run_finds_each_page_once_by_its_own_address_or_title_redirects_too(
    make_site, crawl_to_the_end
):
    site = make_site(
        {
            "/": "<title>Old and new</title>",
            "/old": (302, {"Location": "/new"}, ""),
            "/new": "<title>Old times</title>",
        }
    )
    run = crawl_to_the_end(f"{site.url}/", f"{site.url}/old", f"{site.url}/new")

    def found(text, **options):
        return [
            page.url.url.removeprefix(site.url)
            for page in pages_of(run, PageFilter(text, **options), most=9).pages
        ]

    assert {text: sorted(found(text)) for text in ("old", "NEW", "times", "/", "none")} == {
        "old": ["/", "/new", "/old"],
        "NEW": ["/", "/new"],
        "times": ["/new"],
        "/": ["/", "/new", "/old"],
        "none": [],
    }
    assert found("old", status="3xx") == ["/old"]
    latest_first = list(Page.objects.filter(run=run).order_by("-fetched_at"))
    window = pages_of(run, PageFilter("old"), most=2)
    rest = pages_of(run, PageFilter("old"), most=2, after=window.following)
    assert [*window.pages, *rest.pages] == latest_first
    times = [page.fetched_at for page in latest_first]
    for span, expected in (
        (TimeRange(times[1]), 2),
        (TimeRange(None, times[1]), 1),
        (TimeRange(times[1], times[0]), 1),
        (TimeRange(times[0] + MINUTE), 0),
    ):
        assert len(pages_of(run, PageFilter("old", span=span), most=9).pages) == expected


def queries_of(client, run, address="crawl"):
    client.get(reverse(f"crawling:{address}", args=[run.crawl_id]))
    with CaptureQueriesContext(connection) as captured:
        client.get(reverse(f"crawling:{address}", args=[run.crawl_id]))
    return [query["sql"] for query in captured]


def test_the_page_takes_half_of_the_queries_that_it_once_took(finished, order):
    waiting = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Waiting")))
    operator = browser("operator")

    # 37 and 46 at commit 5792750, with session, user and permissions; one counts pages by
    # their rendering; of a crawl with an ended run one reads the runs of the week, two their news,
    # one whether they are compared yet, one the trend of broken links, and one the replay file
    assert len(queries_of(operator, finished)) <= 23
    assert len(queries_of(operator, waiting)) <= 22


@pytest.mark.parametrize("address", ["crawl", "evidence"])
def test_nothing_is_read_twice_of_a_run_that_rests_by_the_delay_of_its_host(order, address):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    run.processes.update(bank_process=None)
    run.queues.update(due_at=timezone.now() + timedelta(hours=1))

    queries = queries_of(browser("operator"), run, address)

    assert [sql for sql in queries if "FROM crawling_hostqueue q" in sql]
    assert sorted(set(queries)) == sorted(queries)
    assert len(queries) <= 24


def test_the_page_takes_the_same_queries_however_much_there_is(
    visit, finished, django_assert_max_num_queries
):
    Shift.objects.bulk_create(
        Shift(process=finished.processes.get(), epoch=90 + n, worker="w", ended_at=timezone.now())
        for n in range(30)
    )
    for number in range(100):
        write(finished.pk, f"line {number}")
    visit(finished.crawl)

    with django_assert_max_num_queries(36):  # with those of the log-in
        visit(finished.crawl)


def test_nobody_sees_anything_without_logging_in(client, finished):
    for name in ("crawl", "pages", "hosts"):
        assert client.get(reverse(f"crawling:{name}", args=[finished.crawl.pk])).status_code == 302
