"""What each stage of a page takes of a processor, without the stages within it.

Each is a function that is replaced by one that takes the time of its thread: 0.7 µs a call, which
is in the stage around it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

#: what is replaced: a module, and a function, or a class and its method, that is looked up there
STAGES = {
    "begins and ends a step of a fetch thread": [
        "crawling.work.shift.fetch_threads:FetchThreadPool._step"
    ],
    "decides on what is asked, and on what came": ["crawling.work.shift.fetch_threads:step"],
    "the answer's head and body": ["crawling.work.pipeline.client:fetch"],
    "the request, the connection": ["crawling.web.fetch.adapter:PinnedSession.send"],
    "libcurl and its callbacks": ["crawling.web.fetch.transfer:Transfer.run"],
    "hands over to the archive": ["crawling.work.shift.fetch_threads:FetchThreadPool._hand_in"],
    "concludes": ["crawling.work.pipeline.stages:conclude"],
    "digests of the content": ["crawling.work.pipeline.conclusion:_digests"],
    "reads the page: title, text, metadata": ["crawling.work.pipeline.conclusion:read_document"],
    "parses": ["crawling.web.documents.html:parse_html"],
    "finds its encoding": ["crawling.web.documents.tree:encoding_of"],
    "finds and collects links": [
        "crawling.web.documents.html:_links",
        "crawling.web.documents.html:_take_links",
        "crawling.web.documents.html:collect",
    ],
    "joins links": ["crawling.web.links:Links.add_all"],
    "its text": ["crawling.web.documents.html:_text_of"],
    "simhash": [
        "crawling.web.content.text_facts:simhash",
        "crawling.web.content.text_facts:simhash",
    ],
    "abstract, own words": ["crawling.web.content.text_facts:TextFacts.compute"],
    "judges links": ["crawling.work.pipeline.conclusion:links_of"],
    "turns of the shift's thread": ["crawling.work.shift.work:ShiftWork._turn"],
    "records outcomes": ["crawling.work.shift.recorder:OutcomeRecorder.write"],
    "admits links": ["crawling.frontier.record.outcome_writer:_admit"],
    "writes pages": ["crawling.frontier.record.outcome_writer:_write_pages"],
    "leases hosts, claims URLs": ["crawling.work.shift.host_leases:HostLeases.refill"],
}


class _OfThread(threading.local):
    """Seconds by stage of one thread, and of the stages within the one that it is in."""

    def __init__(self) -> None:
        self.within = 0.0
        self.spent: defaultdict[str, float] = defaultdict(float)
        _all.append(self.spent)


_all: list[defaultdict[str, float]] = []
_own = _OfThread()


def spent() -> Counter[str]:
    """Seconds by stage, of all threads since the last call."""
    total: Counter[str] = Counter()
    for each in _all:
        total.update(each)
        each.clear()
    return total


def install(stages: Mapping[str, Sequence[str]]) -> None:
    """Replace all of them in this process."""
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
