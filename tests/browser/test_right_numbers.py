"""Things that only a browser shows: ticks of charts, messages that go, forms that warn, times in
UTC.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from playwright.sync_api import expect

from crawling.models import Run, RunCount, RunStatusCount
from crawling.runs.start import start_run
from crawling.web.statuses import FetchStatus
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


#: columns of a drawing that have anything opaque of a line's own colour
DRAWN = """() => {
  const chart = document.querySelector("figure.chart canvas");
  const { width, height } = chart;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(chart, 0, 0);
  const pixels = copy.getImageData(0, 0, width, height).data;
  const columns = new Set();
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue, opaque] = pixels.slice(at, at + 4);
    if (opaque > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60)
      columns.add((at / 4) % width);
  }
  return columns.size / width;
}"""


def test_minutes_without_a_page_draw_no_bar(browse, make_web):
    run = start_run(make_crawl("Idle", make_web().url))
    minute = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=1)
    Run.objects.filter(pk=run.pk).update(
        started_at=minute, finished_at=minute + timedelta(minutes=50), state="finished"
    )
    RunCount.objects.update(minute=minute, fetched=20)

    page = browse("viewer", f"/crawls/{run.crawl_id}/charts/")

    expect(page.locator("figure.chart canvas").first).to_be_visible()
    page.wait_for_function(f"({DRAWN})() > 0")
    assert page.evaluate(DRAWN) < 0.1


def test_a_long_status_is_told_to_its_end(browse, make_web):
    run = start_run(make_crawl("Told whole", make_web().url))
    RunStatusCount.objects.create(run=run, state="f", status=FetchStatus.ADDRESS_REFUSED, urls=3)

    page = browse("viewer", f"/crawls/{run.crawl_id}/")

    told = page.get_by_role("table").get_by_text(FetchStatus.ADDRESS_REFUSED.sentence)
    expect(told).to_be_visible()
    frame = told.locator("xpath=ancestor::td").evaluate(
        "cell => [cell.scrollWidth - cell.clientWidth, getComputedStyle(cell).overflow]"
    )
    assert frame[0] <= 1 or frame[1] == "visible"
    box, around = (
        told.bounding_box(),
        page.locator("section:has(> #statuses) .scroll").bounding_box(),
    )
    assert box["x"] + box["width"] <= around["x"] + around["width"] + 1


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
