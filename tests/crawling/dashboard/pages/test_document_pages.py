"""Operators see documents: rows of extraction rules, possible traps, and how they order them."""

import csv
import json
from io import StringIO

import pytest
from django.core.management import call_command

from crawling.models import CrawlJob, Run, Url
from crawling.runs.crawls.creation import create_crawl
from tests.crawling.pages import browser, soup

#: a calendar without an end, in which no page says anything new
TRAP = "/calendar/2999/{}/"


def planned(day):
    ahead = "".join(f'<a href="{TRAP.format(day + step)}">on</a>' for step in (1, 2))
    return f"<p>Nothing is planned here on day {day}, so come again.</p>{ahead}"


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    """A run with a page of which something is taken out, and a possible trap."""
    taken = "<b>=1+1</b><b>-5.00</b><b>&lt;i&gt; é</b>"
    site = shared.serve(
        {
            "/": f'{taken}<a href="{TRAP.format(1)}">x</a>',
            **{TRAP.format(day): planned(day) for day in range(1, 60)},
        }
    )
    return crawl_once(f"{site.url}/", extract={"bold": "b"})


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def test_the_page_shows_rows_as_text(run):
    page = soup(browser("viewer").get(f"/crawls/{run.crawl_id}/extracted/"))

    (row,) = page.select("tbody tr")
    assert [cell.text for cell in row.select(".value")] == ["=1+1"]
    assert "+2 more" in row.text


def test_the_filter_of_pages_names_statuses_without_the_numbers_of_urls(run):
    page = soup(browser("viewer").get(f"/crawls/{run.crawl_id}/pages/"))

    assert [choice.text for choice in page.select("[name=status] option")] == ["any status", "200"]


def test_rows_leave_as_a_table_that_no_spreadsheet_takes_for_formulas(run):
    answer = browser("viewer").get(f"/crawls/{run.crawl_id}/extracted.csv")

    rows = list(csv.reader(StringIO(answer.getvalue().decode())))
    assert rows[0] == ["url", "name", "value"]
    assert [row[2] for row in rows[1:]] == ["'=1+1", "-5.00", "<i> é"]
    assert "attachment" in answer["Content-Disposition"]


def test_rows_leave_as_json(run):
    answer = browser("viewer").get(f"/crawls/{run.crawl_id}/extracted.json")

    rows = json.loads(answer.getvalue())
    assert [(row["name"], row["value"]) for row in rows] == [
        ("bold", "=1+1"),
        ("bold", "-5.00"),
        ("bold", "<i> é"),
    ]


def test_a_crawl_without_rules_or_runs_says_what_to_do(order):
    crawl = create_crawl(order("http://127.0.0.1:8000/"))
    client = browser("viewer")

    assert "No rules of extraction yet" in soup(client.get(f"/crawls/{crawl.pk}/extracted/")).text
    assert client.get(f"/crawls/{crawl.pk}/extracted.json").status_code == 404


def test_a_possible_trap_is_shown_with_samples_and_banned_by_a_button(run):
    client = browser("operator")
    page = soup(client.get(f"/crawls/{run.crawl_id}/"))
    section = page.select_one("[aria-labelledby=traps]")
    button = section.select_one("button[name=ban]")

    answer = client.post(
        button["formaction"],
        {"ban": button["value"], "next": f"/crawls/{run.crawl_id}/"},
        follow=True,
    )

    assert "/calendar/2999/" in section.text
    assert "URLs are excluded." in answer.content.decode()
    assert Url.objects.filter(url__contains="/calendar/", state="x").exists()
    assert not Url.objects.filter(url__contains="/calendar/", state="t").exists()
    assert not soup(answer).select("[aria-labelledby=traps]")


def test_a_viewer_sees_the_trap_and_cannot_judge_it(run):
    client = browser("viewer")
    section = soup(client.get(f"/crawls/{run.crawl_id}/")).select_one("[aria-labelledby=traps]")

    assert not section.select("button")
    assert client.post(f"/crawls/{run.crawl_id}/traps/", {"ban": "1"}).status_code == 403


@pytest.mark.parametrize("word", [{"ban": "x"}, {}, {"approve": "1"}, {"ban": "9" * 30}])
def test_nonsense_about_a_trap_is_told(run, word):
    answer = browser("operator").post(
        f"/crawls/{run.crawl_id}/traps/",
        {**word, "next": f"/crawls/{run.crawl_id}/"},
        follow=True,
    )

    assert "no pattern" in answer.content.decode()


def test_the_form_orders_how_pages_are_read_and_says_what_is_wrong(order):
    client = browser("operator")
    order("http://127.0.0.1:8000/")
    answers = {
        "seeds": "http://127.0.0.1:8000/",
        "name": "mine",
        "preset": "normal",
        "delay_seconds": "1",
        "processes": "1",
    }

    wrong = soup(client.post("/crawls/new/", {**answers, "extract": "price = a["}))
    client.post(
        "/crawls/new/",
        {**answers, "extract": "price = a[title=x]\npicture=img::attr(src)", "requisites": "on"},
    )

    assert "is no CSS selector" in wrong.select_one("#id_extract_error").text
    crawl = CrawlJob.objects.latest("pk")
    assert (crawl.extract, crawl.requisites, crawl.obey_nofollow) == (
        {"price": "a[title=x]", "picture": "img::attr(src)"},
        True,
        False,
    )
    copy = soup(client.get(f"/crawls/new/?clone={crawl.pk}"))
    assets = copy.select_one("#id_requisites")
    assert assets.has_attr("checked")
    assert assets.find_parent("details") is None  # a visible choice, with its cost
    assert "one more request" in copy.select_one("#id_requisites_helptext").get_text()
    assert not copy.select_one("#id_obey_nofollow").has_attr("checked")
    assert "picture = img::attr(src)" in copy.select_one("#id_extract").text
    assert (
        "2 lines"
        in copy.select_one("#id_extract").find_parent("details").find("summary").get_text()
    )


def test_the_command_orders_how_pages_are_read(order, worker):
    order("http://127.0.0.1:8000/")

    call_command(
        "crawl",
        "http://127.0.0.1:8000/",
        "--extract",
        "x=a[b=c]",
        "--requisites",
        "--obey-nofollow",
        "--json",
    )

    crawl = CrawlJob.objects.latest("pk")
    assert (crawl.extract, crawl.requisites, crawl.obey_nofollow) == ({"x": "a[b=c]"}, True, True)
