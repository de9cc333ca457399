"""`/api/v1/crawls/{id}/schedule`."""

from __future__ import annotations

from crawling.runs.crawls.creation import create_crawl
from tests.api.conftest import SEED


def test_a_program_sets_reads_and_removes_a_schedule(operator, order):
    path = f"crawls/{create_crawl(order(SEED)).pk}/schedule"
    assert operator("GET", path)[0] == 404

    status, problem = operator("PUT", path, {"cron": "0 3 * *", "often": True})
    assert (status, set(problem["errors"])) == (422, {"cron", "often"})

    status, made = operator("PUT", path, {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"})
    assert (status, made["in_words"], len(made["next_starts"])) == (
        200,
        "Every day at 02:30, Europe/Berlin time",
        5,
    )
    assert operator.get(path) == made

    assert operator("PUT", path, {"every_minutes": 60, "is_on": False})[1]["next_starts"] == []
    assert operator("DELETE", path)[0] == 204
    assert operator("GET", path)[0] == 404


def test_a_program_schedules_many_crawls_and_removes_their_schedules(operator, order):
    crawls = [create_crawl(order(f"{SEED}{name}", name=f"crawl {name}")).pk for name in "ab"]
    wanted = {"cron": "0 3 * * 1", "time_zone": "Europe/Berlin"}

    def bulk(action, **asked):
        return operator("POST", "bulk-actions", {"action": action, "crawls": crawls, **asked})

    status, done = bulk("schedule", schedule=wanted, over_minutes=30)
    assert (status, done["changed"], done["refused"]) == (200, 2, [])
    rows = operator.get("schedules")["items"]
    assert {row["in_words"] for row in rows} == {
        "Every week on Monday at 03:00, Europe/Berlin time",
        "Every week on Monday at 03:15, Europe/Berlin time",
    }

    texts = {crawl["schedule_text"] for crawl in operator.get("crawls")["items"]}
    assert texts == {row["in_words"] for row in rows}
    assert operator.get(f"crawls/{crawls[0]}")["schedule_text"] in texts

    assert bulk("schedule", schedule={"cron": "0 3 * *"})[0] == 422
    assert len(operator.get("schedules")["items"]) == 2

    status, done = bulk("unschedule")
    assert status == 200
    assert operator.get("schedules")["items"] == []
