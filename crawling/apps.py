from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, register


class CrawlingConfig(AppConfig):
    name = "crawling"
    verbose_name = "Crawls"

    def ready(self) -> None:
        from crawling.datasets.jobs import LINKS
        from crawling.jobs.kinds import register as register_jobs
        from crawling.previews.jobs import QUESTIONS
        from crawling.uses.checkpoints.jobs import CHECKPOINT
        from crawling.uses.exports.mirror.jobs import LATEST_MIRROR, MIRROR
        from crawling.uses.exports.wacz.jobs import WACZ
        from crawling.uses.extraction.jobs import EXTRACTION
        from crawling.uses.imports.jobs import IMPORT
        from crawling.uses.link_check.jobs import PROBLEM_COUNTS
        from crawling.uses.link_graph.jobs import LINK_GRAPH
        from crawling.uses.revisits.jobs import REVISITS
        from crawling.uses.search.jobs import FORGETTING, INDEX_REPAIR, SECOND_READING
        from crawling.uses.seed_sources.jobs import SEED_SOURCE
        from crawling.uses.watches.jobs import WATCHES
        from crawling.uses.withdrawals.jobs import WITHDRAWAL

        register(check_extensions)
        made = (CHECKPOINT, EXTRACTION, IMPORT, LATEST_MIRROR, LINK_GRAPH, MIRROR, WACZ)
        due = (FORGETTING, LINKS, REVISITS, SECOND_READING, SEED_SOURCE, WATCHES, WITHDRAWAL)
        register_jobs((*made, *QUESTIONS, *due, INDEX_REPAIR, PROBLEM_COUNTS))


def check_extensions(**_options: Any) -> list[CheckMessage]:
    """What commands say as they start. Those that skip the checks need not look for packages."""
    from crawling.runs.extensions import warnings

    return warnings()
