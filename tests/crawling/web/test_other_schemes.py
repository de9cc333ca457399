"""`ftp:` and `file:` are fetched, too (SEEDS B1, B14): never from elsewhere than was vetted, and
never what was not allowed.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

import pytest
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

from crawling.base.errors import BadOrder
from crawling.models import AllowedDirectory, Page
from crawling.runs.crawls.creation import create_crawl
from crawling.web.addresses import BadUrl, read_address
from crawling.web.fetch import files, ftp
from crawling.web.fetch.scheme_task import FetchTask
from crawling.web.statuses import FetchStatus
from tests.crawling.archive.judging import judge
from tests.crawling.raw import serve_raw

pytestmark = pytest.mark.slow


def fetch_file(asked):
    return files.fetch(asked).with_document_in_memory(asked.max_bytes)


def fetch_ftp(asked):
    return ftp.fetch(asked).with_document_in_memory(asked.max_bytes)


def task(url, **fields):
    usual = {"max_bytes": 1000, "received": lambda count: None, "may_dial": lambda port: True}
    seconds = dict.fromkeys(("connect_seconds", "read_seconds", "document_seconds"), 2.0)
    return FetchTask(read_address(url), "127.0.0.1", **{**usual, **seconds, **fields})


@pytest.fixture
def tree(tmp_path):
    """Papers that may be fetched, a secret beside them, and links from the one to the other."""
    papers, beside = tmp_path / "papers", tmp_path / "secret.txt"
    (papers / "sub").mkdir(parents=True)
    (papers / "a b.txt").write_text("hello")
    (papers / "sub" / "x:y.html").write_text("<a href='../a%20b.txt'>a</a>")
    beside.write_text("secret")
    (papers / "link.txt").symlink_to(beside)
    (papers / "sub" / "up").symlink_to(tmp_path)
    os.mkfifo(papers / "pipe")
    return papers


def test_files_and_directories_are_read(tree):
    def get(path):
        return fetch_file(task(f"file://{tree}{path}", directories=[str(tree)]))

    paper, index = get("/a%20b.txt"), get("/")
    assert (paper.status, paper.body.read(), paper.content_type) == (200, b"hello", "text/plain")
    assert "Last-Modified" in paper.headers
    names = (b"./a%20b.txt", b"./sub/", b"link.txt")
    assert [name in index.body.read() for name in names] == [True, True, False]
    assert (get("/sub").status, get("/sub").location) == (301, f"file://{tree}/sub/")
    assert b"./x%3Ay.html" in get("/sub/").body.read()
    assert get("/none").status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/link.txt", 403),
        ("/sub/up/secret.txt", 403),
        ("/pipe", 403),
        ("/../secret.txt", FetchStatus.FILE_REFUSED),
        ("/%2e%2e/secret.txt", FetchStatus.FILE_REFUSED),
        ("/..%2fsecret.txt", FetchStatus.FILE_REFUSED),
        ("2/secret.txt", FetchStatus.FILE_REFUSED),
        ("/nul%00", 403),
    ],
)
def test_nothing_leads_out_of_an_allowed_directory(path, status, tree):
    fetched = fetch_file(task(f"file://{tree}{path}", directories=[str(tree)]))

    assert (fetched.status, fetched.body.read()) == (status, b"")


def test_a_file_that_is_too_big_is_told_so(tree):
    assert (
        fetch_file(task(f"file://{tree}/a%20b.txt", directories=[str(tree)], max_bytes=4)).status
        == FetchStatus.TOO_BIG
    )


@contextmanager
def serve_ftp(home, **options):
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(str(home))
    authorizer.add_user("me", "hunter2", str(home))
    handler = type(
        "Handler", (FTPHandler,), {"authorizer": authorizer, "auth_failed_timeout": 0, **options}
    )
    server = FTPServer(("127.0.0.1", 0), handler)
    over = threading.Event()

    def serve():
        while not over.is_set():
            server.ioloop.loop(0.05, blocking=False)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"ftp://127.0.0.1:{server.address[1]}"
    finally:
        over.set()
        thread.join(60)
        server.close_all()


def test_ftp_files_and_directories_are_fetched(tree):
    with serve_ftp(tree) as url:
        paper, index, moved, none = (
            fetch_ftp(task(f"{url}{path}")) for path in ("/a%20b.txt", "/", "/sub", "/none")
        )
        assert fetch_ftp(task(f"{url}/a%20b.txt", secret="me:wrong")).status == 401
        assert fetch_ftp(task(f"{url}/a%20b.txt", max_bytes=4)).status == FetchStatus.TOO_BIG
        assert fetch_ftp(task(f"{url}/a%0d%0aQUIT")).status == FetchStatus.MALFORMED

    assert (paper.status, paper.body.read(), paper.content_type) == (200, b"hello", "text/plain")
    assert "Last-Modified" in paper.headers
    assert b'"./sub/"' in index.body.read()
    assert (moved.status, moved.location) == (301, f"{url}/sub/")
    assert (none.status, "server says" in none.error) == (404, True)


def test_ftp_data_comes_from_the_vetted_address_and_an_allowed_port_only(tree):
    with serve_ftp(tree, masquerade_address="192.0.2.1") as url:
        assert fetch_ftp(task(f"{url}/a%20b.txt")).body.read() == b"hello"
        refused = fetch_ftp(task(f"{url}/a%20b.txt", may_dial=lambda port: False))

    assert refused.status == FetchStatus.ADDRESS_REFUSED


def test_an_ftp_server_that_is_not_there_says_so(free_port):
    assert fetch_ftp(task(f"ftp://127.0.0.1:{free_port}/")).status == FetchStatus.CONNECT_FAILED


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_an_ftp_server_whose_greeting_never_ends_is_left(pause):
    """A flood is bounded in bytes, a trickle in time."""
    flood = [b"220-" + b"x" * 1000 + b"\r\n"] * (20_000 if not pause else 60)

    def talk(connection):
        for line in flood:
            try:
                connection.sendall(line if not pause else b"220-x\r\n")
            except OSError:  # hung up on, as it must be
                return
            time.sleep(pause)

    with serve_raw(talk) as (url, _):
        fetched = fetch_ftp(task(url.replace("http:", "ftp:"), document_seconds=1.0))

    assert fetched.status == (FetchStatus.TOO_SLOW if pause else FetchStatus.BROKEN_ANSWER)
    assert fetched.seconds < 10


def found(run):
    return {
        page.url.url.rpartition("/")[2]: page.status
        for page in Page.objects.filter(run=run).select_related("url")
    }


def test_a_directory_is_crawled_like_a_site(tree, crawl_to_the_end):
    AllowedDirectory.objects.create(path=str(tree))

    run = crawl_to_the_end(f"file://{tree}/sub/")

    assert len(judge(run)) == 3
    assert found(run) == {"": 200, "x%3Ay.html": 200, "a%20b.txt": 200}


def test_an_ftp_server_is_crawled_with_its_password(tree, crawl_to_the_end):
    (tree / "sub" / "up").unlink()  # this server would follow it
    with serve_ftp(tree) as url:
        run = crawl_to_the_end(
            f"{url}/sub/", credentials={url.removeprefix("ftp://"): "me:hunter2"}
        )

    assert found(run) == {"": 200, "x%3Ay.html": 200, "a%20b.txt": 200}


def test_the_web_leads_to_no_file(make_site, tree, crawl_to_the_end):
    AllowedDirectory.objects.create(path=str(tree))
    site = make_site(
        {
            "/": f"<a href='file://{tree}/a%20b.txt'>x</a><a href=/moved>x</a>",
            "/moved": (302, {"Location": f"file://{tree}/"}, ""),
        }
    )

    run = crawl_to_the_end(f"{site.url}/", f"file://{tree}/sub/x:y.html", max_depth=1)

    # the page's own link
    assert (
        run.urls.filter(url__startswith="file:")
        .values_list("via", flat=True)
        .exclude(via=None)
        .count()
        == 1
    )
    assert found(run)["moved"] == 302


def test_a_seed_below_no_allowed_directory_is_refused_when_ordered(order, tree):
    with pytest.raises(BadOrder, match="below no directory that an administrator has allowed"):
        create_crawl(order(f"file://{tree}/"))
    with pytest.raises(BadUrl, match="three slashes"):
        read_address("file://host/x")
