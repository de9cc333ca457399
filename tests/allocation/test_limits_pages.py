"""Limits inside the product: listed for everybody, previewed and changed by administrators."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from allocation.models import Event, Share
from allocation.rules.shares import NO_LIMIT
from allocation.services import (
    NewClass,
    PoolLimits,
    change_limits,
    create_pool,
    register_process,
    request_resources,
)
from tests.allocation.conftest import ask
from tests.crawling.pages import browser, soup

pytestmark = [pytest.mark.django_db]
LIMITS = reverse("allocation:limits")


@pytest.fixture
def pool(make_pool, make_process):
    pool = make_pool(10, 5)
    make_process(pool, "alpha", (8, 0), (4, 0))
    ask(make_process(pool, "beta", (8, 1), (2, 1)), (2, 0))
    return pool


@pytest.fixture
def administrator():
    return browser("administrator")


def edit(pool, page="capacity"):
    return reverse("allocation:edit-limits", args=[pool.pk, page])


def test_a_viewer_sees_every_class_with_its_limits_and_no_way_to_change_them(pool):
    viewer = browser("viewer")

    page = soup(viewer.get(LIMITS))

    rows = [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in page.select("tr")]
    assert rows[1][:1] + rows[1][2:5] == ["a", "10", "4", "0"]
    assert not page.find("a", href=edit(pool))
    assert viewer.get(edit(pool)).status_code == 403


def test_a_capacity_is_previewed_then_confirmed_and_noted(pool, administrator):
    events = Event.objects.count()
    wanted = {"a": "20", "b": "5"}

    preview = administrator.post(edit(pool), wanted | {"preview": "1"})
    untouched = Event.objects.count() == events and not LogEntry.objects.exists()
    done = administrator.post(edit(pool), wanted | {"confirm": "1"}, follow=True)

    assert "Served at once: beta" in soup(preview).select_one("form.limits").get_text()
    assert untouched
    pool.refresh_from_db()
    assert pool.capacity == [20, 5]
    assert "Capacity of" in soup(done).select_one(".message.success").get_text()
    note = json.loads(LogEntry.objects.get().change_message)
    assert note == {"action": "capacity changed", "changes": {"a": [10, 20]}}


def test_a_refused_capacity_is_told_at_its_field_and_nothing_changes(pool, administrator):
    page = soup(administrator.post(edit(pool), {"a": "1", "b": "5", "confirm": "1"}))

    assert page.find(attrs={"name": "a"})["aria-invalid"] == "true"
    assert not page.find("button", attrs={"name": "confirm"})
    pool.refresh_from_db()
    assert pool.capacity == [10, 5]


def test_a_number_of_workers_serves_no_crawl_and_a_refusal_does_not_repeat_its_field(administrator):
    workers = create_pool(name="real", classes=[NewClass("worker", "workers", "They run.", 2)])
    for label in ("atlas", "busy", "carta"):
        process = register_process(pool=workers.pk, label=label, run_ref="", maximum={"worker": 1})
        request_resources(process=process.pk, amounts={"worker": 1}, request_id=uuid4())

    preview = soup(administrator.post(edit(workers), {"worker": "3", "preview": "1"}))
    said = preview.select_one("#outcome").get_text()
    assert "start a worker" in said
    assert "Served at once" not in said

    refused = soup(administrator.post(edit(workers), {"worker": "1", "preview": "1"}))
    assert refused.select_one(".field .error").get_text().endswith("higher capacity. In use: 2.")


def test_a_class_is_added_and_listed(pool, administrator):
    fields = {"key": "gpu", "unit": "slot", "sentence": "Graphics.", "capacity": "2"}

    shown = administrator.post(edit(pool, "add-class"), fields | {"preview": "1"})
    administrator.post(edit(pool, "add-class"), fields | {"confirm": "1"})

    assert "gpu (new)" in soup(shown).select_one("form.limits").get_text()
    assert "Graphics." in administrator.get(LIMITS).content.decode()
    assert administrator.get(edit(pool, "nothing")).status_code == 404


def test_a_preview_of_workers_says_who_sets_them(administrator):
    classes = [NewClass(key, f"unit of {key}", "For this.", 2) for key in ("worker", "a")]
    page = edit(create_pool(name="pool", classes=classes, policy="banker"))

    more = administrator.post(page, {"worker": "3", "a": "2", "preview": "1"})
    same = administrator.post(page, {"worker": "2", "a": "3", "preview": "1"})

    told = "The scheduler sets the units of worker to the workers that run"
    assert told in soup(more).select_one("form.limits").get_text()
    assert told not in soup(same).select_one("form.limits").get_text()


@pytest.fixture
def sizes():
    classes = [
        NewClass("bandwidth", "KiB/s", "What is downloaded.", 102_336),
        NewClass("fetch_slots", "threads", "Fetches at a time.", 64),
    ]
    return create_pool(name="sizes", classes=classes, policy="banker")


def test_a_size_is_asked_for_in_the_unit_of_pages_and_stays_exact(sizes, administrator):
    form = soup(administrator.get(edit(sizes))).select_one("form.limits")
    shown = {one["name"]: one["value"] for one in form.select(".field input")}
    assert [label.get_text() for label in form.select(".field label")] == [
        "Bandwidth (MB/s)",
        "Fetch slots (threads)",
    ]
    assert "Available: 99.9 of 99.9 MB/s." in form.get_text()

    same = administrator.post(edit(sizes), shown | {"preview": "1"})
    more = administrator.post(edit(sizes), shown | {"bandwidth": "0.5 GB", "preview": "1"})

    assert "Nothing would change" in soup(same).select_one("#outcome").get_text()
    cells = [cell.get_text() for cell in soup(more).select("#outcome tbody :is(th, td)")]
    assert cells == ["bandwidth", "99.9 MB/s", "512 MB/s"]
    wrong = soup(administrator.post(edit(sizes), shown | {"bandwidth": "much", "preview": "1"}))
    assert "a size, like 60 or 1.5 GB" in wrong.select_one(".field .error").get_text()


def test_a_comma_before_decimals_is_refused_with_the_remedy(sizes, administrator):
    page = soup(administrator.post(edit(sizes), {"bandwidth": "1,5 GB", "fetch_slots": "64"}))

    assert "write decimals with a point, as in 1.5" in page.select_one(".field .error").get_text()


def test_a_number_is_read_in_the_unit_that_its_page_showed(sizes, administrator):
    form = soup(administrator.get(edit(sizes))).select_one("form.limits")
    shown = {one["name"]: one["value"] for one in form.select(".field input")}
    change_limits(pool=sizes.pk, limits=PoolLimits(capacity={"bandwidth": 3 * 1_024**2}))

    page = administrator.post(edit(sizes), shown | {"bandwidth": "500", "confirm": "1"})

    assert page.status_code == 302
    sizes.refresh_from_db()
    assert sizes.capacity[0] == 500 * 1_024


def test_a_refusal_names_what_is_in_use_in_the_unit_of_its_field(sizes, administrator):
    process = register_process(
        pool=sizes.pk, label="atlas", run_ref="", maximum={"bandwidth": 61_440}
    )
    request_resources(process=process.pk, amounts={"bandwidth": 61_440}, request_id=uuid4())

    for button in ("preview", "confirm"):
        sent = {"bandwidth": "50", "fetch_slots": "64", button: "1"}
        page = soup(administrator.post(edit(sizes), sent))
        assert page.select_one(".field .error").get_text() == (
            "More units than this are in use; wait for a release or choose a higher capacity. "
            "In use: 60 MB/s."
        )


def test_a_capacity_leads_to_its_field(sizes, administrator):
    for address in (LIMITS, sizes.get_absolute_url()):
        link = soup(administrator.get(address)).find("a", href=f"{edit(sizes)}?class=fetch_slots")
        page = soup(administrator.get(link["href"]))
        assert [one["name"] for one in page.select("[autofocus]")] == ["fetch_slots"]
    assert not soup(administrator.get(f"{edit(sizes)}?class=x")).select("[autofocus]")
    assert edit(sizes) not in browser("viewer").get(sizes.get_absolute_url()).content.decode()


@pytest.mark.parametrize("name", ["allocation:limits", "allocation:what_if", "planner:planner"])
def test_every_page_of_resources_has_the_tabs_of_the_only_pool(sizes, administrator, name):
    def tabs():
        page = soup(administrator.get(reverse(name)))
        return [tab.get_text(strip=True) for tab in page.select("nav.tabs a")]

    whole = soup(administrator.get(sizes.get_absolute_url())).select("nav.tabs a")
    assert tabs() == [tab.get_text(strip=True) for tab in whole]
    create_pool(name="second", classes=[NewClass("a", "a", "A.", 1)])
    assert "Safe sequence" not in tabs()


def test_a_refused_share_is_told_in_the_units_of_pages(sizes, administrator):
    classes = list(sizes.classes.all())
    share = Share.objects.create(
        pool=sizes, name="press", ref="press", reserved=[0] * 2, limits=[NO_LIMIT] * 2
    )
    address = reverse("allocation:edit-share", args=[sizes.pk, share.pk])
    shown = {f"reserve.{one.key}": "0" for one in classes}

    page = soup(administrator.post(address, shown | {"reserve.bandwidth": "1 GB", "preview": "1"}))

    told = page.select_one("#outcome").get_text()
    assert "Resource: bandwidth, reserves: 1 GB/s, capacity: 99.9 MB/s." in told, told
