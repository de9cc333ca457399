"""What only a browser shows: ticks of charts, messages that go, forms that warn, times in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from playwright.sync_api import expect

from crawling.crawls.creation import start_run
from crawling.models import Run, RunCount
from tests.browser.house import make_crawl

#: keeps what is written on canvases
KEEP_TEXT = """
window.written = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  window.written.push(text);
  return fill.call(this, text, ...rest);
};
"""


def test_ticks_of_a_chart_differ_and_one_minute_is_a_bar(browse, make_web):
    run = start_run(make_crawl("Short", make_web().url))
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=1)
    Run.objects.filter(pk=run.pk).update(
        started_at=minute, finished_at=minute + timedelta(seconds=50), state="finished"
    )
    RunCount.objects.update(minute=minute, fetched=20)
    page = browse("viewer")
    page.add_init_script(KEEP_TEXT)

    page.goto(f"/crawls/{run.crawl_id}/charts/")

    expect(page.locator("figure.chart canvas").first).to_be_visible()
    first = page.locator("figure.chart").first
    expect(first.locator(".u-wrap")).to_have_count(1)
    page.wait_for_function("window.written.some((text) => text.includes(':'))")
    written = page.evaluate("window.written")
    drawings = written.count("0")  # each begins its vertical axis there
    assert {text for text in written if ":" in text} == {f"{minute:%H:%M}"}
    assert written.count(f"{minute:%H:%M}") == drawings


def test_the_filter_of_the_log_stays_on_one_line(browse, make_web):
    run = start_run(make_crawl("Logged", make_web().url))
    page = browse("viewer", f"/crawls/{run.crawl_id}/log/")

    boxes = [
        page.locator(f".log-bar .filter {part}").bounding_box()
        for part in ("select", "[type=search]", "button")
    ]

    assert len({round(box["y"] + box["height"] / 2) // 8 for box in boxes}) == 1
    assert boxes[1]["width"] > 150


def test_a_message_can_be_closed_and_good_news_goes_by_itself(browse, make_web):
    crawl = make_crawl("Told", make_web().url)
    page = browse("operator")
    page.clock.install()
    page.goto(f"/crawls/{crawl.pk}/")
    page.clock.pause_at(datetime.now() + timedelta(minutes=1))  # the message goes by the clock
    page.get_by_role("button", name="Start").click()
    message = page.locator(".message.flash")
    expect(message).to_be_visible()

    page.clock.fast_forward(11_000)
    expect(message).to_have_count(0)

    page.get_by_role("button", name="Pause", exact=True).click()
    expect(message).to_be_visible()
    message.get_by_role("button", name="Close this message").click()
    expect(message).to_have_count(0)


def test_a_filled_form_warns_before_it_is_left(browse, pool):
    page = browse("operator", "/crawls/new/")
    asked = []

    def answer(dialog):
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.get_by_label("Start URLs").type("https://example.org/")

    page.get_by_role("link", name="Crawls", exact=True).first.click()
    page.wait_for_url("**/crawls/")

    assert asked == ["beforeunload"]


def test_the_age_of_a_page_is_told_in_utc_like_every_other_time(browse, pool):
    page = browse("viewer", timezone_id="Asia/Tokyo", locale="en-US")
    page.clock.set_fixed_time(1_700_000_000)
    page.goto("/crawls/")

    page.get_by_label("Pause refresh").check()

    expect(page.locator("#age")).to_contain_text("22:13:20")
    expect(page.locator("#age")).to_contain_text("UTC")
