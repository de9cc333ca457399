"""Endless sites are held back with samples for an operator; large ones are not."""

import random

import pytest

from crawling.base.errors import WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.pages.trap_patterns import list_traps
from crawling.frontier.admit.quarantine import pattern_states
from crawling.models import LogLine, Run, TrapPattern, Url
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import PROBE_PAGES, SUSPICIOUS_PROBE_PAGES
from crawling.runs.crawls.traps import approve_trap, ban_trap
from crawling.runs.start import start_run
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


@pytest.fixture
def trapped_alone(make_site, crawl_to_the_end):
    """The same of a calendar of a far-off year, which is suspicious at once."""
    look = LOOKS["calendar"]
    site = make_site({"/": f'<a href="{look(1)}">plan</a>'})
    site.pages |= {look(number): endless(look, number) for number in range(1, 120)}
    return site, crawl_to_the_end(f"{site.url}/")


def test_a_trap_is_quarantined_and_the_rest_of_its_site_is_fetched(trapped):
    site, run = trapped

    counts = crawl_view(run.crawl).counts
    [trap] = list_traps(run, most=10)[0]
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
    assert list_traps(run, most=10)[0] == []


SESSIONS = "/x;jsessionid=%024x"
#: of each suspicion, the address of the page of a number; the path itself may repeat, or the query
LOOKS = {
    "parameters": lambda n: f"/list?color={n}&size=1&sort=1&page=1",
    "repeats ": lambda n: "/list?" + "&".join(f"f={step}" for step in range(3 + n)),
    "repeats": lambda n: "/a/b" * (4 + n) + "/",
    "deep": lambda n: "/" + "/".join("abcdefghijklmnopqrstuvwxyz") + f"/{n}",
    "long": lambda n: "/p?" + "q" * 1100 + f"&n={n}",
    "calendar": lambda n: f"/calendar/2999/{n}/",
    "session": lambda n: SESSIONS % n,
}


def endless(look, number):
    """A trap's page of a number: it says nothing, and leads on."""
    ahead = "".join(f'<a href="{look(number + step)}">on</a>' for step in (1, 2))
    return 200, HTML, f"<p>Nothing is planned here, now or ever, so come again.</p>{ahead}"


@pytest.mark.parametrize("rule", LOOKS)
def test_what_looks_endless_and_is_so_is_held_after_a_small_sample(
    make_site, crawl_to_the_end, rule
):
    look = LOOKS[rule]
    site = make_site({"/": f'<a href="{look(1)}">x</a><a href="/ok">x</a>', "/ok": "ok"})
    site.pages |= {look(number): endless(look, number) for number in range(1, 120)}

    run = crawl_to_the_end(f"{site.url}/", max_pages=300)

    [trap] = [trap for trap in list_traps(run, most=10)[0] if trap.state == TrapState.QUARANTINED]
    assert trap.rule == rule.strip()
    assert LogLine.objects.filter(run=run, message__contains=trap.reason).count() == 1
    assert trap.held > 0
    assert "/ok" in site.paths
    assert SUSPICIOUS_PROBE_PAGES <= len(site.paths) < 4 * SUSPICIOUS_PROBE_PAGES


@pytest.mark.parametrize("rule", LOOKS)
@pytest.mark.parametrize("leads_on", [False, True])
def test_what_only_looks_endless_is_fetched_whole(make_site, crawl_to_the_end, rule, leads_on):
    look, numbers = LOOKS[rule], range(1, 31)
    texts = {number: article(number).partition("<a")[0] for number in numbers}
    found = {look(1)} if leads_on else {look(number) for number in numbers}
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in found)})
    for number in numbers:
        ahead = f'<a href="{look(number + 1)}">on</a>' if leads_on and number < 30 else ""
        site.pages[look(number)] = (200, HTML, texts[number] + ahead)

    run = crawl_to_the_end(f"{site.url}/")

    assert crawl_view(run.crawl).counts.succeeded == 31
    assert not TrapPattern.objects.filter(run=run).exclude(state=TrapState.WATCHED).exists()


def test_what_was_said_of_a_pattern_holds_in_the_next_run(trapped_alone, work_off):
    site, run = trapped_alone
    [trap] = list_traps(run, most=10)[0]
    ban_trap(run.crawl, trap.key)
    asked = len(site.paths)

    later = start_run(run.crawl)
    assert pattern_states(later.pk) == {trap.key: TrapState.BANNED}
    work_off(later)

    assert crawl_view(later.crawl).counts.quarantined == 0
    assert len(site.paths) - asked <= 3


def test_the_next_run_judges_anew_what_nobody_decided_and_says_so(trapped):
    _, run = trapped
    [trap] = list_traps(run, most=10)[0]

    later = start_run(run.crawl)

    assert pattern_states(later.pk) == {}
    told = LogLine.objects.get(run=later, message__contains=trap.pattern).message
    assert told.startswith(f"Run {run.number} held back")


def test_an_approved_pattern_is_fetched_even_after_the_end_of_its_run(trapped_alone, work_off):
    site, run = trapped_alone
    [trap] = list_traps(run, most=10)[0]
    before = len(site.paths)
    run.crawl.max_pages = before + 10
    run.crawl.save(update_fields=["max_pages"])

    count = approve_trap(run.crawl, trap.key)
    run.refresh_from_db()
    work_off(run)

    assert count == trap.held
    assert len(site.paths) == before + 10
    assert crawl_view(run.crawl).counts.quarantined == 0


def test_a_banned_pattern_is_excluded_with_its_reason(trapped):
    _, run = trapped
    [trap] = list_traps(run, most=10)[0]

    count = ban_trap(run.crawl, trap.key)

    counts = crawl_view(run.crawl).counts
    assert count == counts.excluded == trap.held
    assert (counts.quarantined, counts.queued) == (0, 0)
    assert set(Url.objects.filter(run=run, state="x").values_list("status", flat=True)) == {
        FetchStatus.TRAP
    }
    assert run.status_counts.get(state="x").urls == count
    assert pattern_states(run.pk) == {trap.key: TrapState.BANNED}


def test_what_was_decided_is_not_decided_twice(trapped):
    _, run = trapped
    [trap] = list_traps(run, most=10)[0]
    ban_trap(run.crawl, trap.key)

    with pytest.raises(WrongState, match="is banned already"):
        ban_trap(run.crawl, trap.key)
    with pytest.raises(WrongState, match="no pattern"):
        approve_trap(run.crawl, 1)
