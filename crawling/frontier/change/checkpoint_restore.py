"""Write a run's part of the frontier's tables from the rows of a checkpoint, under ids of this
database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.base.errors import CheckpointTrouble
from crawling.frontier.change.checkpoint_rows import OWN, SHARED, CheckpointTable
from crawling.frontier.run_counts import sum_counts_of_run
from crawling.frontier.sql_rows import NEW_HOSTS, NewHost

Lines = Callable[[str], Iterable[str]]

STAGE = (
    "CREATE TEMP TABLE IF NOT EXISTS staged (position bigint GENERATED ALWAYS AS IDENTITY, line "
    "jsonb) ON COMMIT DROP"
)

#: the clock of the other server may be wrong, so the rest of a host from a checkpoint is limited to
#: this
ADD_HOSTS = """
INSERT INTO crawling_host (name, delay_seconds, due_at)
SELECT line->>'name', least(greatest((line->>'delay_seconds')::float8, 0), 3600),
    least((line->>'due_at')::timestamptz, clock_timestamp() + interval '1 hour')
FROM staged ORDER BY 1 ON CONFLICT (name) DO NOTHING
RETURNING name
"""
NAME_HOSTS = f"""
UPDATE crawling_host h SET dns_name = new.dns_name FROM {NEW_HOSTS} WHERE h.name = new.name
"""  # noqa: S608  # constants

#: a file with a time in the future would replace everything that this server fetches; valid files
#: of this server stay
ADD_ROBOTS = """
INSERT INTO crawling_robotsfile (origin, status, body, fetched_at, expires_at)
SELECT r.origin, r.status, r.body, least(r.fetched_at, clock_timestamp()),
    least(r.expires_at, clock_timestamp() + interval '1 day')
FROM staged s CROSS JOIN LATERAL jsonb_populate_record(NULL::crawling_robotsfile, s.line) r
ORDER BY r.origin
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
WHERE crawling_robotsfile.fetched_at < excluded.fetched_at
    AND crawling_robotsfile.expires_at < clock_timestamp()
"""


def restore_shared(lines: Lines) -> None:
    """Add hosts and robots.txt files that are not known here.

    To be called in a short transaction of its own, since all runs use these rows.
    """
    with connection.cursor() as cursor:
        hosts, robots = SHARED
        stage_rows(cursor, lines(hosts.name))
        cursor.execute(ADD_HOSTS)
        names = [name for (name,) in cursor.fetchall()]
        cursor.execute(NAME_HOSTS, NEW_HOSTS.values(map(NewHost.from_name, names)))
        stage_rows(cursor, lines(robots.name))
        cursor.execute(ADD_ROBOTS)


def restore_frontier(run_id: int, lines: Lines, columns: Callable[[str], Collection[str]]) -> None:
    """Write all rows of a new run, which no reader sees yet.

    The table `new_archive` has the new ids of archive files.

    lines, columns: the lines and the columns of a part, by its name; columns that the checkpoint
    lacks get their defaults.
    """
    with connection.cursor() as cursor:
        for part in OWN:
            stage_rows(cursor, lines(part.name))
            if part.renewed:
                renew_ids(cursor, part.renewed, part.model._meta.db_table)
            _copy_rows(cursor, part, run_id, columns(part.name))
        sum_counts_of_run(cursor, run_id)


def stage_rows(cursor: CursorWrapper, lines: Iterable[str]) -> None:
    """Put rows of JSON into the table `staged`, in the order given."""
    cursor.execute(STAGE)
    cursor.execute("TRUNCATE staged RESTART IDENTITY")
    with cursor.copy("COPY staged (line) FROM STDIN") as copy:
        for line in lines:
            copy.write_row((line,))
    cursor.execute("ANALYZE staged")


def renew_ids(cursor: CursorWrapper, word: str, table: str) -> None:
    """Store new ids for the staged rows in the table `new_WORD`.

    The ids keep their order, which is the order of visits.
    """
    cursor.execute(f"""
        CREATE TEMP TABLE new_{word} ON COMMIT DROP AS
        SELECT old, nextval(pg_get_serial_sequence('{table}', 'id')) AS new
        FROM (SELECT (line->>'id')::bigint AS old FROM staged ORDER BY position) ordered
    """)  # noqa: S608  # word and table are our own
    cursor.execute(f"ANALYZE new_{word}")


def _copy_rows(
    cursor: CursorWrapper, part: CheckpointTable, run_id: int, columns: Collection[str]
) -> None:
    table = part.model._meta.db_table
    values = {"run_id": "%(run)s", **part.given}
    joins = ""
    if part.renewed:
        values["id"], joins = "own.new", f"JOIN new_{part.renewed} own ON own.old = r.id"
    for column, word in part.references.items():
        values[column] = f"of_{column}.new"
        joins += f" LEFT JOIN new_{word} of_{column} ON of_{column}.old = r.{column}"
    if part.name == "queues":
        values["host_id"], joins = (
            "h.id",
            f"{joins} JOIN crawling_host h ON h.name = s.line->>'host'",
        )
    known = [
        str(column.column)
        for column in part.model._meta.concrete_fields
        if not column.primary_key or column.column in part.references
    ]
    values |= {
        column: f"r.{column}" for column in known if column in columns and column not in values
    }
    cursor.execute(
        f"""
        INSERT INTO {table} ({", ".join(values)})
        SELECT {", ".join(values.values())}
        FROM staged s CROSS JOIN LATERAL jsonb_populate_record(NULL::{table}, s.line) r {joins}
        ORDER BY s.position
        """,  # noqa: S608  # names of our own tables and columns
        {"run": run_id},
    )
    written = cursor.rowcount
    cursor.execute("SELECT count(*) FROM staged")
    if written != cursor.fetchone()[0]:
        raise CheckpointTrouble(
            f"The checkpoint's {part.name} do not fit what they refer to; take it anew."
        )
