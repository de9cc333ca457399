"""`make password`: a new password for the first administrator."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError
from django.utils.crypto import get_random_string


class Command(BaseCommand):
    help = (
        "Give the first administrator a new random password, shown once. Works while the site runs."
    )

    def handle(self, **options: Any) -> None:
        try:
            administrator = (
                get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
            )
        except ProgrammingError:
            administrator = None  # no tables yet, so no users
        if administrator is None:
            raise CommandError(
                "There is no administrator yet: `make run` creates one, or use `manage.py "
                "createsuperuser`."
            )
        password = get_random_string(20)
        administrator.set_password(password)
        administrator.is_active = True
        administrator.save(update_fields=["password", "is_active"])
        self.stdout.write(f"User {administrator.get_username()}, new password: {password}")
