"""Endless sites are held back with samples for an operator; large ones are not."""

import random

import pytest

from crawling.crawls.traps import approve_trap, ban_trap
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.pages.trap_patterns import list_traps
from crawling.errors import WrongState
from crawling.frontier.admit.quarantine import states_of
from crawling.models import LogLine, Run, TrapPattern, Url, UrlState
from crawling.scope.trap_gate import TrapState
from crawling.scope.trap_patterns import PROBE_PAGES
from crawling.web.statuses import FetchStatus

WORDS = [
    f"{start}{end}"
    for start in ["bar", "cor", "del", "fin", "gul", "hem", "jot", "kip", "lom", "nur"]
    for end in ["ado", "eli", "imo", "ust", "erra", "onik", "ysta"]
]
HTML = {"Content-Type": "text/html; charset=utf-8"}


def article(number):
    """A text of its own for each number, in the frame of one site."""
    told = random.Random(number)
    text = " ".join(told.choice(WORDS) for _ in range(120))
    ahead = "".join(
        f'<a href="/article/{number + step}">next</a>'
        for step in range(1, 11)
        if number + step <= 1000
    )
    return (
        f"<title>Article {number}</title><nav>Home About Contact Imprint</nav><p>{text}</p>{ahead}"
    )


def calendar(request):
    """Every day leads to the next, and nothing ever happens."""
    day = int(request.path.rpartition("=")[2])
    ahead = "".join(f'<a href="/plan?day={day + step}">on</a>' for step in range(1, 6))
    return (
        200,
        HTML,
        f"<title>Day {day}</title><h1>What happens on day {day}</h1><p>There is nothing planned "
        f"for this day, come again.</p>{ahead}",
    )


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    """A run that has met an endless calendar beside a page of worth."""
    site = shared.serve(
        {
            "/": '<a href="/plan?day=1">plan</a><a href="/worth">worth</a>',
            "/plan": calendar,
            "/worth": "text",
        }
    )
    return site, crawl_once(f"{site.url}/", max_pages=500)


@pytest.fixture
def trapped(crawled, db):
    site, run = crawled
    return site, Run.objects.get(pk=run.pk)


def test_a_trap_is_quarantined_and_the_rest_of_its_site_is_fetched(trapped):
    site, run = trapped

    counts = crawl_view(run.crawl).counts
    [trap] = list_traps(run, limit=10)[0]
    assert (run.state, run.reason) == (
        "finished",
        f"Every URL in scope is done, but for {trap.held:,} held back as traps.",
    )
    assert "/worth" in site.paths
    assert PROBE_PAGES <= counts.fetched < 4 * PROBE_PAGES
    assert (trap.pattern, trap.state, trap.rule) == (
        f"{site.url}/plan?day=#",
        TrapState.QUARANTINED,
        "yield",
    )
    assert trap.held == counts.quarantined == Url.objects.filter(run=run, state="t").count() > 0
    assert all(sample.startswith(f"{site.url}/plan?day=") for sample in trap.samples)
    assert (
        LogLine.objects.filter(run=run, message__contains="Quarantined as a possible trap").count()
        == 1
    )
    assert (
        counts.discovered == counts.succeeded + counts.failed + counts.excluded + counts.quarantined
    )


@pytest.mark.drill
def test_a_large_site_of_numbered_articles_is_fetched_whole(make_site, crawl_to_the_end):
    pages = {f"/article/{number}": article(number) for number in range(1, 1001)}
    site = make_site({"/": '<a href="/article/1">first</a>', **pages})

    run = crawl_to_the_end(f"{site.url}/")

    pattern = TrapPattern.objects.get(run=run)
    assert crawl_view(run.crawl).counts.succeeded == 1001
    assert (pattern.state, pattern.fetched, pattern.fresh) == (TrapState.WATCHED, 1000, 1000)


@pytest.mark.parametrize("visits", ["breadth_first", "best_first"])
def test_many_pages_alike_that_come_to_an_end_are_no_trap(make_site, crawl_to_the_end, visits):
    frame = (
        "<p>This page is very much like all others of its kind, and says nothing of its own.</p>"
    )
    pages = {
        f"/item/{number}": f'<title>{number}</title>{frame}<a href="/item/{number // 2}">x</a>'
        for number in range(150)
    }
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in pages), **pages})

    run = crawl_to_the_end(f"{site.url}/", order=visits)

    assert crawl_view(run.crawl).counts.succeeded == 151
    assert list_traps(run, limit=10)[0] == []


@pytest.mark.parametrize(
    ("rule", "links"),
    [
        ("repeats", ["/a/b/a/b/a/b/a/b/"]),
        ("deep", ["/" + "/".join("abcdefghijklmnopqrstuvwxyz")]),
        ("long", ["/p?" + "q" * 1100]),
        ("calendar", ["/calendar/2999/01/"]),
        ("session", [f"/x;jsessionid=0123456789{letter}" for letter in "ABCDE"]),
    ],
)
def test_what_looks_like_a_trap_is_never_fetched(make_site, crawl_to_the_end, rule, links):
    site = make_site(
        {"/": "".join(f'<a href="{link}">x</a>' for link in [*links, "/ok"]), "/ok": "ok"}
    )

    run = crawl_to_the_end(f"{site.url}/")

    [trap] = [trap for trap in list_traps(run, limit=10)[0] if trap.state == TrapState.QUARANTINED]
    fetched = [path for path in site.paths if path not in ("/", "/ok")]
    assert trap.rule == rule
    assert LogLine.objects.filter(run=run, message__contains=trap.reason).count() == 1
    assert (len(fetched), trap.held) == ((2, 3) if rule == "session" else (0, 1))
    assert "/ok" in site.paths


def test_an_approved_pattern_is_fetched_even_after_the_end_of_its_run(
    make_site, crawl_to_the_end, work_off
):
    site = make_site(
        {
            "/": '<a href="/calendar/2999/01/">x</a>',
            "/calendar/2999/01/": '<a href="/calendar/2999/02/">x</a>',
        }
    )
    run = crawl_to_the_end(f"{site.url}/")
    [trap] = list_traps(run, limit=10)[0]

    count = approve_trap(run.crawl, trap.key)
    run.refresh_from_db()
    work_off(run)

    assert (count, run.state) == (1, "finished")
    assert site.paths == ["/", "/calendar/2999/01/", "/calendar/2999/02/"]
    assert crawl_view(run.crawl).counts.quarantined == 0


def test_a_banned_pattern_is_excluded_with_its_reason(trapped):
    _, run = trapped
    [trap] = list_traps(run, limit=10)[0]

    count = ban_trap(run.crawl, trap.key)

    counts = crawl_view(run.crawl).counts
    assert count == counts.excluded == trap.held
    assert (counts.quarantined, counts.queued) == (0, 0)
    assert set(Url.objects.filter(run=run, state="x").values_list("status", flat=True)) == {
        FetchStatus.TRAP
    }
    assert run.status_counts.get(state="x").urls == count
    assert states_of(run.pk) == {trap.key: TrapState.BANNED}


def test_what_was_decided_is_not_decided_twice(trapped):
    _, run = trapped
    [trap] = list_traps(run, limit=10)[0]
    ban_trap(run.crawl, trap.key)

    with pytest.raises(WrongState, match="is banned already"):
        ban_trap(run.crawl, trap.key)
    with pytest.raises(WrongState, match="no pattern"):
        approve_trap(run.crawl, 1)


def test_a_quarantined_url_found_again_stays_where_it_is(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": '<a href="/calendar/2999/01/">x</a><a href="/a">a</a>',
            "/a": '<a href="/calendar/2999/01/">x</a>',
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert Url.objects.get(run=run, state=UrlState.QUARANTINED).url.endswith("/calendar/2999/01/")
