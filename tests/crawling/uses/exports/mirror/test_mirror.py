"""A run as files: its links lead to files, in names that all systems take, and it loads nothing
else.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from io import BytesIO, StringIO
from pathlib import Path
from unicodedata import normalize
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from crawling.jobs import running
from crawling.jobs.running import INTERRUPTED, run_job
from crawling.models import BackgroundJob, Run
from crawling.uses.exports.jobs import MIRROR
from crawling.uses.exports.mirror import packing
from crawling.uses.exports.mirror.file_paths import FilePaths
from crawling.uses.exports.mirror.rewriter import Rewriter
from crawling.uses.exports.mirror.rewriting import DocumentLinks
from crawling.uses.exports.state import open_export, readable_export, request_export, state_of
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from crawling.web.document_stream import DocumentStream
from tests.crawling.pages import browser, soup

PAGE = """<!doctype html><meta charset="iso-8859-1"><title>Caf\xe9</title><base href="/docs/">
<link rel=stylesheet href="s.css" integrity="sha256-x" crossorigin>
<link rel=preconnect href=//x.test>
<img src="/old.png" srcset="i.png?a=1 1x, gone.png 2x"><p style="background:url(i.png?a=1)">
<a href="b#top">b</a> <a href="http://elsewhere.test/x">out</a> <a href="/moved">m</a>
<a href="/away">away</a> <a href="mailto:x@y.test">mail</a>"""
SHEET = b"@import 't.css'; p{background:url(i.png?a=1)} q{content:'url(x)'} /* url(y) </style> */"


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    image = (200, {"Content-Type": "image/png"}, b"\x89PNG")
    html = {"Content-Type": "text/html; charset=iso-8859-1"}
    site = shared.serve(
        {
            "/": (200, html, PAGE.encode("latin-1")),
            "/docs/s.css": (200, {"Content-Type": "text/css"}, SHEET),
            "/docs/t.css": (200, {"Content-Type": "text/css"}, b"a{color:rgb(1,2,3)}"),
            "/docs/i.png?a=1": image,
            "/old.png": (301, {"Location": "/docs/i.png?a=1"}, ""),
            "/docs/b": "<title>B</title><a href='/'>home</a>",
            "/moved": (301, {"Location": "/docs/b"}, ""),
            "/away": (302, {"Location": "http://elsewhere.test/y"}, ""),
        }
    )
    return crawl_once(f"{site.url}/", requisites=True)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def paths(tmp_path):
    with closing(FilePaths(tmp_path / "paths.sqlite")) as paths:
        yield paths


def test_a_command_that_is_interrupted_leaves_no_mirror_that_is_being_made(
    run, tmp_path, monkeypatch, settings
):
    def pressed(self, *page):
        signal.raise_signal(signal.SIGINT)  # as Ctrl-C

    open_export(run, MIRROR)
    of_mirror = BackgroundJob.objects.filter(kind=MIRROR.name)
    of_mirror.update(machine="another", name=f"mirror{run.pk}/{'0' * 32}")
    monkeypatch.setattr(packing.MirrorPackage, "_add_page", pressed)
    with pytest.raises(KeyboardInterrupt):
        call_command("crawl", "mirror", str(run.crawl_id), "--output", str(tmp_path / "mirror"))
    monkeypatch.undo()

    told = state_of(run, MIRROR)
    assert (told.under_way, told.file, told.trouble) == (None, None, INTERRUPTED)
    assert not [*Path(settings.ARCHIVE_DIR).rglob("*.unfinished"), *tmp_path.glob("mirror*")]
    run_job(request_export(run, MIRROR).pk)
    assert state_of(run, MIRROR).file is not None


def test_a_mirror_has_all_documents_with_links_among_them(run, tmp_path):
    folder, said = tmp_path / "mirror", StringIO()
    order = ["crawl", "mirror", str(run.crawl_id), "--output", str(folder), "--json"]
    call_command(*order, stdout=said)

    facts = json.loads(said.getvalue())
    assert (facts["file"], facts["missing"]) == (str(folder), 0)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    (host,) = {file.partition("/")[0] for file in files} - {"index.html"}
    documents = ("index.html", "docs/s.css", "docs/t.css", "docs/i-a=1.png", "docs/b.html")
    moved = ("moved.html", "away.html", "old.png.html", "robots.txt.html")
    assert files - {f"{host}/{name}" for name in moved} == {
        "index.html",
        *(f"{host}/{name}" for name in documents),
    }
    home = (folder / host / "index.html").read_text("utf-8")
    for part in (
        "Café",
        'href="docs/s.css"',
        'src="docs/i-a%3D1.png"',
        'srcset="docs/i-a%3D1.png 1x, http://',
        "url(docs/i-a%3D1.png)",
        'href="docs/b.html#top"',
        'href="http://elsewhere.test/x"',
        'href="docs/b.html">m',
        'href="away.html"',
        'href="mailto:x@y.test"',
        "Content-Security-Policy",
    ):
        assert part in home
    for part in ("integrity", "crossorigin", "<base", "preconnect"):
        assert part not in home
    sheet = (folder / host / "docs/s.css").read_text("utf-8-sig")
    assert sheet.startswith("@import 't.css'; p{background:url(i-a%3D1.png)} q{content:'url(x)'}")
    assert 'href="../index.html"' in (folder / host / "docs/b.html").read_text("utf-8")
    assert "url=docs/b.html" in (folder / host / "moved.html").read_text("utf-8")
    away = (folder / host / "away.html").read_text("utf-8")
    assert "http://elsewhere.test/y" in away
    assert "refresh" not in away
    assert f'<a href="{host.replace(":", "%3A")}/index.html">Café</a>' in (
        folder / "index.html"
    ).read_text("utf-8")
    with pytest.raises(CommandError, match="there already"):
        call_command(*order)
    assert sorted(os.listdir(tmp_path)) == ["mirror"]


def test_a_mirror_that_is_made_as_its_command_is_interrupted_stays(run, tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "remove_deleted_jobs", pressed)
    with pytest.raises(KeyboardInterrupt):
        call_command("crawl", "mirror", str(run.crawl_id), "--output", str(tmp_path / "mirror"))

    assert readable_export(run, MIRROR) is not None


def test_page_and_json_make_it_and_give_it_out_without_withdrawn_pages(run):
    place = reverse("crawling:mirror", args=[run.crawl_id])
    api = f"/api/v1/crawls/{run.crawl_id}/mirror"
    operator, viewer = browser("operator"), browser("viewer")
    assert "Not created." in soup(operator.get(place)).get_text()
    assert operator.get(f"{api}/export").status_code == 404
    assert viewer.post(place).status_code == 403
    operator.post(place)
    assert operator.post(api).json()["is_under_way"]
    assert "waits for a background" in soup(operator.get(place)).get_text()
    run_job(BackgroundJob.objects.get(kind=MIRROR.name).pk)
    content = b"".join(operator.get(f"{api}/export").streaming_content)
    names = ZipFile(BytesIO(content)).namelist()
    assert any(name.endswith("docs/b.html") for name in names)
    assert operator.get(api).json()["bytes"] == len(content)
    assert "mirror.zip" in soup(viewer.get(place)).get_text()

    withdraw_pages(run.crawl, None, kind="pattern", text="/docs/b$", reason="x", by=None)

    assert operator.get(f"{api}/export").status_code == 404
    assert "taken down since" in soup(operator.get(place)).get_text()
    run_job(request_export(run, MIRROR).pk)
    content = b"".join(operator.get(place.replace("mirror/", "mirror.zip")).streaming_content)
    assert not any(name.endswith("docs/b.html") for name in ZipFile(BytesIO(content)).namelist())
    assert b"docs/b" not in ZipFile(BytesIO(content)).read("index.html")

    killed = request_export(run, MIRROR)
    BackgroundJob.objects.filter(pk=killed.pk).update(attempts=1)
    run_job(killed.pk)
    assert state_of(run, MIRROR).trouble == MIRROR.broken_off
    assert readable_export(run, MIRROR) is not None


def test_paths_are_apart_on_systems_that_know_no_capitals_and_in_any_form(paths):
    paths.reserve("index.html")
    urls = [
        "http://a.test/",
        "http://a.test/index.html",
        "http://a.test/Index.html",
        "http://a.test/con/x",
        "http://a.test/a",
        "http://a.test/a.html/b",
        "http://a.test/A.HTML/b",
        "http://a.test/caf%C3%A9",
        "http://a.test/cafe%CC%81",
        "http://a.test/a%2F..%2F..%2Fetc/x?y=%2F..",
        "http://a.test:81/",
        f"http://a.test/{'deep/' * 60}x",
        *(f"http://a.test/{'l' * 60}{number}" for number in range(3)),
        "http://index.html/",
    ]
    found = [paths.add(url, "text/html") for url in urls]

    keys = {normalize("NFC", path).casefold() for path in found}
    folders = {"/".join(key.split("/")[:depth]) for key in keys for depth in range(1, 4)} - keys
    assert len(keys) == len(urls)
    assert not keys & folders
    assert found[0] == "a.test/index.html"
    for path in found:
        assert len(path) <= 220
        assert not {"", ".", "..", "con"} & set(path.split("/"))
        assert not set(':\\*?"<>|') & set(path)
    assert paths.rewritten_link("/con/x?y", urls[0], found[0]) == "http://a.test/con/x?y"
    assert paths.rewritten_link("/con/x#a", urls[0], found[4]) == "_con/x.html#a"


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<meta http-equiv=Refresh content="5; URL=http://b.test/">', ""),
        ('<meta http-equiv=refresh content="5; URL=/here">', 'content="5; URL=here.html"'),
        ("<a href='javascript:y()'>", 'href="javascript:y()"'),
        ("<a href='#x'>", 'href="#x"'),
        ("<a href=\"/no'e x\">", "href=\"http://a.test/no%27e%20x\""),
        ("<iframe srcdoc='<img src=/here>'>", 'src=&quot;here.html&quot;'),
        ("<meta http-equiv=content-security-policy content=\"img-src 'none'\">", "'unsafe-eval'"),
    ],
)  # fmt: skip
def test_links_of_pages_are_rewritten_wherever_they_are(paths, markup, found):
    path = paths.add("http://a.test/", "text/html")
    paths.add("http://a.test/here", "text/html")

    body = DocumentStream.of(markup.encode())
    page = DocumentLinks(paths, "http://a.test/", path).page(body, None).decode()

    assert found in page
    assert "http://b.test" not in page
    assert "img-src 'none'" not in page


def test_a_document_that_is_too_much_is_kept_and_the_next_is_rewritten(tmp_path, monkeypatch):
    place = tmp_path / "paths.sqlite"
    with closing(FilePaths(place)) as paths:
        paths.add("http://a.test/here", "text/html")
    facts = {
        "content_type": "text/html",
        "charset": None,
        "url": "http://a.test/",
        "path": "a.html",
    }
    with Rewriter(place) as program:
        body = DocumentStream.of(b"<a href=/here>")
        monkeypatch.setattr(program, "_seconds", 0.0)
        assert program.rewrite(body, **facts) is None
        monkeypatch.setattr(program, "_seconds", 60.0)
        assert b"a.test/here.html" in (program.rewrite(body, **facts) or b"")
