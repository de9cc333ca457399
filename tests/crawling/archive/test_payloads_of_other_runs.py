"""A payload is stored once for all runs of a crawl, or for several crawls, and no page loses it."""

from __future__ import annotations

from io import StringIO
from random import Random

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.urls import reverse
from django.utils.timezone import now
from warcio.archiveiterator import ArchiveIterator

from crawling.archive.originals import Originals
from crawling.archive.reader import original_of, originals_of
from crawling.base.errors import WrongState
from crawling.fetching.shift.archive_stage import deduplication_scope
from crawling.frontier import UrlOutcome, counts_of
from crawling.frontier.record.page_rows import KnownContents, find_originals
from crawling.models import CrawlJob, Page, Run, Shift, Url, UrlState
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.housekeeping.retention import set_retention
from crawling.runs.housekeeping.retention_view import fates_of_crawl
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run, request_removal
from crawling.runs.start import start_run
from crawling.uses.withdrawals.withdrawing import CrawlCopies, withdrawal_preview
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.frontier.test_hostile_text import answer
from tests.crawling.pages import browser, soup

LONG = Random(5).randbytes(600).hex()
COPIES = """
WITH urls AS (
    INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state)
    SELECT %(run)s, (SELECT min(queue_id) FROM crawling_url WHERE run_id = %(like)s), n,
        'http://copy.test/' || n, 1, 1, 's'
    FROM generate_series(1, %(pages)s) n RETURNING id, fingerprint, url
)
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, address,
    bytes, fingerprint, fetched_at, fetch_seconds, archive_file_id, archive_offset, archive_length,
    payload_sha256, digest)
SELECT urls.id, %(run)s, 200, urls.url, '', '', '', p.address, 600, urls.fingerprint, now(), 0.1,
    p.archive_file_id, 0, 9, sha256(urls.url::bytea), sha256(urls.url::bytea)
FROM urls, (
    SELECT archive_file_id, address FROM crawling_page WHERE run_id = %(like)s LIMIT 1) p
"""
READ = """
SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'crawling_page'
"""


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {"/": links("/a", "/b", "/c"), "/a": LONG, "/b": LONG, "/c": "small", "/d": LONG}
    )


def headers(run, kind):
    """The headers of the run's records of that kind, by URI."""
    found = {}
    for file in files_of(run):
        with file.path.open("rb") as stream:
            found |= {
                record.rec_headers.get_header("WARC-Target-URI"): record.rec_headers
                for record in ArchiveIterator(stream)
                if record.rec_type == kind
            }
    return found


@pytest.mark.parametrize(("where", "revisits"), [("none", [0, 0]), ("run", [1, 1])])
def test_the_order_says_where_a_payload_counts_as_stored(
    site, crawl_to_the_end, work_off, where, revisits
):
    first = crawl_to_the_end(f"{site.url}/", batch_size=1, deduplicate=where)
    second = work_off(start_run(first.crawl))

    assert [Page.objects.filter(run=run, is_revisit=True).count() for run in (first, second)] == (
        revisits
    )


def test_a_crawl_that_shows_who_it_is_refers_to_no_other():
    asking = CrawlJob(reuse={"deduplicate": "all"}, fetching={"headers": {"X-Key": "hunter2"}})

    assert deduplication_scope(asking) == "crawl"
    assert deduplication_scope(CrawlJob(reuse={"deduplicate": "all"})) == "all"
    assert deduplication_scope(CrawlJob()) == "crawl"


def test_a_later_run_refers_to_the_record_and_can_be_had_whole(
    site, crawl_to_the_end, work_off, tmp_path
):
    first = crawl_to_the_end(f"{site.url}/", batch_size=1)
    second = work_off(start_run(first.crawl))

    mine = Page.objects.get(run=second, url__url=f"{site.url}/b")
    its = Page.objects.get(
        run=first, is_revisit=False, url__url__in=[f"{site.url}/a", f"{site.url}/b"]
    )
    revisit, response = (
        headers(second, "revisit")[mine.url.url],
        headers(first, "response")[its.url.url],
    )
    assert mine.payload_from == its.pk
    assert revisit.get_header("WARC-Profile").endswith("/identical-payload-digest")
    for said, of in (("", "Record-ID"), ("-Target-URI", "Target-URI"), ("-Date", "Date")):
        assert revisit.get_header(f"WARC-Refers-To{said}") == response.get_header(f"WARC-{of}")
    assert revisit.get_header("WARC-Payload-Digest") == response.get_header("WARC-Payload-Digest")
    saved = counts_of([second.pk])[second.pk].saved_bytes
    assert saved == 2 * its.archive_length - sum(
        Page.objects.filter(run=second, is_revisit=True).values_list("archive_length", flat=True)
    )

    operator = browser("operator")
    where = [first.crawl_id, mine.pk]
    assert LONG in operator.get(reverse("crawling:page-content", args=where)).content.decode()
    page = soup(operator.get(reverse("crawling:page", args=where)))
    assert page.find("a", href=reverse("crawling:page", args=[first.crawl_id, its.pk]))
    assert (
        "Saved by de-duplication"
        in soup(operator.get(reverse("crawling:crawl", args=[first.crawl_id]))).get_text()
    )
    said = StringIO()
    call_command("crawl", "show", str(first.crawl_id), stdout=said)
    assert "saved by de-duplication: payloads that were stored before" in said.getvalue()
    call_command("archive", "list", str(first.crawl_id), stdout=said)
    assert said.getvalue().count("complete, refers to run 1\n") == 1
    listed = soup(operator.get(reverse("crawling:archive", args=[first.crawl_id])))
    assert listed.find("a", string="Run 2 as one complete file")["href"].endswith("?run=2")
    files = operator.get(f"/api/v1/crawls/{first.crawl_id}/archive-files").json()["items"]
    assert [(file["run"], file["refers_to_other_runs"]) for file in files] == [
        (2, True),
        (1, False),
    ]
    whole = reverse("crawling:pages-records", args=[first.crawl_id]) + "?run=2"
    for place in (whole, f"{whole}&q=b", reverse("crawling:page-record", args=where)):
        file = tmp_path / "had.warc.gz"
        file.write_bytes(b"".join(operator.get(place).streaming_content))
        with file.open("rb") as stream:
            kinds = [
                (one.rec_type, one.rec_headers.get_header("WARC-Record-ID"))
                for one in ArchiveIterator(stream, check_digests="raise")
            ]
        assert kinds[0][0] == "warcinfo"
        assert ("response", revisit.get_header("WARC-Refers-To")) in kinds


def test_a_run_with_payloads_of_others_stays_and_rules_let_none_come_to_that(
    site, crawl_to_the_end, work_off
):
    first = crawl_to_the_end(f"{site.url}/", batch_size=1)
    second = work_off(start_run(first.crawl))
    set_retention(first.crawl, {"keep_runs": 1}, by=None)

    third = work_off(start_run(CrawlJob.objects.get(pk=first.crawl_id)))

    with pytest.raises(WrongState, match="payload of 2 pages of run 2; delete run 2 first"):
        remove_run(first, by=None)
    assert not Page.objects.filter(run=third).exclude(payload_from=None).exists()
    remove_run(second, by=None, for_good=True)
    remove_run(first, by=None, for_good=True)
    assert judge(third)


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return [crawl_once(f"{site.url}/{path}", name=path, deduplicate="all") for path in ("a", "d")]


@pytest.fixture
def sharing(crawled, db):
    """A crawl, and another with a payload in its archive."""
    runs = [Run.objects.get(pk=run.pk) for run in crawled]
    assert [Page.objects.get(run=run).is_revisit for run in runs] == [False, True]
    return runs


def test_crawls_that_agree_to_it_share_payloads_and_none_is_deleted_from_under_another(sharing):
    first, second = sharing
    page, its = Page.objects.get(run=second), Page.objects.get(run=first)

    assert original_of(page) == its
    with pytest.raises(WrongState, match="payload of 1 page of run 1 of d; delete that run first"):
        delete_crawl(first.crawl, by=None, for_good=True)
    with pytest.raises(WrongState, match="run 1 of d"):
        remove_run(first, by=None, for_good=True)
    shown = soup(browser("viewer").get(reverse("crawling:page", args=[second.crawl_id, page.pk])))
    assert "of the crawl a; stored once" in " ".join(shown.get_text().split())

    delete_crawl(second.crawl, by=None)
    with pytest.raises(WrongState, match="run 1 of d"):  # it can be restored
        delete_crawl(first.crawl, by=None, for_good=True)
    Run.all_objects.filter(pk=second.pk).update(restorable_until=None)
    delete_crawl(first.crawl, by=None, for_good=True)

    assert not Page.objects.exists()


def test_the_pages_that_have_the_payloads_of_many_are_found_with_one_query(
    crawl_to_the_end, make_site, work_off, django_assert_num_queries
):
    others = [f"/{name}" for name in "abcd"]
    site = make_site({"/": links(*others) + LONG, **{path: path + LONG for path in others}})
    first = crawl_to_the_end(f"{site.url}/")
    second = work_off(start_run(first.crawl))
    pages = list(Page.objects.filter(run=second).select_related("url", "run"))
    assert [page.is_revisit for page in pages] == [True] * 5

    with django_assert_num_queries(1):
        found = originals_of(pages)

    assert found == {page.pk: original_of(page) for page in pages}
    assert {original.run_id for original in found.values()} == {first.pk}
    assert originals_of(list(found.values())) == {one.pk: one for one in found.values()}


def test_the_preview_of_a_withdrawal_names_other_crawls_with_the_payload(sharing):
    first, second = sharing
    url = Page.objects.get(run=first).url.url

    assert withdrawal_preview(first.crawl, None, kind="page", text=url).other_crawls == [
        CrawlCopies(second.crawl_id, second.crawl.name, 1)
    ]
    its = Page.objects.get(run=second).url.url
    assert withdrawal_preview(second.crawl, None, kind="page", text=its).other_crawls == []


def test_rows_stay_while_a_shift_may_refer_to_them(sharing):
    first, second = sharing
    Run.objects.filter(pk=second.pk).update(state="running")
    Page.objects.filter(run=second).update(payload_from=None)
    shift = Shift.objects.filter(process__run=second)
    shift.update(ended_at=None)

    request_removal(first, by=None, for_good=True)

    # nothing to do for now, and nothing removed
    assert remove_rows(seconds=1)
    assert Page.objects.filter(run=first).exists()
    Page.objects.filter(run=second).update(payload_from=Page.objects.get(run=first).pk)
    shift.update(ended_at=Run.objects.get(pk=second.pk).created_at)
    assert remove_rows(seconds=1)
    assert original_of(Page.objects.get(run=second)).run_id == first.pk
    Page.objects.filter(run=second).update(payload_from=None)
    assert remove_rows(seconds=60)
    assert not Page.objects.filter(run=first).exists()


def test_a_payload_of_another_crawl_is_taken_only_if_nothing_is_against_it(sharing):
    first, second = sharing
    page = Page.objects.get(run=first)
    digest = bytes(page.payload_sha256)

    def found(run):
        run = Run.objects.select_related("crawl").get(pk=run.pk)
        originals = Originals(run, sought="all", is_alone=lambda: False)
        originals.look_up({digest: (page.fingerprint, page.bytes)})
        return originals.get(digest, page.bytes)

    hindrances = {
        "personal": lambda: Page.objects.update(is_personal=True),
        "not shared": lambda: CrawlJob.objects.update(reuse={"deduplicate": "crawl"}),
        "kept by rules": lambda: CrawlJob.objects.update(retention={"keep_runs": 1}),
        "deleted": lambda: Run.objects.filter(pk=first.pk).update(removal_asked_at=now()),
        "failed": lambda: Url.objects.update(state="f"),
        "other bytes": lambda: Page.objects.filter(pk=page.pk).update(archive_offset=0),
    }
    assert found(second).page == page.pk
    for name, hinder in hindrances.items():
        with transaction.atomic():
            hinder()
            assert found(second) is None, name
            transaction.set_rollback(True)
    Page.objects.filter(pk=page.pk).update(run=second)
    assert found(first) is None  # two runs would refer to each other


@pytest.fixture
def new_run(sharing):
    """With 3,000 pages, and none in the statistics that PostgreSQL has."""
    runs = [
        Run.objects.create(crawl=sharing[0].crawl, number=number, state="stopped", is_latest=False)
        for number in range(2, 9)
    ]
    for run in (*sharing, *runs[:-1]):
        _fill(run, sharing[0], 300)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE crawling_page")
    _fill(runs[-1], sharing[0], 3000)
    return runs[-1]


def test_payloads_are_looked_for_without_a_look_at_all_pages_of_a_new_run(new_run):
    wanted = {bytes([number] * 32): (-number, 600) for number in range(1, 100)}

    before = _rows_read()
    Originals(new_run, sought="run", is_alone=lambda: False).look_up(wanted)

    assert _rows_read() - before < 100


def test_contents_are_looked_for_without_a_look_at_all_pages_of_a_new_run(new_run):
    answers = [answer(fingerprint=-n, digest=bytes([n] * 32)) for n in range(1, 100)]
    outcomes = [UrlOutcome(n, UrlState.SUCCEEDED, 200, answer=a) for n, a in enumerate(answers)]

    before = _rows_read()
    with connection.cursor() as cursor:
        find_originals(cursor, new_run.pk, outcomes, KnownContents())

    assert _rows_read() - before < 100


def _fill(run, like, pages):
    """As many pages with payloads of their own, else like one of another run."""
    with connection.cursor() as cursor:
        cursor.execute(COPIES, {"run": run.pk, "like": like.pk, "pages": pages})


def _rows_read():
    """Of pages, in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(READ)
        return cursor.fetchone()[0]


def test_a_page_of_runs_says_who_of_other_crawls_keeps_a_run(sharing):
    first, _ = sharing
    later = Run.objects.get(pk=first.pk)
    later.pk, later.number = None, 2
    Run.objects.filter(pk=first.pk).update(is_latest=False)
    later.save(force_insert=True)
    set_retention(first.crawl, {"keep_runs": 1}, by=None)

    fates = fates_of_crawl(CrawlJob.objects.get(pk=first.crawl_id), later.created_at)

    assert fates[1].goes_at is None
    assert "of run 1 of d; delete that run first" in fates[1].sentence
