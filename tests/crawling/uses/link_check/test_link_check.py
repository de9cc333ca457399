"""A run's link check names each problem with the pages to be mended, in every form alike."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import django_rq
import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone

from crawling.datasets.catch_up import catch_up
from crawling.datasets.jobs import SECOND_READING
from crawling.datasets.parquet import put_part
from crawling.datasets.parts import drop_dataset, new_part, remove_abandoned_parts
from crawling.datasets.second_reading import read_run_again
from crawling.jobs.rq_jobs import IDLE
from crawling.models import BackgroundJob, LinksPart, LogLine, Page, Run, Url, UrlState
from crawling.uses.link_check import page_problems, sorted_problems
from crawling.uses.link_check.coverage import coverage_of
from crawling.uses.link_check.dataset_problems import failed_urls
from crawling.uses.link_check.link_check import junit_lines, list_problems, problem_rows
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.sorted_problems import ProblemSort, list_sorted_problems
from crawling.web.addresses import fingerprint
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end

HOME = """<title>Home</title><meta name=description content="A home."><nav>
<a href="/old">Old</a> <a href="/gone">=gone</a> <a href="/loop">round</a> <a href="/de">DE</a>
<a href="/fr">FR</a> <a href="/copy">C</a> <a href="/bare">B</a></nav>"""
LANGUAGES = """<link rel=alternate hreflang="{}" href="/de">
<link rel=alternate hreflang="x-default" href="/de"><link rel=alternate hreflang="{}" href="/fr">
<link rel=alternate hreflang="en" href="/gone">"""
PAGES = {
    "/": HOME,
    "/old": (301, {"Location": "/older"}, ""),
    "/older": (302, {"Location": "/de"}, ""),
    "/loop": (302, {"Location": "/loop2"}, ""),
    "/loop2": (302, {"Location": "/loop"}, ""),
    "/de": "<title>One</title>" + LANGUAGES.format("de", "en-UK"),
    "/fr": "<title>Two</title><link rel=canonical href='/fr'><link rel=canonical href='/de'>",
    "/copy": "<title>One</title><link rel=canonical href='http://else.test/'>",
    "/bare": "<p>nothing</p><link rel=canonical href='/gone'>",
    "/lonely": "<title>L</title><meta name=description content='A home.'><a href=/lonely>I</a>",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once):
    run = crawl_once(f"{site.url}/", f"{site.url}/lonely")
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def test_a_second_reading_finds_missing_fragments_and_errors_of_markup(
    make_site, crawl_to_the_end, capsys
):
    page = """<p id="a"><a href="/b#there">1</a> <a href="/b#gone">2</a> <a href=/b#gone>3</a>
<a href="#a">4</a> <a href="#t%C3%A4g">5</a> <a href="#%ff">6</a> <a href="/b#top">7</a>
<p id="täg"><p id="%41"><a href="#%41"></a>
<a href="/gone#x">8</a> <a href="/b#!/route">9</a><a name=n href="#n" href>&odd;</a>"""
    site = make_site({"/": page, "/b": "<h1 id=there>B</h1><a href='/#b'>back</a>"})
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    assert problems(site, run, "fragment") == problems(site, run, "html") == []

    page = f"/crawls/{run.crawl_id}/links/?kind=fragment"
    operator, queue = browser("operator"), django_rq.get_queue(IDLE)
    queue.empty()
    cache.clear()
    assert soup(operator.get(page)).select(".lag"), "a look at it asks for the reading"
    reading = BackgroundJob.objects.get(kind=SECOND_READING.name)
    assert queue.fetch_job(f"job-{reading.pk}").perform() in ("read", "others wait")
    read_to_the_end(run)
    answer = operator.post(f"/api/v1/crawls/{run.crawl_id}/links/check")
    assert (answer.status_code, answer.json()) == (202, {"unread_parts": 0})
    call_command("links", "read-again", str(run.crawl_id))

    assert not soup(operator.get(page)).select(".lag")
    assert capsys.readouterr().out == ""
    assert [url for url, _ in problems(site, run, "fragment")] == ["/#%ff", "/#b", "/b#gone"]
    (gone,) = [
        problem
        for problem in list_problems(run, ProblemKind.FRAGMENT, most=50)[0]
        if problem.url.endswith("#gone")
    ]
    assert (gone.detail, gone.links) == ("The page has no id “gone”.", 1)
    assert [source.anchor for source in gone.sources] == ["2"]
    assert problems(site, run, "html") == [
        (
            "/",
            "duplicate-attribute in line 4, unknown-named-character-reference in line 4",
        )
    ]
    folder = settings.ARCHIVE_DIR / f"links{run.pk}"
    assert len(list(folder.glob("*.findings.parquet"))) == 1
    new_part(run.pk, None).save()  # the folder stays for it
    LinksPart.objects.filter(links__gt=0).update(run=None)
    remove_abandoned_parts()
    assert not list(folder.glob("*"))


@pytest.mark.parametrize("is_from_archive", [False, True])
def test_the_fragment_of_a_link_is_looked_for_behind_redirects(
    make_site, crawl_to_the_end, is_from_archive
):
    page = """<a href="/a#x">1</a> <a href="/a#gone">2</a> <a href="/a">3</a>
<a href="/far#gone">4</a> <a href="/own#gone">5</a> <a href="/wrong#x">6</a>
<a href="/top#gone">7</a> <a href="/loop#x">8</a>
<a href="/lost#x">9</a> <a href="/far#%78">10</a> <a href="/a#top">11</a> <a href="/a#also">12</a>
<a href="/late#gone">13</a> <a href="/plain#gone">14</a>"""
    to = {
        "/a": "/b",
        "/far": "/farther",
        "/farther": "/a",
        "/own": "/b#x",
        "/wrong": "/b#missing",
        "/top": "/b#",
        "/loop": "/loop2",
        "/loop2": "/loop",
        "/lost": "/nowhere",
        "/late": "/own",
        "/plain": "/text",
    }
    moved = {path: (302, {"Location": location}, "") for path, location in to.items()}
    text = (200, {"Content-Type": "text/plain"}, "x")
    site = make_site({"/": page, "/b": "<h1 id=x>B</h1>", "/text": text, **moved})
    run = crawl_to_the_end(f"{site.url}/")
    if is_from_archive:
        drop_dataset(run.pk)
    catch_up(run.pk)
    read_run_again(run.pk)

    told = dict(problems(site, run, "fragment"))

    assert told == {
        "/a#gone": "It redirects to /b, which has no id “gone”.",
        "/a#also": "It redirects to /b, which has no id “also”.",
        "/far#gone": "It redirects to /b, which has no id “gone”.",
        "/b#missing": "The page has no id “missing”.",
    }
    one_by_one, after = [], ""
    while after is not None:
        found, after = list_problems(run, ProblemKind.FRAGMENT, after=after, most=1)
        one_by_one += found
    assert sorted(one.url.removeprefix(site.url) for one in one_by_one) == sorted(told)
    sources = {one.url.removeprefix(site.url): one.sources for one in one_by_one}
    assert [source.anchor for source in sources["/far#gone"]] == ["4"]
    assert [source.page.removeprefix(site.url) for source in sources["/b#missing"]] == ["/wrong"]


def test_links_that_no_one_can_follow_are_told_with_their_page(make_site, crawl_to_the_end):
    long = "/" + "l" * 5000
    page = f"""<base href="/"><a href="http://[::1">1</a> <a href=" http://[::1#x ">2</a>
<a href="http://a b/">3</a> <img srcset="http://:80/ 1x"> <form action="http://h.test:66000/"></form>
<a href="http://h%00.test/">4</a> <area href="https://u:p@h.test/"> <a href="http://h.test:0/">5</a>
<a href="{long}">6</a> <a href="http://{"n" * 300}.test/">7</a> <a href="mailto:x y">8</a>
<a href="javascript:void(0)">9</a> <a href="data:,{long}">10</a> <a href="tel:[">11</a>
<a href="#[">12</a> <a href="/good">13</a> <a href="">14</a> <a href="//">15</a>"""
    many = "".join(f"<a href='http://h:x{number}/'>" for number in range(25))
    site = make_site({"/": page, "/good": f"<a href='/many'>{long}", "/many": many})
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    read_run_again(run.pk)

    told = dict(problems(site, run, "malformed"))

    assert set(told) == {"/", "/many"}
    assert set(told["/"].split("; ")) == {
        "“http://[::1” is no URL",
        "“http://[::1#x” is no URL",
        "“http://a b/” is no URL",
        "“http://:80/” is no URL",
        "“http://h.test:66000/” is no URL",
        "“http://h%00.test/” is no URL",
        "“//” is no URL",
        "“https://u:p@h.test/” carries a user name or password, with which no link is followed",
        "“http://h.test:0/” names port 0, which no server can have",
        f"“{long[:200]}…” is longer than 4,096 characters",
        f"“http://{'n' * 193}…” has a host name of more than 253 characters",
    }
    assert told["/many"].startswith("“http://h:x0/” is no URL; ")
    assert told["/many"].endswith("; … and others (5 times)")
    assert set(site.paths) <= {"/robots.txt", "/", "/good", "/many"}
    by_path = {page.url.url.removeprefix(site.url): page.unread for page in run.pages.all()}
    assert by_path == {"/": "length", "/good": "", "/many": ""}
    assert [url for url, _ in problems(site, run, "unread")] == ["/"]


def test_bad_links_of_feeds_sitemaps_sheets_and_heads_are_told(make_site, crawl_to_the_end):
    long = "/" + "l" * 5000
    locs = ("http://[::1/", "/good", *(f"http://h:x{number}/" for number in range(30)))
    entries = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a b/"/></feed>'
    site = make_site(
        {
            "/robots.txt": (
                *(200, {"Content-Type": "text/plain"}),
                f"Sitemap: /map.xml\nSitemap: {long}\nSitemap: http://:80/",
            ),
            "/": (
                *(200, {"Content-Type": "text/html", "Link": f"<{long}>; rel=next"}),
                "<link rel=alternate href=/feed><link rel=alternate href=/feed.json>",
            ),
            "/map.xml": (200, {"Content-Type": "application/xml"}, f"<urlset>{entries}</urlset>"),
            "/feed": (200, {"Content-Type": "application/atom+xml"}, atom),
            "/feed.json": (
                *(200, {"Content-Type": "application/feed+json"}),
                json.dumps(
                    {"version": "https://jsonfeed.org/version/1.1", "items": [{"url": long}]}
                ),
            ),
        }
    )
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    read_run_again(run.pk)

    told = dict(problems(site, run, "malformed"))

    assert set(told) == {"/map.xml", "/feed", "/feed.json"}
    assert told["/map.xml"].startswith("“http://[::1/” is no URL; ")
    assert told["/map.xml"].endswith("; … and others (11 times)")
    assert told["/feed"] == "“http://a b/” is no URL"
    assert told["/feed.json"] == f"“{long[:200]}…” is longer than 4,096 characters"
    assert {url for url, _ in problems(site, run, "unread")} == {"/", "/feed.json"}
    log = LogLine.objects.get(run=run, message__startswith="Sitemaps that it names").message
    assert "“http://:80/” is no URL" in log
    assert f"“{long[:200]}…” is longer than 4,096 characters" in log
    rows = list(problem_rows(run, [ProblemKind.MALFORMED]))
    assert {row["page"].removeprefix(site.url) for row in rows} == set(told)


def problems(site, run, kind, **options):
    found, _ = list_problems(run, ProblemKind(kind), most=50, **options)
    return sorted(
        (one.url.removeprefix(site.url), one.detail.replace(site.url, "")) for one in found
    )


def test_urls_that_failed_in_several_ways_are_told_in_the_order_of_finding(run):
    ids = list(Url.objects.filter(run=run).order_by("pk").values_list("pk", flat=True))
    for number, pk in enumerate(ids):
        status = (404, None, -6, 500)[number % 4]
        Url.objects.filter(pk=pk).update(state=UrlState.FAILED, status=status)

    whole = failed_urls(run, 0, len(ids) + 1)
    pages = [failed_urls(run, after, 3) for after in (0, ids[2])]

    assert [one.pk for one in whole] == ids
    assert [one.status for one in whole[:4]] == [404, 0, -6, 500]
    assert [one.pk for page in pages for one in page] == ids[:6]


def test_each_kind_of_problem_is_found_and_nothing_else(site, run):
    redirects = problems(site, run, "redirected")
    assert ("/old", "301, permanent: 2 redirects to /de, 200 OK.") in redirects
    assert ("/older", "302, temporary: a redirect to /de, 200 OK.") in redirects
    assert [url for url, told in redirects if "loop" in told] == ["/loop", "/loop2"]
    assert ("/gone", "404 Not Found") in problems(site, run, "broken")
    assert problems(site, run, "orphan") == [
        ("/lonely", "No page links to it: it was found by a start URL or a sitemap.")
    ]
    assert [(url, told.partition(",")[0]) for url, told in problems(site, run, "canonical")] == [
        ("/bare", "Its canonical address"),
        ("/copy", "Its canonical address"),
        ("/fr", "It names 2 canonical addresses."),
    ]
    assert problems(site, run, "hreflang") == [
        (
            "/de",
            "“en-uk” is no code of a language. /fr does not name this page. /gone answers: "
            "404 Not Found.",
        )
    ]
    assert problems(site, run, "title") == [("/bare", "It has no title.")]
    assert problems(site, run, "description") == [
        ("/", "2 pages have the description “A home.”."),
        *((page, "It has no description.") for page in ("/bare", "/copy", "/de", "/fr")),
        ("/lonely", "2 pages have the description “A home.”."),
    ]
    assert problems(site, run, "slow") == []
    Page.objects.filter(url__url=f"{site.url}/de").update(fetch_seconds=4.04)
    assert problems(site, run, "slow") == [("/de", "It took 4.0 s.")]


def test_a_list_goes_on_behind_its_key(run, monkeypatch):
    whole = {kind: list_problems(run, kind, slow_seconds=0, most=50)[0] for kind in ProblemKind}
    monkeypatch.setattr(page_problems, "SLICE", 2)
    monkeypatch.setattr(page_problems, "MOST_SLICES", 1)

    for kind, expected in whole.items():
        found, after = list_problems(run, kind, slow_seconds=0, most=1)
        while after is not None:
            more, after = list_problems(run, kind, slow_seconds=0, after=after, most=1)
            found += more
        assert found == expected


def test_http_on_pages_that_came_by_https_is_a_problem(site, run):
    source, rows = "https://site.test/", []
    for number, (target, element, attribute, rel) in enumerate(
        [
            ("http://a.test/i.png", "img", "src", ""),
            ("http://a.test/s.css", "link", "href", "stylesheet"),
            ("http://a.test/next", "link", "href", "next"),
            ("http://a.test/page", "a", "href", ""),
            ("https://a.test/safe", "a", "href", ""),
        ]
    ):
        said = (element, attribute, rel, "", "")
        rows.append((1, source, number, target, "", *said, fingerprint(target)))
    part = new_part(run.pk, None)
    part.collected_at = part.written_at = timezone.now()
    part.links, part.bytes = len(rows), put_part(part.name, rows)
    part.save()

    assert [url for url, _ in problems(site, run, "mixed-content")] == [
        "http://a.test/i.png",
        "http://a.test/s.css",
    ]
    assert [url for url, _ in problems(site, run, "plain-http")] == ["http://a.test/page"]


def test_page_json_files_and_command_tell_the_same(site, run, capsys):
    viewer = browser("viewer")
    address = f"/api/v1/crawls/{run.crawl_id}/reports/problems"
    first = viewer.get(address, {"kind": "broken", "limit": 1}).json()
    rest = viewer.get(address, {"kind": "broken", "cursor": first["next"]}).json()
    assert {one["url"] for one in first["items"] + rest["items"]} == {
        row["url"] for row in problem_rows(run, [ProblemKind.BROKEN])
    }
    (gone,) = [one for one in first["items"] + rest["items"] if one["url"].endswith("/gone")]
    assert (gone["links"], gone["sources"][0]["anchor"], gone["sources"][0]["place"]) == (
        3,
        "=gone",
        "nav",
    )
    assert viewer.get(address, {"kind": "slow", "cursor": "nonsense"}).status_code == 422

    page = viewer.get(f"/crawls/{run.crawl_id}/links/")
    kinds = soup(page).select("nav[aria-label='Kinds of problem'] a")
    assert {kind.contents[0].strip() for kind in kinds} == {kind.label for kind in ProblemKind}
    told = soup(page).select_one("main tbody").get_text(" ", strip=True)
    assert f"{site.url}/gone 404 Not Found 3 {site.url}/ <a> “=gone” in nav" in told
    table = viewer.get(f"/crawls/{run.crawl_id}/link-check.csv?kind=broken")
    lines = b"".join(table.streaming_content).decode().splitlines()
    assert f"broken,{site.url}/gone,404,404 Not Found,{site.url}/,,a,href,,'=gone,nav" in lines

    call_command("links", "check", str(run.crawl_id), "--json")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == list(problem_rows(run, ProblemKind))
    report = viewer.get(f"/crawls/{run.crawl_id}/link-check.xml")
    cases = ET.fromstring(b"".join(report.streaming_content)).iter("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert [(case.get("classname"), case[0].get("message")) for case in failed] == [
        (row["page"] or row["url"], row["detail"]) for row in rows
    ]


def test_a_junit_report_is_xml_whatever_a_page_says():
    row = {"kind": "broken", "page": "http://a.test/", "url": "u", "detail": '"<&\x00\ud800\uffff'}
    text = "".join(junit_lines(["slow", "broken", "title"], [{**row, "anchor": "]]>\n"}]))

    names = [suite.get("name") for suite in ET.fromstring(text).iter("testsuite")]
    assert names == ["slow", "broken", "title"]


@pytest.mark.parametrize("kind", [ProblemKind.BROKEN, ProblemKind.FRAGMENT, ProblemKind.TITLE])
@pytest.mark.parametrize("sort", ProblemSort)
def test_problems_are_sorted_by_each_column_and_read_page_by_page(run, kind, sort):
    whole = list_problems(run, kind, most=50)[0]
    found, after = list_sorted_problems(run, kind, sort, most=2)
    while after is not None:
        more, after = list_sorted_problems(run, kind, sort, after=after, most=2)
        found += more

    facts = {
        "address": lambda one: one.url,
        "problem": lambda one: (one.status or 0, one.detail),
        "links": lambda one: one.links,
    }
    values = [facts[sort.lstrip("-")](one) for one in found]
    assert len(found) == len(whole)
    assert {one.url for one in found} == {one.url for one in whole}
    assert values == sorted(values, reverse=sort.startswith("-"))
    assert {one.url: one.links for one in found} == {one.url: one.links for one in whole}


def test_a_kind_with_very_many_problems_says_that_it_cannot_be_sorted(run, monkeypatch):
    monkeypatch.setattr(sorted_problems, "MOST_SORTED", 1)

    page = browser("viewer").get(f"/crawls/{run.crawl_id}/links/?kind=broken&sort=-links")

    assert "too many to be sorted" in soup(page).select_one("[role=alert]").text


def test_links_and_media_are_narrowed_to_a_type_of_element(run):
    viewer, address = browser("viewer"), f"/crawls/{run.crawl_id}/links/"

    def elements(query):
        page = soup(viewer.get(address, {"show": "all", **query}))
        return {row.select("td")[-3].text.split()[0] for row in page.select("main tbody tr")}

    assert len(elements({})) > 1
    assert elements({"type": "page"}) == {"a"}
    told = viewer.get(f"/api/v1/crawls/{run.crawl_id}/links", {"type": "page"}).json()["items"]
    assert {one["element"] for one in told} == {"a"}
    media = f"/api/v1/crawls/{run.crawl_id}/reports/media"
    every, images = (viewer.get(media, {"type": one}).json()["items"] for one in ("", "image"))
    assert [one for one in every if one["element"] in ("img", "image")] == images


def test_the_list_of_broken_links_says_what_the_order_and_a_limit_leave_unchecked(
    make_site, crawl_to_the_end
):
    site = make_site({"/": "<a href='/a'>a</a><a href='/b'>b</a><img src='/no.png'>", "/a": "a"})
    viewer = browser("viewer")

    def shown(**fields):
        run = crawl_to_the_end(f"{site.url}/", **fields)
        catch_up(run.pk)
        page = soup(viewer.get(f"/crawls/{run.crawl_id}/links/?kind=broken"))
        return " ".join(page.select_one("[aria-labelledby=list]").get_text().split())

    plain = shown(max_pages=1)
    assert "Images and links to other sites are not checked by this crawl." in plain
    assert "Set Check external links and Fetch page assets in the crawl" in plain
    assert "2 URLs were not fetched before the limit: links to them are not checked." in plain
    assert "No broken link among 1 checked; 2 not checked." in plain
    whole = shown(name="whole", requisites=True, check_external=True)
    assert "not checked" not in whole


def test_what_rules_limits_and_robots_txt_leave_out_is_unchecked(make_site, crawl_to_the_end):
    """A document of an unwanted type has answered, so links to it are checked."""
    names = ("secret/1", "secret/2", "secret/3", "no", "deep", "file")
    site = make_site(
        {
            "/": "".join(f"<a href='/{name}'>x</a>" for name in names),
            "/robots.txt": (
                200,
                {"Content-Type": "text/plain"},
                "User-agent: *\nDisallow: /secret",
            ),
            "/deep": "<a href='/deeper'>d</a><a href='ftp://a.test/'>f</a>",
            "/file": (200, {"Content-Type": "application/zip"}, b"PK"),
        }
    )
    order = {"requisites": True, "check_external": True, "max_depth": 1, "exclude": ["/no$"]}
    order["schemes"] = ["http", "https"]

    run = crawl_to_the_end(f"{site.url}/", types=["text/html"], **order)
    catch_up(run.pk)

    viewer = browser("viewer")
    found = viewer.get(f"/api/v1/crawls/{run.crawl_id}/reports/problems").json()["unchecked"]
    said = "5 addresses were excluded and not checked, mostly because of robots.txt."
    none = {"queued": 0, "outside": 0}
    assert found == none | {"excluded": 5, "cause": "robots.txt", "sentence": said}
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/links/?kind=broken"))
    shown = " ".join(page.select_one("[aria-labelledby=list]").get_text().split())
    assert said in shown
    assert "No broken link among 2 checked; 5 not checked." in shown


@pytest.mark.parametrize(
    ("limit", "cause"),
    [
        ({"soft_pages": 1}, "a soft limit"),
        ({"host_max_pages": 2}, "the limit of each host"),
        ({"host_soft_pages": 1}, "the limit of each host"),
    ],
)
def test_what_a_limit_leaves_out_is_unchecked(make_site, crawl_to_the_end, limit, cause):
    site = make_site({"/": "<a href='/a'>a</a>", "/a": "<a href='/b'>b</a><a href='/c'>c</a>"})

    run = crawl_to_the_end(f"{site.url}/", **limit)

    told = f"2 addresses were excluded and not checked, because of {cause}."
    assert coverage_of(run).excluded_words == told
