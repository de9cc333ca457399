"""Keep the cookies of a run's hosts from shift to shift."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import connection

from crawling.models import CookieJar, Shift
from crawling.sealed_text import SealBroken, seal, unseal

Jar = list[dict[str, Any]]

#: a shift that lost the host writes nothing over what its successor has
KEEP = """
INSERT INTO crawling_cookiejar AS jar (run_id, host_id, sealed)
SELECT %(run)s, h.id, kept.sealed
FROM unnest(%(hosts)s::bigint[], %(sealed)s::text[]) AS kept(host_id, sealed)
JOIN crawling_host h ON h.id = kept.host_id AND h.shift_id = %(shift)s
ON CONFLICT (run_id, host_id) DO UPDATE SET sealed = excluded.sealed
"""


def jars_of(run_id: int, hosts: Collection[int]) -> dict[int, Jar]:
    """The cookies of those hosts that have some, by the host's id; those sealed with another key
    are as good as expired.
    """
    jars: dict[int, Jar] = {}
    for host, sealed in CookieJar.objects.filter(run=run_id, host__in=hosts).values_list(
        "host", "sealed"
    ):
        try:
            jars[host] = unseal(sealed)
        except SealBroken:
            continue
    return jars


def keep_jars(shift: Shift, jars: Mapping[int, Jar]) -> None:
    """Store the cookies of hosts that the shift has leased."""
    with connection.cursor() as cursor:
        cursor.execute(
            KEEP,
            {
                "run": shift.process.run_id,
                "shift": shift.pk,
                "hosts": list(jars),
                "sealed": [seal(jar) for jar in jars.values()],
            },
        )
