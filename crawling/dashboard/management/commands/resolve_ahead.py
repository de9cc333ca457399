"""`manage.py resolve_ahead`: the process that resolves names before crawls need them."""

from __future__ import annotations

import gc
import signal
import socket
from typing import Any

from django.core.management.base import BaseCommand

from crawling.fetching.preresolver.process import PreResolverProcess
from crawling.machine.notices import StopEvent


class Command(BaseCommand):
    help = (
        "Resolve names of hosts before they are due, so that crawls do not wait for name "
        "servers. One per machine is active."
    )

    def handle(self, **options: Any) -> None:
        ending = StopEvent()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ending.set())
        # Django's own objects are never garbage; a collection that reads them would stop all
        # look-ups for a tenth of a second
        gc.freeze()
        PreResolverProcess(socket.gethostname()).work(ending)
