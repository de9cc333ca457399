"""`make password`."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.django_db


def test_first_administrator_gets_a_new_password_shown_once(client, django_user_model):
    for name in ("ada", "bob"):
        django_user_model.objects.create_superuser(name, password="lost", is_active=False)
    django_user_model.objects.create_user("cyd", password="kept")
    out = StringIO()

    call_command("new_password", stdout=out)

    assert out.getvalue().startswith("User ada, new password: ")
    assert client.login(username="ada", password=out.getvalue().split()[-1])
    assert not client.login(username="ada", password="lost")
    assert client.login(username="cyd", password="kept")


def test_site_without_an_administrator_says_how_to_get_one(django_user_model):
    django_user_model.objects.create_user("cyd", password="kept")

    with pytest.raises(CommandError, match="no administrator yet: `make run` creates one"):
        call_command("new_password")
