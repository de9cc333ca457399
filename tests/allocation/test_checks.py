"""Missing units are told loudly."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from allocation.models import Pool

pytestmark = [pytest.mark.django_db]
SENTENCE = (
    "Units of a are missing in pool pool: capacity 3, available 2, held 0, of which 0 without a "
    "grant."
)


@pytest.fixture
def nothing_is_lost():
    """Here units are lost on purpose."""


@pytest.fixture
def leak(make_pool):
    Pool.objects.filter(pk=make_pool(3).pk).update(available=[2])


def test_bank_that_is_whole_passes_the_check(make_pool):
    make_pool(3)

    call_command("check", "--database", "default", "--tag", "database")


def test_check_of_the_database_fails_if_units_are_missing(leak):
    with pytest.raises(SystemCheckError, match=r"allocation\.E001"):
        call_command("check", "--database", "default", "--tag", "database")


def test_not_ready_while_units_are_missing(client, admin_client, leak):
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["pools"]) == (503, "not ready")
    assert admin_client.get("/readyz").json()["pools"] == SENTENCE


def test_every_start_tells_of_missing_units_and_goes_on(leak, settings, capsys):
    settings.DEMO = False

    call_command("set_up")

    assert SENTENCE in capsys.readouterr().err
