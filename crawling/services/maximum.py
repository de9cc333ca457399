"""Change a crawl's Max, also while it runs: first at the bank, which may refuse, then in the order, which shifts follow."""

from __future__ import annotations

from collections.abc import Mapping

from allocation.errors import AllocationError, ClaimBelowHoldings, ProcessFinished
from allocation.services import change_claim
from crawling.errors import BadOrder
from crawling.models import CrawlJob, RunProcess
from crawling.models.jobs import ENDED_STATES
from crawling.rules.claims import GROWING, complete_claim
from crawling.services.bank import default_pool
from crawling.services.creating import capacity_of


def check_max(crawl: CrawlJob, claim: Mapping[str, int]) -> dict[str, int]:
    """The whole new Max, where `claim` names what changes. Raises BadOrder with a sentence by class."""
    full, errors = complete_claim({**crawl.claim, **claim}, capacity_of(default_pool()))
    if crawl.archive and not errors and crawl.claim.get("archive_writers") and not full["archive_writers"]:
        errors["claim.archive_writers"] = "must be 1 or more: answers are archived"
    latest = crawl.runs.first()
    if latest and latest.state not in ENDED_STATES:
        fixed = [key for key, units in full.items() if units != crawl.claim.get(key, 0) and key not in GROWING]
        errors |= {f"claim.{key}": "cannot change before the run has ended; fetch_slots and dns_slots can" for key in fixed}
    if errors:
        raise BadOrder(errors)
    return full


def tell_bank(crawl: CrawlJob, old: Mapping[str, int], claim: Mapping[str, int]) -> None:
    """Change Max of the processes of the live run, where it differs from the old one, all or none. One that holds more is left to its
    shift, which gives back first.

    Raises BadOrder with the bank's own sentence.
    """
    changed = {key: units for key, units in claim.items() if units != old.get(key, 0)}
    before = {key: old.get(key, 0) for key in changed}
    done: list[int] = []
    live = RunProcess.objects.filter(run__crawl=crawl, bank_process__isnull=False).exclude(run__state__in=ENDED_STATES)
    for process in live.order_by("number").values_list("bank_process", flat=True) if changed else ():
        try:
            change_claim(process=process, maximum=changed)
        except (ClaimBelowHoldings, ProcessFinished):
            continue
        except AllocationError as error:
            for other in done:
                change_claim(process=other, maximum=before)
            raise BadOrder({"claim": str(error)}) from error
        done.append(process)
