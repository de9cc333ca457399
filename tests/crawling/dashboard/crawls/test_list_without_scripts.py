"""The crawl list, as a browser without scripts gets it."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawlsite.administration.accounts import make_roles

LIST = "crawling:crawls"


@pytest.fixture
def operator(client, django_user_model, db):
    make_roles()
    user = django_user_model.objects.create_user("operator")
    user.groups.add(Group.objects.get(name="operator"))
    client.force_login(user)
    return client


@pytest.fixture
def administrator(client, django_user_model, db):
    client.force_login(django_user_model.objects.create_superuser("chief"))
    return client


def test_a_log_in_is_asked_for_and_leads_back(client, django_user_model, db):
    django_user_model.objects.create_user("operator", password="a long password")
    page = client.get(reverse(LIST))
    assert page.url == f"{reverse('login')}?next={reverse(LIST)}"

    wrong = client.post(page.url, {"username": "operator", "password": "wrong"}).content.decode()
    assert "do not match" in wrong
    assert 'value="operator"' in wrong
    assert "An administrator can give you a new password" in wrong
    assert "make password" not in wrong

    answer = client.post(
        page.url, {"username": "operator", "password": "a long password", "next": reverse(LIST)}
    )
    assert answer.url == reverse(LIST)


def test_an_empty_list_says_how_to_make_a_crawl(operator):
    assert "manage.py crawl https://example.org/" in operator.get(reverse(LIST)).content.decode()


def test_each_crawl_shows_its_state_why_and_counts(operator, make_site, crawl_to_the_end):
    crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", name="<Library>")

    page = operator.get(reverse(LIST)).content.decode()

    assert "&lt;Library&gt;" in page
    assert '<span class="state state-finished">finished</span>' in page
    assert "Every URL in scope is done." not in page  # the state says it


def test_a_crawl_that_waits_says_on_whom(operator, order):
    start_run(
        create_crawl(order("http://127.0.0.1:8900/", name="holder", claim={"bandwidth": 60_000}))
    )
    start_run(
        create_crawl(order("http://127.0.0.1:8901/", name="waiter", claim={"bandwidth": 60_000}))
    )

    page = operator.get(reverse(LIST)).content.decode()

    assert "state-waiting" in page
    assert "Held by holder" in page


def test_a_long_list_has_pages_and_nonsense_in_the_address_does_no_harm(operator, order):
    for number in range(26):
        create_crawl(order("http://127.0.0.1:8900/", name=f"crawl {number}"))

    first = operator.get(reverse(LIST)).content.decode()
    following = re.search(r'href="([^"]+)" rel="next"', first)[1].replace("&amp;", "&")
    assert ">crawl 0<" not in first
    assert ">crawl 0<" in operator.get(reverse(LIST) + following).content.decode()
    assert operator.get(reverse(LIST), {"after": "x"}).status_code == 200


@pytest.mark.parametrize(
    "model", ["crawljob", "run", "shift", "host", "url", "page", "allowednetwork"]
)
def test_the_admin_site_lists_everything(administrator, make_site, crawl_to_the_end, model):
    crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    assert administrator.get(reverse(f"admin:crawling_{model}_changelist")).status_code == 200


def test_the_identity_is_one_form_and_refuses_what_no_owner_could_use(administrator):
    form = administrator.get(reverse("admin:crawling_identity_changelist"), follow=True)
    assert 'name="contact_url"' in form.content.decode()

    refused = administrator.post(
        form.request["PATH_INFO"], {"product_token": "my bot", "contact_url": "nowhere"}
    ).content.decode()
    assert "Letters, - and _ only" in refused
    assert "Give a page" in refused


def test_an_allowed_network_is_checked(administrator):
    address = reverse("admin:crawling_allowednetwork_add")

    refused = administrator.post(
        address, {"network": "10.0.0.1/8", "port_from": 80, "port_to": 70}
    ).content.decode()
    assert "Write a network like 10.1.0.0/16" in refused

    assert (
        administrator.post(
            address, {"network": "10.0.0.0/8", "port_from": 80, "port_to": 90}
        ).status_code
        == 302
    )


def test_only_administrators_reach_the_admin_site(operator):
    assert operator.get(reverse("admin:crawling_allowednetwork_add")).status_code == 302
