"""The frontier: the URLs of each run in PostgreSQL, which wait, are in process or are done. Only
this package reads and writes waiting URLs.

Contents. A URL of a run is one row, found by its fingerprint. Its state is waiting, in process or
done. The URLs of a run on one host are a queue, which counts its waiting URLs and is due at a
certain time. Within a queue URLs are in the order of visits: by lane, rank and age. Each queue
belongs to one process of the run (`serving_process_numbers`, `reassign_hosts`).

A host is a row that all runs share. A shift leases hosts, and no other shift fetches from a leased
one, whichever run it belongs to. The row also has the host's delay and how often it was asked
today. Hosts at one address take turns there by the clock of the address
(`crawling.frontier.address_clock`). So politeness holds across crawls.

Callers.

- A run begins with its seeds (`schedule_urls`). Users add others (`add_seeds`).
- A shift leases due hosts (`lease_hosts`), takes URLs from their queues (`claim_urls`), and renews
  the leases (`renew_hosts`). It returns a host once the host has answered, with the time until
  which the host rests (`return_hosts`). `seconds_until_due` says when the next queue is due.
- The shift's own thread writes outcomes of URLs (`record_all`): states, pages, counts, and the
  links that rules (`filters_of_run`), budgets and traps admit, in one transaction.
- A shift that ends returns its URLs in process untried (`return_urls`). Another process does so for
  a dead shift, and frees its hosts (`free_hosts_of_shift`).
- A run ends when all its queues are empty, or when a limit is reached (`limit_reached`).
- Edited orders, operators and checkpoints change waiting URLs by `crawling.frontier.change`, a
  batch at a time, beside running shifts.

Promises, which hold also after kill -9 at any moment. A run has a URL once. A URL is done once: its
outcome, page, links and counts are committed together, once the archive has the exchange. A URL
that was in process and not recorded is fetched again. A run counts no more pages than its limit,
and a host is leased by one shift. A shift's id is the token in each WHERE: a late write of a lost
shift matches no row.

Locks. A transaction that locks more than one row locks the run's row first (`locked_run`), then
hosts, then URLs; so two processes of a run never deadlock, and limits on the whole run hold
exactly. Hosts are leased with SKIP LOCKED, without waiting. Questions (`counts_of`,
`limit_reached`, `is_complete`) write nothing.

Other rooms import the names of this page from here, and all else from its module. A name is loaded
when it is asked for: to import `crawling.frontier.rules` is to import this module, and those rules
must not load Django (docs/decisions/0148).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

#: the names of this page, by the module that has them
NAMES = {
    "admit.crawl_rules": ("filters_of_run", "rules_key"),
    "admit.schedule": ("schedule_urls",),
    "admit.seeds": ("add_seeds",),
    "due_queues": ("seconds_until_due",),
    "host_placement": ("reassign_hosts", "serving_process_numbers"),
    "leases": ("ClaimedUrl", "LeasedHost", "claim_urls", "lease_hosts", "renew_hosts"),
    "record.outcome_writer": ("RecordingState", "return_urls", "record_all"),
    "released_hosts": ("free_hosts_of_shift", "return_hosts"),
    "run_counts": ("RunCounts", "counts_of"),
    "run_limits": ("is_complete", "limit_reached"),
    "run_lock": ("locked_run",),
    "types": (
        *("Candidate", "CapturedExchange", "PageLinks", "RenderingOutcome", "ServerAnswer"),
        "UrlOutcome",
    ),
}

if TYPE_CHECKING:
    from crawling.frontier.admit.crawl_rules import filters_of_run as filters_of_run
    from crawling.frontier.admit.crawl_rules import rules_key as rules_key
    from crawling.frontier.admit.schedule import schedule_urls as schedule_urls
    from crawling.frontier.admit.seeds import add_seeds as add_seeds
    from crawling.frontier.due_queues import seconds_until_due as seconds_until_due
    from crawling.frontier.host_placement import reassign_hosts as reassign_hosts
    from crawling.frontier.host_placement import serving_process_numbers as serving_process_numbers
    from crawling.frontier.leases import ClaimedUrl as ClaimedUrl
    from crawling.frontier.leases import LeasedHost as LeasedHost
    from crawling.frontier.leases import claim_urls as claim_urls
    from crawling.frontier.leases import lease_hosts as lease_hosts
    from crawling.frontier.leases import renew_hosts as renew_hosts
    from crawling.frontier.record.outcome_writer import RecordingState as RecordingState
    from crawling.frontier.record.outcome_writer import record_all as record_all
    from crawling.frontier.record.outcome_writer import return_urls as return_urls
    from crawling.frontier.released_hosts import free_hosts_of_shift as free_hosts_of_shift
    from crawling.frontier.released_hosts import return_hosts as return_hosts
    from crawling.frontier.run_counts import RunCounts as RunCounts
    from crawling.frontier.run_counts import counts_of as counts_of
    from crawling.frontier.run_limits import is_complete as is_complete
    from crawling.frontier.run_limits import limit_reached as limit_reached
    from crawling.frontier.run_lock import locked_run as locked_run
    from crawling.frontier.types import Candidate as Candidate
    from crawling.frontier.types import CapturedExchange as CapturedExchange
    from crawling.frontier.types import PageLinks as PageLinks
    from crawling.frontier.types import RenderingOutcome as RenderingOutcome
    from crawling.frontier.types import ServerAnswer as ServerAnswer
    from crawling.frontier.types import UrlOutcome as UrlOutcome
else:  # otherwise mypy would believe that this package has any name

    def __getattr__(name: str) -> object:
        for module, names in NAMES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
