"""`make password`: a new password for the first administrator."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError

from crawlsite.administration.passwords import give_password


class Command(BaseCommand):
    help = (
        "Give the first administrator a new random password, shown once; the next log-in asks for "
        "another. Works while the site runs."
    )

    def handle(self, **options: Any) -> None:
        try:
            administrator = User.objects.filter(is_superuser=True).order_by("pk").first()
        except ProgrammingError:
            administrator = None  # without tables there are no users
        if administrator is None:
            raise CommandError(
                "There is no administrator yet: `make run` creates one, or use `manage.py "
                "createsuperuser`."
            )
        administrator.is_active = True
        administrator.save(update_fields=["is_active"])
        password = give_password(administrator)
        self.stdout.write(f"User {administrator.get_username()}, new password: {password}")
