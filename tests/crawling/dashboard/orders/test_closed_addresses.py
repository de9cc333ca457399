"""Seeds at addresses that are not public: told on the form before anything is saved, and allowed
there.
"""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from crawling.jobs.running import run_job
from crawling.models import AllowedNetwork, CrawlJob, Inquiry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.seed_checks import is_allowable
from tests.crawling.pages import browser, soup

FORM = {"seeds": "127.0.0.1:8900\nhttps://10.0.0.7/", "name": "Intranet", "preset": "normal"}
ALLOW = "crawling:allow-address"


@pytest.fixture
def administrator(pool):
    return browser("administrator")


def buttons(html) -> list[str]:
    return [one["value"] for one in soup_of(html).select("button[name=allow]")]


def soup_of(html):
    return soup(type("Answer", (), {"content": html}))


def test_an_administrator_allows_an_address_beside_the_seeds(administrator):
    before = administrator.post(reverse("crawling:check"), FORM).json()

    page = soup(administrator.post(reverse(ALLOW), {**FORM, "allow": "127.0.0.1 8900"}))
    after = administrator.post(reverse("crawling:check"), FORM).json()

    assert buttons(before["closed"]) == ["127.0.0.1 8900", "10.0.0.7 443"]
    assert buttons(after["closed"]) == ["10.0.0.7 443"]
    rule = AllowedNetwork.objects.get()
    assert (rule.network, rule.port_from, rule.port_to) == ("127.0.0.1", 8900, 8900)
    assert page.find("textarea").get_text().strip() == FORM["seeds"]
    assert page.find(attrs={"name": "name"})["value"] == "Intranet"


def test_all_addresses_are_allowed_and_the_crawl_started_by_one_button(administrator):
    refused = soup(administrator.post(reverse("crawling:new"), {**FORM, "start": "1"}))
    [button] = refused.select("button#save-and-start.primary")
    warning = refused.select_one("#closed-addresses .message.warning")
    assert warning["data-start"] == button["formaction"]

    page = administrator.post(button["formaction"], {**FORM, "start": "1"}, follow=True)

    crawl = CrawlJob.objects.get()
    assert " ".join(button.get_text().split()) == "Allow all 2 and start"
    assert page.request["PATH_INFO"] == reverse("crawling:crawl", args=[crawl.pk])
    assert crawl.runs.count() == 1
    assert {(rule.network, rule.port_from) for rule in AllowedNetwork.objects.all()} == {
        ("127.0.0.1", 8900),
        ("10.0.0.7", 443),
    }


def test_the_button_that_starts_says_that_it_allows(administrator):
    def of_first_rank(address, sent):
        page = soup(administrator.post(reverse(address), sent))
        buttons = page.select("form.order button.primary")
        return [" ".join(button.get_text().split()) for button in buttons]

    refused = of_first_rank("crawling:new", {**FORM, "start": "1"})
    public = {**FORM, "seeds": "https://example.org/", "name": ""}

    assert refused == ["Allow all 2 and start"]
    assert of_first_rank("crawling:allow-address", {**public, "allow": "x"}) == ["Save and start"]


def test_what_is_no_address_is_not_allowed(administrator):
    page = soup(administrator.post(reverse(ALLOW), {**FORM, "allow": "everything 0"}))

    assert page.select_one(".message.error")
    assert not AllowedNetwork.objects.exists()


def test_an_operator_is_told_whom_to_ask_and_allows_nothing(pool):
    operator = browser("operator")

    told = operator.post(reverse("crawling:check"), FORM).json()["closed"]

    assert buttons(told) == []
    assert "Ask an administrator to allow it" in soup_of(told).get_text()
    assert operator.post(reverse(ALLOW), {**FORM, "allow": "10.0.0.7 443"}).status_code == 403


def test_a_crawl_that_could_fetch_nothing_is_not_started_but_saved(administrator):
    refused = administrator.post(reverse("crawling:new"), {**FORM, "start": "1"})
    nothing_is_made = not CrawlJob.objects.exists()
    administrator.post(reverse("crawling:new"), FORM)

    assert nothing_is_made
    assert "Not allowed yet" in soup(refused).find(id="id_seeds_error").get_text()
    assert buttons(refused.content) == ["127.0.0.1 8900", "10.0.0.7 443"]
    assert CrawlJob.objects.get().runs.count() == 0


def test_our_own_services_and_what_is_no_host_cannot_be_allowed(db, settings):
    settings.OWN_SERVICES = frozenset({("127.0.0.1", 5432)})

    asked = (("127.0.0.1", 5432), ("0.0.0.0", 80), ("8.8.8.8", 80), ("127.0.0.1", 8900))
    assert [is_allowable(*one) for one in asked] == [False, False, False, True]


def test_a_program_is_told_the_same(administrator):
    order = {"name": "x", "seeds": ["http://127.0.0.1:8900/"]}
    answer = administrator.post(
        "/api/v1/drafts/check", json.dumps(order), content_type="application/json"
    ).json()

    [closed] = answer["closed"]
    assert (closed["address"], closed["port"]) == ("127.0.0.1", 8900)
    assert "no administrator has allowed it" in closed["sentence"]
    create_crawl(order)  # and is refused nothing: the address may be allowed later


NAMED = {**FORM, "seeds": "http://intranet.example/\nhttps://public.example/"}


def test_a_name_that_resolves_to_a_private_address_is_told_before_the_crawl_is_saved(
    administrator, identified, dns_server
):
    dns_server.hosts = {"intranet.example": ["10.0.0.8"], "public.example": ["93.184.215.14"]}
    before = administrator.post(reverse("crawling:check"), NAMED).json()
    run_job(Inquiry.objects.get().pk)

    after = administrator.post(reverse("crawling:check"), NAMED).json()
    refused = administrator.post(reverse("crawling:new"), {**NAMED, "start": "1"})

    assert (before["closed"], before["is_resolving"]) == ("", True)
    assert (buttons(after["closed"]), after["is_resolving"]) == (["10.0.0.8 80"], False)
    assert "the address of intranet.example" in soup_of(after["closed"]).get_text()
    assert "Not allowed yet" in soup(refused).find(id="id_seeds_error").get_text()
    assert not CrawlJob.objects.exists()
