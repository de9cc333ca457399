"""A request that waits too long for a lock is answered with the time to try again."""

from __future__ import annotations

import pytest

from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.frontiers import other_connection
from tests.crawling.pages import browser


@pytest.mark.parametrize("door", ["/crawls/{}/stop/", "/api/v1/crawls/{}/stop"])
def test_a_run_that_somebody_else_holds_is_answered_503_and_when_to_ask_again(
    transactional_db,
    order,  # noqa: F811
    monkeypatch,
    door,
):
    monkeypatch.setattr("crawling.frontier.run_lock.PATIENCE", "50ms")
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))

    with other_connection(["SELECT 1 FROM crawling_run WHERE id = %s FOR NO KEY UPDATE", [run.pk]]):
        answer = browser("operator").post(door.format(run.crawl_id), {"confirmed": "yes"})

    run.refresh_from_db()
    assert (answer.status_code, answer["Retry-After"], run.state) == (503, "5", "queued")
    assert ("busy" if "api" in door else "Another write holds a row") in answer.content.decode()
