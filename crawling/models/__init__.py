"""The rows of crawling, by what they are about."""

from crawling.models.access import AllowedNetwork, Identity
from crawling.models.archive import ArchiveFile
from crawling.models.extracted import ExtractedRow
from crawling.models.frontier import Host, HostQueue, RobotsFile, Url, UrlState
from crawling.models.jobs import CrawlJob, Run, RunProcess, RunState, Shift
from crawling.models.log import Level, LogLine
from crawling.models.pages import Page, RunCount, RunStatusCount
from crawling.models.patterns import TrapPattern
from crawling.models.schedules import Schedule, ScheduledStart
from crawling.models.trials import Trial, TrialOutcome, TrialPolicy, TrialRequest, TrialState
from crawling.models.webhooks import Delivery, Webhook

__all__ = [
    "AllowedNetwork",
    "ArchiveFile",
    "CrawlJob",
    "Delivery",
    "ExtractedRow",
    "Host",
    "HostQueue",
    "Identity",
    "Level",
    "LogLine",
    "Page",
    "RobotsFile",
    "Run",
    "RunCount",
    "RunProcess",
    "RunState",
    "RunStatusCount",
    "Schedule",
    "ScheduledStart",
    "Shift",
    "TrapPattern",
    "Trial",
    "TrialOutcome",
    "TrialPolicy",
    "TrialRequest",
    "TrialState",
    "Url",
    "UrlState",
    "Webhook",
]
