"""A read that takes too long is cancelled, and everything else goes its way."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection

from crawling.base.timed import SearchTookTooLong, time_limit


@pytest.mark.slow
@pytest.mark.django_db
def test_a_statement_beyond_its_time_is_cancelled_and_the_connection_is_fit_for_use():
    with pytest.raises(SearchTookTooLong, match="broken off"), time_limit(1) as cursor:
        cursor.execute("SELECT pg_sleep(30)")

    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.django_db
def test_other_faults_of_the_database_are_not_taken_for_lost_time():
    with pytest.raises(OperationalError) as raised, time_limit() as cursor:
        cursor.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$")

    assert "disk_full" in str(raised.value)
