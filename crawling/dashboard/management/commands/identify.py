"""`manage.py identify PRODUCT CONTACT-URL`: set the crawler's identity."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from crawling.dashboard.management.command_errors import plain_errors
from crawling.installation.identity import identity, set_identity


class Command(BaseCommand):
    help = (
        "Set the identity of the crawler, which every request carries; site owners use PRODUCT "
        "in robots.txt. Without arguments: show it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "product_token",
            nargs="?",
            metavar="PRODUCT",
            help="letters, - and _ only, such as mycrawler",
        )
        parser.add_argument(
            "contact_url",
            nargs="?",
            metavar="CONTACT-URL",
            help="https://… or mailto:…, contact for site owners",
        )

    def handle(self, *, product_token: str | None, contact_url: str | None, **options: Any) -> None:
        with plain_errors():
            who = set_identity(product_token, contact_url or "") if product_token else identity()
        self.stdout.write(f"Requests carry: User-Agent: {who.user_agent}")
