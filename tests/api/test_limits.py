"""Limits by JSON: previewed, changed, refused, overridden; and every wait explained."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry

from allocation.models import Event, Pool, Process
from allocation.services import (
    NewClass,
    create_pool,
    ensure_share,
    register_process,
    release_resources,
    request_resources,
)


@pytest.fixture
def drives(people):
    """S2 beside the default pool: a cut from twelve drives to eleven is unsafe."""
    pool = create_pool(
        name="tape", classes=[NewClass("tape_drives", "drives", "Tapes turn in them.", 12)]
    )
    for label, most, now in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        process = register_process(
            pool=pool.pk, label=label, run_ref="", maximum={"tape_drives": most}
        )
        request_resources(process=process.pk, amounts={"tape_drives": now}, request_id=uuid4())
    return pool


CUT = {"capacity": {"tape_drives": 11}}


def test_preview_tells_who_would_become_unsafe_and_changes_nothing(administrator, drives):
    status, told = administrator("PATCH", f"pools/{drives.pk}?preview=1", CUT)

    assert (status, told["allowed"], told["would_be_unsafe"]) == (200, False, ["P0", "P2"])
    assert "not every process could be sure to finish" in told["reason"]
    assert (
        told["would_wait"],
        told["would_go_on_waiting"],
        told["would_be_served"],
        told["would_be_refused"],
    ) == ([], [], [], [])
    drives.refresh_from_db()
    assert (drives.capacity, LogEntry.objects.count()) == ([12], 0)


def test_preview_tells_whom_the_change_would_not_fit(administrator, drives):
    _, told = administrator(
        "PATCH", f"pools/{drives.pk}?preview=1", {"capacity": {"tape_drives": 9}}
    )

    assert (told["allowed"], told["would_be_refused"]) == (False, ["P0"])


def test_unsafe_change_is_refused_and_an_override_of_an_administrator_flags_the_pool(
    administrator, drives
):
    assert administrator("PATCH", f"pools/{drives.pk}", CUT)[0] == 409
    assert administrator("PATCH", f"pools/{drives.pk}", {**CUT, "override": True})[0] == 422

    status, bank = administrator(
        "PATCH", f"pools/{drives.pk}", {**CUT, "override": True, "reason": "A drive broke."}
    )

    assert (status, bank["is_safe"], bank["capacity"]) == (200, False, [11])
    assert Event.objects.get(kind="overridden").reason == "administrator: A drive broke."
    assert "A drive broke." in json.loads(LogEntry.objects.get().change_message)["action"]
    assert administrator("PATCH", f"pools/{drives.pk}", {"capacity": {"tape_drives": 12}})[1][
        "is_safe"
    ]


def test_operators_neither_change_limits_nor_override(operator, drives):
    assert (
        operator("PATCH", f"pools/{drives.pk}", {**CUT, "override": True, "reason": "I want it."})[
            0
        ]
        == 403
    )
    assert operator("PATCH", f"pools/{drives.pk}?preview=1", CUT)[0] == 403
    assert Pool.objects.get(pk=drives.pk).is_safe


def test_limits_of_a_pool_change_together(administrator, drives):
    body = {"capacity": {"tape_drives": 14}, "reserved": {"tape_drives": 1}, "bypass_limit": 3}

    _, bank = administrator("PATCH", f"pools/{drives.pk}", body)

    assert (bank["capacity"], bank["reserved"], bank["bypass_limit"]) == ([14], [1], 3)
    changes = json.loads(LogEntry.objects.get().change_message)["changes"]
    assert changes == {
        "tape_drives": [12, 14],
        "reserved tape_drives": [0, 1],
        "bypass limit": [10, 3],
    }


def test_claim_and_priority_of_a_process_change_with_a_preview(administrator, drives):
    address = f"pools/{drives.pk}/processes/{Process.objects.get(label='P2').pk}"

    assert (
        administrator("PATCH", f"{address}?preview=1", {"claim": {"tape_drives": 11}})[1][
            "would_be_unsafe"
        ]
        == []
    )
    assert administrator("PATCH", address, {"claim": {"tape_drives": 1}})[0] == 409
    status, bank = administrator("PATCH", address, {"claim": {"tape_drives": 8}, "priority": 10})

    one = next(process for process in bank["processes"] if process["name"] == "P2")
    assert (status, one["maximum"], one["priority"]) == (200, [8], 10)
    assert json.loads(LogEntry.objects.get().change_message)["changes"] == {
        "tape_drives": [9, 8],
        "priority": [0, 10],
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"override": True, "reason": "because"},
        {"claim": {}},
        {"priority": 11},
        {"priority": True},
        {"max": 1},
    ],
)
def test_a_process_is_changed_by_what_makes_sense(administrator, drives, body):
    assert (
        administrator(
            "PATCH", f"pools/{drives.pk}/processes/{Process.objects.get(label='P2').pk}", body
        )[0]
        == 422
    )


def test_a_process_of_another_pool_is_not_found(administrator, drives):
    other = create_pool(name="other", classes=[NewClass("a", "u", "s", 1)])

    assert (
        administrator(
            "PATCH",
            f"pools/{other.pk}/processes/{Process.objects.get(label='P2').pk}",
            {"priority": 1},
        )[0]
        == 404
    )


def test_class_is_added_once(administrator, drives):
    gold = {"key": "gold", "unit": "bar", "sentence": "What gold is for.", "capacity": 3}

    status, bank = administrator("POST", f"pools/{drives.pk}/classes", gold)

    assert (status, bank["capacity"], bank["resources"][1]["key"]) == (201, [12, 3], "gold")
    assert {len(process["maximum"]) for process in bank["processes"]} == {2}
    assert administrator("POST", f"pools/{drives.pk}/classes", gold)[0] == 409
    assert (
        administrator("POST", f"pools/{drives.pk}/classes", {**gold, "key": "two words"})[0] == 422
    )
    assert administrator("POST", "pools/999999/classes", gold)[0] == 404


def test_a_wait_tells_all_there_is_to_know(operator, drives):
    waits = Process.objects.get(label="P2")
    request_resources(
        process=waits.pk,
        amounts={"tape_drives": 1},
        request_id=uuid4(),
        kind="stage",
        epoch=waits.epoch,
    )
    late = register_process(pool=drives.pk, label="late", run_ref="", maximum={"tape_drives": 6})
    request_resources(process=late.pk, amounts={"tape_drives": 6}, request_id=uuid4())

    unsafe, unavailable = operator.get(f"pools/{drives.pk}")["waiting"]

    assert (unsafe["verdict"], unsafe["position"], unsafe["bypassed"]) == ("wait_unsafe", 1, 0)
    assert [(one["name"], one["resources"]) for one in unsafe["would_be_stuck"]] == [
        ("P0", ["tape_drives"]),
        ("P2", ["tape_drives"]),
    ]
    assert (unavailable["verdict"], unavailable["position"]) == ("wait_unavailable", 2)
    assert unavailable["short"] == [{"resource": "tape_drives", "units": 3}]
    assert all(blocker["since"] for blocker in unavailable["blockers"])
    assert unavailable["estimate"] == {
        "seconds": None,
        "sentence": "No estimate: no holder has finished a work session yet.",
    }


def test_estimate_rests_on_shifts_that_were_finished(operator, people):
    pool = create_pool(name="seats", classes=[NewClass("seats", "seats", "To sit on.", 2)])
    shop = register_process(pool=pool.pk, label="shop", run_ref="", maximum={"seats": 2})
    for epoch in (1, 2):
        request_resources(process=shop.pk, amounts={"seats": 2}, request_id=uuid4())
        if epoch == 1:
            release_resources(process=shop.pk, epoch=epoch, release_id=uuid4(), amounts=None)
    late = register_process(pool=pool.pk, label="late", run_ref="", maximum={"seats": 1})
    request_resources(process=late.pk, amounts={"seats": 1}, request_id=uuid4())

    (wait,) = operator.get(f"pools/{pool.pk}")["waiting"]

    assert wait["estimate"]["seconds"] is not None
    assert "shop releases its units" in wait["estimate"]["sentence"]
    assert "usual work session of 1 s" in wait["estimate"]["sentence"]


def test_share_of_a_team_is_previewed_changed_and_shown(administrator, drives):
    share = ensure_share(pool=drives.pk, ref="team/1", name="news")
    register_process(
        pool=drives.pk, label="idle", run_ref="", maximum={"tape_drives": 3}, share=share.pk
    )
    path, body = f"pools/{drives.pk}/shares/{share.pk}", {"limits": {"tape_drives": 3}}

    _, told = administrator("PATCH", f"{path}?preview=1", body)
    assert (told["allowed"], told["would_wait_shares"]) == (True, [])
    status, bank = administrator("PATCH", path, {**body, "reserved": {"tape_drives": 2}})

    assert status == 200
    assert bank["shares"] == [
        {
            "id": share.pk,
            "ref": "team/1",
            "name": "news",
            "held": [0],
            "claimed": [0],
            "reserved": [2],
            "limits": [3],
        }
    ]
    assert {p["name"]: p["share"] for p in bank["processes"]}["idle"] == share.pk
    assert administrator("PATCH", path, {"limits": {"tape_drives": 2}})[0] == 409
    assert administrator("PATCH", path, {})[0] == 422
    assert administrator("PATCH", f"pools/{drives.pk}/shares/999", body)[0] == 404
    changes = json.loads(LogEntry.objects.get().change_message)["changes"]
    assert changes["reserve tape_drives"] == [0, 2]
