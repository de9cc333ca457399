"""A crawl's texts are found soon, ranked, filtered, and no longer than they may be."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from crawling.datasets.catch_up import catch_up
from crawling.datasets.lag import lags_of
from crawling.datasets.parts import drop_dataset
from crawling.datasets.progress import abandoned_parts
from crawling.models import LinksPart, Page, Run
from crawling.runs.housekeeping.deletion import restore_run
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.runs.start import start_run
from crawling.uses.search import index as index_module
from crawling.uses.search import pages
from crawling.uses.search.folder import index_folder
from crawling.uses.search.index import rebuild_index, remove_texts_of_abandoned_parts
from crawling.uses.search.open_index import OPEN_INDEX
from crawling.uses.search.search import SearchFilter, search_texts
from crawling.uses.search.snippets import BLOCK, best_block
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import undo_withdrawal, withdraw_pages
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end

FILLER = "The keeper of the orchard walks between the rows every morning and looks at them. " * 4
GERMAN = "Der Gärtner geht jeden Morgen durch den Garten und sieht nach seinen Bäumen. " * 4
LONG = "A path leads around the water, and whoever walks there hears frogs. " * 400
PAGES = {
    "/": "<title>Home</title><nav>orchard menu</nav><main>A start. "
    "<a href=/trees>t</a> <a href=/pears>p</a> <a href=/de>d</a> <a href=/ja>j</a> "
    "<a href=/pond>o</a></main>",
    "/trees": f"<title>Apple trees</title><main><h1>Planting</h1>{FILLER}</main>",
    "/pears": f"<title>Pears</title><main>{FILLER} An apple is no pear, a tree is no bush.</main>",
    "/de": f"<title>Obst</title><main>{GERMAN} Viele Äpfel.</main>",
    "/ja": "<html lang=ja><title>果樹園</title><main>"
    "これは日本の果樹園についての長い文章です。"
    "林檎の木がたくさんあります。</main>",
    "/pond": f"<title>Pond</title><main>An entrance. {LONG}"
    f"A quince stands at the entrance. {LONG}</main>",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/")
    shared.do(index, run)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


ALL = SearchFilter()


def index(run):
    catch_up(run.pk)
    read_to_the_end(run)


def paths(site, text, wanted=ALL):
    found = search_texts(text, wanted)
    assert found.count == len(found.hits)
    return [hit.page.url.url.removeprefix(site.url) for hit in found.hits]


def test_words_are_found_in_any_form_and_titles_come_first(site, run):
    assert paths(site, "apple tree") == ["/trees", "/pears"]
    assert paths(site, '"apple tree"') == ["/trees"]
    assert paths(site, "apple -planting") == ["/pears"]
    assert paths(site, "planting OR bush") == ["/trees", "/pears"]
    assert paths(site, "Baum Äpfel") == ["/de"]
    assert paths(site, "林檎の木") == ["/ja"]
    # what stands in menus counts least
    assert paths(site, "orchard")[-1] == "/"
    assert paths(site, "nowhere") == []


def test_a_snippet_marks_what_was_looked_for(run):
    (hit,) = search_texts("bush pears", ALL).hits

    assert [part.text for part in hit.snippet if part.is_marked] == ["pear", "bush"]
    assert "An apple is no" in "".join(part.text for part in hit.snippet)
    (german,) = search_texts("Äpfel", ALL).hits
    assert [part.text for part in german.snippet if part.is_marked] == ["Äpfel"]


def test_a_snippet_of_a_long_text_is_where_most_of_the_words_stand(run):
    (hit,) = search_texts("quinces entrance", ALL).hits

    assert [part.text for part in hit.snippet if part.is_marked] == ["quince", "entrance"]
    # what has none of the words begins as the text does
    assert best_block(LONG + "x" * BLOCK, ["quin"]) == LONG[:BLOCK]
    # of blocks with as many words that in which they begin
    unlike = "departs " * (BLOCK // 8)
    assert best_block(unlike + "an art " + unlike, ["art"]).startswith("an art")


def test_pages_are_counted_and_filtered_by_host_type_language_and_crawl(site, run):
    counts = search_texts("apple OR Äpfel OR 林檎", ALL).counts

    host = site.url.partition("//")[2]
    assert counts["host"] == [(host, 4)]
    assert counts["type"] == [("text/html", 4)]
    assert sorted(counts["language"]) == [("de", 1), ("en", 2), ("ja", 1)]
    assert counts["crawl"] == [(str(run.crawl_id), 4)]
    assert paths(site, "apple OR Äpfel", SearchFilter(language="de")) == ["/de"]
    assert paths(site, "apple", SearchFilter(host="else.test")) == []
    assert paths(site, "apple", SearchFilter(crawl=run.crawl_id, run=1)) == ["/trees", "/pears"]


def test_filters_are_there_before_anything_is_found_and_are_kept(run):
    viewer = browser("viewer")

    form = soup(viewer.get("/search/text/")).select_one("form[role=search]")
    asked = {field["name"] for field in form.select("[name]")}
    assert {"q", "crawl", "host", "type", "month"} <= asked
    assert run.crawl.name in form.select_one("[name=crawl]").get_text()
    assert form.select_one("[name=q]").has_attr("autofocus")

    sent = {"q": "apple", "crawl": run.crawl_id, "host": "", "type": "text/html", "month": ""}
    page = soup(viewer.get("/search/text/", sent))
    assert "2 pages" in page.get_text()
    assert page.select_one("[name=crawl] [selected]")["value"] == str(run.crawl_id)
    assert not page.select_one("[name=q]").has_attr("autofocus")


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ({"q": "xyzzy"}, "has this word."),
        ({"q": "xyzzy plugh"}, "has these words. Fewer words may find more."),
        ({"q": "xyzzy", "type": "pdf"}, "has this word. Without a filter there may be more."),
        (
            {"q": "xyzzy plugh", "type": "pdf"},
            "has these words. Fewer words or no filter may find more.",
        ),
    ],
)
def test_a_search_that_finds_nothing_advises_only_what_can_help(run, query, advice):
    shown = soup(browser("viewer").get("/search/text/", query)).select_one(".found .empty")

    words = " ".join(shown.get_text().split())
    assert words.startswith(f"No page {advice}")
    assert ("may find more" in words, "Without" in words) == (
        "may find more" in advice,
        "Without" in advice,
    )


def test_hits_have_numbered_pages(run, monkeypatch):
    monkeypatch.setattr(pages, "ROWS", 1)
    viewer = browser("viewer")

    def pager(after):
        page = soup(viewer.get("/search/text/", {"q": "apple OR Äpfel OR 林檎", "after": after}))
        here = page.select_one("nav.pager [aria-current]").get_text()
        links = {one.get_text(): one["href"] for one in page.select("nav.pager a")}
        return here, links

    here, links = pager(0)
    assert (here, list(links)) == ("1", ["2", "3", "4", "Next"])
    assert "after=3" in links["4"]
    here, links = pager(3)
    assert (here, list(links)) == ("4", ["Previous", "1", "2", "3"])
    assert "after" not in links["1"]


def test_of_many_pages_of_hits_the_first_the_last_and_the_nearest_are_numbered():
    numbers = [number for number, _ in pages.page_numbers(10_000, 400)]

    assert numbers == [1, None, 18, 19, 20, 21, 22, 23, 24, None, 51]


def test_the_latest_run_of_a_crawl_is_searched_or_all(make_site, crawl_to_the_end, work_off):
    site = make_site(PAGES)
    run = crawl_to_the_end(f"{site.url}/")
    index(run)
    site.pages["/trees"] = f"<title>Cherry trees</title><main>{FILLER}</main>"
    index(work_off(start_run(run.crawl)))

    assert paths(site, "title OR apple OR cherry") == ["/trees", "/pears"]
    assert len(paths(site, "apple OR cherry", SearchFilter(all_runs=True))) == 4
    assert paths(site, "apple tree", SearchFilter(crawl=run.crawl_id, run=1))[0] == "/trees"


def test_a_withdrawn_page_is_not_found_until_that_is_undone(site, run):
    withdrawal = withdraw_pages(
        run.crawl, run, kind="page", text=f"{site.url}/trees", reason="asked for", by=None
    )
    found = search_texts("apple", ALL)
    assert (found.count, len(found.hits), found.counts["host"][0][1]) == (1, 1, 1)

    undo_withdrawal(run.crawl, withdrawal.pk, by=None)

    assert paths(site, "apple tree") == ["/trees", "/pears"]


def test_the_text_of_a_withdrawn_page_leaves_the_files(site, run):
    withdrawal = withdraw_pages(
        run.crawl, run, kind="page", text=f"{site.url}/de", reason="x", by=None, at_once=True
    )
    (page,) = withdrawal.withdrawn_pages.values_list("url", flat=True)
    assert OPEN_INDEX.look().searcher.doc_freq("page", page) == 1
    segments = {file.stem for file in index_folder().glob("*.store")}

    remove_records(withdrawal.pk)
    read_to_the_end(run)

    withdrawal.refresh_from_db()
    assert (withdrawal.finished_at is not None, withdrawal.trouble) == (True, "")
    assert OPEN_INDEX.look().searcher.doc_freq("page", page) == 0
    assert segments.isdisjoint(file.stem for file in index_folder().glob("*.store"))
    assert paths(site, "Äpfel") == []
    assert paths(site, "apple tree") == ["/trees", "/pears"]


def test_the_index_is_made_anew_once_for_all_withdrawals_that_are_due(
    site, crawl_to_the_end, monkeypatch
):
    run, other = (crawl_to_the_end(f"{site.url}/", name=name) for name in ("one", "other"))
    for one in (run, other):
        index(one)
    asked = {"kind": "page", "text": f"{site.url}/de", "reason": "x", "by": None, "at_once": True}
    due = [withdraw_pages(one.crawl, one, **asked) for one in (run, other)]
    made = []
    monkeypatch.setattr(index_module, "rebuild_index", lambda: made.append(rebuild_index()))

    remove_records(due[1].pk)

    assert len(made) == 1
    for withdrawal in due:
        withdrawal.refresh_from_db()
        assert withdrawal.finished_at
        read_to_the_end(withdrawal.run)
    assert paths(site, "Äpfel") == []
    assert paths(site, "pear bush") == ["/pears"] * 2


def test_a_page_that_was_withdrawn_before_it_was_read_is_found_once_that_is_undone(
    site, crawl_to_the_end
):
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    withdrawal = withdraw_pages(
        run.crawl, run, kind="page", text=f"{site.url}/trees", reason="x", by=None
    )
    index(run)

    undo_withdrawal(run.crawl, withdrawal.pk, by=None)
    index(run)

    assert paths(site, "apple") == ["/trees", "/pears"]


def test_a_deleted_run_is_not_found_and_leaves_the_index(site, run):
    remove_run(run, by=None)
    assert paths(site, "apple") == []
    restore_run(run.pk, by=None)
    assert len(paths(site, "apple")) == 2

    remove_run(run, by=None, for_good=True)
    assert remove_rows(seconds=60)
    assert paths(site, "apple") == []
    assert abandoned_parts().exists()  # until a background job has taken it out
    remove_texts_of_abandoned_parts()
    remove_rows()

    assert OPEN_INDEX.look().searcher.num_docs == 0
    assert not LinksPart.objects.exists()


def test_a_rebuilt_dataset_and_a_rebuilt_index_have_each_page_once(site, run):
    drop_dataset(run.pk)
    index(run)
    remove_texts_of_abandoned_parts()
    assert paths(site, "apple") == ["/trees", "/pears"]

    assert rebuild_index() == 1
    call_command("search_index", "catch-up")

    assert paths(site, "apple") == ["/trees", "/pears"]
    assert [state.behind for state in lags_of(run)] == [0, 0, 0, 0]


def test_page_json_and_command_tell_the_same(site, run, capsys):
    viewer = browser("viewer")
    found = viewer.get("/api/v1/search", {"q": "apple tree"}).json()
    assert [row["url"].removeprefix(site.url) for row in found["items"]] == ["/trees", "/pears"]
    assert found["counts"]["crawl"] == [
        {"value": str(run.crawl_id), "label": run.crawl.name, "count": 2}
    ]

    shown = soup(viewer.get("/search/text/?q=apple+tree"))
    assert [link.text for link in shown.select(".hits h3 a:first-child")] == [
        "Apple trees", "Pears",
    ]  # fmt: skip
    assert [mark.text for mark in shown.select(".hits mark")][-2:] == ["apple", "tree"]
    page = Page.objects.get(run=run, url__url__endswith="/trees")
    assert shown.select_one(".hits h3 a")["href"] == f"/crawls/{run.crawl_id}/pages/{page.pk}/"
    chosen = soup(viewer.get(f"/search/text/?q=apple&crawl={run.crawl_id}&run=1"))
    assert run.crawl.name in chosen.select_one(".chips").text

    call_command("crawl", "search", "apple", "tree", "--json")
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["url"] for line in lines] == [row["url"] for row in found["items"]]
    call_command("crawl", "search", "apple tree", "--crawl", str(run.crawl_id))
    assert "*apple*" in capsys.readouterr().out


def test_a_bad_query_is_refused_with_the_remedy_everywhere(run):
    viewer = browser("viewer")
    refused = viewer.get("/api/v1/search", {"q": 'an "open phrase'})
    sentence = refused.json()["errors"]["q"]

    assert refused.status_code == 422
    assert "A phrase has no end" in sentence
    assert sentence in soup(viewer.get('/search/text/?q=an+"open+phrase')).text
    with pytest.raises(CommandError, match="A phrase has no end"):
        call_command("crawl", "search", 'an "open phrase')
    assert viewer.get("/api/v1/search", {"q": "---"}).status_code == 422
    # a number of a crawl that none has counts as not given
    assert viewer.get(f"/search/text/?q=apple&crawl={1:012}{'0' * 5000}").status_code == 200
    assert viewer.get("/api/v1/search", {"q": "a", "crawl": 99}).status_code == 404
    described = viewer.get("/api/v1/openapi.json").json()["paths"]["/api/v1/search"]["get"]
    assert {"404", "422", "503"} <= described["responses"].keys()
