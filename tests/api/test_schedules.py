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
        "At 02:30 every day by the clock of Europe/Berlin",
        5,
    )
    assert operator.get(path) == made

    assert operator("PUT", path, {"every_minutes": 60, "is_on": False})[1]["next_starts"] == []
    assert operator("DELETE", path)[0] == 204
    assert operator("GET", path)[0] == 404
