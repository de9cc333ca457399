"""Installs a program of another project from its npm package: the part that commands share."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from crawling.machine.npm_package import BadPackage, NpmPackage


class InstallCommand(BaseCommand):
    """`manage.py COMMAND FILE`."""

    program: NpmPackage
    #: as its project writes it
    title: str
    #: what the installation changes, as a sentence
    effect: str
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("package", type=Path, metavar="FILE", help="as `npm pack` writes it")

    def handle(self, *, package: Path, **options: Any) -> None:
        try:
            self.program.install(package, settings.STATE_DIR)
        except BadPackage as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{package}: {error.strerror}") from error
        self.stdout.write(f"{self.title} {self.program.version} is installed. {self.effect}")
