from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, register


class CrawlingConfig(AppConfig):
    name = "crawling"
    verbose_name = "Crawls"

    def ready(self) -> None:
        from crawling.dryrun.jobs import QUESTIONS
        from crawling.extraction.jobs import EXTRACTION
        from crawling.jobs.kinds import register as register_jobs
        from crawling.link_graph.jobs import LINK_GRAPH
        from crawling.mirror.jobs import LATEST_MIRROR, MIRROR
        from crawling.wacz.jobs import WACZ

        register(check_extensions)
        register_jobs([EXTRACTION, LATEST_MIRROR, LINK_GRAPH, MIRROR, WACZ, *QUESTIONS])


def check_extensions(**_options: Any) -> list[CheckMessage]:
    """What commands say as they start. Those that skip the checks need not look for packages."""
    from crawling.runs.extensions import warnings

    return warnings()
