"""The resources that a shift spends: processor time by threads and by stages of a page, statements,
waits and memory.

The time of a stage excludes the stages within it. Each stage is a function that is replaced by one
that measures the time of its thread. This takes 0.7 µs a call, which counts for the surrounding
stage.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from resource import RUSAGE_SELF, getrusage
from typing import Any

import psutil
from django.db import connection

from crawling.fetching.worker.jobs import run_shift

LOOK_SECONDS = 0.1
#: a thread's name without its number -> its purpose
DOES = {
    "MainThread": "claims and records (the shift's thread)",
    "fetch": "fetches and extracts (fetch threads)",
    "archive": "archives",
    "names": "resolves",
    "queries": "asks for fetch threads",
    "lease": "renews leases",
}
#: the functions to be replaced: a module, and a function in it, or a class with its method
STAGES = {
    "begins and ends a step of a fetch thread": [
        "crawling.fetching.shift.fetch_threads:FetchThreadPool._step"
    ],
    "decides on what is asked, and on what came": ["crawling.fetching.shift.fetch_threads:step"],
    "the answer's head and body": ["crawling.fetching.pipeline.client:fetch"],
    "the request, the connection": ["crawling.web.fetch.adapter:PinnedSession.send"],
    "libcurl and its callbacks": ["crawling.web.fetch.transfer:Transfer.run"],
    "hands over to the archive": ["crawling.fetching.shift.fetch_threads:FetchThreadPool._hand_in"],
    "concludes": ["crawling.fetching.pipeline.stages:conclude"],
    "digests of the content": ["crawling.fetching.pipeline.conclusion:_digests"],
    "reads the page: title, text, metadata": [
        "crawling.fetching.pipeline.conclusion:read_document"
    ],
    "parses": ["crawling.web.documents.html:parse_html"],
    "finds its encoding": ["crawling.web.documents.tree:encoding_of"],
    "finds and collects links": [
        "crawling.web.documents.html:_document_links",
        "crawling.web.documents.html:_take_links",
        "crawling.web.documents.html:pack_links",
    ],
    "joins links": ["crawling.web.links:Links.add_all"],
    "its text": ["crawling.web.documents.html:_text_of"],
    "simhash": [
        "crawling.web.content.text_facts:simhash",
        "crawling.web.content.text_facts:simhash",
    ],
    "abstract, own words": ["crawling.web.content.text_facts:TextFacts.compute"],
    "judges links": ["crawling.fetching.pipeline.conclusion:links_of"],
    "turns of the shift's thread": ["crawling.fetching.shift.work:ShiftWork._turn"],
    "records outcomes": ["crawling.fetching.shift.recorder:OutcomeRecorder.write"],
    "admits links": ["crawling.frontier.record.outcome_writer:_admit_batch"],
    "writes pages": ["crawling.frontier.record.outcome_writer:_write_pages"],
    "leases hosts, claims URLs": ["crawling.fetching.shift.host_leases:HostLeases.refill"],
}


class _OfThread(threading.local):
    """The seconds of one thread by stage, and those of the stages within its current stage."""

    def __init__(self) -> None:
        self.within = 0.0
        self.spent: defaultdict[str, float] = defaultdict(float)
        _all.append(self.spent)


_all: list[defaultdict[str, float]] = []
_own = _OfThread()


def spent() -> Counter[str]:
    """The seconds of all threads by stage since the last call."""
    total: Counter[str] = Counter()
    for each in _all:
        total.update(each)
        each.clear()
    return total


def install(stages: Mapping[str, Sequence[str]]) -> None:
    """Replace all these functions in this process."""
    for stage, places in stages.items():
        for place in places:
            module_name, _, path = place.partition(":")
            owner: Any = import_module(module_name)
            *classes, name = path.split(".")
            for each in classes:
                owner = getattr(owner, each)
            setattr(owner, name, _timed(getattr(owner, name), stage))


def _timed(do: Callable[..., Any], stage: str) -> Callable[..., Any]:
    @wraps(do)
    def call(*given: Any, **options: Any) -> Any:
        around, _own.within = _own.within, 0.0
        began = time.thread_time()
        try:
            return do(*given, **options)
        finally:
            took = time.thread_time() - began
            _own.spent[stage] += took - _own.within
            _own.within = around + took

    return call


@dataclass
class Spending:
    #: seconds of a processor, by threads
    seconds: Counter[str] = field(default_factory=Counter)
    #: seconds of a processor, by stages, if these are measured
    stages: Counter[str] = field(default_factory=Counter)
    #: the number of SQL statements of the shift's own thread
    queries: int = 0
    #: the number of times that threads waited, for each other or for others (voluntary context
    #: switches)
    waits: int = 0
    #: the most memory of the process
    most_bytes: int = 0

    def add(self, other: Spending) -> None:
        self.seconds.update(other.seconds)
        self.stages.update(other.stages)
        self.queries += other.queries
        self.waits += other.waits
        self.most_bytes = max(self.most_bytes, other.most_bytes)


def shift_spending(process_id: int, epoch: int) -> Spending:
    """Do a shift, and return what it spent."""
    spending, ended = Spending(), threading.Event()
    spent()  # earlier times do not count
    watcher = threading.Thread(target=_watch, args=(spending, ended), name="watcher")
    watcher.start()
    waited = getrusage(RUSAGE_SELF).ru_nvcsw

    def count(execute: object, sql: str, params: object, many: bool, context: object) -> object:
        spending.queries += 1
        return execute(sql, params, many, context)  # type: ignore[operator]

    with connection.execute_wrapper(count):
        run_shift(process_id, epoch)
    spending.waits = getrusage(RUSAGE_SELF).ru_nvcsw - waited
    ended.set()
    watcher.join()
    spending.stages.update(spent())
    return spending


def _watch(spending: Spending, ended: threading.Event) -> None:
    """Read the time of each thread again and again, since threads come and go. Time from before the
    shift does not count.
    """
    process = psutil.Process()
    before = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
    latest: dict[int, tuple[str, float]] = {}
    while not ended.wait(LOOK_SECONDS):
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        for thread in process.threads():
            name = names.get(thread.id, "").split("-")[0].split("_")[0]
            if name != "watcher":
                seconds = thread.user_time + thread.system_time - before.get(thread.id, 0.0)
                latest[thread.id] = (
                    DOES.get(name, latest.get(thread.id, ("other threads", 0.0))[0]),
                    seconds,
                )
        spending.most_bytes = max(spending.most_bytes, process.memory_info().rss)
    for name, seconds in latest.values():
        spending.seconds[name] += seconds  # type: ignore[assignment]
