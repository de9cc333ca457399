"""The verdict on a run that is not fetching: one cause for every state of things."""

from __future__ import annotations

import pytest

from crawling.runs.diagnosis import NextHost, RunFacts, StallCause, diagnose
from crawling.web.statuses import FetchStatus

HERE = {"state": "running", "queued": 5, "workers": 1}
RESTING = NextHost("a.test", 90)


@pytest.mark.parametrize(
    ("cause", "facts", "words"),
    [
        (StallCause.FETCHING, {"quiet_seconds": 10, "lease_seconds": 50}, "Fetching"),
        (
            StallCause.STUCK,
            {"quiet_seconds": 400, "lease_seconds": 50},
            "written nothing for 7 min",
        ),
        (
            StallCause.RESTING,
            {"quiet_seconds": 400, "lease_seconds": 50, "next_host": RESTING},
            "a.test may be fetched from in 90 s",
        ),
        (StallCause.WORKER_LOST, {"quiet_seconds": 10, "lease_seconds": -5}, "silent for 5 s"),
        (
            StallCause.WORKER_LOST,
            {"quiet_seconds": 10, "lease_seconds": 50, "late_sessions": 1, "late_seconds": 25},
            "the hosts and resources go to others in 25 s at the latest",
        ),
        (
            StallCause.NO_SCHEDULER,
            {"quiet_seconds": 10, "lease_seconds": -5, "is_scheduler_there": False},
            "no scheduler to take its units back",
        ),
        (
            StallCause.GRANT,
            {"wait": "Waits for 1 worker", "wait_ends": "a release"},
            "Waits for 1 worker",
        ),
        (StallCause.STARTING, {"granted_seconds": 3}, "Starting …"),
        (StallCause.NO_WORKER, {"granted_seconds": 3, "workers": 0}, "no worker to start"),
        (
            StallCause.NO_SCHEDULER,
            {"granted_seconds": 90, "is_scheduler_there": False},
            "no scheduler to tell a worker",
        ),
        (StallCause.STUCK, {"granted_seconds": 90}, "no worker has started"),
        (
            StallCause.STARTING,
            {"granted_seconds": 3, "workers": None},
            "Starting …",
        ),
        (StallCause.EMPTY, {"queued": 0}, "about to finish"),
        (StallCause.EMPTY, {"queued": 0, "quarantined": 3}, "3 URLs in quarantine"),
        (
            StallCause.HOST_TAKEN,
            {"next_host": NextHost("a.test", 0, taken_by="Manuals")},
            "The crawl Manuals is fetching from the host a.test",
        ),
        (StallCause.RESTING, {"next_host": RESTING}, "a.test may be fetched from in 90 s"),
        (
            StallCause.RESTING,
            {"next_host": NextHost("a.test", 90, rest_reason="It has too much to do.")},
            "in 90 s. It has too much to do.",
        ),
        (
            StallCause.RETRYING,
            {"next_host": NextHost("a.test", 56, status=FetchStatus.CONNECT_FAILED)},
            "a.test: The server did not accept a connection. Next attempt in 56 s.",
        ),
        (
            StallCause.NAME,
            {"next_host": NextHost("a.test", -500, is_held=True)},
            "a.test waits for DNS: no name server has answered yet.",
        ),
        (
            StallCause.NAME,
            {"next_host": NextHost("a.test", 40, is_held=True)},
            "Next look-up in 40 s",
        ),
        (
            StallCause.NAME,
            {"next_host": NextHost("a.test", -500, is_held=True), "quiet_seconds": 400},
            "a.test waits for DNS",
        ),
        (
            StallCause.THROTTLED,
            {"next_host": NextHost("a.test", 90, status=429)},
            "a.test answered 429",
        ),
        (StallCause.THROTTLED, {"next_host": NextHost("a.test", 9000, status=503)}, "in 2 h"),
        (StallCause.STARTING, {"next_host": NextHost("a.test", -5)}, "Starting …"),
        (
            StallCause.NO_SCHEDULER,
            {"next_host": NextHost("a.test", -5), "is_scheduler_there": False},
            "no scheduler to request",
        ),
        (
            StallCause.NO_WORKER,
            {"next_host": NextHost("a.test", -5), "workers": 0},
            "no worker for crawls",
        ),
        (StallCause.STUCK, {"next_host": NextHost("a.test", -500)}, "due for 8 min"),
        (StallCause.PAUSED, {"state": "paused", "paused": "Paused by ann."}, "Paused by ann."),
        (StallCause.STOPPING, {"state": "stopping", "quiet_seconds": 10}, "being finished first"),
        (StallCause.PAUSING, {"state": "pausing", "quiet_seconds": 10}, "being finished first"),
        (
            StallCause.STUCK,
            {"state": "pausing", "quiet_seconds": 400},
            "pausing, but its work session has written nothing",
        ),
    ],
)
def test_the_verdict_names_the_cause_and_says_it_in_a_sentence(cause, facts, words):
    found = diagnose(RunFacts(**{**HERE, **facts}))

    assert (found.cause, words in found.sentence) == (cause, True), found


def test_what_does_not_pass_by_itself_comes_with_a_remedy():
    troubles = [
        diagnose(RunFacts(**{**HERE, **facts}))
        for facts in (
            {"workers": 0},
            {"is_scheduler_there": False},
            {"quiet_seconds": 999},
            {"granted_seconds": 999},
        )
    ]

    assert all(trouble.is_trouble and trouble.remedy for trouble in troubles)
