"""Every address and every endpoint, walked by all roles, and all files that a run leaves: none has
a secret that a crawl was given.
"""

from __future__ import annotations

import re
from gzip import decompress
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import pytest
from django.db import connection, transaction
from django.test import Client

from crawling.checkpoints.checkpoint_store import ask_checkpoint, take_asked
from crawling.crawls.creation import clone_crawl, create_crawl, start_run
from crawling.crawls.revisions import edit_crawl
from crawling.crawls.schedules import set_schedule
from crawling.crawls.templates import save_template
from crawling.models import CrawlJob, Run
from crawlsite.models import ApiToken
from tests.crawling.conftest import do_shifts
from tests.test_roles import BODIES, PATHS, ROUTES
from tests.test_team_walk import bearer, client_of
from tests.test_team_walk import teams as teams

FORM = """<form method=post action="/session"><input name=user><input type=password name=password>
</form>"""
#: no part of any other text
SECRETS = {
    "header": "markone1e8a7",
    "token": "marktwo9b2c4",
    "basic": "markthree5d6f",
    "log-in": "markfour7a3e",
    "proxy": "markfive2c8d",
    "replaced": "marksix4f1b9",
}
MARKS = re.compile("|".join(SECRETS.values()).encode(), re.IGNORECASE)


@pytest.fixture
def crawl(teams, make_site) -> CrawlJob:
    """Of ada, with a secret in each place that takes one, and with what is made of its order."""
    site = make_site({"/": "<title>a</title><a href=/b>b</a>", "/login": FORM, "/session": "in"})
    host = site.url.removeprefix("http://")
    fields = {
        "name": "Books",
        "seeds": [f"{site.url}/"],
        "team": "Press",
        "delay_seconds": 0,
        "headers": {"X-Api-Key": SECRETS["replaced"], "X-Token": SECRETS["token"]},
        "credentials": {host: f"alice:{SECRETS['basic']}"},
        "login_url": f"{site.url}/login",
        "login_fields": {"user": "alice", "password": SECRETS["log-in"]},
    }
    ada = teams["ada"]
    made = create_crawl(fields, by=ada)
    made = edit_crawl(made, {"headers": fields["headers"] | {"X-Api-Key": SECRETS["header"]}})
    do_shifts(start_run(made, by=ada))
    save_template(made, "Kept", by=ada)
    clone_crawl(made, by=ada)
    create_crawl(
        fields | {"name": "By proxy", "proxy": f"http://bob:{SECRETS['proxy']}@127.0.0.1:9"},
        by=ada,
    )
    set_schedule(made, {"every_minutes": 60}, by=ada)
    sent = "".join(f"{one.headers} {one.body!r}" for one in site.log)
    assert all(SECRETS[name] in sent for name in ("header", "token", "log-in"))
    return CrawlJob.objects.get(pk=made.pk)


def ask(client: Client, method: str, route: str, **extra) -> bytes:
    """All that is answered, heads and the content of ZIP files included."""
    path = PATHS[route] % dict.fromkeys(re.findall(r"%\((\w+)\)s", PATHS[route]), 1)
    is_json = route.startswith("api/") and method != "GET"
    body = {"data": BODIES.get(f"{method} {route}", {})}
    body |= {"content_type": "application/json"} if is_json else {}
    answer = getattr(client, method.lower())(path, **body, **extra)
    said = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(dict(answer.headers)).encode() + plain(said)


def plain(said: bytes) -> bytes:
    if said.startswith(b"\x1f\x8b"):
        return said + decompress(said)
    if is_zipfile(BytesIO(said)):
        with ZipFile(BytesIO(said)) as packed:
            return said + b"".join(plain(packed.read(name)) for name in packed.namelist())
    return said


@pytest.mark.parametrize("name", ["viewer", "ben", "ada", "administrator"])
def test_no_answer_tells_anybody_a_secret(teams, crawl, name):
    session, token = client_of(teams[name]), bearer(teams[name])
    found, asked = {}, 0
    for route, methods in ROUTES.items():
        for method in methods:
            if route.startswith("admin/"):
                continue
            for client, extra in ((session, {}), (Client(), token)):
                if extra and not route.startswith("api/"):
                    continue
                before = transaction.savepoint()
                told = MARKS.findall(ask(client, method, route, **extra))
                transaction.savepoint_rollback(before)
                asked += 1
                if told:
                    found[method, route] = set(told)

    assert asked > 400
    assert found == {}


def test_nothing_stored_has_a_secret_in_clear(
    transactional_db, teams, crawl, settings, tmp_path, capfd
):
    settings.CHECKPOINT_DIR = tmp_path / "checkpoints"
    run = Run.objects.get(crawl=crawl)
    take_asked(ask_checkpoint(run, by=teams["ada"]).pk)
    kept = [file.name for file in run.archive_files.all()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        rows = {}
        for table in tables:
            cursor.execute(f'SELECT string_agg(t::text, chr(10)) FROM "{table}" t')
            rows[table] = (cursor.fetchone()[0] or "").encode()

    folders = (Path(settings.ARCHIVE_DIR), settings.CHECKPOINT_DIR)
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files = {path: plain(path.read_bytes()) for path in paths}
    assert set(kept) <= {path.name for path in paths}
    assert "manifest.json" in {path.name for path in paths}
    assert ApiToken.objects.count() == 0
    assert {table for table, text in rows.items() if MARKS.search(text)} == set()
    assert {path.name for path, text in files.items() if MARKS.search(text)} == set()
    out, errors = capfd.readouterr()
    assert MARKS.search((out + errors).encode()) is None
