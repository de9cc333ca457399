"""The rows that the benchmarks of the cache stand on."""

from __future__ import annotations

from django.db import connection

#: three names under each registered one, with the mix of TTLs and durations of real answers
_FILL = """
    INSERT INTO dnscache_dnsentry (name, registrable, status, addresses, address_classes, canonical,
        rcode, ttl, resolve_ms, resolved_at, expires_at, fails, region, cost_seconds, hits,
            last_access, weight, upstream, error)
    SELECT name, registrable, 'ok', ARRAY[('192.0.' || mod(n, 250) || '.' || mod(n, 199))::inet],
        '{reserved}', name, 0, 3600, ms, now(), now() + interval '1 h', 0, 1 + (ms >= 300)::int,
            ms / 1000.0, 1 + mod(n, 7), now(), random(), '192.0.2.53:53', ''
    FROM (
        SELECT n, 5 + mod(n, 350) AS ms, 'host' || n / 3 || '.com' AS registrable,
            'www' || mod(n, 3) || '.host' || n / 3 || '.com' AS name
        FROM generate_series(1, %s) n
    )
"""


def fill(rows: int) -> None:
    """Keep so many answers as earlier processes would have left them."""
    with connection.cursor() as cursor:
        cursor.execute(_FILL, [rows])
        cursor.execute("ANALYZE dnscache_dnsentry")
