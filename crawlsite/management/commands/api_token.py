"""`manage.py api_token`: give a program a token to log in with, or revoke it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError

from crawling.dashboard.management.command_errors import plain_errors
from crawlsite.models import ApiToken
from crawlsite.tokens import LONGEST_NAME, make_token


class Command(BaseCommand):
    help = (
        "Create a token by which a program uses /api/v1/ as a user, and print it once; it cannot "
        "be read again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="user whose permissions the program gets")
        parser.add_argument(
            "--name", required=True, help="name of its program, such as `nightly import`"
        )
        parser.add_argument(
            "--revoke", action="store_true", help="revoke the token of that name instead"
        )

        parser.add_argument(
            "--read-only", action="store_true", help="it opens only what changes nothing (GET)"
        )

    def handle(
        self, *, user: str, name: str, revoke: bool, read_only: bool, **options: Any
    ) -> None:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise CommandError(f"--name: must be one line of 1 to {LONGEST_NAME} characters.")
        with plain_errors():
            if revoke:
                self._revoke(user, name)
            else:
                self._create_token(_user(user), name, reads_only=read_only)

    def _create_token(self, user: User, name: str, *, reads_only: bool) -> None:
        if not user.is_active:
            raise CommandError(
                f"{user} may not log in, so a token would open nothing; make the account active "
                "first."
            )
        try:
            token = make_token(user, name, reads_only=reads_only)
        except IntegrityError as error:
            raise CommandError(
                f"{user} has a token named {name!r} already; choose another name, or --revoke "
                "that one first."
            ) from error
        self.stdout.write(token)
        self.stderr.write("Send it as `Authorization: Bearer TOKEN`. It is not shown again.")

    def _revoke(self, username: str, name: str) -> None:
        deleted, _ = ApiToken.objects.filter(user=_user(username), name=name).delete()
        if not deleted:
            raise CommandError(f"{username} has no token named {name!r}.")
        self.stdout.write(f"The token {name!r} of {username} opens nothing any more.")


def _user(username: str) -> User:
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"There is no user {username!r}; create it under Administration, Users.")
    return user
