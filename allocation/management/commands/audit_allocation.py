"""Prove the whole past of the pools, or list its faults."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocation.history.audit import PoolAudit, audit_pool
from allocation.models import Pool


class Command(BaseCommand):
    help = (
        "Replay the ledger, check every decision and conservation, and compare the end with the "
        "rows; exit status 1 on any breach."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--pool", metavar="NAME", help="only the pool of this name")
        parser.add_argument("--json", action="store_true", help="print one JSON list, for programs")

    def handle(self, *, pool: str | None, **options: Any) -> None:
        pools = Pool.objects.order_by("pk")
        chosen = list((pools.filter(name=pool) if pool else pools).values_list("pk", flat=True))
        if pool and not chosen:
            raise CommandError(f"There is no pool {pool}.")
        audits = [audit_pool(pk) for pk in chosen]
        if options["json"]:
            self.stdout.write(json.dumps([asdict(audit) for audit in audits]))
        else:
            for audit in audits:
                self.print_audit(audit)
        broken = [audit.name for audit in audits if audit.findings]
        if broken:
            raise CommandError(f"Not as it should be: {', '.join(broken)}")

    def print_audit(self, audit: PoolAudit) -> None:
        counts = f"{audit.events} events, {audit.decisions} decisions"
        if not audit.findings:
            self.stdout.write(
                f"Pool {audit.name}: {counts}; every one is right, and nothing is missing."
            )
            return
        self.stdout.write(f"Pool {audit.name}: broken after {counts}. {audit.findings[0].sentence}")
        for finding in audit.findings[1:]:
            self.stdout.write(f"  {finding.sentence}")
