"""A search index whose files are cut, gone or nonsense: a sentence says so, and a job mends it."""

from __future__ import annotations

import django_rq
import pytest

from crawling.links.catch_up import catch_up
from crawling.links.progress import dataset_states, unread_runs
from crawling.rq_jobs import BACKGROUND
from crawling.search import folder
from crawling.search.folder import IndexBusy, index_folder
from crawling.search.index import repair, writing
from crawling.search.search import SearchFilter, search_texts
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end

MADE_ANEW = "The search index cannot be read"


@pytest.fixture
def run(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': '<main>an orchard</main>'}).url}/")
    catch_up(run.pk)
    read_to_the_end(run)
    return run


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
    viewer, queue = browser("viewer"), django_rq.get_queue(BACKGROUND)
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
        assert queue.job_ids == ["repair-index-0"]  # both asked for one
        queue.fetch_job("repair-index-0").perform()
        queue.empty()
        assert unread_runs() == {run.pk}  # the scheduler queues their readings
        read_to_the_end(run)
        assert found() == 1, what


def folder_changed():
    meta = index_folder() / "meta.json"
    if meta.exists():
        meta.write_bytes(meta.read_bytes())


def test_a_job_killed_while_it_makes_the_index_anew_loses_no_page(run, monkeypatch):
    cut("meta.json")

    def killed():
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(folder, "new_schema", killed)
        with pytest.raises(KeyboardInterrupt):
            repair(0)
    read_to_the_end(run)

    assert found() == 1
    assert [state.behind for state in dataset_states(run)] == [0, 0, 0, 0]


def test_one_process_at_a_time_writes(run):
    with writing(), pytest.raises(IndexBusy), writing():
        pass
