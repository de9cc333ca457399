"""`manage.py scheduler`: the process that wakes workers when something is due."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import BaseCommand

from crawling.machine.notices import StopEvent
from crawling.scheduler.rounds import run_scheduler


class Command(BaseCommand):
    help = (
        "Turn grants into RQ jobs, reap lost work sessions and start what is due. Of several "
        "schedulers, one is active."
    )

    def handle(self, **options: Any) -> None:
        ending = StopEvent()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ending.set())
        run_scheduler(ending)
