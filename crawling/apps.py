from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, register


class CrawlingConfig(AppConfig):
    name = "crawling"
    verbose_name = "Crawls"

    def ready(self) -> None:
        from crawling.base.use import offered_by_uses
        from crawling.datasets.jobs import KINDS as DATASETS
        from crawling.jobs.kinds import register as register_jobs
        from crawling.previews.jobs import KINDS as QUESTIONS

        register(check_extensions)
        register_jobs((*DATASETS, *QUESTIONS, *offered_by_uses("jobs", "KINDS")))


def check_extensions(**_options: Any) -> list[CheckMessage]:
    """Faulty packages, which commands report when they start. Commands without checks do not look
    for packages.
    """
    from crawling.runs.extensions import extension_warnings

    return extension_warnings()
