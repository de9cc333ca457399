"""A run's part of the frontier's tables as rows of JSON, which are the rows of a checkpoint, and
the ids in them that are references.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Model

from crawling.models import (
    ExtractedRow,
    FurtherRecord,
    Host,
    HostQueue,
    LambdaRow,
    Page,
    PageTargets,
    Reranking,
    RobotsFile,
    RunCount,
    RunRendering,
    RunStatusCount,
    TrapPattern,
    Url,
    UrlState,
    Verdict,
    VerdictCount,
)


@dataclass(frozen=True)
class CheckpointTable:
    name: str
    model: type[Model]
    #: returns one JSON object a row; `id` and references are ids of the server that wrote the
    #: checkpoint
    query: str
    #: the word under which the rows get new ids; other parts refer to the rows by this word
    renewed: str = ""
    #: column -> the word under which the ids in this column were renewed
    references: Mapping[str, str] = field(default_factory=dict)
    #: column -> its value as SQL, which replaces the value in the row `r` that was read
    given: Mapping[str, str] = field(default_factory=dict)


#: the columns of verdicts; version 0.1.0 had another name for the blocklist
RULE = {"rule": "replace(r.rule, 'black_list', 'blocklist')"}
#: Hosts and robots.txt files are shared: rows that the restoring server already has stay unchanged.
SHARED = (
    CheckpointTable(
        "hosts",
        Host,
        """SELECT jsonb_build_object('name', h.name, 'delay_seconds', h.delay_seconds, 'due_at',
                    CASE WHEN h.shift_id IS NULL
                THEN h.due_at ELSE transaction_timestamp() + make_interval(secs => h.delay_seconds)
                    END)
            FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
            WHERE q.run_id = %(run)s ORDER BY h.name""",
    ),
    CheckpointTable(
        "robots",
        RobotsFile,
        """SELECT to_jsonb(r) FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
           JOIN crawling_robotsfile r ON r.origin IN ('http://' || h.name, 'https://' || h.name)
           WHERE q.run_id = %(run)s ORDER BY r.origin""",
    ),
)

#: URLs in process are written as waiting and untried, since their shift cannot report elsewhere. In
#: the order of the references.
OWN = (
    CheckpointTable(
        "queues",
        HostQueue,
        f"""SELECT to_jsonb(q) - '{{run_id,host_id}}'::text[]
               || jsonb_build_object('host', h.name, 'queued', q.queued + coalesce(p.n, 0))
               || CASE WHEN p.n > 0 THEN jsonb_build_object('due_at',
                   least(q.due_at, transaction_timestamp())) ELSE '{{}}' END
           FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
           LEFT JOIN (
               SELECT queue_id, count(*) AS n FROM crawling_url
               WHERE run_id = %(run)s AND state = '{UrlState.IN_PROCESS}' GROUP BY 1
           ) p
               ON p.queue_id = q.id
           WHERE q.run_id = %(run)s ORDER BY q.id""",  # noqa: S608 - the states are constants
        renewed="queue",
        given={"domain": "coalesce(r.domain, '')"},  # checkpoints of older versions lack it
    ),
    CheckpointTable(
        "urls",
        Url,
        f"""SELECT to_jsonb(u) - '{{run_id,shift_id}}'::text[]
               || CASE WHEN u.state = '{UrlState.IN_PROCESS}'
                  THEN jsonb_build_object('state', '{UrlState.QUEUED}', 'attempts',
                      greatest(0, u.attempts - 1))
                  ELSE '{{}}' END
           FROM crawling_url u WHERE u.run_id = %(run)s ORDER BY u.id""",  # noqa: S608 - the states are constants
        renewed="url",
        references={"queue_id": "queue", "via": "url"},
    ),
    CheckpointTable(
        "pages",
        Page,
        """SELECT to_jsonb(p) - '{run_id,unchanged_since,links_part}'::text[]
               || CASE WHEN p.reused_from IS NULL THEN '{}' ELSE '{"reused_from": 0}'::jsonb END
               || CASE WHEN p.payload_from IS NULL THEN '{}' ELSE '{"payload_from": 0}'::jsonb END
           FROM crawling_page p WHERE p.run_id = %(run)s""",
        references={"url_id": "url", "duplicate_of": "url", "archive_file_id": "archive"},
        # these name rows of the other database, and would name other pages here
        given={
            "unchanged_since": "NULL",
            "links_part": "NULL",
            "reused_from": "CASE WHEN r.reused_from IS NOT NULL THEN 0 END",
            "payload_from": "CASE WHEN r.payload_from IS NOT NULL THEN 0 END",
            # the maker of the checkpoint's file states these pages
            "is_imported": "true",
            "fetched_at": "least(r.fetched_at, clock_timestamp())",
        },
    ),
    CheckpointTable(
        "further",
        FurtherRecord,
        "SELECT to_jsonb(f) - '{id,run_id}'::text[] FROM crawling_furtherrecord f "
        "WHERE f.run_id = %(run)s ORDER BY f.id",
        references={"url_id": "url", "archive_file_id": "archive"},
        given={"fetched_at": "least(r.fetched_at, clock_timestamp())"},
    ),
    CheckpointTable(
        "targets",
        PageTargets,
        "SELECT to_jsonb(t) - 'run_id' FROM crawling_pagetargets t WHERE t.run_id = %(run)s",
        references={"url_id": "url"},
    ),
    CheckpointTable(
        "extracted",
        ExtractedRow,
        "SELECT to_jsonb(e) - '{id,run_id}'::text[] FROM crawling_extractedrow e "
        "WHERE e.run_id = %(run)s ORDER BY e.id",
        references={"url_id": "url"},
    ),
    CheckpointTable(
        "patterns",
        TrapPattern,
        "SELECT to_jsonb(t) - '{id,run_id}'::text[] FROM crawling_trappattern t "
        "WHERE t.run_id = %(run)s ORDER BY t.id",
    ),
    CheckpointTable(
        "verdicts",
        Verdict,
        "SELECT to_jsonb(v) - '{id,run_id}'::text[] FROM crawling_verdict v "
        "WHERE v.run_id = %(run)s ORDER BY v.id",
        references={"via": "url"},
        given=RULE,
    ),
    CheckpointTable(
        "verdict_counts",
        VerdictCount,
        "SELECT to_jsonb(c) - '{id,run_id}'::text[] FROM crawling_verdictcount c "
        "WHERE c.run_id = %(run)s ORDER BY c.id",
        given=RULE,
    ),
    CheckpointTable(
        "opic",
        LambdaRow,
        "SELECT to_jsonb(l) - 'run_id' FROM crawling_lambdarow l WHERE l.run_id = %(run)s",
    ),
    CheckpointTable(
        "rendering",
        RunRendering,
        "SELECT to_jsonb(r) - 'run_id' FROM crawling_runrendering r WHERE r.run_id = %(run)s",
    ),
    CheckpointTable(
        "reranking",
        Reranking,
        "SELECT to_jsonb(r) - 'run_id' FROM crawling_reranking r WHERE r.run_id = %(run)s",
    ),
    CheckpointTable(
        "counts",
        RunCount,
        "SELECT to_jsonb(c) - '{id,run_id}'::text[] FROM crawling_runcount c "
        "WHERE c.run_id = %(run)s ORDER BY c.id",
    ),
    CheckpointTable(
        "statuses",
        RunStatusCount,
        "SELECT to_jsonb(c) - '{id,run_id}'::text[] FROM crawling_runstatuscount c "
        "WHERE c.run_id = %(run)s ORDER BY c.id",
    ),
)
