"""A search index whose files are cut, gone or nonsense: a sentence says so, and a job mends it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import django_rq
import pytest
import tantivy

from crawling.base.errors import IndexBroken
from crawling.base.storage import storage
from crawling.datasets.catch_up import catch_up
from crawling.datasets.lag import lags_of
from crawling.datasets.progress import unindexed_parts
from crawling.jobs.rq_jobs import IDLE
from crawling.models import BackgroundJob, LinksPart, Run
from crawling.uses.search import folder, search
from crawling.uses.search.folder import IndexBusy, index_folder
from crawling.uses.search.index import add_parts, open_writer, repair_index
from crawling.uses.search.jobs import INDEX_REPAIR
from crawling.uses.search.schema import new_schema
from crawling.uses.search.search import SearchFilter, search_texts
from tests.crawling.pages import browser, soup
from tests.crawling.reading import index_what_was_read, read_to_the_end

MADE_ANEW = "The search index cannot be read"


PAGES = {"/": "<main>an orchard</main>"}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    run = crawl_once(f"{shared.serve(PAGES).url}/")
    shared.do(catch_up, run.pk)
    shared.do(read_to_the_end, run)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def cut(ending):
    for file in index_folder().glob(ending):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def found():
    return search_texts("orchard", SearchFilter()).count


DAMAGES = {
    "texts are cut": lambda: cut("*.store"),
    "words are cut": lambda: cut("*.term"),
    "the list of segments is cut": lambda: cut("meta.json"),
    "a segment is gone": lambda: [file.unlink() for file in index_folder().glob("*.idx")],
    "all is gone": lambda: [file.unlink() for file in index_folder().iterdir()],
}


def test_a_damaged_index_is_told_and_made_anew(run):
    viewer, queue = browser("viewer"), django_rq.get_queue(IDLE)
    queue.empty()
    for what, damage in DAMAGES.items():
        damage()
        # a process that has it open sees the damage once another commit, or this, tells it to look
        folder_changed()

        page = viewer.get("/search/text/?q=orchard")
        told = viewer.get("/api/v1/search", {"q": "orchard"})

        assert (page.status_code, told.status_code) == (503, 503), what
        assert MADE_ANEW in soup(page).select_one("[role=alert]").text
        assert MADE_ANEW in told.json()["detail"]
        assert told["Retry-After"]
        asked = BackgroundJob.objects.get(kind=INDEX_REPAIR.name, ended_at=None)  # by both
        assert queue.fetch_job(f"job-{asked.pk}").perform() == "repaired"
        queue.empty()
        assert unindexed_parts().exists()  # the scheduler queues their indexing
        index_what_was_read()
        assert found() == 1, what


@pytest.mark.parametrize("lose", [Path.unlink, lambda file: file.write_bytes(b"PAR1 cut")])
def test_part_whose_texts_are_lost_is_read_again_and_the_others_are_added(
    make_site, crawl_to_the_end, lose
):
    run, _ = both = [
        crawl_to_the_end(f"{make_site(PAGES).url}/", name=name) for name in ("one", "another")
    ]
    for crawled in both:
        catch_up(crawled.pk)
        read_to_the_end(crawled)
    (lost,) = LinksPart.objects.filter(run=run)
    lose(storage().path(lost.texts_name))
    LinksPart.objects.update(indexed_at=None)

    index_what_was_read()

    assert found() == 2  # as it was in the index
    assert [*LinksPart.objects.filter(read_at=None)] == [lost]
    read_to_the_end(run)
    assert not unindexed_parts().exists()
    assert found() == 2


def folder_changed():
    meta = index_folder() / "meta.json"
    if meta.exists():
        meta.write_bytes(meta.read_bytes())


def flip(file, place):
    content = bytearray(file.read_bytes())
    content[place // 8] ^= 1 << place % 8
    file.write_bytes(content)


@pytest.fixture
def several_segments(run):
    """A file of each kind of an index that has deleted documents."""
    part = LinksPart.objects.get(run=run)
    for _ in range(3):
        with open_writer() as index:
            add_parts(index, [part])
    with open_writer() as index:
        index.commit()
    files = sorted(file for file in index_folder().iterdir() if file.stat().st_size)
    is_list = [file for file in files if file.suffix == ".json"]
    return [*{file.suffix: file for file in files if file not in is_list}.values(), *is_list]


#: what may stand in the list of segments instead, and is read by tantivy without a word
UNTRUE = {
    "a document more": lambda meta: meta["segments"][0].update(max_doc=2),
    "no document": lambda meta: meta["segments"][0].update(max_doc=0),
    "a segment twice": lambda meta: meta["segments"].append(meta["segments"][0]),
    "words of a field are not kept": lambda meta: meta["schema"][0]["options"].update(fast=False),
    "a key more": lambda meta: meta.update(more=1),
}


def test_a_list_of_segments_that_is_not_true_is_told(run):
    file = index_folder() / "meta.json"
    whole = file.read_bytes()
    for change, edit in UNTRUE.items():
        meta = json.loads(whole)
        assert meta["segments"][0]["max_doc"] == 1
        edit(meta)
        file.write_text(json.dumps(meta))
        with pytest.raises(IndexBroken):
            pytest.fail(f"{change}: {found()} found")
    file.write_bytes(whole)
    assert found() == 1


FLIPS_OF_A_FILE = 10


def test_a_flipped_bit_anywhere_is_told_or_harmless(several_segments):
    told = dict.fromkeys(several_segments, 0)
    for file in several_segments:
        whole, chance = file.read_bytes(), random.Random(file.suffix)
        for place in chance.sample(range(8 * len(whole)), FLIPS_OF_A_FILE):
            flip(file, place)
            try:
                assert found() == 1, (file.name, place)
            except IndexBroken:
                told[file] += 1
            file.write_bytes(whole)

    assert found() == 1
    kinds = {file.suffix for file in several_segments} | {file.name for file in several_segments}
    assert kinds >= {".store", ".term", ".idx", ".pos", ".fast", ".fieldnorm", "meta.json"}
    # a checksum finds them all; what is left is the version in the end of a file
    assert all(told[file] > 0.8 * FLIPS_OF_A_FILE for file in told if file.suffix != ".json")


def test_each_kind_of_file_with_a_flipped_bit_is_mended(run):
    viewer, queue = browser("viewer"), django_rq.get_queue(IDLE)
    for ending in ("*.store", "*.term", "*.fast", "meta.json"):
        queue.empty()
        file = next(index_folder().glob(ending))
        flip(file, 8 * 20)

        answers = viewer.get("/search/text/?q=orchard"), viewer.get("/api/v1/search?q=orchard")

        assert [answer.status_code for answer in answers] == [503, 503], ending
        asked = BackgroundJob.objects.get(kind=INDEX_REPAIR.name, ended_at=None)
        assert queue.fetch_job(f"job-{asked.pk}").perform() == "repaired"
        index_what_was_read()
        assert found() == 1, ending


def test_what_breaks_while_it_is_open_is_told(run, monkeypatch):
    """The disk may give other bytes without another time of change."""
    assert found() == 1
    faults = [ValueError("An IO error occurred"), OSError("Input/output error"), panic()]
    for fault in faults:
        with monkeypatch.context() as during:
            during.setattr(search, "facet_counts", raising(fault))
            with pytest.raises(IndexBroken):
                found()
        assert found() == 1


def panic():
    """Raise as tantivy's own code does if it breaks: no Exception."""
    try:
        tantivy.Query.phrase_query(new_schema(), "text_en", ["one word"])
    except BaseException as error:
        return error
    raise AssertionError


def raising(fault):
    def fails(*_):
        raise fault

    return fails


def test_a_job_killed_while_it_makes_the_index_anew_loses_no_page(run, monkeypatch):
    cut("meta.json")

    def killed():
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(folder, "new_schema", killed)
        with pytest.raises(KeyboardInterrupt):
            repair_index()
    index_what_was_read()

    assert found() == 1
    assert [state.behind for state in lags_of(run)] == [0, 0, 0, 0]


def test_one_process_at_a_time_writes(run):
    with open_writer(), pytest.raises(IndexBusy), open_writer():
        pass
