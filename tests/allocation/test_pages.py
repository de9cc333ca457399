from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.core.management import CommandError, call_command
from django.urls import reverse

from allocation.models import Pool
from tests.allocation.conftest import ask

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def bank(make_pool, make_process):
    pool = make_pool(10, 5)
    make_process(pool, "alpha", (8, 0), (4, 0))
    ask(make_process(pool, "beta", (8, 1), (2, 1)), (2, 0))
    return pool


@pytest.fixture
def operator(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("operator"))
    return client


def test_bank_asks_for_a_log_in(client, bank):
    for address in (reverse("allocation:banks"), bank.get_absolute_url()):
        assert client.get(address).url.startswith(reverse("login"))


def test_only_pool_is_shown_at_once_and_several_are_listed(operator, bank, make_pool):
    assert operator.get(reverse("allocation:banks")).url == bank.get_absolute_url()

    make_pool(1, name="second")
    page = operator.get(reverse("allocation:banks")).content.decode()
    assert "second" in page
    assert bank.get_absolute_url() in page


def test_bank_without_a_pool_says_what_to_do(operator):
    assert "no pool yet" in operator.get(reverse("allocation:banks")).content.decode()


def test_unknown_pool_is_not_found(operator):
    assert operator.get(reverse("allocation:bank", args=[0])).status_code == 404


def test_page_shows_matrices_sequence_and_why_each_waits(operator, bank, django_assert_num_queries):
    with django_assert_num_queries(8):  # session, user, and the six of the view
        page = BeautifulSoup(operator.get(bank.get_absolute_url()).content, "html.parser")

    table = page.find("table")
    assert table.find("caption")
    assert table.find("tbody").find("tr").get_text(" ", strip=True) == "Available 4 of 10 4 of 5"
    assert [cell.get_text() for cell in table.find("th", string="beta").parent.find_all("td", class_="number")] == list("286110")
    steps = [" ".join(item.get_text().split()) for item in page.find("ol", class_="sequence").find_all("li")]
    assert steps[0] == "alpha may still need 4 a; Work is 4 a, 4 b. When it finishes it gives back 4 a, and Work becomes 8 a, 4 b."
    assert "Held by alpha (4 a)" in page.find("ol", class_="waits").get_text()
    assert page.find(role="status").get_text(" ", strip=True).startswith("The state is safe")


def test_page_says_who_is_stuck_when_unsafe(operator, make_pool, make_process):
    pool = make_pool(10, policy="naive")
    for label in ("alpha", "beta"):
        make_process(pool, label, (8,), (4,))

    text = " ".join(BeautifulSoup(operator.get(pool.get_absolute_url()).content, "html.parser").get_text().split())

    assert "not safe" in text
    assert "alpha, beta could not be sure to finish" in text


def test_labels_are_escaped(operator, make_pool, make_process):
    pool = make_pool(1)
    make_process(pool, "<script>alert(1)</script>", (1,))

    assert b"<script>alert" not in operator.get(pool.get_absolute_url()).content


def test_command_prints_the_bank_and_its_safe_sequence(bank, capsys):
    call_command("check_safety")

    out = capsys.readouterr().out
    assert "1. alpha: needs (4, 0), Work (4, 4) -> (8, 4)" in out


def test_command_fails_on_an_unsafe_pool(make_pool, make_process, capsys):
    pool = make_pool(10, policy="naive")
    for label in ("alpha", "beta"):
        make_process(pool, label, (8,), (4,))

    with pytest.raises(CommandError, match="Not safe: pool"):
        call_command("check_safety", pool=pool.pk)
    assert "Could not be sure to finish: alpha, beta" in capsys.readouterr().out


def test_admin_edits_capacity_through_the_service(admin_client, bank):
    address = reverse("admin:allocation_pool_capacity", args=[bank.pk])
    assert b"unit of b" in admin_client.get(address).content

    assert admin_client.post(address, {"a": 20, "b": 5}).status_code == 302

    assert Pool.objects.get().capacity == [20, 5]


@pytest.mark.parametrize(
    ("amount", "sentence"), [("5", "More units than this are in use"), ("7", "claims more than this"), ("-1", "greater than or equal to 0")]
)
def test_refused_capacity_stands_beside_its_field(admin_client, bank, amount, sentence):
    page = admin_client.post(reverse("admin:allocation_pool_capacity", args=[bank.pk]), {"a": amount, "b": 5})

    assert sentence in page.context["form"].errors["a"][0]
    assert sentence.encode() in page.content
    assert Pool.objects.get().capacity == [10, 5]


def test_capacity_that_would_be_unsafe_is_refused_for_the_whole_form(admin_client, make_pool, make_process):
    pool = make_pool(12)
    for label, maximum, holding in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        make_process(pool, label, (maximum,), (holding,))

    page = admin_client.post(reverse("admin:allocation_pool_capacity", args=[pool.pk]), {"a": 11})

    assert "stuck=P0, P2" in page.context["form"].non_field_errors()[0]


def test_capacity_is_for_those_who_may_change_pools(client, django_user_model, bank):
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))

    assert client.post(reverse("admin:allocation_pool_capacity", args=[bank.pk]), {"a": 20, "b": 5}).status_code == 403
    assert Pool.objects.get().capacity == [10, 5]


@pytest.mark.parametrize("model", ["pool", "resourceclass", "process", "matrixcell", "event"])
def test_admin_lists_the_bank(admin_client, bank, model):
    assert admin_client.get(reverse(f"admin:allocation_{model}_changelist")).status_code == 200


def test_admin_cannot_add_or_change_rows_by_hand(admin_client, bank):
    assert admin_client.get(reverse("admin:allocation_process_add")).status_code == 403
    page = admin_client.get(reverse("admin:allocation_pool_change", args=[bank.pk]))
    assert page.status_code == 200
    assert b'name="capacity"' not in page.content
