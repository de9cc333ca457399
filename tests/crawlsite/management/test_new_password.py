"""`make password`."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

pytestmark = pytest.mark.django_db


def logs_in(name: str, password: str) -> bool:
    return Client().post("/login/", {"username": name, "password": password}).status_code == 302


def test_first_administrator_gets_a_new_password_shown_once(django_user_model):
    for name in ("ada", "bob"):
        django_user_model.objects.create_superuser(name, password="lost", is_active=False)
    django_user_model.objects.create_user("cyd", password="kept")
    out = StringIO()

    call_command("new_password", stdout=out)

    assert out.getvalue().startswith("User ada, new password: ")
    assert logs_in("ada", out.getvalue().split()[-1])
    assert not logs_in("ada", "lost")
    assert logs_in("cyd", "kept")


def test_site_without_an_administrator_says_how_to_get_one(django_user_model):
    django_user_model.objects.create_user("cyd", password="kept")

    with pytest.raises(CommandError, match="no administrator yet: `make run` creates one"):
        call_command("new_password")
