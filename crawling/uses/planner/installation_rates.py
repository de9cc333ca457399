"""The measured rates and sizes of this installation, for a plan without assumptions."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import connection

from crawling.models import ArchiveFile, RunRendering, RunTotal

#: the fastest minute in twenty of a worker that works; in slower minutes it waits for hosts. Only
#: the latest minutes of all workers are read, since thousands of workers have millions of minutes a
#: day
FAST_MINUTE = """
SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY fetched) FROM (
    SELECT minute, fetched FROM crawling_runcount ORDER BY id DESC LIMIT 20000
) AS latest WHERE minute >= now() - interval '25 hours' AND fetched > 0
"""
RECENT = "SELECT sum(fetched), sum(bytes) FROM crawling_minutetotal"
ARCHIVED = f"""
SELECT sum(bytes) FROM {RunTotal._meta.db_table} AS total
WHERE EXISTS (SELECT FROM {ArchiveFile._meta.db_table} AS file WHERE file.run_id = total.run_id)
"""  # noqa: S608  # names of tables
STORED = f"SELECT sum(committed_length) FROM {ArchiveFile._meta.db_table}"  # noqa: S608  # likewise
#: of the latest runs that rendered pages
RENDERED = f"""
SELECT sum(latest.pages), sum(greatest(latest.pages, total.succeeded - total.files)) FROM (
    SELECT run_id, pages FROM {RunRendering._meta.db_table} ORDER BY run_id DESC LIMIT 200
) AS latest JOIN {RunTotal._meta.db_table} AS total ON total.run_id = latest.run_id
"""  # noqa: S608  # likewise


@dataclass(frozen=True)
class InstallationRates:
    """The measured rates, by the names in `PlannedCrawl`. None if nothing was measured yet."""

    #: the rate of the fastest minute in twenty
    worker_pages_per_second: float | None
    #: the mean over the last day; None if no page was fetched
    page_kilobytes: float | None
    #: the share of the received bytes that is stored, over all runs with an archive
    stored_percent: float | None
    #: the share of pages that were rendered, over the latest runs that rendered some
    rendered_percent: float | None

    def as_input(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def measured_rates() -> InstallationRates:
    """The counts of the last day, and the sizes of the archive. Takes five short queries."""
    with connection.cursor() as cursor:

        def numbers(query: str) -> list[float]:
            cursor.execute(query)
            return [float(value or 0) for value in cursor.fetchone() or ()]

        (fast,) = numbers(FAST_MINUTE)
        fetched, received = numbers(RECENT)
        (archived,), (stored,) = numbers(ARCHIVED), numbers(STORED)
        rendered, read = numbers(RENDERED)
    return InstallationRates(
        worker_pages_per_second=_rounded(fast / 60),
        page_kilobytes=_rounded(received / fetched / 1000 if fetched else 0),
        stored_percent=_rounded(min(100.0, 100 * stored / archived) if archived else 0),
        rendered_percent=_rounded(100 * rendered / read if read else 0),
    )


def _rounded(value: float) -> float | None:
    """The value rounded to three digits; None for None."""
    return float(f"{value:.3g}") if value > 0 else None
