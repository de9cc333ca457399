"""Templates, tags and edits taken back, in a browser without scripts."""

from __future__ import annotations

import pytest
from django.urls import reverse

from crawling.models import CrawlJob, OrderTemplate
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from tests.crawling.pages import browser, soup

NEW = reverse("crawling:new")


@pytest.fixture
def operator(db):
    return browser("operator")


@pytest.fixture
def crawl(order):
    return create_crawl(order("http://127.0.0.1:8900/", max_pages=7, exclude=[r"\.zip$"]))


def test_a_crawls_order_is_kept_and_a_new_crawl_begins_with_it(operator, crawl):
    page = operator.post(
        reverse("crawling:template", args=[crawl.pk]), {"template": "Manuals"}, follow=True
    )
    assert "Manuals is kept as a template" in soup(page).get_text()

    template = OrderTemplate.objects.get()
    assert soup(operator.get(NEW)).find("a", href=f"?template={template.pk}")
    form = soup(operator.get(NEW, {"template": template.pk}))
    assert (
        form.find(id="id_max_pages")["value"],
        form.find(id="id_exclude").get_text().strip(),
    ) == ("7", r"\.zip$")

    operator.post(reverse("crawling:template-remove", args=[template.pk]))
    assert not OrderTemplate.objects.exists()


def test_all_templates_are_listed_with_ways_to_use_and_delete_them(operator, crawl):
    listing = reverse("crawling:templates")
    assert "There are no templates." in soup(operator.get(listing)).get_text()
    operator.post(reverse("crawling:template", args=[crawl.pk]), {"template": "Manuals"})

    [row] = soup(operator.get(listing)).select("tbody tr")
    assert row.th.get_text() == "Manuals"
    assert row.td.get_text(strip=True) == "http://127.0.0.1:8900/"
    assert (
        soup(operator.get(row.find("a", role="button")["href"])).find(id="id_max_pages")["value"]
        == "7"
    )
    seen = soup(browser("viewer").get(listing)).select_one("tbody tr")
    assert not seen.select("button, a[role=button]")

    told = operator.post(row.button["formaction"], follow=True)
    assert told.redirect_chain == [(listing, 302)]
    assert "Manuals is deleted" in soup(told).get_text()
    assert not soup(told).select("tbody tr")


def test_a_template_of_a_time_when_orders_were_other_is_told_so(operator, crawl):
    template = OrderTemplate.objects.create(
        name="Old", order={"seeds": crawl.seeds, "colour": "red"}
    )

    page = soup(operator.get(NEW, {"template": template.pk}))
    assert "cannot be used: colour: is not a field of a crawl order" in page.get_text()
    assert page.find(id="id_max_pages")


def test_tags_are_given_with_the_order_and_wrong_ones_told_beside_the_field(operator, crawl):
    typed = {"seeds": "http://127.0.0.1:8900/", "name": "tagged", "preset": "normal"}
    wrong = soup(operator.post(NEW, {**typed, "tags": "x" * 31}))
    assert "longer than 30 characters" in wrong.find(id="id_tags_error").get_text()
    assert not CrawlJob.objects.filter(name="tagged").exists()

    operator.post(NEW, {**typed, "tags": "weekly, manuals"})
    assert CrawlJob.objects.get(name="tagged").tags == ["manuals", "weekly"]


def test_an_edit_is_taken_back_by_a_button(operator, crawl):
    edit_crawl(crawl, {"max_pages": 70})
    page = reverse("crawling:scope", args=[crawl.pk])
    button = soup(operator.get(page)).find("button", attrs={"name": "number"})
    told = operator.post(button["formaction"], {"number": button["value"]}, follow=True)

    assert "Edit 2 is taken back by revision 3." in soup(told).get_text()
    crawl.refresh_from_db()
    assert crawl.max_pages == 7
