"""`manage.py deadlock_trial`: how often requests lock each other, with and without the Banker's
algorithm (SEEDS P4, P5).
"""

from __future__ import annotations

import json
import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any, cast

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from rich.console import Console

from crawling.base.errors import WrongState
from crawling.dashboard.management.command_errors import plain_errors
from crawling.jobs.running import run_in_this_process
from experiments.form import (
    CHOICES,
    DEFAULT_BOUND_SECONDS,
    DEFAULT_CRAWLS,
    DEFAULT_REQUESTS,
    DEFAULT_SEED,
    ExperimentForm,
    make_checked_experiment,
)
from experiments.models import ExperimentKind
from experiments.report import ExperimentView, as_dict, experiment_view
from experiments.tables import WAITS_DEPEND, policy_table, request_table


class Command(BaseCommand):
    help = (
        "Make the same requests under each policy, with real threads or real work sessions that "
        "fetch pages of a web on loopback, and compare."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--policy",
            choices=list(CHOICES),
            default="both",
            help="both: naive and banker, by turns (default); searches: banker with each search "
            "of its safety check",
        )
        parser.add_argument(
            "--kind",
            choices=ExperimentKind.values,
            default=ExperimentKind.THREADS,
            help="threads of the experiment (default), or shifts (work sessions) of crawls that it "
            "orders, by workers that it starts; these need a scheduler that runs",
        )
        parser.add_argument(
            "--requests",
            help=f"how many, for each policy (default: {DEFAULT_REQUESTS}, or {DEFAULT_CRAWLS} "
            "crawls)",
        )
        parser.add_argument(
            "--bound-seconds",
            default=DEFAULT_BOUND_SECONDS,
            help="a request that waits longer is locked, and tried again after the others "
            f"(default: {DEFAULT_BOUND_SECONDS:g})",
        )
        parser.add_argument(
            "--seed",
            default=DEFAULT_SEED,
            help=f"the same seed makes the same requests (default: {DEFAULT_SEED})",
        )
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, for programs"
        )

    def handle(self, *, policy: str, **options: Any) -> None:
        form = ExperimentForm({"policy": policy, **options})
        if not form.is_valid():
            raise CommandError(
                "\n  ".join(
                    [
                        "no experiment was made:",
                        *(
                            f"{name}: {' '.join(map(str, said))}"
                            for name, said in form.errors.items()
                        ),
                    ]
                )
            )
        with plain_errors():
            self._run(form.cleaned_data, as_json=options["json"])

    def _run(self, asked: dict[str, Any], *, as_json: bool) -> None:
        experiment = make_checked_experiment(**asked)
        what = "crawls" if experiment.kind == ExperimentKind.SHIFTS else "requests"
        self.stderr.write(
            f"{experiment}: {experiment.requests} {what} under {', '.join(experiment.policies)}, "
            f"bound {experiment.bound_seconds:g} s …"
        )
        try:
            with _sigterm_as_interrupt():
                run_in_this_process(experiment.job)
        except WrongState:
            if not experiment.job.cancelled_at:
                raise
        view = experiment_view(experiment)
        if as_json:
            self.stdout.write(
                json.dumps(as_dict(view, with_requests=True), cls=DjangoJSONEncoder, indent=2)
            )
        else:
            self._print(view)

    def _print(self, view: ExperimentView) -> None:
        console = Console(
            file=cast("IO[str]", self.stdout), markup=False, emoji=False, highlight=False, width=120
        )
        for column in view.columns:
            console.print(request_table(column.table, column, view.experiment.bound_seconds))
            console.print()
        console.print(policy_table(view))
        console.print(WAITS_DEPEND)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: the experiment is broken off in order, and gives back what it
    holds.
    """

    def raise_interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raise_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
