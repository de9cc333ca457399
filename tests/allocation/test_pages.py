from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from allocation.services import (
    create_pool,
    finish_process,
    keep_resources,
    register_process,
    request_resources,
)
from allocation.values import NewClass
from tests.allocation.conftest import ask
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def bank(make_pool, make_process):
    pool = make_pool(10, 5)
    make_process(pool, "alpha", (8, 0), (4, 0))
    ask(make_process(pool, "beta", (8, 1), (2, 1)), (2, 0))
    return pool


@pytest.fixture
def viewer():
    return browser("viewer")


def page_of(client, pool, tab="", **options):
    address = f"{pool.get_absolute_url()}{tab}"
    return tree_of(client.get(address, **options).content)


def text(element) -> str:
    return " ".join(element.get_text(" ").split())


def test_bank_asks_for_a_log_in(client, bank):
    for address in (reverse("allocation:pools"), bank.get_absolute_url()):
        assert client.get(address).url.startswith(reverse("login"))


def test_bank_is_closed_to_those_who_may_not_see_pools(client, django_user_model, bank):
    client.force_login(django_user_model.objects.create_user("nobody"))

    for address in (reverse("allocation:pools"), bank.get_absolute_url()):
        assert client.get(address).status_code == 403


def test_only_pool_is_shown_at_once_and_several_are_listed_with_how_full_they_are(
    viewer, bank, make_pool
):
    assert viewer.get(reverse("allocation:pools")).url == bank.get_absolute_url()

    make_pool(1, name="a pool that is over")
    page = tree_of(viewer.get(reverse("allocation:pools")).content)
    first = page.find("a", href=bank.get_absolute_url()).find_parent("article")
    assert "2 processes, 0 waiting for resources (1 request in line)" in text(first)
    assert "6 of 10" in text(first)
    assert first.find("progress")["value"] == "60"
    assert [text(heading) for heading in page.select("article h2")] == [
        bank.name,
        "a pool that is over",
    ]


def test_bank_without_a_pool_says_what_to_do(viewer):
    assert "no pool yet" in viewer.get(reverse("allocation:pools")).content.decode()


def test_unknown_pool_is_not_found(viewer):
    assert viewer.get(reverse("allocation:pool", args=[0])).status_code == 404


def test_matrix_shows_what_each_holds_of_its_most_and_may_still_need(viewer, bank):
    table = page_of(viewer, bank).find("table", class_="matrix")

    assert text(table.find("tr", class_="available")) == "Available 4 of 10 4 of 5"
    row = table.find("a", string="beta").find_parent("tr")
    assert [text(cell) for cell in row.find_all("td", class_="number")] == [
        "2 of 8 need 6",
        "1 of 1",
    ]
    assert text(row.find(class_="state")) == "waiting"


def test_sequence_shows_the_work_that_each_step_finds(viewer, bank):
    table = page_of(viewer, bank, "sequence/").find("table", class_="sequence")

    assert [text(row) for row in table.find("tbody").find_all("tr")] == [
        "1 alpha 4 ≤ 4 4",
        "2 beta 6 ≤ 8 4",
    ]


def test_a_wait_tells_who_what_since_why_and_what_ends_it(viewer, bank):
    page = page_of(viewer, bank)

    card = text(page.find("ol", class_="waits").find("li"))
    assert "beta waiting, unsafe number 1 in line · growth request · asked" in card
    assert "Requests 2 a." in card
    assert "After this grant not sure to finish: alpha , stuck on a; beta , stuck on a." in card
    assert "No estimate: no holder has finished a work session yet." in card
    assert "Overtaken 0 of at most 10 times." in card
    assert "after this grant beta could still request 4 a with only 2 sure to be released" in card
    assert "alpha 4 a · taken" in card
    assert "Ends with the release of a by alpha." in card
    assert page.find("ol", class_="waits").find("time")["title"].endswith("UTC")
    assert "The state is safe" in text(page.find(role="status"))


def test_big_numbers_are_grouped_and_named_with_their_unit(viewer):
    pool = create_pool(
        name="real",
        classes=[
            NewClass("bandwidth", "KiB/s", "Rate.", 102_400),
            NewClass("dns_slots", "look-ups", "Names.", 8),
        ],
    )
    for label in ("library", "shop"):
        process = register_process(
            pool=pool.pk, label=label, run_ref="", maximum={"bandwidth": 61_440}
        )
        request_resources(process=process.pk, amounts={"bandwidth": 61_440}, request_id=uuid4())

    card = text(page_of(viewer, pool).find("ol", class_="waits"))

    assert (
        "Waits for 60 MB/s of bandwidth (40 of 100 MB/s free). library 60 MB/s "
        "of bandwidth · taken" in card
    )
    assert "Ends with the release of 20 MB/s of bandwidth by library." in card


def test_amounts_that_look_equal_are_told_with_what_is_short(viewer):
    pool = create_pool(name="real", classes=[NewClass("bandwidth", "KiB/s", "Rate.", 102_400)])
    for label, wanted in (("library", 51_232), ("shop", 51_200)):
        process = register_process(
            pool=pool.pk, label=label, run_ref="", maximum={"bandwidth": wanted}
        )
        request_resources(process=process.pk, amounts={"bandwidth": wanted}, request_id=uuid4())

    card = text(page_of(viewer, pool).find("ol", class_="waits"))

    assert "Waits for 50 MB/s of bandwidth (50 of 100 MB/s free, 32 KB/s short)." in card


def test_reservations_stand_by_themselves(viewer, make_pool, make_process):
    pool = make_pool(10)
    kept = make_process(pool, "kept", (4,), (4,))
    make_process(pool, "big", (8,))
    keep_resources(process=kept.pk, epoch=1, keep_seconds=600)

    section = text(page_of(viewer, pool).find("section", attrs={"aria-labelledby": "reserved"}))

    assert "kept keeps its units until" in section
    assert (
        "Served only once a reservation has ended, since it claims more than there is beside "
        "them: big." in section
    )


def test_unsafe_state_is_an_alert_that_says_who_is_stuck_and_what_to_do(
    viewer, make_pool, make_process
):
    pool = make_pool(10, policy="naive")
    for label in ("alpha", "beta"):
        make_process(pool, label, (8,), (4,))

    alert = text(page_of(viewer, pool).find(role="alert"))

    assert "alpha, beta could not be sure to finish" in alert
    assert "Pause or stop one of them" in alert


def test_a_deadlock_is_named_once_those_who_cannot_finish_wait_for_each_other(
    viewer, make_pool, make_process
):
    pool = make_pool(10, policy="naive")
    alpha, beta = (make_process(pool, label, (8,), (4,)) for label in ("alpha", "beta"))
    ask(beta, (4,))

    alert = text(page_of(viewer, pool).find(role="alert"))
    assert "Deadlock" not in alert, "alpha asks for nothing, and may finish"

    ask(alpha, (3,))
    page = page_of(viewer, pool)
    assert "Deadlock: alpha, beta wait for each other's units" in text(page.find(role="alert"))
    assert "Waits for 3 a (2 of 10 free)" in text(page)
    assert "Every request passes the Banker's algorithm" not in text(page)


def test_events_of_one_process_can_be_looked_at_even_after_it_finished(viewer, bank, make_process):
    gone = make_process(bank, "gone", (1, 0), (1, 0))
    finish_process(process=gone.pk)

    everything = page_of(viewer, bank, "events/").find("table", class_="events")
    own = page_of(viewer, bank, "events/", data={"process": gone.pk})

    assert "alpha" in text(everything)
    rows = [text(row) for row in own.find("table", class_="events").find("tbody").find_all("tr")]
    assert [("gone" in row, "alpha" in row) for row in rows] == [(True, False)] * 3
    assert "Recent events of gone" in text(own)


def test_refresh_gets_the_part_that_changes_and_nothing_else(viewer, bank):
    response = viewer.get(bank.get_absolute_url(), headers={"HX-Request": "true"})

    assert b"<html" not in response.content
    assert b"alpha" in response.content
    assert "HX-Request" in response["Vary"]


def test_number_of_queries_does_not_grow_with_the_bank(
    viewer, bank, make_process, django_assert_num_queries
):
    # session, user, two for permissions, seven for the bank, the alarm, the pace of refreshes
    with django_assert_num_queries(12) as few:
        viewer.get(bank.get_absolute_url())
    for label in "uvwxyz":
        ask(make_process(bank, label, (5, 5)), (5, 5))

    with django_assert_num_queries(len(few)):
        viewer.get(bank.get_absolute_url())


def test_labels_are_escaped(viewer, make_pool, make_process):
    pool = make_pool(1)
    make_process(pool, "<script>alert(1)</script>", (1,))

    assert b"<script>alert" not in viewer.get(pool.get_absolute_url()).content


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


def test_a_large_bank_comes_in_parts_with_a_search_and_tells_every_wait(
    viewer, make_pool, make_process, monkeypatch
):
    monkeypatch.setattr("allocation.views.pools.ROWS", 2)
    monkeypatch.setattr("allocation.views.pools.WAITS", 1)
    pool = make_pool(6)
    for name in ("alpha", "beta", "gamma"):
        make_process(pool, name, (2,), (2,))
    for name in ("delta", "epsilon"):
        ask(make_process(pool, name, (1,)), (1,))

    def names(query, table="table.matrix"):
        page = tree_of(viewer.get(pool.get_absolute_url() + query).content)
        return [cell.text.split()[0] for cell in page.select(f"{table} tbody th")]

    assert names("") == ["Available", "alpha", "beta"]
    assert names("?page=2") == ["Available", "gamma", "delta"]
    assert names("?q=EPS") == ["Available", "epsilon"]
    assert names("sequence/?steps=2", "table.sequence") == ["gamma"]
    assert names("", "table.line") == ["epsilon"]
    assert "1 to 2 of 5 processes" in text(page_of(viewer, pool))


def test_a_bank_of_many_asks_as_few_queries(
    viewer, make_pool, make_process, django_assert_max_num_queries
):
    pool = make_pool(100)
    for number in range(60):
        make_process(pool, f"p{number}", (1,), (1,))

    with django_assert_max_num_queries(16):
        viewer.get(pool.get_absolute_url())
