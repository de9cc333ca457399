"""The rows of crawling, by what they are about."""

from crawling.models.access import AllowedDirectory, AllowedNetwork, Identity, TrustedProxy
from crawling.models.archive import ArchiveFile
from crawling.models.checkpoints import Checkpoint
from crawling.models.extracted import ExtractedRow
from crawling.models.frontier import CookieJar, Host, HostQueue, LambdaRow, Reranking, RobotsFile, Url, UrlState
from crawling.models.hotspots import HotPage
from crawling.models.jobs import CrawlJob, Run, RunProcess, RunState, Shift
from crawling.models.log import Level, LogLine
from crawling.models.pages import Page, RunCount, RunStatusCount
from crawling.models.patterns import TrapPattern
from crawling.models.rules import BlackListEntry, OrderRevision, RobotsException
from crawling.models.schedules import Schedule, ScheduledStart
from crawling.models.trials import Trial, TrialOutcome, TrialPolicy, TrialRequest, TrialState
from crawling.models.verdicts import Verdict, VerdictCount
from crawling.models.views import SavedView
from crawling.models.webhooks import Delivery, Webhook

__all__ = [
    "AllowedDirectory",
    "AllowedNetwork",
    "ArchiveFile",
    "BlackListEntry",
    "Checkpoint",
    "CookieJar",
    "CrawlJob",
    "Delivery",
    "ExtractedRow",
    "Host",
    "HostQueue",
    "HotPage",
    "Identity",
    "LambdaRow",
    "Level",
    "LogLine",
    "OrderRevision",
    "Page",
    "Reranking",
    "RobotsException",
    "RobotsFile",
    "Run",
    "RunCount",
    "RunProcess",
    "RunState",
    "RunStatusCount",
    "SavedView",
    "Schedule",
    "ScheduledStart",
    "Shift",
    "TrapPattern",
    "Trial",
    "TrialOutcome",
    "TrialPolicy",
    "TrialRequest",
    "TrialState",
    "TrustedProxy",
    "Url",
    "UrlState",
    "Verdict",
    "VerdictCount",
    "Webhook",
]
