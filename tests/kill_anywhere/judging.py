"""The promises about a crawl that has ended, whatever was killed meanwhile."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from tests.kill_anywhere.stage import Stage
from tests.webs.synthetic import ServedWeb

RUN = (
    "(SELECT r.id FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id "
    "WHERE c.name = %s)"
)
COUNTS = ("discovered", "fetched", "succeeded", "failed", "excluded", "quarantined", "bytes")


def judge_pages(stage: Stage, name: str, served: ServedWeb) -> None:
    """Check that the page set is that of an undisturbed crawl, and every page is counted once."""
    expected = served.expected()
    rows = stage.ask(f"SELECT url, state, status FROM crawling_url WHERE run_id = {RUN}", name)
    assert len(rows) == len({url for url, *_ in rows})
    ends = {url: (state, status) for url, state, status in rows}
    assert ends == expected, {
        url: (ends.get(url), expected.get(url))
        for url in ends.keys() | expected
        if ends.get(url) != expected.get(url)
    }
    states = Counter(state for state, _ in expected.values())
    pages, size = stage.ask(
        f"SELECT count(*), sum(bytes)::bigint FROM crawling_page WHERE run_id = {RUN}", name
    )[0]
    sums = ", ".join(f"sum({column})::bigint" for column in COUNTS)
    counted = stage.ask(f"SELECT {sums} FROM crawling_runcount WHERE run_id = {RUN}", name)[0]
    total = stage.ask(
        f"SELECT {', '.join(COUNTS)} FROM crawling_runtotal WHERE run_id = {RUN}", name
    )[0]
    assert pages == len(expected)
    assert total == counted
    assert dict(zip(COUNTS, counted, strict=True)) == {
        "discovered": len(expected),
        "fetched": len(expected),
        "succeeded": states["s"],
        "failed": states["f"],
        "excluded": 0,
        "quarantined": 0,
        "bytes": size,
    }
    by_status = stage.ask(
        f"SELECT state, status, urls FROM crawling_runstatuscount WHERE run_id = {RUN}", name
    )
    assert {(state, status): n for state, status, n in by_status} == Counter(expected.values())
    queues = stage.ask(
        f"SELECT sum(queued), sum(done) FROM crawling_hostqueue WHERE run_id = {RUN}", name
    )
    assert queues == [(0, len(expected))]


def judge_bank(stage: Stage) -> None:
    """Check that no unit is held, no lease or request is open, and no count is wrong."""
    assert stage.ask("SELECT * FROM conservation WHERE difference <> 0") == []
    assert stage.ask(
        "SELECT count(*) FROM allocation_process WHERE holding OR state = 'active'"
    ) == [(0,)]
    assert stage.ask("SELECT count(*) FROM allocation_request WHERE state = 'waiting'") == [(0,)]
    assert stage.ask("SELECT count(*) FROM crawling_shift WHERE ended_at IS NULL") == [(0,)]
    assert stage.ask("SELECT count(*) FROM crawling_host WHERE shift_id IS NOT NULL") == [(0,)]
    stage.manage("audit_allocation")


def judge_archive(stage: Stage, name: str) -> None:
    """Check that the files are whole, as long as their rows say, and have each page once, at its
    row's place, and the robots.txt files.
    """
    files = stage.ask(
        "SELECT id, name, committed_length, sealed_at IS NOT NULL FROM crawling_archivefile "
        f"WHERE run_id = {RUN}",
        name,
    )
    rows = stage.ask(
        f"""SELECT p.archive_file_id, p.archive_offset, u.url, p.is_revisit
            FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id WHERE p.run_id = {RUN}""",
        name,
    )
    found: list[tuple[int, int, str, bool]] = []
    for number, file_name, length, is_sealed in files:
        path = stage.place / "archive" / file_name.partition("-")[0] / file_name
        assert is_sealed, f"{file_name} was not sealed"
        if not length:
            assert not path.exists()
            continue
        assert path.stat().st_size == length
        # the check that `warcio check` does
        assert Checker(Namespace(inputs=[str(path)], verbose=False)).process_all() == 0
        found += [(number, *place) for place in answers_in(path)]
    robots = [place for place in found if place[2].endswith("/robots.txt")]
    found = [place for place in found if place not in robots]
    assert robots, "robots.txt is not archived"
    assert Counter(found) - Counter(rows) == Counter(), "records without a page"
    assert Counter(rows) - Counter(found) == Counter(), "pages without a record"


def answers_in(path: Path) -> list[tuple[int, str, bool]]:
    """Offset and URL of each answer, and whether it is a revisit."""
    answers = []
    with path.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            if record.rec_type in ("response", "revisit"):
                url = record.rec_headers.get_header("WARC-Target-URI")
                answers.append((records.get_record_offset(), url, record.rec_type == "revisit"))
    return answers
