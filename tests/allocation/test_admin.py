"""The admin site: limits are previewed, confirmed and recorded; all else is to be looked at."""

from __future__ import annotations

import json

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from allocation.models import Event, Pool, Process
from allocation.rules.shares import NO_LIMIT
from allocation.services import ensure_share
from tests.allocation.conftest import ask
from tests.crawling.pages import browser

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("contexts")]


@pytest.fixture
def bank(make_pool, make_process):
    pool = make_pool(10, 5)
    make_process(pool, "alpha", (8, 0), (4, 0))
    ask(make_process(pool, "beta", (8, 1), (2, 1)), (2, 0))
    return pool


def log_in(role: str):
    """A browser of a member of staff in that role."""
    return browser(role, is_staff=True)


def capacity_page(pool: Pool) -> str:
    return reverse("admin:allocation_pool_capacity", args=[pool.pk])


def claim_page(label: str) -> str:
    return reverse("admin:allocation_process_claim", args=[Process.objects.get(label=label).pk])


def test_preview_shows_from_and_to_and_who_would_be_served_and_changes_nothing(bank):
    events = Event.objects.count()

    page = (
        log_in("administrator")
        .post(capacity_page(bank), {"a": 20, "b": 5, "preview": "1"})
        .content.decode()
    )

    assert '<td class="number">10</td>' in page
    assert '<td class="number"><strong>20</strong></td>' in page
    assert "Served at once: beta" in page
    assert "Confirm the change" in page
    bank.refresh_from_db()
    assert (bank.capacity, bank.available, Event.objects.count()) == ([10, 5], [4, 4], events)
    assert not LogEntry.objects.exists()


def test_confirmed_change_is_made_by_the_service_and_recorded(bank):
    assert (
        log_in("administrator")
        .post(capacity_page(bank), {"a": 20, "b": 5, "confirm": "1"})
        .status_code
        == 302
    )

    assert Pool.objects.get().capacity == [20, 5]
    entry = LogEntry.objects.get()
    assert (entry.user.username, json.loads(entry.change_message)["changes"]) == (
        "administrator",
        {"a": [10, 20]},
    )


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ("5", "More units than this are in use"),
        ("7", "claims more than this"),
        ("-1", "must be a whole number of units"),
    ],
)
@pytest.mark.parametrize("button", ["preview", "confirm"])
def test_refused_capacity_stands_beside_its_field(bank, amount, sentence, button):
    page = log_in("administrator").post(capacity_page(bank), {"a": amount, "b": 5, button: "1"})

    assert sentence in page.context["form"].errors["a"][0]
    assert b"Confirm the change" not in page.content
    assert Pool.objects.get().capacity == [10, 5]


def test_preview_names_everyone_who_would_no_longer_fit(bank):
    page = (
        log_in("administrator")
        .post(capacity_page(bank), {"a": 7, "b": 5, "preview": "1"})
        .content.decode()
    )

    assert "These claim more than there would be: alpha, beta." in page


def test_capacity_that_would_be_unsafe_is_refused_for_the_whole_form(make_pool, make_process):
    pool = make_pool(12)
    for label, maximum, holding in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        make_process(pool, label, (maximum,), (holding,))

    page = log_in("administrator").post(capacity_page(pool), {"a": 11, "confirm": "1"})

    assert "Stuck: P0, P2." in page.context["form"].non_field_errors()[0]


def test_claim_is_changed_the_same_way(bank):
    administrator = log_in("administrator")

    preview = administrator.post(
        claim_page("alpha"), {"a": 4, "b": 0, "preview": "1"}
    ).content.decode()
    assert "Served at once: beta" in preview
    assert Process.objects.get(label="alpha").max_claim == [8, 0]

    assert (
        administrator.post(claim_page("alpha"), {"a": 4, "b": 0, "confirm": "1"}).status_code == 302
    )
    assert Process.objects.get(label="alpha").max_claim == [4, 0]
    assert json.loads(LogEntry.objects.get().change_message) == {
        "action": "claim changed",
        "changes": {"a": [8, 4]},
    }


def test_claim_below_what_is_held_is_refused_beside_its_field(bank):
    page = log_in("administrator").post(claim_page("alpha"), {"a": 3, "b": 0, "preview": "1"})

    assert "cannot fall below what the process holds" in page.context["form"].errors["a"][0]


@pytest.fixture
def drives(make_pool, make_process):
    """S2: a cut from twelve to eleven is unsafe."""
    pool = make_pool(12)
    for label, maximum, holding in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        make_process(pool, label, (maximum,), (holding,))
    return pool


def test_unsafe_change_shows_who_would_be_stuck_and_offers_to_override(drives):
    page = (
        log_in("administrator")
        .post(capacity_page(drives), {"a": 11, "preview": "1"})
        .content.decode()
    )

    assert "Not sure to finish: P0, P2." in page
    assert "Override the safety check" in page
    assert "Confirm the change" not in page
    assert Pool.objects.get().capacity == [12]


def test_override_takes_a_reason_and_flags_the_pool(drives):
    administrator = log_in("administrator")

    page = administrator.post(
        capacity_page(drives), {"a": 11, "override": "1", "override_reason": " "}
    )
    assert "takes a reason" in page.context["form"].non_field_errors()[0]
    assert Pool.objects.get().is_safe

    assert (
        administrator.post(
            capacity_page(drives), {"a": 11, "override": "1", "override_reason": "A drive broke."}
        ).status_code
        == 302
    )
    assert (Pool.objects.get().capacity, Pool.objects.get().is_safe) == ([11], False)
    assert Event.objects.get(kind="overridden").reason == "administrator: A drive broke."
    assert "A drive broke." in json.loads(LogEntry.objects.get().change_message)["action"]


def test_confirming_never_overrides(drives):
    log_in("administrator").post(
        capacity_page(drives), {"a": 11, "confirm": "1", "override_reason": "A drive broke."}
    )

    assert (Pool.objects.get().capacity, Pool.objects.get().is_safe) == ([12], True)


def test_turns_and_reserves_are_changed_and_recorded(bank):
    address = reverse("admin:allocation_pool_turns", args=[bank.pk])

    assert (
        log_in("administrator")
        .post(address, {"bypass.limit": 3, "a": 2, "b": 0, "confirm": "1"})
        .status_code
        == 302
    )

    pool = Pool.objects.get()
    assert (pool.bypass_limit, pool.reserved, pool.capacity) == (3, [2, 0], [10, 5])
    assert json.loads(LogEntry.objects.get().change_message)["changes"] == {
        "bypass.limit": [10, 3],
        "a": [0, 2],
    }


def test_priority_is_changed_within_its_bounds(bank):
    administrator, address = (
        log_in("administrator"),
        reverse("admin:allocation_process_priority", args=[Process.objects.first().pk]),
    )

    assert administrator.post(address, {"priority": 11, "confirm": "1"}).status_code == 200
    assert administrator.post(address, {"priority": 5, "confirm": "1"}).status_code == 302

    assert Process.objects.order_by("pk").first().priority == 5


def test_resource_class_is_added_after_a_look(bank):
    administrator, address = (
        log_in("administrator"),
        reverse("admin:allocation_pool_add_class", args=[bank.pk]),
    )
    gold = {"key": "gold", "unit": "bar", "sentence": "What gold is for.", "capacity": 3}

    assert "gold (new)" in administrator.post(address, {**gold, "preview": "1"}).content.decode()
    assert Pool.objects.get().capacity == [10, 5]
    assert (
        "class of that key already"
        in administrator.post(address, {**gold, "key": "a", "preview": "1"}).content.decode()
    )

    assert administrator.post(address, {**gold, "confirm": "1"}).status_code == 302
    assert Pool.objects.get().capacity == [10, 5, 3]
    assert LogEntry.objects.count() == 1


def test_nothing_changed_is_said_and_not_recorded(bank):
    page = (
        log_in("administrator")
        .post(capacity_page(bank), {"a": 10, "b": 5, "preview": "1"})
        .content.decode()
    )

    assert "Nothing would change" in page


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_limits_are_for_administrators(bank, role):
    client = log_in(role)

    for address in (capacity_page(bank), claim_page("alpha")):
        assert client.get(address).status_code == 403
        assert client.post(address, {"a": 20, "b": 5, "confirm": "1"}).status_code == 403
    assert Pool.objects.get().capacity == [10, 5]


@pytest.mark.parametrize("model", ["pool", "resourceclass", "process", "matrixcell", "event"])
@pytest.mark.parametrize("role", ["viewer", "operator", "administrator"])
def test_everyone_who_may_see_pools_may_look_at_the_lists(bank, role, model):
    client = log_in(role)

    assert client.get(reverse(f"admin:allocation_{model}_changelist")).status_code == 200
    assert client.get(reverse(f"admin:allocation_{model}_add")).status_code == 403


def test_matrix_is_filtered_by_class_and_process(bank):
    alpha = Process.objects.get(label="alpha")
    page = log_in("administrator").get(
        reverse("admin:allocation_matrixcell_changelist"),
        {"key": "a", "process__id__exact": alpha.pk},
    )

    assert [
        (row.key, row.maximum, row.allocation, row.need) for row in page.context["cl"].result_list
    ] == [("a", 8, 4, 4)]


def test_rows_cannot_be_changed_by_hand(bank):
    page = log_in("administrator").get(reverse("admin:allocation_pool_change", args=[bank.pk]))

    assert page.status_code == 200
    assert b'name="capacity"' not in page.content


def test_a_pool_tells_its_units_by_the_names_of_their_classes(bank):
    page = log_in("administrator").get(reverse("admin:allocation_pool_change", args=[bank.pk]))

    assert "a 10, b 5" in page.content.decode()


def test_the_admin_site_names_things_as_the_product_does(bank):
    page = log_in("administrator").get(reverse("admin:index")).content.decode()

    assert all(f">{name}<" in page for name in ("Resources", "Crawls", "DNS", "Queues and workers"))
    assert not any(name in page for name in ("Django_Rq", "Matrix cells", "Allocation<", "Urls"))


def test_share_has_a_limit_or_none_and_its_page_shows_it(bank):
    share = ensure_share(pool=bank.pk, ref="team/1", name="news")
    page = reverse("admin:allocation_share_limits", args=[share.pk])
    old = {"reserve.a": 0, "limit.a": "", "reserve.b": 0, "limit.b": ""}
    administrator = log_in("administrator")

    preview = administrator.post(page, {**old, "limit.a": 8, "preview": "1"}).content.decode()
    assert '<td class="number">no limit</td>' in preview
    assert '<td class="number"><strong>8</strong></td>' in preview
    assert (
        administrator.post(page, {**old, "limit.a": 8, "reserve.b": 2, "confirm": "1"}).status_code
        == 302
    )
    share.refresh_from_db()
    assert (share.limits, share.reserved) == ([8, NO_LIMIT], [0, 2])
    administrator.post(page, {**old, "reserve.b": 2, "confirm": "1"})
    share.refresh_from_db()
    assert share.limits == [NO_LIMIT, NO_LIMIT]
    shown = administrator.get(bank.get_absolute_url()).content.decode()
    assert "Shares of teams" in shown
    assert reverse("allocation:edit-share", args=[bank.pk, share.pk]) in shown
