"""`manage.py order_fields`: the page of the documentation about the fields of an order."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from crawling.orders.field_table import as_markdown


class Command(BaseCommand):
    help = "Print docs/orders.md: the fields of an order with defaults, labels and options."
    requires_system_checks: list[str] = []

    def handle(self, **options: Any) -> None:
        self.stdout.write(as_markdown(), ending="")
