"""The background jobs that make a file of a run, or of all runs of a crawl, for other programs:
WACZ files, mirrors of runs, and mirrors of the latest pages of crawls. Also the job that installs
the program for their replay.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from io import StringIO

from django.core.management import CommandError, call_command
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from crawling.archive.packages.stored_package import (
    Package,
    packages_with_payloads_of,
    store_package,
)
from crawling.base.errors import ArchiveTrouble
from crawling.jobs.enqueue import request_job
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.running_job import RunningJob
from crawling.models import ArchiveFile, BackgroundJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.exports.run_export import RunExport

#: a run that ended earlier, because no scheduler was working, gets no file automatically
ASKED_WITHIN = timedelta(days=1)
#: makes the package from a run (for a crawl, its latest run) and the time of the request
PackageOf = Callable[[Run, datetime], Package]


def export_kind(
    name: str, label: str, package_of: PackageOf, *, scope: JobScope = JobScope.RUN
) -> JobKind:
    """The kind of the jobs that make such a package and store its own bytes, not those of the
    archive.
    """
    return JobKind(
        name=name,
        label=label,
        done="made",
        work=partial(_work, package_of),
        # a file is valid only for the current archive files and withdrawals, and no back-up has its
        # stored part
        effects={
            JobEvent.DELETED: JobEffect.FORGET,
            JobEvent.WITHDRAWN: JobEffect.CHECK,
            JobEvent.RESTORED: JobEffect.FORGET,
            JobEvent.REWRITTEN: JobEffect.CHECK,
        },
        seconds=6 * 60 * 60,
        scope=scope,
        # every attempt starts from the beginning, so a file that takes longer than one attempt is
        # never finished
        attempts=1,
        has_files=True,
        keeps_latest_only=True,
        is_valid=lambda job: RunExport.of(job).is_readable,
        has_read=partial(packages_with_payloads_of, name),
    )


def _work(package_of: PackageOf, job: RunningJob) -> JobResult:
    return store_package(package_of(job.run, job.row.asked_at), job.row)


def _wacz_package(run: Run, at: datetime) -> Package:
    # readers of archive files are imported only where they are needed
    from crawling.archive.packages.wacz import WaczPackage

    return WaczPackage(f"{run.crawl.name}, run {run.number}", at, [run])


WACZ = export_kind("wacz", "WACZ file", _wacz_package)


def _run_mirror(run: Run, at: datetime) -> Package:
    # readers of documents are imported only where they are needed
    from crawling.uses.exports.mirror.packing import MirrorPackage

    return MirrorPackage(run, at, [run])


def _crawl_mirror(run: Run, at: datetime) -> Package:
    from crawling.uses.exports.mirror.packing import MirrorPackage
    from crawling.uses.exports.state import archived_runs

    return MirrorPackage(run, at, archived_runs(run), is_of_crawl=True)


MIRROR = export_kind("mirror", "mirror", _run_mirror)
LATEST_MIRROR = export_kind(
    "latest-mirror", "mirror of the latest pages", _crawl_mirror, scope=JobScope.CRAWL
)


def _install(job: RunningJob) -> JobResult:
    said = StringIO()
    try:
        call_command("install_replay", stdout=said)
    except CommandError as error:
        raise ArchiveTrouble(str(error)) from error
    return {"said": said.getvalue().strip()}


PLAYER = JobKind(
    name="install-replay",
    label="installation of ReplayWeb.page",
    done="installed",
    work=_install,
    effects=dict.fromkeys(JobEvent, JobEffect.KEEP),
    seconds=10 * 60,
    scope=JobScope.INSTALLATION,
    attempts=1,
)
KINDS = (WACZ, MIRROR, LATEST_MIRROR, PLAYER)


def ask_for_replay_files() -> None:
    """Request the WACZ file of each ended run whose order asks for it."""
    lately = timezone.now() - ASKED_WITHIN
    wanting = Run.objects.filter(crawl__archive=True, crawl__reuse__replay_file=True)
    # a crawl that has begun another run since is found by the indexes of latest runs; any other
    # crawl has only this run
    begun = Q(started_at__gte=lately) | ~Q(state__in=ENDED_STATES)
    again = wanting.filter(begun, is_latest=True).values("crawl")
    ended = wanting.filter(finished_at__gte=lately, state__in=ENDED_STATES)
    _ask_for_files(ended.filter(is_latest=True))
    _ask_for_files(ended.filter(is_latest=False, crawl__in=again))


def _ask_for_files(ended: QuerySet[Run]) -> None:
    """Request files for those of these runs that have an archive, and no file that was requested
    since their end.
    """
    asked = BackgroundJob.objects.filter(
        kind=WACZ.name, run=OuterRef("pk"), asked_at__gte=OuterRef("finished_at")
    )
    stored = ArchiveFile.objects.filter(run=OuterRef("pk"), committed_length__gt=0)
    for run in ended.filter(Exists(stored)).exclude(Exists(asked)).select_related("crawl"):
        request_job(WACZ, run, by=None)


DUTIES = ((ask_for_replay_files, 10.0),)
