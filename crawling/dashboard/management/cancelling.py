"""`crawl cancel-job`, `cancel-inquiry`, `cancel-import` and `cancel-experiment`: end background
jobs that users asked for.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from crawling.base.errors import NotFound
from crawling.cancelling.cancel import (
    cancel_experiment,
    cancel_import,
    cancel_inquiry,
)
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.jobs.cancel import cancel_of_run
from crawling.jobs.kinds import kinds_of_runs
from crawling.models import Inquiry
from crawling.models.experiments import Experiment
from crawling.uses.imports.jobs import ArchiveImport

HELP = {
    "cancel-job": "end a background job that makes something of a run",
    "cancel-inquiry": "end a question that a background job answers",
    "cancel-import": "end an import that waits or runs",
    "cancel-experiment": "end an experiment that waits or runs",
}

#: where a user finds the number
_SHOWN = {
    "cancel-inquiry": "in the answer that it is asked",
    "cancel-import": "on Imports",
    "cancel-experiment": "on Experiments",
}


def add_cancel_arguments(verb: str, parser: ArgumentParser) -> None:
    if verb == "cancel-job":
        parser.add_argument("kind", choices=tuple(kinds_of_runs()), help="what it makes")
        parser.add_argument("--run", type=int, help="its number; the latest without it")
    else:
        parser.add_argument("number", type=int, metavar="ID", help=f"its number {_SHOWN[verb]}")


def cancel(options: dict[str, Any]) -> str:
    """Cancel it and return what to print. Raises CrawlError."""
    said = _CANCEL[options["verb"]](options)
    return json.dumps({"cancelled": said}) if options["json"] else f"{said}: cancelled."


def _job(options: dict[str, Any]) -> str:
    run = get_run(find_crawl(options["crawl"]).pk, options["run"])
    kind = kinds_of_runs()[options["kind"]]
    cancel_of_run(kind, run, by=None)
    return f"{kind.label} of run {run.number}"


def _inquiry(options: dict[str, Any]) -> str:
    inquiry = Inquiry.objects.filter(pk=options["number"]).first()
    if inquiry is None:
        raise NotFound(f"There is no question {options['number']}.")
    return f"Question {cancel_inquiry(inquiry, by=None).pk}"


def _import(options: dict[str, Any]) -> str:
    job = cancel_import(options["number"], by=None)
    return f"Import {job.pk} of {', '.join(ArchiveImport.of(job).files)}"


def _experiment(options: dict[str, Any]) -> str:
    experiment = Experiment.objects.filter(pk=options["number"]).first()
    if experiment is None:
        raise NotFound(f"There is no experiment {options['number']}.")
    return f"Experiment {cancel_experiment(experiment, by=None).pk}"


_CANCEL = {
    "cancel-job": _job,
    "cancel-inquiry": _inquiry,
    "cancel-import": _import,
    "cancel-experiment": _experiment,
}
