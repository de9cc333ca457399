"""The tables of crawling, by subject."""

from crawling.models.access import (
    AllowedDirectory,
    AllowedNetwork,
    Identity,
    SharedNetwork,
    TrustedProxy,
)
from crawling.models.archive import ArchiveFile, DiskSample, MinuteTotal
from crawling.models.background_jobs import BackgroundJob
from crawling.models.datasets import LinksPart
from crawling.models.deleted import DeletedItem, DeletedKind
from crawling.models.frontier import (
    AddressClock,
    CookieJar,
    Host,
    HostQueue,
    LambdaRow,
    OwnRobotsFile,
    PageTargets,
    Reranking,
    RobotsFile,
    Url,
    UrlState,
)
from crawling.models.inquiries import Inquiry, InquiryKind
from crawling.models.jobs import CrawlJob, Run, RunState
from crawling.models.log import Level, LogLine
from crawling.models.pages import (
    ExtractedRow,
    FurtherRecord,
    HotPage,
    Page,
)
from crawling.models.rendering import RunRendering
from crawling.models.revisits import PlannedRevisit, RevisitPlan
from crawling.models.rules import BlocklistEntry, OrderRevision, RobotsException
from crawling.models.run_counts import RunCount, RunStatusCount, RunTotal
from crawling.models.schedules import (
    OrderTemplate,
    SavedView,
    Schedule,
    ScheduledStart,
    SecretLink,
    ShareLink,
)
from crawling.models.seed_sources import SeedSource, SeedSourceKind
from crawling.models.shifts import RunProcess, Shift
from crawling.models.teams import Team, TeamRule
from crawling.models.verdicts import TrapPattern, Verdict, VerdictCount
from crawling.models.withdrawals import Withdrawal, WithdrawalFile, WithdrawnPage

__all__ = [
    "AddressClock",
    "AllowedDirectory",
    "AllowedNetwork",
    "ArchiveFile",
    "BackgroundJob",
    "BlocklistEntry",
    "CookieJar",
    "CrawlJob",
    "DeletedItem",
    "DeletedKind",
    "DiskSample",
    "ExtractedRow",
    "FurtherRecord",
    "Host",
    "HostQueue",
    "HotPage",
    "Identity",
    "Inquiry",
    "InquiryKind",
    "LambdaRow",
    "Level",
    "LinksPart",
    "LogLine",
    "MinuteTotal",
    "OrderRevision",
    "OrderTemplate",
    "OwnRobotsFile",
    "Page",
    "PageTargets",
    "PlannedRevisit",
    "Reranking",
    "RevisitPlan",
    "RobotsException",
    "RobotsFile",
    "Run",
    "RunCount",
    "RunProcess",
    "RunRendering",
    "RunState",
    "RunStatusCount",
    "RunTotal",
    "SavedView",
    "Schedule",
    "ScheduledStart",
    "SecretLink",
    "SeedSource",
    "SeedSourceKind",
    "ShareLink",
    "SharedNetwork",
    "Shift",
    "Team",
    "TeamRule",
    "TrapPattern",
    "TrustedProxy",
    "Url",
    "UrlState",
    "Verdict",
    "VerdictCount",
    "Withdrawal",
    "WithdrawalFile",
    "WithdrawnPage",
]
