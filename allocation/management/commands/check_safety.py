"""Print a pool and its safe sequence."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocation import selectors
from allocation.errors import UnknownPool
from allocation.models import Pool
from allocation.snapshot import BankView


class Command(BaseCommand):
    help = (
        "Print Available, Max, Allocation, Need and a safe sequence of each pool; exit status 1 "
        "if one is not safe."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--pool", type=int, help="only the pool of this id")

    def handle(self, *, pool: int | None, **options: Any) -> None:
        ids = (
            [pool]
            if pool is not None
            else list(Pool.objects.order_by("pk").values_list("pk", flat=True))
        )
        try:
            views = [selectors.bank_view(one) for one in ids]
        except UnknownPool as error:
            raise CommandError(str(error)) from error
        for view in views:
            self.print_bank(view)
        unsafe = [view.name for view in views if not view.is_safe]
        if unsafe:
            raise CommandError(f"Not safe: {', '.join(unsafe)}")

    def print_bank(self, view: BankView) -> None:
        width = max([len("Available"), *(len(process.label) for process in view.processes)])
        self.stdout.write(f"Pool {view.name} ({view.policy}); each cell: Allocation/Max/Need")
        self.stdout.write(
            " ".join([" " * width, *(f"{resource.key:>14}" for resource in view.resources)])
        )
        self.stdout.write(
            " ".join(
                [
                    f"{'Available':{width}}",
                    *(f"{resource.available:>14}" for resource in view.resources),
                ]
            )
        )
        for process in view.processes:
            cells = (f"{'/'.join(map(str, cell)):>14}" for cell in process.cells)
            self.stdout.write(" ".join([f"{process.label:{width}}", *cells]))
        for number, step in enumerate(view.safe_sequence or (), start=1):
            self.stdout.write(
                f"{number}. {step.process.label}: needs {step.process.need}, Work {step.work} "
                f"-> {step.work_after}"
            )
        if view.stuck:
            self.stdout.write(
                f"Could not be sure to finish: {', '.join(process.label for process in view.stuck)}"
            )
