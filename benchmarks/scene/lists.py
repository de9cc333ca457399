"""Fill every list that a page or an endpoint shows: the log, verdicts, traps, duplicates, names,
deliveries, actions.
"""

from __future__ import annotations

from benchmarks.scene.database import execute
from crawling.archive.files import this_machine
from crawling.models import CrawlJob, Run

#: a crawl with two runs of the same addresses; in the second, one page in twenty is new, one is
#: gone and one is changed
TWICE = (
    """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT r.id, h.id, 0, 0, 1000 FROM crawling_run r,
    (SELECT id FROM crawling_host ORDER BY id LIMIT 100) h WHERE crawl_id = %(twice)s
""",
    """
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state, status)
SELECT q.run_id, q.id, n, 'https://' || h.name || '/section-' || n %% 31 || '/an-article-about-' ||
    md5(n::text), 3, n, 's', 200
FROM (SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY host_id) - 1 AS place
    FROM crawling_hostqueue) q
JOIN crawling_host h ON h.id = q.host_id JOIN crawling_run r ON r.id = q.run_id
JOIN generate_series(1, %(pages)s) n ON n %% 100 = place
WHERE r.crawl_id = %(twice)s AND n %% 20 <> r.number
""",
    """
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, bytes,
    fingerprint, digest, address, fetch_seconds, fetched_at)
SELECT u.id, run_id, status, url, 'text/html', 'utf-8', 'Article ' || u.fingerprint, 20000,
    u.fingerprint, sha256((CASE WHEN u.fingerprint %% 20 = 3 THEN r.number
        ELSE 0 END || ' ' || u.fingerprint)::bytea), '192.0.2.1', 0.2,
    now() - make_interval(secs => u.fingerprint %% 86400)
FROM crawling_url u JOIN crawling_run r ON r.id = u.run_id WHERE r.crawl_id = %(twice)s
""",
)
SECOND_RUN = """
INSERT INTO crawling_run (crawl_id, number, is_latest, state, reason, trouble, judged_by,
    created_at, started_at, finished_at)
SELECT %(crawl)s, n, n = %(runs)s, 'finished', 'Every URL in scope is done.', '', '', now(), now(),
    now()
FROM generate_series(2, %(runs)s) n
"""
LISTS = (
    """
UPDATE crawling_page SET duplicate_of = (SELECT min(id) FROM crawling_url
    WHERE run_id = %(run)s) + fingerprint %% 1000
WHERE run_id = %(run)s AND fingerprint %% 4 = 1
""",
    """
INSERT INTO crawling_runstatuscount (run_id, state, status, urls)
SELECT run_id, state, status, count(*) FROM crawling_url WHERE state IN ('s', 'f') GROUP BY 1, 2, 3
""",
    """
INSERT INTO crawling_logline (run_id, at, level, message, url)
SELECT %(run)s, now() - make_interval(secs => %(rows)s - n),
    CASE n %% 20 WHEN 0 THEN 40 WHEN 1 THEN 30 ELSE 20 END,
        'Something happened to ' || md5(n::text), 'https://www.example/' || n
        FROM generate_series(1, %(rows)s) n
""",
    """
INSERT INTO crawling_verdict (run_id, fingerprint, url, rule, sentence, revision, depth, hops,
    links)
SELECT %(run)s, n, 'https://elsewhere' || n %% 500 || '.example/' || md5(n::text),
    CASE n %% 3 WHEN 0 THEN 'scope' ELSE 'exclude' END, 'It is on another host.', '1', 3, 0, 1
        FROM generate_series(1, %(rows)s) n
""",
    "INSERT INTO crawling_verdictcount (run_id, rule, kept, more) "
    "SELECT run_id, rule, count(*), 0 FROM crawling_verdict GROUP BY 1, 2",
    """
INSERT INTO crawling_extractedrow (run_id, url_id, name, value)
SELECT run_id, id, 'price', 'EUR ' || id FROM crawling_url WHERE run_id = %(run)s AND state = 's'
LIMIT %(rows)s
""",
    """
INSERT INTO crawling_trappattern (run_id, key, pattern, rule, state, fetched, fresh, found_at)
SELECT %(run)s, n, 'https://www' || n || '.example/calendar?day=#', 'calendar',
    CASE n %% 50 WHEN 0 THEN 'quarantined' ELSE 'watched' END, n %% 90, 1, now()
        FROM generate_series(1, %(rows)s) n
""",
    """
UPDATE crawling_url SET state = 't', pattern = fingerprint %% 100 * 50, status = NULL
WHERE run_id = %(run)s AND state = 'q' AND fingerprint %% 10 = 0
""",
    """
INSERT INTO crawling_archivefile (run_id, name, namespace, machine, slot, committed_length,
    opened_at, sealed_at)
SELECT %(run)s, 'run' || %(run)s || '-' || n || '.warc.gz', gen_random_uuid(), 'bench', 0,
    1000000000, now(), now()
FROM generate_series(1, 2000) n
""",
    """
INSERT INTO crawling_backgroundjob (kind, run_id, spec, progress, asked_at, ended_at, result)
SELECT 'checkpoint', %(run)s, '{}', '{}', now(), now(), jsonb_build_object('taken_at', now(),
    'machine', 'bench', 'directory', '/srv/checkpoints/' || n, 'bytes', 100, 'urls', 100)
FROM generate_series(1, 2000) n
""",
    """
INSERT INTO crawling_orderrevision (crawl_id, number, changes, at)
SELECT %(crawl)s, n + 1, '{"delay_seconds": [1, 2]}', now() FROM generate_series(1, 2000) n
""",
    """
INSERT INTO crawling_blocklistentry (kind, text, reason, created_at)
SELECT 'host', 'bad' || n || '.example', 'Asked for by its owner.', now()
FROM generate_series(1, %(rows)s / 10) n
""",
    """
INSERT INTO crawling_robotsexception (crawl_id, host, reason, created_at, expires_at)
SELECT %(crawl)s, 'www' || n || '.example', 'Agreed.', now(), now() + interval '1 hour'
FROM generate_series(1, 500) n
""",
    """
INSERT INTO crawling_schedule (id, crawl_id, timing, anchor_at)
VALUES (1, %(crawl)s,
    '{"cron": "", "every_minutes": 60, "time_zone": "UTC", "catch_up": "once", "is_on": true}',
    now())
""",
    """
INSERT INTO crawling_scheduledstart (schedule_id, due_at, outcome)
SELECT 1, now() - make_interval(mins => n), 'It was at work already.'
FROM generate_series(1, %(rows)s) n
""",
    """
INSERT INTO alerts_listener (id, name, url, sealed, events, is_on, created_at)
SELECT n, 'Chat ' || n, 'https://hooks' || n || '.example/', '', ARRAY['finished'], true, now()
FROM generate_series(1, 200) n
""",
    """
INSERT INTO alerts_delivery (listener_id, crawl_id, event, body, created_at, attempts,
    delivered_at, outcome)
SELECT 1 + n %% 2 * (n %% 200), %(crawl)s, 'finished', '{"event": "finished"}',
    now() - make_interval(secs => n), 1, now(), '200 OK'
FROM generate_series(1, %(rows)s) n
""",
    """
INSERT INTO crawling_hotpage (fingerprint, url, heat, wanted, reused, wanted_at)
SELECT n, 'https://www.example/' || n, n %% 1000, 10, 5, now() FROM generate_series(1, %(rows)s) n
""",
    """
INSERT INTO crawling_ordertemplate (name, "order", tags, created_at)
SELECT 'Template ' || n, '{"delay_seconds": 1}', '{}', now() FROM generate_series(1, 200) n
""",
    """
INSERT INTO crawling_disksample (machine, at, total, free, archive, database)
SELECT m, now() - make_interval(hours => n), 1e12, 5e11 + n * 1e7, 1e11, 1e10
FROM unnest(%(machines)s::text[]) m, generate_series(1, 24 * 90) n
""",
    """
INSERT INTO crawling_robotsfile (origin, status, body, fetched_at, expires_at)
SELECT 'https://' || name, CASE id %% 9 WHEN 0 THEN 503 ELSE 200 END, 'User-agent: *', now(),
    now() + interval '1 day' FROM crawling_host
""",
    """
INSERT INTO dnscache_dnsentry (name, status, addresses, address_classes, canonical, rcode, ttl,
    resolve_ms, resolved_at, expires_at, retry_at, fails, registrable, region, cost_seconds, hits,
        weight, upstream, error)
SELECT name, CASE id %% 10 WHEN 0 THEN 'timeout' ELSE 'ok' END,
    CASE id %% 10 WHEN 0 THEN '{}' ELSE ARRAY['192.0.2.1'::inet] END,
    CASE id %% 10 WHEN 0 THEN '{}' ELSE ARRAY['public'] END, '', 0,
        CASE id %% 10 WHEN 0 THEN 0 ELSE 3600 END, 40, now(),
    now() + interval '1 hour', CASE id %% 10 WHEN 0 THEN now() + interval '5 minutes' END,
        CASE id %% 10 WHEN 0 THEN 3 ELSE 0 END,
    substring(name from '[^.]*[.]example$'),
        CASE id %% 10 WHEN 0 THEN 2 ELSE 1 END, random(), 5, random(), '192.0.2.53', ''
FROM crawling_host WHERE name LIKE 'www%%'
""",
    """
INSERT INTO dnscache_dnsdropped (at, name, region, weight, why)
SELECT now() - make_interval(secs => n), 'www' || n || '.example', 1, random(), 'lightest'
FROM generate_series(1, %(rows)s) n
""",
    """
INSERT INTO dnscache_dnsminute (minute, memory, database, lookup, stale, waited_seconds, waits,
    asked, failed, cut)
SELECT date_trunc('minute', now()) - make_interval(mins => n), 100, 10, 5, 0, 0.5,
    '{1,1,1,1,1,1,1,1}', 5, 1, 0
FROM generate_series(1, 1440 * 7) n
""",
    """
INSERT INTO crawlsite_apitoken (user_id, name, digest, created_at)
SELECT (SELECT min(id) FROM auth_user), 'token ' || n, md5(n::text), now()
FROM generate_series(1, 500) n
""",
    """
INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message,
    content_type_id, user_id)
SELECT now() - make_interval(secs => n),
    CASE n %% 2 WHEN 0 THEN %(crawl)s ELSE n END::text, 'a crawl', 2,
        '{"action": "paused", "changes": {}}', (SELECT id FROM django_content_type
        WHERE app_label = 'crawling' AND model = 'crawljob'),
    (SELECT min(id) FROM auth_user) FROM generate_series(1, %(rows)s) n
""",
    """
WITH done AS (
    INSERT INTO crawling_backgroundjob (kind, spec, asked_at, began_at, ended_at, progress, result)
    SELECT 'experiment', '{}', now(), now(), now(), '{}', '{}' FROM generate_series(1, 200)
    RETURNING id)
INSERT INTO experiments_experiment (requests, bound_seconds, seed, policies, job_id)
SELECT 1000, 1, id, '{naive,banker}', id FROM done
""",
    """
INSERT INTO experiments_experimentrequest (experiment_id, policy, number, attempt, started_at,
    ended_at, waited_seconds, deciding_seconds, outcome, deadlocked, pages, detail)
SELECT t, p, n, 1, now() - make_interval(secs => n), now(), 0.1, 0.01,
    CASE n %% 4 WHEN 0 THEN 'locked' ELSE 'completed' END, false, 3, ''
FROM (SELECT max(id) FROM experiments_experiment) last (t), unnest('{naive,banker}'::text[]) p,
    generate_series(1, 1000) n
""",
)


def fill(*, run: Run, pages: int, rows: int) -> tuple[int, int]:
    """Fill the lists; lists of a run are filled for this run.

    Return the ids of a crawl with two runs of `pages` pages, and of one with many runs.
    """
    old = CrawlJob.objects.filter(name__startswith="Old crawl").order_by("pk")
    twice, often = old.values_list("pk", flat=True)[:2]
    for crawl, runs in ((twice, 2), (often, 1000)):
        Run.objects.filter(crawl=crawl).update(is_latest=False)
        execute(SECOND_RUN, given={"crawl": crawl, "runs": runs})
    given = {
        "run": run.pk,
        "crawl": run.crawl_id,
        "twice": twice,
        "pages": pages,
        "rows": rows,
        "machines": ["bench", this_machine()],
    }
    execute(*TWICE, *LISTS, given=given)
    return twice, often
