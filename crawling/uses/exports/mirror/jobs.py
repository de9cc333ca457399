"""The background jobs that make mirrors: of a run, and of the latest pages of a crawl."""

from __future__ import annotations

from datetime import datetime

from crawling.jobs.kinds import JobScope
from crawling.models import Run
from crawling.uses.exports.export_kind import Package, export_kind


def _of_run(run: Run, at: datetime) -> Package:
    # what reads documents is imported by those who need it
    from crawling.uses.exports.mirror.packing import MirrorPackage

    return MirrorPackage(run, at, [run])


def _of_crawl(run: Run, at: datetime) -> Package:
    from crawling.uses.exports.mirror.packing import MirrorPackage
    from crawling.uses.exports.rows import archived_runs

    return MirrorPackage(run, at, archived_runs(run), is_of_crawl=True)


MIRROR = export_kind("mirror", "mirror", _of_run)
LATEST_MIRROR = export_kind(
    "latest-mirror", "mirror of the latest pages", _of_crawl, scope=JobScope.CRAWL
)
