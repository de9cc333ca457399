"""The form that makes a crawl: nothing typed is ever lost, and each mistake is told where it was
made.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from crawling.models import AllowedNetwork, CrawlJob
from crawling.runs.housekeeping.deletion import delete_crawl
from tests.browser.house import make_crawl

#: label -> what is typed, and what is said of it
MISTAKES = {
    "Name": ("n" * 101, "must have at most 100 characters"),
    "Pages": ("many", "must be a whole number"),
    "Depth": ("-1", "must be 0 or more"),
    "Megabytes": ("0", "must be 1 or more"),
    "Parallel workers": ("2.5", "must be a whole number"),
    "Max bandwidth": ("100001", "more than the pool has"),
}


@pytest.fixture
def web(make_web):
    return make_web()


@pytest.fixture
def form(web, operator) -> Page:
    operator.goto("/crawls/new/")
    return operator


def seeds(page: Page):
    return page.get_by_label("Start URLs")


def test_mistakes_are_told_at_their_fields_and_nothing_typed_is_lost(form, web):
    seeds(form).fill(web.url)
    form.get_by_text("Resource limits and priority").click()
    for label, (typed, _) in MISTAKES.items():
        form.get_by_label(label, exact=True).fill(typed)
    form.get_by_role("radio", name=re.compile("gentle")).check()

    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.get_by_role("alert")).to_be_visible()
    for label, (typed, said) in MISTAKES.items():
        field = form.get_by_label(label, exact=True)
        expect(field).to_have_value(typed)
        expect(field).to_be_visible()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_accessible_description(re.compile(re.escape(said), re.I))
    expect(seeds(form)).to_have_value(web.url)
    expect(form.get_by_role("radio", name=re.compile("gentle"))).to_be_checked()
    assert not CrawlJob.objects.exists()


def test_a_name_that_is_taken_is_told_at_the_name(form, web):
    make_crawl("Library", web.url)
    seeds(form).fill(web.url)
    form.get_by_label("Name", exact=True).fill("Library")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.get_by_label("Name", exact=True)).to_have_accessible_description(
        re.compile("there is a crawl named 'Library' already", re.I)
    )


def test_a_seed_that_is_no_address_is_named(form):
    seeds(form).fill("nonsense\nhttp://")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(seeds(form)).to_have_value("nonsense\nhttp://")
    expect(seeds(form)).to_have_accessible_description(re.compile("nonsense"))


def test_mended_the_crawl_is_made(form, web):
    seeds(form).fill("nonsense")
    with form.expect_navigation():
        form.get_by_role("button", name="Save", exact=True).click()
    seeds(form).fill(web.url)
    form.get_by_label("Depth", exact=True).fill("2")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.locator(".message")).to_contain_text("saved")
    crawl = CrawlJob.objects.get()
    assert (crawl.seeds, crawl.max_depth, crawl.created_by.username) == ([web.url], 2, "operator")


def test_a_real_site_is_not_crawled_before_we_say_who_we_are(web, browse):
    form = browse("administrator", "/crawls/new/")
    seeds(form).fill("https://example.org/")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.get_by_role("alert")).to_be_visible()
    expect(form.get_by_text("Not saved: 1 field needs correction")).to_be_visible()
    form.get_by_label("Contact", exact=True).fill("https://crawls.example.org/about")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.locator(".message")).to_contain_text("saved")


def test_seeds_come_from_a_file_too(form, web, tmp_path):
    (tmp_path / "seeds.txt").write_text(f"# ours\n{web.url}one\n{web.url}two\n")
    form.get_by_label("Text file of URLs").set_input_files(tmp_path / "seeds.txt")
    form.get_by_role("button", name="Save", exact=True).click()

    expect(form.locator(".message")).to_contain_text("saved")
    assert CrawlJob.objects.get().seeds == [f"{web.url}one", f"{web.url}two"]


def test_a_try_shows_what_the_seeds_answer_and_keeps_the_form(form, web, background_worker):
    seeds(form).fill(f"{web.url}\n{web.url}missing")
    form.get_by_role("button", name="Test fetch").click()

    tried = form.get_by_role("region", name="Test result")
    expect(tried).to_contain_text("Page 0")
    expect(tried).to_contain_text("404")
    expect(seeds(form)).to_have_value(f"{web.url}\n{web.url}missing")
    assert not CrawlJob.objects.exists()


def test_a_clone_begins_with_the_answers_of_the_first(operator, web):
    make_crawl("Library", web.url, max_depth=3)
    operator.goto("/crawls/")
    operator.get_by_role("link", name="Clone: Library").click()

    expect(seeds(operator)).to_have_value(web.url)
    expect(operator.get_by_label("Depth", exact=True)).to_have_value("3")
    operator.get_by_role("button", name="Save", exact=True).click()
    expect(operator.locator(".message")).to_contain_text("saved")


def test_a_deleted_crawl_is_restored(operator, web):
    make_crawl("Library", web.url)
    operator.goto("/crawls/")
    operator.get_by_role("button", name="Delete: Library").click()
    expect(operator.locator(".message").first).to_contain_text("Library is deleted")

    operator.get_by_role("link", name="Recently deleted").click()
    operator.get_by_role("button", name="Restore crawl Library").click()
    expect(operator.locator(".message").first).to_contain_text("Library is restored")
    assert CrawlJob.objects.get().name == "Library"


def test_a_crawl_is_deleted_for_good_only_when_its_name_is_typed(operator, web):
    delete_crawl(make_crawl("Library", web.url), by=None)
    operator.goto("/crawls/deleted/")
    operator.get_by_role("link", name="Delete crawl Library permanently").click()

    operator.get_by_label("Type the name").fill("library")
    operator.get_by_role("button", name="Delete permanently").click()
    expect(operator.get_by_role("alert")).to_contain_text("give its name: Library")

    operator.get_by_label("Type the name").fill("Library")
    operator.get_by_role("button", name="Delete permanently").click()
    expect(operator.locator(".message").first).to_contain_text("deleted permanently")
    assert not CrawlJob.all_objects.exists()


#: how well a colour is told from another, by WCAG: of the words of a button on it, and of the line
#: around it from the box that it stands in
CONTRASTS = """(button) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (...colours) => {
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    const parts = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
    const linear = (part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const [red, green, blue] = parts.map(linear);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const between = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const own = getComputedStyle(button), box = getComputedStyle(button.closest(".message"));
  const ground = box.backgroundColor;
  const words = between(light(own.color), light(own.backgroundColor));
  return [words, between(light(ground, own.borderTopColor), light(ground)), +own.opacity];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_button_in_a_warning_looks_enabled(browse, pool, scheme):
    page = browse("administrator", "/crawls/new/", color_scheme=scheme)
    page.get_by_label("Start URLs").fill("http://10.0.0.7/")
    page.get_by_label("Start URLs").press("Tab")

    words, line, opacity = page.get_by_role("button", name="Allow 10.0.0.7").evaluate(CONTRASTS)

    assert (words > 7, line > 3, opacity) == (True, True, 1), (words, line)


def test_save_and_start_says_and_does_that_it_allows_addresses_until_they_are(browse, pool):
    page = browse("administrator", "/crawls/new/")
    save = page.get_by_role("button", name="Save and start")
    page.get_by_label("Start URLs").fill("http://10.0.0.7/")
    page.get_by_label("Start URLs").press("Tab")

    expect(page.get_by_role("button", name="Allow and start")).to_have_class("primary")
    expect(save).to_have_count(0)

    page.get_by_label("Start URLs").fill("")
    page.get_by_label("Start URLs").press("Tab")
    expect(save).to_have_class("primary")
    page.get_by_label("Start URLs").fill("http://10.0.0.7/")
    page.get_by_label("Start URLs").press("Tab")
    page.get_by_role("button", name="Allow and start").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("10.0.0.7")
    assert AllowedNetwork.objects.get().network == "10.0.0.7"
